import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { tempDir } from "../support/client.ts";

interface Locked {
  readonly version?: string;
  readonly dev?: boolean;
  readonly optionalDependencies?: Record<string, string>;
}
interface Lock {
  readonly packages: Readonly<Record<string, Locked>>;
}

const ROOT = resolve(import.meta.dirname, "../..");
const RELEASE = join(ROOT, "dist/publish/release.js");
const lockText = readFileSync(join(ROOT, "package-lock.json"), "utf8");
const nameOf = (path: string): string => path.replace(/^.*node_modules\//, "");

/** A built checkout whose lock file lists the given optional packages, and no others that it does not hold. */
function checkout(more: Readonly<Record<string, string>> = {}): string {
  const root = join(tempDir("headcount-release-"), "root");
  mkdirSync(root);
  for (const part of ["bin", "completions", "docs", "dist/program", "dist/console"]) {
    cpSync(join(ROOT, part), join(root, part), { recursive: true });
  }
  for (const name of ["package.json", "README.md", "LICENSE", "CHANGELOG.md", "SECURITY.md"]) {
    cpSync(join(ROOT, name), join(root, name));
  }
  symlinkSync(join(ROOT, "node_modules"), join(root, "node_modules"));
  const lock = JSON.parse(lockText) as Lock;
  const held = new Set(Object.keys(lock.packages).map(nameOf));
  for (const { optionalDependencies: optional = {} } of Object.values(lock.packages)) {
    for (const name of Object.keys(optional)) if (!held.has(name)) delete optional[name];
  }
  Object.assign(lock.packages["node_modules/pino"] as Locked, { optionalDependencies: more });
  writeFileSync(join(root, "package-lock.json"), JSON.stringify(lock, null, 2));
  return root;
}

const release = (root: string) =>
  spawnSync(process.execPath, [RELEASE, root, join(root, "out")], { encoding: "utf8", timeout: 120_000 });

describe("npm run release", () => {
  let tarball = "";
  let unpacked = "";
  beforeAll(() => {
    const root = checkout();
    const { status, stderr, stdout } = release(root);
    expect({ status, stderr }).toMatchObject({ status: 0 });
    tarball = stdout.trim();
    unpacked = tempDir("headcount-release-");
    execFileSync("tar", ["-xzf", tarball, "-C", unpacked, "--strip-components=1"]);
  });

  test("lists every package that is installed, with its licence, and the notices of what is held in its files", () => {
    const lock = JSON.parse(readFileSync(join(unpacked, "npm-shrinkwrap.json"), "utf8")) as Lock;
    const installed = Object.entries(lock.packages).filter(([path]) => path !== "");
    expect(installed.length).toBeGreaterThan(100);
    expect(installed.some(([, { dev }]) => dev === true)).toBe(false);
    const licences = readFileSync(join(unpacked, "LICENSES.txt"), "utf8");
    const bill = JSON.parse(readFileSync(join(unpacked, "sbom.cdx.json"), "utf8")) as {
      readonly components: readonly { readonly name: string; readonly version: string }[];
    };
    const listed = new Set(bill.components.map(({ name, version }) => `${name} ${version}`));
    for (const [path, { version }] of installed) {
      expect(licences).toContain(`${nameOf(path)} ${version}  `);
      // What a peer brings along is installed where the peer is.
      if (!path.includes("@opentelemetry")) expect([...listed]).toContain(`${nameOf(path)} ${version}`);
    }
    for (const held of ["commander", "fastest-levenshtein", "typebox", "preact", "@preact/signals"]) {
      expect(licences).toContain(`${held}, part of this package's files`);
      expect([...listed].some((one) => one.startsWith(`${held} `))).toBe(true);
    }
  });

  test("a lock file without the binaries of some platform is refused, and so is a licence nobody looked at", () => {
    const partial = release(checkout({ "@somebody/binary-for-another-machine": "1.0.0" }));
    expect(partial).toMatchObject({ status: 1, stdout: "" });
    expect(partial.stderr).toContain("no entry for @somebody/binary-for-another-machine");
    const root = checkout();
    const path = join(root, "package-lock.json");
    const strange = JSON.parse(readFileSync(path, "utf8")) as Lock;
    Object.assign(strange.packages["node_modules/pino"] as Locked, { license: "AGPL-3.0-only" });
    writeFileSync(path, JSON.stringify(strange));
    expect(release(root)).toMatchObject({ status: 1, stderr: expect.stringContaining("pino (AGPL-3.0-only)") });
  });

  describe("from a registry", () => {
    let registry: Server;
    let url: string;
    beforeAll(async () => {
      const bytes = readFileSync(tarball);
      const manifest: object = JSON.parse(readFileSync(join(unpacked, "package.json"), "utf8"));
      const upstream = execFileSync("npm", ["config", "get", "registry"], { encoding: "utf8" })
        .trim()
        .replace(/\/$/, "");
      registry = createServer(({ url: path = "" }, response) => {
        if (path === "/headcount.tgz") return response.end(bytes);
        if (path !== "/headcount") return response.writeHead(302, { location: upstream + path }).end();
        const integrity = `sha512-${createHash("sha512").update(bytes).digest("base64")}`;
        // What a registry says of a tarball that holds the file.
        const version = { ...manifest, _hasShrinkwrap: true, dist: { tarball: `${url}/headcount.tgz`, integrity } };
        const packument = { name: "headcount", "dist-tags": { latest: "0.1.0" }, versions: { "0.1.0": version } };
        return response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(packument));
      });
      await new Promise<void>((listening) => registry.listen(0, "127.0.0.1", listening));
      url = `http://127.0.0.1:${(registry.address() as AddressInfo).port}`;
    });
    afterAll(() => void registry.close());

    test("installs the versions of the lock file and nothing of the workshop, and runs", async () => {
      const folder = tempDir("headcount-release-");
      writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "installs", private: true }));
      const { spawn } = await import("node:child_process");
      const flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--registry", url];
      const code = await new Promise((ended) =>
        spawn("npm", ["install", ...flags, "headcount@0.1.0"], { cwd: folder, stdio: "ignore" }).once("close", ended),
      );
      expect(code).toBe(0);
      const modules = join(folder, "node_modules/headcount/node_modules");
      expect(existsSync(join(modules, "vitest"))).toBe(false);
      const { packages } = JSON.parse(lockText) as Lock;
      const installed = readdirSync(modules).filter((name) => existsSync(join(modules, name, "package.json")));
      expect(installed).toContain("undici");
      for (const name of installed) {
        const { version } = JSON.parse(readFileSync(join(modules, name, "package.json"), "utf8")) as Locked;
        expect(`${name} ${version}`).toBe(`${name} ${packages[`node_modules/${name}`]?.version}`);
      }
      const program = join(folder, "node_modules/.bin/headcount");
      expect(
        spawnSync(program, ["filters", "department"], { env: { PATH: process.env.PATH, HOME: folder } }).status,
      ).toBe(0);
    });
  });
});
