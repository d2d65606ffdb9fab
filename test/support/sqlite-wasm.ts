import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { databasesOf, type Sqlite } from "../../src/shared/sqlite-wasm.ts";

const { resolve } = createRequire(import.meta.url);
// Node's types name it in the browser's library alone.
const { WebAssembly } = globalThis as unknown as {
  readonly WebAssembly: {
    readonly Module: new (code: Uint8Array) => object;
    readonly Instance: new (module: object, imports: object) => { readonly exports: object };
  };
};

/** SQLite as the published program holds it, where the native package is missing. */
export async function sqliteWasm(check: (path: string) => void = () => undefined) {
  const file = resolve("wa-sqlite/dist/wa-sqlite.mjs");
  const { default: make } = (await import(pathToFileURL(file).href)) as {
    default: (options: object) => void;
  };
  const code = new WebAssembly.Module(readFileSync(file.replace(/mjs$/, "wasm")));
  const sqlite = {
    instantiateWasm(imports: object, receive: (instance: object) => void) {
      const instance = new WebAssembly.Instance(code, imports);
      receive(instance);
      return instance.exports;
    },
  };
  make(sqlite);
  return databasesOf(sqlite as unknown as Sqlite, check);
}
