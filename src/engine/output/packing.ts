// Tested by test/cli/output-packed.test.ts.
import { createReadStream } from "node:fs";
import { pipeline, type Readable, type Transform } from "node:stream";
import zlib from "node:zlib";

/** Bytes in, packed bytes out. What is handed in may be used again once the promise resolves. */
export interface Packer {
  push(bytes: Uint8Array): Promise<readonly Uint8Array[]>;
  end(): Promise<readonly Uint8Array[]>;
}

function streamed(stream: Transform): Packer {
  let out: Uint8Array[] = [];
  stream.on("data", (chunk: Buffer) => out.push(chunk));

  const take = (): readonly Uint8Array[] => {
    const batch = out;
    out = [];
    return batch;
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

/** All that there is to say of a packing, by the ending of a name. */
const PACKINGS = {
  gz: {
    pack: () => streamed(zlib.createGzip()),
    unpack: (file: Readable) => pipeline(file, zlib.createGunzip(), () => undefined),
  },
};
export type Packing = keyof typeof PACKINGS;
export const PACKING_NAMES = Object.keys(PACKINGS) as readonly Packing[];

export const openPacker = (packing: Packing | undefined): Packer | undefined =>
  packing === undefined ? undefined : PACKINGS[packing].pack();

export function unpacked(path: string, packing: Packing | undefined): AsyncIterable<Uint8Array> {
  const file = createReadStream(path);
  return packing === undefined ? file : PACKINGS[packing].unpack(file);
}

/** `x.csv` and `gz` of `x.csv.gz`. */
export function packedName(name: string): {
  readonly inner: string;
  readonly packing: Packing | undefined;
} {
  const packing = PACKING_NAMES.find((each) => name.toLowerCase().endsWith(`.${each}`));
  return { inner: packing === undefined ? name : name.slice(0, -packing.length - 1), packing };
}
