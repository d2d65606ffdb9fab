import { execFile, execFileSync, spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:http";
import { isBuiltin } from "node:module";
import { type AddressInfo, connect, type Socket } from "node:net";
import { dirname, join, resolve } from "node:path";
import { createServer as createTlsServer } from "node:tls";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { available, openRing } from "../keyring/ring.ts";
import { asTyped } from "../support/as-typed.ts";
import { CERTIFICATE, CERTIFICATE_KEY } from "../support/certificate.ts";
import { answerEnvelope, rawServer, tempDir } from "../support/client.ts";
import { user } from "../support/export.ts";
import { isLeftOut } from "../support/tools.ts";

interface Locked {
  readonly version?: string;
  readonly optionalDependencies?: Record<string, string>;
}
interface Lock {
  readonly packages: Readonly<Record<string, Locked>>;
}

const ROOT = resolve(import.meta.dirname, "../..");
const RELEASE = join(ROOT, "packaging/release.mjs");
const lockText = readFileSync(join(ROOT, "package-lock.json"), "utf8");

/**
 * A built checkout in a folder of its own; its lock file lists the given optional packages more.
 */
function checkout(more: Readonly<Record<string, string>> = {}): string {
  const root = join(tempDir("headcount-release-"), "root");
  mkdirSync(root);
  const { files } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    files: readonly string[];
  };
  const beside = ["package.json", "README.md", "LICENSE", "CHANGELOG.md"];
  const parts = new Set([...files, ...beside].map((path) => path.split("/")[0] ?? path));
  for (const part of parts) {
    // The last of the list are made by the release itself.
    if (existsSync(join(ROOT, part)))
      cpSync(join(ROOT, part), join(root, part), { recursive: true });
  }
  symlinkSync(join(ROOT, "node_modules"), join(root, "node_modules"));
  const lock = JSON.parse(lockText) as Lock;
  Object.assign(lock.packages["node_modules/pino"] as Locked, { optionalDependencies: more });
  writeFileSync(join(root, "package-lock.json"), JSON.stringify(lock, null, 2));
  // As the release's workflow does first.
  const workflow = readFileSync(join(ROOT, ".github/workflows/release.yml"), "utf8");
  const [, command = ""] = /run: (npm pkg set repository.*)/.exec(workflow) ?? [];
  execFileSync("sh", ["-c", command], {
    cwd: root,
    env: { ...process.env, GITHUB_REPOSITORY: "someone/headcount" },
  });
  return root;
}

/** What is no other on another Node, on which `--mode dist` tries what is published. */
const anyNode = test.skipIf(process.env.HEADCOUNT_MODE === "dist");

const release = (root: string) =>
  spawnSync(process.execPath, [RELEASE, root, join(root, "out")], {
    encoding: "utf8",
    timeout: 120_000,
  });

interface Command {
  readonly path: readonly string[];
  readonly commands: readonly Command[];
}

const pathsOf = ({ path, commands }: Command): string[] => [
  path.join(" "),
  ...commands.filter((each) => each.path[0] !== "help").flatMap(pathsOf),
];

const HELLO = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "t", version: "1" },
  },
});

const bytesUnder = (folder: string): number =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);

describe("npm run release", () => {
  let out = "";
  let tarballs: string[] = [];
  let unpacked = "";
  beforeAll(() => {
    const root = checkout();
    const { status, stderr, stdout } = release(root);
    expect({ status, stderr }).toMatchObject({ status: 0 });
    out = join(root, "out");
    tarballs = stdout.trim().split("\n");
    unpacked = tempDir("headcount-release-");
    execFileSync("tar", ["-xzf", tarballs[0] ?? "", "-C", unpacked, "--strip-components=1"]);
  });

  anyNode("gives equal bytes in another folder, with their sums beside them", () => {
    const root = checkout();
    expect(release(root).status).toBe(0);
    const sums = readFileSync(join(root, "out/SHA256SUMS"), "utf8");
    expect(sums).toBe(readFileSync(join(out, "SHA256SUMS"), "utf8"));
    expect(spawnSync("sha256sum", ["--check", "--strict", "SHA256SUMS"], { cwd: out }).status).toBe(
      0,
    );
    expect(readdirSync(out).sort()).toEqual([
      "SHA256SUMS",
      "headcount-0.1.0.tgz",
      "headcount-service-0.1.0.tgz",
    ]);
  });

  test("a program imports it, with its types", () => {
    const folder = tempDir("headcount-project-");
    mkdirSync(join(folder, "node_modules"));
    symlinkSync(unpacked, join(folder, "node_modules/headcount"));
    const text =
      'import { connect, HeadcountError } from "headcount";' +
      "const error = await connect({ env: {} }).catch((error) => error);" +
      "console.log(error instanceof HeadcountError, error.code);";
    const argv = ["--input-type=module", "-e", text];
    expect(execFileSync(process.execPath, argv, { cwd: folder, encoding: "utf8" })).toBe(
      "true no_key\n",
    );
    const manifest = JSON.parse(readFileSync(join(unpacked, "package.json"), "utf8")) as {
      exports: { ".": { types: string } };
    };
    expect(existsSync(join(unpacked, manifest.exports["."].types))).toBe(true);
  });

  // A part of undici is in it, and of the clone's tests the whole of it is what answers.
  test("goes through a proxy, by a tunnel in which the service proves who it is", async () => {
    const service = createTlsServer({ key: CERTIFICATE_KEY, cert: CERTIFICATE });
    const asked: (string | undefined)[] = [];
    const proxy = createServer().on("connect", ({ url }, socket: Socket) => {
      asked.push(url);
      const far = connect((service.address() as AddressInfo).port, "127.0.0.1", () => {
        socket.write("HTTP/1.1 200 OK\r\n\r\n");
        socket.pipe(far).pipe(socket);
      });
      for (const end of [far, socket]) end.on("error", () => far.destroy());
    });
    for (const server of [service, proxy])
      await new Promise<void>((done) => server.listen(0, "127.0.0.1", () => done()));
    const home = tempDir("headcount-release-");
    const env = {
      PATH: process.env.PATH,
      HOME: home,
      HEADCOUNT_API_KEY: "svc_live_0001",
      HEADCOUNT_BASE_URL: "https://api.example",
      HTTPS_PROXY: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    };
    const argv = [join(unpacked, "bin/headcount.js"), "account"];
    const refused = promisify(execFile)(process.execPath, argv, { env });
    await expect(refused).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/https:\/\/api\.example through the proxy .*certificate/),
    });
    expect(asked).toContain("api.example:443");
    for (const server of [service, proxy]) server.close();
  });

  anyNode("both packages name the repository, which provenance asks for", () => {
    for (const tarball of tarballs) {
      const manifest = execFileSync("tar", ["-xzOf", tarball, "package/package.json"], {
        encoding: "utf8",
      });
      const repository = { type: "git", url: "git+https://github.com/someone/headcount.git" };
      expect(JSON.parse(manifest)).toMatchObject({ repository });
    }
  });

  anyNode(
    "holds the program and nothing of its workshop, in a file that downloads in a moment",
    () => {
      const files = readdirSync(unpacked, { recursive: true, encoding: "utf8" });
      const beside = files.filter(
        (path) =>
          statSync(join(unpacked, path)).isFile() &&
          !/^(dist\/(program|console)|docs\/man)\//.test(path),
      );
      expect(beside.sort()).toMatchInlineSnapshot(`
      [
        "LICENSE",
        "LICENSES.txt",
        "README.md",
        "SECURITY.md",
        "bin/code.js",
        "bin/headcount.js",
        "bin/package.json",
        "completions/_headcount",
        "completions/headcount.bash",
        "completions/headcount.fish",
        "completions/headcount.ps1",
        "completions/pages.json",
        "completions/tree.json",
        "dialects/apollo.json",
        "dialects/coresignal.json",
        "dialects/crustdata.json",
        "dialects/explorium.json",
        "dialects/pdl.json",
        "dialects/prospeo.json",
        "docs/api.d.ts",
        "docs/openapi.json",
        "docs/served/collection.json",
        "docs/served/icon.svg",
        "docs/served/reference.css",
        "package.json",
        "sbom.cdx.json",
        "skills/headcount/SKILL.md",
      ]
    `);
      const { man } = JSON.parse(readFileSync(join(unpacked, "package.json"), "utf8")) as {
        man: readonly string[];
      };
      expect(files.filter((path) => /^docs\/man\/./.test(path)).sort()).toEqual(man);
      expect(
        files.filter((path) => /(?<!\.d)\.ts$|^test|^bench|\.map$|node_modules/.test(path)),
      ).toEqual([]);
      // As a release has it, 1.69 MB, 0.05 of them public suffixes: beside others' tools each part has its own copy of zod.
      expect(statSync(tarballs[0] ?? "").size).toBeLessThan(1_700_000);
      const manifest: object = JSON.parse(readFileSync(join(unpacked, "package.json"), "utf8"));
      expect(manifest).toMatchObject({
        dependencies: {},
        optionalDependencies: { "@napi-rs/keyring": expect.any(String) },
      });
      expect(Object.keys(manifest)).not.toContain("scripts");
    },
  );

  anyNode("lists every package whose code it holds, with its licence and its notice", () => {
    const licences = readFileSync(join(unpacked, "LICENSES.txt"), "utf8");
    const bill = JSON.parse(readFileSync(join(unpacked, "sbom.cdx.json"), "utf8")) as {
      readonly serialNumber: string;
      readonly components: readonly { readonly name: string; readonly version: string }[];
    };
    expect(bill.serialNumber).toMatch(
      /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/,
    );
    const names = bill.components.map(({ name }) => name);
    for (const name of [
      "commander",
      "undici",
      "fastify",
      "ajv",
      "pg",
      "typebox",
      "preact",
      "@preact/signals",
      "wa-sqlite",
    ]) {
      expect(names).toContain(name);
    }
    const { packages } = JSON.parse(lockText) as Lock;
    for (const { name, version } of bill.components) {
      expect(packages[`node_modules/${name}`]?.version).toBe(version);
      expect(licences).toContain(`${name} ${version}  `);
      expect(licences).toContain(`${name}, part of this package's files`);
    }
  });

  anyNode(
    "a lock file without the binaries of some platform is refused, and so is a licence nobody looked at",
    () => {
      const partial = release(checkout({ "@somebody/binary-for-another-machine": "1.0.0" }));
      expect(partial).toMatchObject({ status: 1, stdout: "" });
      expect(partial.stderr).toContain("no entry for @somebody/binary-for-another-machine");
      const root = checkout();
      const path = join(root, "package-lock.json");
      const strange = JSON.parse(readFileSync(path, "utf8")) as Lock;
      Object.assign(strange.packages["node_modules/pino"] as Locked, { license: "AGPL-3.0-only" });
      writeFileSync(path, JSON.stringify(strange));
      expect(release(root)).toMatchObject({
        status: 1,
        stderr: expect.stringContaining("pino (AGPL-3.0-only)"),
      });
    },
  );

  // A development tool may ship for fewer platforms than its package names: then no workflow gets beyond its first line.
  anyNode("npm ci, with which every workflow begins, takes the lock file", () => {
    const folder = tempDir("headcount-lock-");
    for (const name of ["package.json", "package-lock.json"])
      cpSync(join(ROOT, name), join(folder, name));
    const { status, stderr } = spawnSync("npm", ["ci", "--dry-run", "--offline"], {
      cwd: folder,
      encoding: "utf8",
    });
    expect(stderr).not.toContain("Missing:");
    expect(status).toBe(0);
  });

  anyNode(
    "the installer takes no file but that of the sums, in the strictest shells, and removes what it installed",
    () => {
      const script = join(ROOT, "packaging/install.sh");
      const place = tempDir("headcount-release-");
      cpSync(out, place, { recursive: true });
      const prefix = join(place, "prefix");
      // Bash takes all that these two take.
      for (const sh of [["dash"], ["busybox", "sh"]]) {
        const run = (...args: string[]) =>
          spawnSync(
            sh[0] ?? "sh",
            [...sh.slice(1), script, "--from", place, "--prefix", prefix, ...args],
            {
              encoding: "utf8",
            },
          );
        expect(run("--client-only", "--version", "0.1.0").stdout).toContain(
          `installed 0.1.0 in ${prefix}/bin`,
        );
        expect(run("--uninstall").status).toBe(0);
        expect(existsSync(join(prefix, "bin/headcount"))).toBe(false);
        expect(run("--version", "9.9.9")).toMatchObject({
          status: 2,
          stderr: expect.stringContaining("names no headcount 9.9.9"),
        });
      }
      writeFileSync(join(place, "headcount-0.1.0.tgz"), "another file");
      const refused = spawnSync("sh", [script, "--from", place, "--prefix", prefix], {
        encoding: "utf8",
      });
      expect(refused).toMatchObject({
        status: 1,
        stderr: expect.stringContaining("is not the file of SHA256SUMS"),
      });
      expect(existsSync(join(prefix, "bin/headcount"))).toBe(false);
      expect(spawnSync("shellcheck", [script]).status).toBe(0);
    },
    120_000,
  );

  test("the installer takes the newest release, names of no other folder, and nothing that came unencrypted", () => {
    const place = tempDir("headcount-release-");
    const listed = (...files: string[]): string =>
      files.map((file) => `${"0".repeat(64)}  ${file}\n`).join("");
    const script = join(ROOT, "packaging/install.sh");
    const stderr = (from: string, ...files: string[]): string => {
      writeFileSync(join(place, "SHA256SUMS"), listed(...files));
      for (const file of files) if (!file.includes("/")) writeFileSync(join(place, file), "");
      const args = [script, "--from", from, "--client-only", "--prefix", join(place, "prefix")];
      return spawnSync("sh", args, { encoding: "utf8" }).stderr;
    };
    const three = ["headcount-0.10.0-rc.1.tgz", "headcount-0.10.0.tgz", "headcount-0.9.0.tgz"];
    expect(stderr(place, ...three)).toContain("headcount-0.10.0.tgz is not the file of SHA256SUMS");
    expect(stderr(place, "headcount-1/../../else.tgz")).toContain("names no headcount");
    expect(stderr("http://127.0.0.1:9")).toContain("is not encrypted");
  });

  anyNode(
    "the Homebrew formula names this version, its address and the sum of the tarball that was built",
    () => {
      const path = execFileSync(process.execPath, [join(ROOT, "packaging/homebrew.mjs"), out], {
        encoding: "utf8",
      });
      const formula = readFileSync(path.trim(), "utf8");
      const sum = createHash("sha256")
        .update(readFileSync(tarballs[0] ?? ""))
        .digest("hex");
      const { version } = JSON.parse(readFileSync(join(unpacked, "package.json"), "utf8")) as {
        readonly version: string;
      };
      expect(formula).toContain(`sha256 "${sum}"`);
      expect(formula).toContain(`version "${version}"`);
      expect(formula).toContain(
        `url "https://registry.npmjs.org/headcount/-/headcount-${version}.tgz"`,
      );
      if (spawnSync("ruby", ["--version"]).status === 0)
        expect(spawnSync("ruby", ["-c", path.trim()]).status).toBe(0);
      expect(
        spawnSync(process.execPath, [join(ROOT, "packaging/homebrew.mjs"), unpacked]).status,
      ).not.toBe(0);
    },
  );

  anyNode("the Debian package is the same twice, and runs", () => {
    const build = () =>
      execFileSync(process.execPath, [join(ROOT, "packaging/deb.mjs"), out], {
        encoding: "utf8",
      }).trim();
    const deb = build();
    const first = readFileSync(deb);
    expect(readFileSync(build()).equals(first)).toBe(true);
    const folder = tempDir("headcount-release-");
    execFileSync("dpkg-deb", ["-x", deb, folder]);
    expect(
      execFileSync(join(folder, "usr/bin/headcount"), ["--version"], { encoding: "utf8" }),
    ).toBe("0.1.0\n");
    const run = (...args: string[]) =>
      spawnSync(join(folder, "usr/bin/headcount"), args, {
        encoding: "utf8",
        cwd: folder,
        env: { PATH: process.env.PATH, HOME: folder },
      });
    expect(run("-c", "sample", "count", "--department", "Sales")).toMatchObject({
      status: 0,
      stdout: "5292\n",
    });
    expect(run("serve", "--data", "data").stderr).toContain(
      `npm install -g --prefix ${folder}/usr headcount-service-0.1.0.tgz`,
    );
  });

  describe("from a registry", () => {
    let registry: Server;
    let url: string;
    // What npm knows of this machine (its cache, its authorities) stays, under another HOME too.
    const [cache, userconfig] = ["cache", "userconfig"].map((key) =>
      execFileSync("npm", ["config", "get", key], { encoding: "utf8" }).trim(),
    );
    beforeAll(async () => {
      const upstream = execFileSync("npm", ["config", "get", "registry"], { encoding: "utf8" })
        .trim()
        .replace(/\/$/, "");
      const held = tarballs.map((file) => {
        const bytes = readFileSync(file);
        const text = execFileSync("tar", ["-xzOf", file, "package/package.json"], {
          encoding: "utf8",
        });
        const manifest = JSON.parse(text) as { readonly name: string; readonly version: string };
        return {
          bytes,
          manifest,
          integrity: `sha512-${createHash("sha512").update(bytes).digest("base64")}`,
        };
      });
      registry = createServer(({ url: path = "" }, response) => {
        const asked = held.find(
          ({ manifest }) => path === `/${manifest.name}` || path === `/${manifest.name}.tgz`,
        );
        if (asked === undefined)
          return response.writeHead(302, { location: upstream + path }).end();
        const { bytes, manifest, integrity } = asked;
        if (path.endsWith(".tgz")) return response.end(bytes);
        const { name, version } = manifest;
        const one = { ...manifest, dist: { tarball: `${url}/${name}.tgz`, integrity } };
        const packument = { name, "dist-tags": { latest: version }, versions: { [version]: one } };
        return response
          .writeHead(200, { "content-type": "application/json" })
          .end(JSON.stringify(packument));
      });
      await new Promise<void>((listening) => registry.listen(0, "127.0.0.1", listening));
      url = `http://127.0.0.1:${(registry.address() as AddressInfo).port}`;
    });
    afterAll(() => void registry.close());

    /** Runs a command as a shell does, without blocking the registry. */
    const shell = (command: string, cwd: string) =>
      new Promise<{ code: number | null; stdout: string; stderr: string }>((ended) => {
        const env = {
          PATH: process.env.PATH,
          HOME: cwd,
          LANG: "C.UTF-8",
          npm_config_registry: url,
          npm_config_cache: cache,
          npm_config_userconfig: userconfig,
          NODE_EXTRA_CA_CERTS: process.env.NODE_EXTRA_CA_CERTS,
          npm_config_fund: "false",
        };
        const child = spawn("sh", ["-c", command], { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
        let stdout = "";
        let stderr = "";
        child.stdout.on("data", (chunk: Buffer) => {
          stdout += chunk;
        });
        child.stderr.on("data", (chunk: Buffer) => {
          stderr += chunk;
        });
        child.once("close", (code) => ended({ code, stdout, stderr }));
      });

    // In the clone the sample has the native SQLite.
    const [own, native] = [
      () => join(unpacked, "bin/headcount.js"),
      () => join(ROOT, "bin/headcount.js"),
    ];

    let sampled: Promise<string> | undefined;
    /** A home that has the sample's people already, which take a program some seconds to make. */
    async function homeWithSample(): Promise<string> {
      sampled ??= (async () => {
        const home = tempDir("headcount-release-");
        const { code, stderr } = await shell(
          `'${process.execPath}' '${own()}' -c sample count`,
          home,
        );
        expect(code, stderr).toBe(0);
        return home;
      })();
      const home = tempDir("headcount-release-");
      cpSync(await sampled, home, { recursive: true });
      return home;
    }

    let prefixed: Promise<string> | undefined;
    /** The prefix, in a home of its own, of one global install. */
    const installed = (): Promise<string> => {
      prefixed ??= (async () => {
        const home = await homeWithSample();
        const prefix = join(home, "prefix");
        const install = `npm install -g --prefix '${prefix}' --no-audit headcount`;
        const { code, stderr } = await shell(install, home);
        expect(code, stderr).toBe(0);
        return prefix;
      })();
      return prefixed;
    };

    /** All that the sample does from the one package. The ledger it leaves is the native SQLite's to go on with. */
    async function sampleFlow(program: string, home: string): Promise<void> {
      const run = (args: string) => shell(`${program} -c sample ${args}`, home);
      expect(await run("count --department Sales")).toMatchObject({ code: 0, stdout: "5292\n" });
      for (const file of ["a.csv", "a.xlsx", "a.ndjson.gz"]) {
        expect(
          await run(`search --department Sales --limit 3 --yes -q -o ${file}`),
          file,
        ).toMatchObject({ code: 0 });
      }
      expect(await run("employees acme.example --limit 2 --yes -q -o e.csv")).toMatchObject({
        code: 0,
      });
      expect(await run("enrich acme.example --yes -q -o c.csv")).toMatchObject({ code: 0 });
      const legal = "search --department Legal --country germany --yes -q -o legal.csv";
      expect(await run(legal)).toMatchObject({ code: 0 });
      expect(await run("refresh legal.csv --max-credits 0")).toMatchObject({ code: 0 });
      expect(await run(`${legal.replace("legal.csv", "new.csv")} --new-only`)).toMatchObject({
        code: 0,
      });
      const { stdout } = await shell(`echo '${HELLO}' | ${program} -c sample mcp`, home);
      expect(stdout).toContain('"serverInfo"');
      // Two at once: one waits for the other.
      const both = await Promise.all([run("count"), run("count --country Norway")]);
      expect(both.map(({ code }) => code)).toEqual([0, 0]);
      expect(await run("doctor")).toMatchObject({ code: 0 });
    }

    // The others are there where CI tries them (.ci/run).
    const others = ["node22/bin/node", "node24/bin/node"]
      .map((name) => join(ROOT, "node_modules", name))
      .filter((node) => existsSync(node));

    test.each([
      ["one of the package", own],
      ["one with the native SQLite", native],
    ])(
      "what a kill left of the sample's ledger, of %s, is taken up: nothing is paid twice",
      async (_, killed) => {
        const home = await homeWithSample();
        const search = asTyped`-c sample search --department Sales --limit 2000 --yes -o n.csv`;
        const env = { PATH: process.env.PATH, HOME: home };
        const child = spawn(process.execPath, [killed(), ...search], {
          cwd: home,
          env,
          stdio: "ignore",
        });
        const ended = new Promise((resolve) => child.once("close", resolve));
        // At its first page, or wherever it is by then.
        const isPaying = (): boolean =>
          readdirSync(home, { recursive: true, encoding: "utf8" }).some(
            (path) => path.endsWith("journal.ndjson") && statSync(join(home, path)).size > 100_000,
          );
        while (child.exitCode === null && !isPaying())
          await new Promise((resolve) => setTimeout(resolve, 5));
        child.kill("SIGKILL");
        await ended;
        const logs = readdirSync(home, { recursive: true, encoding: "utf8" }).filter((path) =>
          path.endsWith(".db-wal"),
        );
        // WebAssembly keeps no log beside its file.
        expect(logs.length > 0).toBe(killed === native || isBuiltin("node:sqlite"));
        const program = `'${process.execPath}' '${own()}'`;
        const whole = await shell(`${program} ${search.join(" ")}`, home);
        expect(whole.code, whole.stderr).toBe(0);
        const { stdout } = await shell(`${program} -c sample account --json`, home);
        expect(JSON.parse(stdout)).toMatchObject({
          credits: { balance: 8_000, held: 0, used_today: 2_000 },
        });
        // And the other way round: the native one goes on with what this one wrote.
        const back = await shell(
          `'${process.execPath}' '${native()}' -c sample account --json`,
          home,
        );
        expect(JSON.parse(back.stdout)).toMatchObject({
          credits: { balance: 8_000, held: 0, used_today: 2_000 },
        });
      },
      300_000,
    );

    test.each([process.execPath, ...others])(
      "a count of the sample by %s writes no file, of the ledger or of kept code, once both are there",
      async (node) => {
        const home = await homeWithSample();
        const count = async (): Promise<string> => {
          const { stdout } = await shell(`'${node}' '${own()}' -c sample count`, home);
          return stdout;
        };
        const files = (): string[] =>
          readdirSync(home, { recursive: true, encoding: "utf8" }).flatMap((path) => {
            const stats = statSync(join(home, path));
            return stats.isFile() ? [`${path} ${stats.ino} ${stats.mtimeMs} ${stats.size}`] : [];
          });
        expect(await count()).toBe("50000\n");
        const before = files();
        expect(before.join("\n")).toContain("ledger.db-seal");
        expect(await count()).toBe("50000\n");
        expect(files()).toEqual(before);
      },
    );

    test("the sample's counts, facets, cursors and pages are the same with the native SQLite, without, and with Node's own", async () => {
      const programs = [
        [process.execPath, own()],
        [process.execPath, native()],
        ...others.map((node) => [node, own()]),
      ];
      const [ours, ...theirs] = await Promise.all(
        programs.map(async ([node, bin]) => {
          const home = tempDir("headcount-release-");
          const run = async (args: string): Promise<string> => {
            const { code, stderr, stdout } = await shell(
              `'${node}' '${bin}' -c sample ${args}`,
              home,
            );
            expect(code, stderr).toBe(0);
            // Node's own one says of itself that it is new: not to our users.
            expect(stderr).not.toContain("Warning");
            return stdout;
          };
          const filters = [
            "--name-prefix jo",
            "--country germany --seniority-level vp",
            "--headline-prefix 'senior '",
          ];
          const counts: string[] = [];
          for (const filter of filters)
            counts.push(await run(`count ${filter} --by department --json`));
          await run("search --department Sales --limit 2500 --yes -q -o a.csv");
          const journal = readdirSync(home, { recursive: true, encoding: "utf8" }).find((path) =>
            path.endsWith("journal.ndjson"),
          );
          const lines = readFileSync(join(home, journal ?? "none"), "utf8").split("\n");
          const cursors = lines.flatMap(
            (line) => /"t":"settled".*"next":"([^"]+)"/.exec(line)?.[1] ?? [],
          );
          const pages = lines.filter((line) => line.startsWith('{"status":true'));
          return { counts, cursors, pages, file: readFileSync(join(home, "a.csv"), "utf8") };
        }),
      );
      expect(ours?.counts).toEqual(
        expect.arrayContaining([expect.stringMatching(/"count":[1-9].*"parts":\[\{/)]),
      );
      expect(ours?.pages).toHaveLength(3);
      expect(ours?.cursors.length).toBeGreaterThanOrEqual(2);
      for (const their of theirs) expect(their).toEqual(ours);
    }, 300_000);

    test("a global install is one package and the keychain's; what a native is missing for says the command that brings it, which works", async () => {
      const prefix = await installed();
      const home = dirname(prefix);
      const modules = join(prefix, "lib/node_modules");
      expect(readdirSync(modules)).toEqual(["headcount"]);
      expect(
        readdirSync(join(modules, "headcount/node_modules")).filter(
          (name) => !name.startsWith("."),
        ),
      ).toEqual(["@napi-rs"]);
      expect(bytesUnder(modules)).toBeLessThan(20 * 1024 * 1024);
      const program = join(prefix, "bin/headcount");
      const headcount = (args: string) => shell(`'${program}' ${args}`, home);
      expect((await headcount("--version")).stdout).toBe("0.1.0\n");
      expect((await headcount("completion bash")).stdout).toContain("headcount");
      const tree = JSON.parse(
        readFileSync(join(modules, "headcount/completions/tree.json"), "utf8"),
      ) as Command;
      expect(pathsOf(tree).length).toBeGreaterThan(80);
      for (const path of ["", "service keys create", "jobs run"])
        expect(await headcount(`${path} --help`)).toMatchObject({
          code: 0,
          stderr: "",
          stdout: expect.stringContaining(`headcount ${path}`.trim()),
        });
      // Whatever else a command loads is there.
      const chunks = join(modules, "headcount/dist/program");
      const parts = readdirSync(chunks).filter((name) => name.endsWith(".cjs"));
      const asked = parts.flatMap((name) =>
        [...readFileSync(join(chunks, name), "utf8").matchAll(/require\("\.\/([^"]+)"\)/g)].map(
          ([, part = ""]) => part,
        ),
      );
      expect(asked.length).toBeGreaterThan(parts.length);
      expect(asked.filter((part) => !parts.includes(part))).toEqual([]);
      expect(await headcount("filters department")).toMatchObject({ code: 0 });
      const people = join(modules, "headcount/package.json");
      const needing = [
        "serve --data data",
        `service import --people '${people}' --data data`,
        // Where there is something to open, which the sample's own SQLite does not for anybody
        // else.
        "service accounts list --data .local/share/headcount/sample",
        "service verify --data .local/share/headcount/sample",
        "service forget canary --data .local/share/headcount/sample",
        "-c sample sql 'select 1'",
        "-c sample search --department Sales --limit 3 --yes -q -o b.parquet",
        "-c sample search --department Sales --limit 3 --yes -q -o 'duckdb:b.duckdb#people'",
      ];
      await sampleFlow(program, home);
      for (const args of needing) {
        const { code, stdout, stderr } = await headcount(args);
        expect({ args, code, stdout }).toEqual({ args, code: 2, stdout: "" });
        expect(stderr, args).toContain(
          `npm install -g --prefix ${prefix} headcount-service-0.1.0.tgz`,
        );
      }
      const hint =
        /npm install -g .*$/m.exec((await headcount("serve --data data")).stderr)?.[0] ?? "no hint";
      const remedy = await shell(hint, dirname(tarballs[0] ?? ""));
      expect(remedy.code, remedy.stderr).toBe(0);
      expect(await headcount("-c sample count --department Sales")).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/^\d+\n$/),
      });
      const search = "-c sample search --department Sales --limit 3 --yes -q";
      for (const file of [
        "g.csv",
        "g.xlsx",
        "g.parquet",
        "g.ndjson.gz",
        "'duckdb:g.duckdb#people'",
      ]) {
        expect(await headcount(`${search} -o ${file}`), file).toMatchObject({ code: 0 });
      }
      expect(await headcount('-c sample sql "select count(*) as n from people"')).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/^n\n\d+\n$/),
      });
      const answer = await shell(`echo '${HELLO}' | '${program}' -c sample mcp`, home);
      expect(answer.stdout).toContain('"serverInfo"');
      expect(await headcount("doctor -c sample")).toMatchObject({ code: 0 });
    }, 300_000);

    test("the container's steps, without the container: installed, it serves, is healthy, and ends when it is told to", async () => {
      const text = readFileSync(join(ROOT, "packaging/Dockerfile"), "utf8").replaceAll("\\\n", "");
      const prefix = tempDir("headcount-release-");
      const [, install = "none"] = /^RUN (npm install .*?) &&/m.exec(text) ?? [];
      const here = install
        .replace("/tmp/", `'${out}'/`)
        .replace("install -g", `install -g --prefix '${prefix}'`);
      expect(here).toContain(`'${out}'/headcount-*.tgz`);
      expect(await shell(here, prefix)).toMatchObject({ code: 0 });
      const listOf = (line: RegExp): string[] =>
        JSON.parse(line.exec(text)?.[1] ?? "[]") as string[];
      const argv = [...listOf(/^ENTRYPOINT (.*)$/m), ...listOf(/^CMD (.*)$/m)].map((word) =>
        word === "/data" ? join(prefix, "data") : word,
      );
      const env = { PATH: `${prefix}/bin:${process.env.PATH}`, HOME: prefix };
      const [program = "none", ...words] = [...argv, "--port", "0"];
      const child = spawn(program, words, {
        cwd: prefix,
        env,
        stdio: ["ignore", "pipe", "ignore"],
      });
      const ended = new Promise((resolve) => child.once("close", resolve));
      try {
        const port = await new Promise<string>((found) => {
          let said = "";
          child.stdout.on("data", (piece: Buffer) => {
            said += piece;
            const at = /^Serving http\S+:(\d+)$/m.exec(said)?.[1];
            if (at !== undefined) found(at);
          });
          child.once("close", () => found(`ended: ${said}`));
        });
        const [node = "none", ...check] = listOf(/^HEALTHCHECK .* CMD (.*)$/m);
        const healthy = check.map((word) => word.replace(":8787/", `:${port}/`));
        expect(healthy.join()).toContain(port);
        expect(spawnSync(node, healthy, { env }).status).toBe(0);
      } finally {
        child.kill("SIGTERM");
      }
      expect(await ended).toBe(0);
    }, 300_000);

    test.skipIf(isLeftOut(available))(
      "installed so, it keeps keys in a real keychain",
      async () => {
        const ring = await openRing("gnome-keyring");
        const server = await rawServer((_, response) =>
          answerEnvelope(response, {
            account: { id: "acc", name: "Acme" },
            costs: { person_search: 1 },
          }),
        );
        try {
          const prefix = await installed();
          const run = (argv: readonly string[], stdin = "") =>
            ring.run(argv, {
              stdin,
              program: join(prefix, "lib/node_modules/headcount/bin/headcount.js"),
            });
          const login = await run(
            ["login", "work", "--key-stdin", "--base-url", server.url],
            "svc_live_0001",
          );
          expect(login, login.stderr).toMatchObject({ code: 0 });
          expect(await ring.operate(["get", "work"])).toEqual(["svc_live_0001"]);
          expect(JSON.parse((await run(["account", "--json"])).stdout)).toMatchObject({
            key: { source: "keychain" },
          });
        } finally {
          await server.close();
          ring.close();
        }
      },
      60_000,
    );

    test("in a project, the command is the project's", async () => {
      const folder = tempDir("headcount-release-");
      writeFileSync(
        join(folder, "package.json"),
        JSON.stringify({ name: "installs", private: true }),
      );
      expect((await shell("npm install --no-audit headcount", folder)).code).toBe(0);
      const { code, stderr } = await shell("node_modules/.bin/headcount serve --data data", folder);
      expect({ code, stderr }).toEqual({
        code: 2,
        stderr: expect.stringContaining("npm install headcount-service-0.1.0.tgz"),
      });
      expect(existsSync(join(folder, "node_modules/headcount-service"))).toBe(false);
    });
  });
});

describe("the package in a program", () => {
  const ROOT = resolve(import.meta.dirname, "../..");
  const TSC = join(ROOT, "node_modules/.bin/tsc");
  const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
  const run = promisify(execFile);

  /** The programs of the page, by their names. */
  const programs = [
    ...read("docs/how-to/program.md").matchAll(/```js\n\/\/ (\S+\.mjs)\n([\s\S]*?)```/g),
  ].map(([, name = "", text = ""]) => ({ name, text }));

  /** A folder of somebody who has installed the package, as built here. */
  function project(): string {
    const folder = tempDir("headcount-project-");
    mkdirSync(join(folder, "node_modules"));
    symlinkSync(ROOT, join(folder, "node_modules/headcount"));
    symlinkSync(join(ROOT, "node_modules/@types"), join(folder, "node_modules/@types"));
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    for (const { name, text } of programs) writeFileSync(join(folder, name), text);
    return folder;
  }

  /** What the compiler says of files of a project; nothing where they are right. */
  function compiled(folder: string, files: readonly string[]): string {
    const options = ["--ignoreConfig", "--noEmit", "--strict", "--target", "es2023"];
    const as = ["--module", "nodenext", "--types", "node", "--allowJs", "--checkJs"];
    try {
      execFileSync(TSC, [...files, ...options, ...as, "--noImplicitAny", "false"], {
        cwd: folder,
        encoding: "utf8",
      });
      return "";
    } catch (error) {
      return (error as { stdout: string }).stdout;
    }
  }

  describe("what a program imports", () => {
    test("its types are those that are kept, in one file that imports nothing", () => {
      const file = join(tempDir(), "api.d.ts");
      execFileSync(process.execPath, [join(ROOT, "packaging/api-types.mjs"), file]);
      const types = readFileSync(file, "utf8");
      expect(types, "npm run api writes docs/api.d.ts anew; say the change in changelog/").toBe(
        read("docs/api.d.ts"),
      );
      expect(types).not.toMatch(/\bimport\b|\bfrom "/);
      expect(types).toContain("export { connect, HeadcountError };");
    });

    test("what buys without consent, and what only looks like a quote, does not compile", () => {
      const folder = project();
      const refused = [
        'hc.buy({ filters: { department: "Legal" } });',
        'hc.buy({ filters: { department: "Legal" } }, {});',
        'hc.buy({ credits: "1" }, { maxCredits: 1 });',
        "hc.buy(offer as Offer, { maxCredits: 1 });",
        "hc.count();",
      ];
      const head =
        'import { connect, type Offer } from "headcount";\nconst hc = await connect();\ndeclare const offer: unknown;\n';
      writeFileSync(join(folder, "wrong.ts"), `${head}${refused.join("\n")}\nexport {};\n`);
      const said = compiled(folder, ["wrong.ts"]);
      const lines = [...said.matchAll(/^wrong\.ts\((\d+),/gm)].map(([, line]) => Number(line));
      expect([...new Set(lines)], said).toEqual(refused.map((_, index) => index + 4));
    });
  });

  describe("the programs of docs/how-to/program.md", () => {
    let folder = "";
    let env: Record<string, string | undefined>;
    beforeAll(() => {
      folder = project();
      const { HEADCOUNT_BASE_URL: _url, HEADCOUNT_API_KEY: _key, ...own } = user("", "").env;
      env = {
        ...own,
        PATH: process.env.PATH,
        HEADCOUNT_CONNECTION: "sample",
        XDG_DATA_HOME: process.env.HEADCOUNT_TEST_DATA_HOME ?? tempDir("headcount-data-"),
      };
    });

    test("are five, and right for the compiler", () => {
      expect(programs.map(({ name }) => name)).toEqual([
        "count.mjs",
        "buy.mjs",
        "ask.mjs",
        "resume.mjs",
        "owned.mjs",
      ]);
      expect(
        compiled(
          folder,
          programs.map(({ name }) => name),
        ),
      ).toBe("");
    });

    test.each([
      ["count.mjs", /^\d+ people\n$/],
      ["buy.mjs", /^20 rows for 20; \d+ left\n$/],
      ["ask.mjs", /rows: 10,\n/],
      ["resume.mjs", /^run \S+ has 15 rows\n$/],
      ["owned.mjs", /^45 people for 45\n(.+\n){23}$/],
    ])("%s runs against the sample", async (name, said) => {
      const { stderr, stdout } = await run(process.execPath, [name], { cwd: folder, env });
      expect({ stderr, stdout }).toEqual({ stderr: "", stdout: expect.stringMatching(said) });
      if (name === "buy.mjs")
        expect(readFileSync(join(folder, "legal.ndjson"), "utf8").trim().split("\n").length).toBe(
          20,
        );
    });

    test("by require too, and nothing else of the package is to be imported", async () => {
      const text =
        'console.log(typeof require("headcount").connect);require("headcount/dist/program/main.cjs")';
      const ended = await run(process.execPath, ["--input-type=commonjs", "-e", text], {
        cwd: folder,
        env,
      }).catch((error: { stderr: string; stdout: string }) => error);
      expect(ended.stdout).toBe("function\n");
      expect(ended.stderr).toContain("ERR_PACKAGE_PATH_NOT_EXPORTED");
    });
  });
});
