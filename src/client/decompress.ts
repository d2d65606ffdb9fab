import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate } from "node:zlib";
import { LostReplyError } from "./errors.ts";
import { MAX_REPLY_BYTES } from "./transport.ts";

const DECODERS: Readonly<Record<string, (body: Buffer) => Promise<Buffer>>> = {
  gzip: (body) => promisify(gunzip)(body, { maxOutputLength: MAX_REPLY_BYTES }),
  "x-gzip": (body) => promisify(gunzip)(body, { maxOutputLength: MAX_REPLY_BYTES }),
  br: (body) => promisify(brotliDecompress)(body, { maxOutputLength: MAX_REPLY_BYTES }),
  deflate: (body) => promisify(inflate)(body, { maxOutputLength: MAX_REPLY_BYTES }),
};

/**
 * A body decompressed by its `content-encoding`s, the last applied first.
 * @throws LostReplyError where it was cut, is larger than 256 MiB unpacked, or is packed in a way that was not asked for
 */
export async function decompress(body: Buffer, encodings: readonly string[]): Promise<Buffer> {
  let bytes = body;
  for (const encoding of encodings.toReversed()) {
    const decode = DECODERS[encoding];
    if (decode === undefined) {
      throw new LostReplyError("the answer is compressed in a way that was not asked for", "BAD_ENCODING", true);
    }
    try {
      bytes = await decode(bytes);
    } catch (error) {
      throw new LostReplyError("the answer's compressed body is cut or broken", "BROKEN_ENCODING", true, error);
    }
  }
  return bytes;
}
