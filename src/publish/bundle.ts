import { execFileSync } from "node:child_process";
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { execPath, pid } from "node:process";
import { fileURLToPath } from "node:url";
import { type Plugin, rolldown } from "rolldown";
import { packageRoot } from "../shared/paths.ts";

// The second step of the build: the compiled files become CommonJS chunks in `dist/program`, one for each part that a command loads.
interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
}

const root = packageRoot();
const manifest = JSON.parse(readFileSync(new URL("package.json", root), "utf8")) as Manifest;
// Small and needed by everything: inlined, commander is one file instead of seven. All else stays a package.
const inlined = ["commander", "fastest-levenshtein"];
const packages = Object.keys({
  ...manifest.dependencies,
  ...manifest.optionalDependencies,
  ...manifest.peerDependencies,
});
const external = packages.filter((name) => !inlined.includes(name)).map((name) => new RegExp(`^${name}(/|$)`));

/** Commander loads `node:child_process` for commands that are programs: there are none, and it is a tenth of a whole `count`. */
const noPrograms: Plugin = {
  name: "commander-without-programs",
  transform(code, id) {
    if (!/[\\/]commander[\\/]lib[\\/]command\.js$/.test(id)) return undefined;
    const eager = "const childProcess = require('node:child_process');";
    if (!code.includes(eager)) throw new Error("commander loads node:child_process in another way than it did");
    return code.replace(eager, "const childProcess = { get spawn() { return require('node:child_process').spawn; } };");
  },
};

// Opening a file costs as much as compiling 20 KB: what is needed together is one file.
const groups = [
  {
    name: "program",
    priority: 2,
    test: /[\\/]dist[\\/](cli[\\/](program|options|help)|shared[\\/](version|errors|context))\.js$|[\\/]node_modules[\\/]commander[\\/]/,
  },
  {
    name: "contract",
    priority: 3,
    test: /[\\/]dist[\\/](?:cli[\\/]terminal[\\/](?:printer|style|numbers)|shared[\\/]contract[\\/](?:command-line|filters|money|departments|normalise|suggest|records|text))\.js$|[\\/]node_modules[\\/]fastest-levenshtein[\\/]/,
  },
  {
    name: "connected",
    priority: 1,
    test: /[\\/]dist[\\/](engine[\\/]client[\\/](?!probe|decompress|tunnel)\S+|engine[\\/]connections[\\/](resolve|config|paths)|app[\\/]session|cli[\\/]arguments[\\/](filter-options|input))\.js$/,
  },
];

// Made beside the old one and swapped in: a program that starts meanwhile finds one or the other.
const folder = fileURLToPath(new URL("dist/program", root));
const draft = `${folder}-${pid}`;
const bundle = await rolldown({
  input: fileURLToPath(new URL("dist/cli/main.js", root)),
  platform: "node",
  external,
  plugins: [noPrograms],
  // How long a plugin took says how busy the machine is.
  checks: { bundlerTimings: false },
  // A warning is a difference between what is tested and what is shipped.
  onLog: (level, log) => {
    if (level === "warn" && log.code !== "INEFFECTIVE_DYNAMIC_IMPORT")
      throw new Error(`the bundle would differ from its source: ${log.message}`);
  },
});
await bundle.write({
  dir: draft,
  format: "cjs",
  minify: true,
  entryFileNames: "[name].cjs",
  chunkFileNames: "[name]-[hash].cjs",
  codeSplitting: { groups },
});
await bundle.close();
rmSync(folder, { recursive: true, force: true });
renameSync(draft, folder);
// The help of the program never changes after this: `bin` prints it without loading what made it.
const program = fileURLToPath(new URL("bin/headcount.js", root));
writeFileSync(new URL("dist/program/help.txt", root), execFileSync(execPath, [program, "--help"], { env: {} }));
