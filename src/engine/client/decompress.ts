import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate, inflateRaw } from "node:zlib";
import { LostReplyError } from "./errors.ts";
import { type RawReply, replyLimit, tooLarge } from "./wire.ts";

const DECODERS = {
  gzip: promisify(gunzip),
  "x-gzip": promisify(gunzip),
  br: promisify(brotliDecompress),
  deflate: promisify(inflate),
} as const;

const isKnown = (name: string): name is keyof typeof DECODERS => Object.hasOwn(DECODERS, name);

/**
 * The last encoding first.
 * @throws LostReplyError where it was cut, is too large or packed in another way
 */
export async function decompressed(
  reply: RawReply,
  packed: string,
  paid: boolean,
): Promise<Buffer> {
  const most = replyLimit(paid, reply.status);
  let { body } = reply;
  const encodings = packed.toLowerCase().split(/[\s,]+/);

  for (const name of encodings.toReversed()) {
    if (name === "" || name === "identity") continue;
    if (!isKnown(name))
      throw new LostReplyError(
        "the answer is compressed in a way that was not asked for",
        "BAD_ENCODING",
        true,
      );

    // Some servers call a deflate stream without its zlib header by the same name.
    const decode =
      name === "deflate" && ((body[0] ?? 0) & 0x0f) !== 8 ? promisify(inflateRaw) : DECODERS[name];

    try {
      body = await decode(body, { maxOutputLength: most });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE")
        throw new LostReplyError(`${tooLarge(most)} when unpacked`, "REPLY_TOO_LARGE", true, error);
      throw new LostReplyError(
        "the answer's compressed body is cut or broken",
        "BROKEN_ENCODING",
        true,
        error,
      );
    }
  }

  return body;
}
