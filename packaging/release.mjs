import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, join, resolve } from "node:path";
import { argv, exit, stderr, stdout } from "node:process";
import { fileURLToPath, pathToFileURL } from "node:url";
import { NATIVES } from "../dist/shared/packages.js";
import { packageRoot } from "../dist/shared/paths.js";
import { bundleProgram } from "./program.mjs";

// `npm run release`: the two tarballs to publish (docs/contributing/dependencies.md). `headcount` holds all JavaScript, a bill of
// materials and the licences; `headcount-service` brings the natives. Equal sources give equal bytes.

/** The console's page is bundled with these, beside what the program's bundle says of itself. */
const OF_THE_PAGE = ["preact", "@preact/signals", "@preact/signals-core"];
const KEYCHAIN = "@napi-rs/keyring";
/** What a user of the package is told about it; the rest of package.json is the workshop's. */
const PUBLISHED = [
  "name",
  "version",
  "description",
  "license",
  "type",
  "bin",
  "exports",
  "engines",
  "man",
  "keywords",
  "repository",
];
/** Its package.json names none; its file LICENSE is this one. */
const LOOKED_AT = { "wa-sqlite": "MIT" };
/** Nothing that asks more of a user than to keep a notice. Another one is looked at by a person first. */
const KNOWN = /^(?:0BSD|Apache-2\.0|BlueOak-1\.0\.0|BSD-[23]-Clause|ISC|MIT|\(MIT OR CC0-1\.0\))$/;
const LICENCE_FILE = /^(?:licen[cs]e|copying)(?:[-.].*)?$/i;

const nameOf = (path) => path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
const json = (value) => `${JSON.stringify(value, null, 2)}\n`;
const digest = (algorithm, data) => createHash(algorithm).update(data).digest("hex");

/** A lock file that misses platforms would leave others without their binaries, silently. */
function checkComplete({ packages }) {
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

/** The packages whose code is in our files. @throws Error for one whose licence nobody looked at */
function partsOf({ packages }, names) {
  const parts = [...names].sort().map((name) => {
    // A second version further down has the same licence and its notice.
    const locked =
      packages[`node_modules/${name}`] ??
      Object.entries(packages).find(([path]) => nameOf(path) === name)?.[1];
    return {
      ...locked,
      name,
      version: locked?.version ?? "",
      license: locked?.license ?? LOOKED_AT[name] ?? "unknown",
    };
  });
  const strange = parts.filter(({ license }) => !KNOWN.test(license));
  if (strange.length === 0) return parts;
  throw new Error(
    `licences to look at: ${strange.map(({ name, license }) => `${name} (${license})`).join(", ")}`,
  );
}

function licences(parts, root) {
  const notices = parts.map(({ name, license }) => {
    const folder = join(root, "node_modules", name);
    const file = existsSync(folder)
      ? readdirSync(folder).find((one) => LICENCE_FILE.test(one))
      : undefined;
    const text =
      file === undefined
        ? `${license}; the package has no file with its text`
        : readFileSync(join(folder, file), "utf8");
    return `\n${"=".repeat(80)}\n${name}, part of this package's files\n\n${text.trim()}\n`;
  });
  const lines = parts.map(({ name, version, license }) => `${name} ${version}  ${license}`);
  return `Packages whose code is part of headcount's files, and their licences\n\n${lines.join("\n")}\n${notices.join("")}`;
}

/** CycloneDX 1.5. Its serial number comes from its content: the same sources give the same bill. */
function billOf({ name, version }, parts) {
  const components = parts.map((part) => ({
    type: "library",
    "bom-ref": `${part.name}@${part.version}`,
    name: part.name,
    version: part.version,
    purl: `pkg:npm/${part.name.replace(/^@/, "%40")}@${part.version}`,
    licenses: [
      part.license.startsWith("(")
        ? { expression: part.license }
        : { license: { id: part.license } },
    ],
    ...(part.integrity?.startsWith("sha512-") && {
      hashes: [
        { alg: "SHA-512", content: Buffer.from(part.integrity.slice(7), "base64").toString("hex") },
      ],
    }),
  }));
  const metadata = {
    component: { type: "application", name, version, purl: `pkg:npm/${name}@${version}` },
  };
  const hash = digest("sha256", JSON.stringify([metadata, components]));
  const serial = hash.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, "$1-$2-5$3-8$4-$5");
  return json({
    bomFormat: "CycloneDX",
    specVersion: "1.5",
    serialNumber: `urn:uuid:${serial}`,
    version: 1,
    metadata,
    components,
  });
}

/** Packs a folder. @returns the tarball's path */
function pack(folder, out) {
  const options = ["pack", "--silent", "--ignore-scripts", "--pack-destination", out];
  return join(out, execFileSync("npm", options, { cwd: folder, encoding: "utf8" }).trim());
}

/** Makes both tarballs of a checkout that is built, and their sums. @returns the tarballs' paths */
async function release(root, out) {
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
  checkComplete(lock);
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const pinned = (names) =>
    Object.fromEntries(names.map((name) => [name, lock.packages[`node_modules/${name}`]?.version]));
  rmSync(out, { recursive: true, force: true });
  const staging = join(out, "package");
  mkdirSync(staging, { recursive: true });
  execFileSync("tar", ["-xzf", pack(root, out), "-C", out]);
  const program = join(staging, "dist/program");
  const held = await bundleProgram({
    root: pathToFileURL(`${root}/`),
    folder: program,
    whole: true,
  });
  cpSync(join(root, "dist/program/help.txt"), join(program, "help.txt"));
  const parts = partsOf(lock, [...held, ...OF_THE_PAGE]);
  const published = Object.fromEntries(PUBLISHED.map((field) => [field, manifest[field]]));
  const { license, name, repository, version } = manifest;
  writeFileSync(
    join(staging, "package.json"),
    json({ ...published, dependencies: {}, optionalDependencies: pinned([KEYCHAIN]) }),
  );
  writeFileSync(join(staging, "LICENSES.txt"), licences(parts, root));
  writeFileSync(join(staging, "sbom.cdx.json"), billOf(manifest, parts));
  const beside = join(out, "beside");
  mkdirSync(beside);
  const description =
    "What the service and the sample of headcount need and cannot be part of its files. It holds no code.";
  writeFileSync(
    join(beside, "package.json"),
    json({
      name: `${name}-service`,
      version,
      description,
      license,
      repository,
      dependencies: pinned(NATIVES),
    }),
  );
  writeFileSync(
    join(beside, "README.md"),
    `# ${name}-service\n\n${description} Install it beside headcount.\n`,
  );
  const tarballs = [pack(staging, out), pack(beside, out)];
  for (const folder of [staging, beside]) rmSync(folder, { recursive: true });
  const sums = tarballs.map(
    (file) => `${digest("sha256", readFileSync(file))}  ${basename(file)}\n`,
  );
  writeFileSync(join(out, "SHA256SUMS"), sums.join(""));
  return tarballs;
}

const [, , from = fileURLToPath(packageRoot()), to = join(from, "dist/release")] = argv;
try {
  stdout.write(`${(await release(resolve(from), resolve(to))).join("\n")}\n`);
} catch (error) {
  stderr.write(`${error.message}\n`);
  exit(1);
}
