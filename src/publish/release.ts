import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { argv, exit, stderr, stdout } from "node:process";
import { fileURLToPath } from "node:url";
import { packageRoot } from "../shared/paths.ts";

// `npm run release`: the tarball to publish. Beside the program it holds npm-shrinkwrap.json (whoever installs it gets the versions
// that were tested), a bill of materials and the licences. The lock file is the one source of all three.
interface Locked {
  readonly version?: string;
  readonly license?: string;
  readonly dev?: boolean;
  readonly peer?: boolean;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}
interface Lock {
  readonly packages: Readonly<Record<string, Locked>>;
}
interface Manifest {
  readonly version: string;
  readonly devDependencies: unknown;
}
interface Bill {
  readonly components: readonly { readonly name: string }[];
}

/** Not installed beside the program but part of its files: their notices go with them. */
const INLINED = ["commander", "fastest-levenshtein", "typebox", "preact", "@preact/signals", "@preact/signals-core"];
/** Nothing that asks more of a user than to keep a notice. Another one is looked at by a person first. */
const KNOWN = /^(?:0BSD|Apache-2\.0|BlueOak-1\.0\.0|BSD-[23]-Clause|ISC|MIT|\(MIT OR CC0-1\.0\))$/;

const nameOf = (path: string): string => path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
const isShipped = (path: string, { dev, peer }: Locked): boolean =>
  path !== "" && ((dev !== true && peer !== true) || INLINED.includes(nameOf(path)));

/** A lock file that was made where a registry held not all platforms would leave others without their binaries, silently. */
function checkComplete({ packages }: Lock): void {
  const locked = new Set(Object.keys(packages).map(nameOf));
  const missing = Object.values(packages)
    .filter(({ dev }) => dev !== true)
    .flatMap(({ optionalDependencies }) => Object.keys(optionalDependencies ?? {}))
    .filter((name) => !locked.has(name));
  if (missing.length === 0) return;
  throw new Error(
    `package-lock.json has no entry for ${[...new Set(missing)].join(", ")}: make it anew where the registry holds them all (rm package-lock.json, npm install)`,
  );
}

function licences({ packages }: Lock, root: string): string {
  const shipped = Object.entries(packages).filter(([path, locked]) => isShipped(path, locked));
  const strange = shipped.filter(([, { license }]) => license === undefined || !KNOWN.test(license));
  if (strange.length > 0) {
    throw new Error(
      `licences to look at: ${strange.map(([path, { license }]) => `${nameOf(path)} (${license})`).join(", ")}`,
    );
  }
  const lines = shipped.map(([path, { license, version }]) => `${nameOf(path)} ${version}  ${license}`);
  const notices = INLINED.map((name) => {
    const file = ["LICENSE", "LICENSE.md", "license"]
      .map((one) => join(root, "node_modules", name, one))
      .find(existsSync);
    if (file === undefined) throw new Error(`${name} is part of our files, and its licence is not to be found`);
    return `\n${"=".repeat(80)}\n${name}, part of this package's files\n\n${readFileSync(file, "utf8").trim()}\n`;
  });
  return `Packages that headcount installs or holds, and their licences\n\n${[...new Set(lines)].sort().join("\n")}\n${notices.join("")}`;
}

/** CycloneDX, of what is installed and of what is held in our own files. */
function billOf(staging: string, { packages }: Lock): string {
  const options = ["sbom", "--package-lock-only", "--omit", "dev", "--sbom-format", "cyclonedx"];
  const bill = JSON.parse(execFileSync("npm", options, { cwd: staging, encoding: "utf8", maxBuffer: 2 ** 28 })) as Bill;
  const listed = new Set(bill.components.map(({ name }) => name));
  const held = INLINED.filter((name) => !listed.has(name)).map((name) => {
    const { license, version } = packages[`node_modules/${name}`] as Locked;
    const ref = `${name}@${version}`;
    const purl = `pkg:npm/${ref.replace(/^@/, "%40")}`;
    return { "bom-ref": ref, type: "library", name, version, purl, licenses: [{ license: { id: license } }] };
  });
  return `${JSON.stringify({ ...bill, components: [...bill.components, ...held] }, null, 2)}\n`;
}

/** The lock without the workshop: npm would install all that stands in it. */
function shrinkwrapOf(lock: Lock): string {
  const { devDependencies: _, ...root } = lock.packages[""] as Locked & { readonly devDependencies?: unknown };
  const installed = Object.entries(lock.packages).filter(([path, { dev, peer }]) => path !== "" && !dev && !peer);
  return `${JSON.stringify({ ...lock, packages: { "": root, ...Object.fromEntries(installed) } }, null, 2)}\n`;
}

/** Makes the tarball of a folder that is built. @returns its path */
function release(root: string, out: string): string {
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as Lock;
  checkComplete(lock);
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  execFileSync("npm", ["pack", "--silent", "--ignore-scripts", "--pack-destination", out], { cwd: root });
  const { devDependencies: _, ...manifest } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Manifest;
  const { version } = manifest;
  const tarball = join(out, `headcount-${version}.tgz`);
  execFileSync("tar", ["-xzf", tarball, "-C", out]);
  const staging = join(out, "package");
  writeFileSync(join(staging, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  writeFileSync(join(staging, "npm-shrinkwrap.json"), shrinkwrapOf(lock));
  writeFileSync(join(staging, "LICENSES.txt"), licences(lock, root));
  writeFileSync(join(staging, "sbom.cdx.json"), billOf(staging, lock));
  execFileSync("npm", ["pack", "--silent", "--ignore-scripts", "--pack-destination", out], { cwd: staging });
  rmSync(staging, { recursive: true });
  return tarball;
}

const [, , from = fileURLToPath(packageRoot()), to = join(from, "dist/release")] = argv;
try {
  stdout.write(`${release(resolve(from), resolve(to))}\n`);
} catch (error) {
  stderr.write(`${(error as Error).message}\n`);
  exit(1);
}
