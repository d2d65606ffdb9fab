import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { pid } from "node:process";
import { fileURLToPath } from "node:url";
import { brotliCompressSync } from "node:zlib";
import { rolldown } from "rolldown";
import { NATIVES } from "../dist/shared/packages.js";

/** Small and needed by everything: commander is one file instead of seven. In a clone all else stays a package. */
// conf and ora are ES modules alone: `require` of a bundle finds their default export one level too deep.
const INLINED = ["commander", "fastest-levenshtein", "conf", "lossless-json", "ora"];
/** The keychain's binary is of the user's machine; nobody needs pg's. */
const NEVER_INLINED = ["@napi-rs/keyring", "pg-native"];

const external = (names) => names.map((name) => new RegExp(`^${name}(/|$)`));

/** A native is looked for in the program's own tree, then in that of headcount-service beside it. */
const nativesBeside = (root) => ({
  name: "natives-beside",
  resolveId: (id) => (NATIVES.includes(id) ? `${NATIVE}${id}` : undefined),
  load: (id) => {
    if (!id.startsWith(NATIVE)) return undefined;
    const own = (path) => JSON.stringify(fileURLToPath(new URL(path, root)));
    const name = id.slice(NATIVE.length);
    const native = `require("node:module").createRequire(__filename)(packagePath(${JSON.stringify(name)}))`;
    const head = `const { mayBeOwnSqlite, packagePath } = require(${own("dist/shared/packages.js")});`;
    if (name !== "@photostructure/sqlite") return `${head} module.exports = ${native};`;
    return `${head}
let driver;
Object.defineProperty(exports, "DatabaseSync", { enumerable: true, get: () => (driver ??= load()) });
function load() {
  try {
    return ${native}.DatabaseSync;
  } catch (missing) {
    if (!mayBeOwnSqlite()) throw missing;
    const check = (path) => {
      if (!mayBeOwnSqlite(path)) throw missing;
    };
    const builtIn = require(${JSON.stringify(NODE_SQLITE)}).nodeSqlite(check);
    if (builtIn) return builtIn;
    // The optimizing compiler takes two thirds of a whole count on Node 20, and half of its memory: it begins a thousand times later.
    // What this Node begins with is set again at once: code that is kept for the next start (bin/code.js) is of a process's flags.
    const begins = (budget) => require("node:v8").setFlagsFromString("--wasm-tiering-budget=" + budget);
    begins(1_800_000_000);
    const code = require("node:zlib").brotliDecompressSync(require("node:fs").readFileSync(__dirname + "/sqlite.wasm.br"));
    const instantiateWasm = (imports, receive) => {
      const instance = new WebAssembly.Instance(new WebAssembly.Module(code), imports);
      begins(1_800_000);
      receive(instance);
      return instance.exports;
    };
    // With its code at hand the module is ready when this returns, and is the object that was given.
    const sqlite = { instantiateWasm };
    require(${own(`${SQLITE_WASM}.mjs`)}).default(sqlite);
    return require(${own("dist/shared/sqlite-wasm.js")}).databasesOf(sqlite, check);
  }
}`;
  },
});
const NATIVE = "\0native:";
/** For the sample where the native one is missing. */
const NODE_SQLITE = fileURLToPath(new URL("node-sqlite.cjs", import.meta.url));
const SQLITE_WASM = "node_modules/wa-sqlite/dist/wa-sqlite";

/** A proxy needs two classes of undici, which as a whole is a tenth of the download, and one of its two parsers. */
const onlyProxies = (root) => ({
  name: "undici-without-fetch",
  resolveId: (id) => {
    if (id.endsWith("/llhttp_simd-wasm.js")) return fileURLToPath(new URL(PARSER, root));
    return id === "undici" ? PROXIES : undefined;
  },
  load: (id) => (id === PROXIES ? { code: DISPATCHERS, moduleType: "js" } : undefined),
});
// By `export`, so that a class that is used and is not here ends the build. A tunnel is made by `connect`, which undici hangs in.
const DISPATCHERS = `
import Dispatcher from "undici/lib/dispatcher/dispatcher.js";
import connect from "undici/lib/api/api-connect.js";
Object.assign(Dispatcher.prototype, { connect });
export { default as Pool } from "undici/lib/dispatcher/pool.js";
export { default as ProxyAgent } from "undici/lib/dispatcher/proxy-agent.js";
`;
const PARSER = "node_modules/undici/lib/llhttp/llhttp-wasm.js";
const PROXIES = "\0undici";

/** What a package loads at once, and few need: a tenth of a whole `count`, of its time (commander) and its memory (Fastify). */
const FASTIFY_SERVER = /[\\/]fastify[\\/]lib[\\/]server\.js$/;
const EAGER = [
  {
    file: /[\\/]commander[\\/]lib[\\/]command\.js$/,
    as: "childProcess",
    module: "child_process",
    uses: ["spawn"],
  },
  { file: FASTIFY_SERVER, as: "https", module: "https", uses: ["createServer"] },
  {
    file: FASTIFY_SERVER,
    as: "http2",
    module: "http2",
    uses: ["createServer", "createSecureServer"],
  },
  { file: FASTIFY_SERVER, as: "dns", module: "dns", uses: ["lookup"] },
];
const lazily = {
  name: "loaded-where-used",
  transform(code, id) {
    return EAGER.filter(({ file }) => file.test(id)).reduce((text, { as, module, uses }) => {
      const eager = `const ${as} = require('node:${module}')`;
      if (!text.includes(eager))
        throw new Error(`${id} loads node:${module} in another way than it did`);
      const later = uses.map((use) => `get ${use}() { return require('node:${module}').${use}; }`);
      return text.replace(eager, `const ${as} = { ${later.join(", ")} }`);
    }, code);
  },
};

/** The public suffixes are a tenth of the program, for the few commands in which a domain is named: a file that is loaded then. */
const SUFFIXES = "tldts";
const suffixesBeside = {
  name: "suffixes-beside",
  transform(code, id) {
    if (!/[\\/]naming[\\/]read\.js$/.test(id)) return undefined;
    if (!code.includes(`("${SUFFIXES}")`))
      throw new Error(`${id} loads ${SUFFIXES} in another way`);
    return code.replace(`("${SUFFIXES}")`, `("./${SUFFIXES}.cjs")`);
  },
};

// Opening a file costs as much as compiling 20 KB: what is needed together is one file.
const groups = [
  {
    name: "program",
    priority: 2,
    test: /[\\/]dist[\\/](cli[\\/](program|options|help)|shared[\\/](errors|context))\.js$|[\\/]node_modules[\\/]commander[\\/]/,
  },
  {
    name: "contract",
    priority: 3,
    test: /[\\/]dist[\\/](?:cli[\\/]terminal[\\/](?:printer|style)|shared[\\/]contract[\\/](?:command-line|filters|money|normalise|suggest|records|text))\.js$|[\\/]node_modules[\\/]fastest-levenshtein[\\/]/,
  },
  {
    name: "connected",
    priority: 1,
    test: /[\\/]dist[\\/](engine[\\/]client[\\/](?!probe|decompress|tunnel)\S+|engine[\\/]connections[\\/](resolve|config|paths)|app[\\/]session|cli[\\/]session|cli[\\/]arguments[\\/](filter-options|input))\.js$/,
  },
];

/** What a program imports shares the chunks of the command. Node reads an ES module by `import` and by `require`. */
const API = `import api from "./api.cjs";
export const { connect, HeadcountError } = api;
`;

/** One character beyond Latin makes V8 keep two bytes for each of a file. In texts, patterns and names both say the same. */
const inAscii = (code) =>
  code.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** Writes the program's CommonJS chunks, one for each part that a command loads. @returns the packages in it */
export async function bundleProgram({ root, folder, whole }) {
  const manifest = JSON.parse(readFileSync(new URL("package.json", root), "utf8"));
  const { dependencies, optionalDependencies, peerDependencies } = manifest;
  const packages = Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies });
  const bundle = await rolldown({
    input: {
      main: fileURLToPath(new URL("dist/cli/main.js", root)),
      api: fileURLToPath(new URL("dist/api/connect.js", root)),
      ...(whole && {
        [SUFFIXES]: fileURLToPath(new URL(`node_modules/${SUFFIXES}/dist/cjs/index.js`, root)),
      }),
    },
    platform: "node",
    external: external(whole ? NEVER_INLINED : packages.filter((name) => !INLINED.includes(name))),
    plugins: [lazily, ...(whole ? [nativesBeside(root), onlyProxies(root), suffixesBeside] : [])],
    // How long a plugin took says how busy the machine is.
    checks: { bundlerTimings: false },
    // A warning is a difference between what is tested and what is shipped, but in code that is not ours.
    onLog: (level, { code, id, message }) => {
      if (
        level !== "warn" ||
        code === "INEFFECTIVE_DYNAMIC_IMPORT" ||
        (code === "EVAL" && id?.includes("node_modules"))
      )
        return;
      throw new Error(`the bundle would differ from its source: ${message}`);
    },
  });
  // Made beside the old one and swapped in: a program that starts meanwhile finds one or the other.
  const draft = `${folder}-${pid}`;
  const { output } = await bundle.write({
    dir: draft,
    format: "cjs",
    // `require` reads both kinds of modules, and code that is kept for the next start may not hold an `import()`.
    dynamicImportInCjs: false,
    minify: true,
    entryFileNames: "[name].cjs",
    chunkFileNames: "[name]-[hash].cjs",
    codeSplitting: { groups },
  });
  await bundle.close();
  for (const { fileName, type } of output) {
    if (type === "chunk")
      writeFileSync(`${draft}/${fileName}`, inAscii(readFileSync(`${draft}/${fileName}`, "utf8")));
  }
  writeFileSync(`${draft}/api.mjs`, API);
  if (whole) {
    const code = brotliCompressSync(readFileSync(new URL(`${SQLITE_WASM}.wasm`, root)));
    writeFileSync(`${draft}/sqlite.wasm.br`, code);
  }
  rmSync(folder, { recursive: true, force: true });
  renameSync(draft, folder);
  const modules = output.flatMap((part) =>
    part.type === "chunk" ? Object.keys(part.modules) : [],
  );
  const names = modules.map(
    (id) => /.*[\\/]node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/]+)[\\/]/.exec(id)?.[1],
  );
  return new Set(names.filter((name) => name !== undefined));
}
