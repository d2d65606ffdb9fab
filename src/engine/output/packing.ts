import { createReadStream } from "node:fs";
import { pipeline, type Readable } from "node:stream";
import { createGunzip, createGzip } from "node:zlib";
import { optional } from "./optional.ts";

/** Bytes in, packed bytes out. What is handed in may be used again once the promise resolves. */
export interface Packer {
  push(bytes: Uint8Array): Promise<readonly Uint8Array[]>;
  end(): Promise<readonly Uint8Array[]>;
}

const loadZstd = () =>
  optional("@hpcc-js/wasm-zstd", "Zstandard (.zst)", import("@hpcc-js/wasm-zstd"), "choose .gz instead");

function gzip(): Packer {
  const stream = createGzip();
  let out: Uint8Array[] = [];
  stream.on("data", (chunk: Buffer) => out.push(chunk));
  const take = (): readonly Uint8Array[] => {
    const taken = out;
    out = [];
    return taken;
  };
  return {
    push: (bytes) =>
      new Promise((resolve, reject) => {
        stream.write(bytes, (error) => (error ? reject(error) : resolve(take())));
      }),
    end: () =>
      new Promise((resolve, reject) => {
        stream.once("end", () => resolve(take()));
        stream.once("error", reject);
        stream.end();
      }),
  };
}

// The library has one state for the whole process: two streams at once would be one broken one.
let latest: Packer | undefined;

/** One frame, whatever its length: many readers stop at the end of the first. */
async function zstd(): Promise<Packer> {
  const { Zstd } = await loadZstd();
  const library = await Zstd.load();
  library.reset();
  library.setCompressionLevel(library.defaultCLevel());
  const own = <Result>(work: () => Result): Result => {
    if (latest !== packer) throw new TypeError("two Zstandard streams at once");
    return work();
  };
  const packer: Packer = {
    push: async (bytes) => own(() => [library.compressChunk(bytes)]),
    end: async () => own(() => [library.compressEnd()]),
  };
  latest = packer;
  return packer;
}

async function* unzstd(file: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const { Decompress } = await optional("fzstd", "Zstandard (.zst)", import("fzstd"), "choose .gz instead");
  let out: Uint8Array[] = [];
  const stream = new Decompress((chunk) => void out.push(chunk));
  for await (const chunk of file) {
    stream.push(chunk);
    yield* out;
    out = [];
  }
  stream.push(new Uint8Array(0), true);
  yield* out;
}

/** How files are compressed, by the ending of their names: all that there is to say of a packing. */
const PACKINGS = {
  gz: { pack: gzip, unpack: (file: Readable) => pipeline(file, createGunzip(), () => undefined) },
  zst: { pack: zstd, unpack: unzstd },
} satisfies Record<
  string,
  { readonly pack: () => Packer | Promise<Packer>; readonly unpack: (file: Readable) => AsyncIterable<Uint8Array> }
>;
export type Packing = keyof typeof PACKINGS;
export const PACKING_NAMES = Object.keys(PACKINGS) as readonly Packing[];

/** @throws CliError (exit 2) where the package that a packing needs is missing */
export const openPacker = async (packing: Packing | undefined): Promise<Packer | undefined> =>
  packing === undefined ? undefined : PACKINGS[packing].pack();

/** The bytes of a file as they were before they were packed. */
export function unpacked(path: string, packing: Packing | undefined): AsyncIterable<Uint8Array> {
  const file = createReadStream(path);
  return packing === undefined ? file : PACKINGS[packing].unpack(file);
}

/** A name without the ending that says its packing, in any case: `x.csv` and `gz` of `x.csv.gz`. */
export function packedName(name: string): { readonly inner: string; readonly packing: Packing | undefined } {
  const packing = PACKING_NAMES.find((each) => name.toLowerCase().endsWith(`.${each}`));
  return { inner: packing === undefined ? name : name.slice(0, -packing.length - 1), packing };
}
