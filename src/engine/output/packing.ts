import { createReadStream } from "node:fs";
import { versions } from "node:process";
import { pipeline, type Readable, type Transform } from "node:stream";
import zlib from "node:zlib";
import { usageError } from "../../shared/errors.ts";
import { optional } from "../../shared/packages.ts";

/** Bytes in, packed bytes out. What is handed in may be used again once the promise resolves. */
export interface Packer {
  push(bytes: Uint8Array): Promise<readonly Uint8Array[]>;
  end(): Promise<readonly Uint8Array[]>;
}

function streamed(stream: Transform): Packer {
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

/** One frame, whatever its length: many readers stop at the end of the first. */
function zstd(): Packer {
  const { createZstdCompress } = zlib as { readonly createZstdCompress?: () => Transform };
  if (createZstdCompress !== undefined) return streamed(createZstdCompress());
  throw usageError(
    `Zstandard (.zst) is written by Node.js 22.15 and newer; this is ${versions.node}`,
    "choose .gz instead",
  );
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

/** All that there is to say of a packing, by the ending of a name. */
const PACKINGS = {
  gz: {
    pack: () => streamed(zlib.createGzip()),
    unpack: (file: Readable) => pipeline(file, zlib.createGunzip(), () => undefined),
  },
  zst: { pack: zstd, unpack: unzstd },
} satisfies Record<
  string,
  { readonly pack: () => Packer; readonly unpack: (file: Readable) => AsyncIterable<Uint8Array> }
>;
export type Packing = keyof typeof PACKINGS;
export const PACKING_NAMES = Object.keys(PACKINGS) as readonly Packing[];

/** @throws CliError (exit 2) where this Node cannot write a packing */
export const openPacker = (packing: Packing | undefined): Packer | undefined =>
  packing === undefined ? undefined : PACKINGS[packing].pack();

export function unpacked(path: string, packing: Packing | undefined): AsyncIterable<Uint8Array> {
  const file = createReadStream(path);
  return packing === undefined ? file : PACKINGS[packing].unpack(file);
}

/** `x.csv` and `gz` of `x.csv.gz`. */
export function packedName(name: string): { readonly inner: string; readonly packing: Packing | undefined } {
  const packing = PACKING_NAMES.find((each) => name.toLowerCase().endsWith(`.${each}`));
  return { inner: packing === undefined ? name : name.slice(0, -packing.length - 1), packing };
}
