import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestService, type TestService } from "../support/service.ts";

/**
 * What a command loads is pinned: most of what a person feels of a command is its start-up, and one import too many is found here
 * before it is found by a stopwatch.
 */
const ROOT = pathToFileURL(`${resolve(import.meta.dirname, "../..")}/`).href;
const BIN = new URL("bin/headcount.js", ROOT).pathname;
const folder = mkdtempSync(join(tmpdir(), "headcount-startup-"));
let service: TestService;

beforeAll(async () => {
  service = await startTestService();
});
afterAll(async () => {
  await service?.close();
  rmSync(folder, { recursive: true, force: true });
});

const environment = (): NodeJS.ProcessEnv => ({
  PATH: process.env.PATH,
  HOME: folder,
  HEADCOUNT_API_KEY: service.key,
  HEADCOUNT_BASE_URL: service.url,
});

/** Files of ours and of packages that a command line loads, CommonJS and ES modules alike: V8's coverage names every script. */
async function loaded(name: string, argv: readonly string[]): Promise<string> {
  const coverage = join(folder, name);
  await promisify(execFile)(process.execPath, [BIN, ...argv], {
    env: { ...environment(), NODE_V8_COVERAGE: coverage },
  });
  const files = new Set<string>();
  for (const file of readdirSync(coverage)) {
    const { result } = JSON.parse(readFileSync(join(coverage, file), "utf8")) as { result: { url: string }[] };
    for (const { url } of result) {
      if (!url.startsWith(ROOT)) continue;
      const path = url.slice(ROOT.length);
      // A package is named, not each of its files; a chunk of the bundle goes without its hash.
      const inPackage = /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path);
      files.add(inPackage ? `package ${inPackage[1]}` : path.replace(/-[\w-]{8}\.cjs$/, ".cjs"));
    }
  }
  return `${[...files].sort().join("\n")}\n`;
}

describe("what is loaded", () => {
  test("--version loads nothing", async () => {
    expect(await loaded("version", ["--version"])).toBe("bin/headcount.js\n");
  });

  test("--help loads nothing: the build has written it", async () => {
    expect(await loaded("help", ["--help"])).toBe("bin/headcount.js\n");
  });

  test("the help of a command loads its file and no package", async () => {
    const files = await loaded("count-help", ["help", "count"]);
    expect(files).not.toContain("package");
    await expect(files).toMatchFileSnapshot("startup/count-help.txt");
  });

  test("what the build wrote is the help that the program prints", async () => {
    const written = (await promisify(execFile)(process.execPath, [BIN, "--help"])).stdout;
    const printed = (await promisify(execFile)(process.execPath, [BIN, "--no-color", "--help"])).stdout;
    expect(written).toEqual(printed);
  });

  test("count loads no package", async () => {
    const files = await loaded("count", ["count", "--department", "Sales"]);
    expect(files).not.toContain("package");
    await expect(files).toMatchFileSnapshot("startup/count.txt");
  });

  test("of Node itself count loads neither TLS nor cryptography nor child processes", async () => {
    const list = join(folder, "modules.txt");
    const preload = join(folder, "preload.cjs");
    writeFileSync(
      preload,
      `process.on("exit", () => require("node:fs").writeFileSync(${JSON.stringify(list)}, process.moduleLoadList.join("\\n")));`,
    );
    await promisify(execFile)(process.execPath, [BIN, "count", "--department", "Sales"], {
      env: { ...environment(), NODE_OPTIONS: `--require=${preload}` },
    });
    const modules = readFileSync(list, "utf8").split("\n");
    expect(modules).toContain("NativeModule http");
    for (const name of ["tls", "https", "crypto", "child_process", "zlib", "worker_threads"]) {
      expect(modules).not.toContain(`NativeModule ${name}`);
    }
  });
});
