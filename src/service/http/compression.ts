import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";

/** Smaller bodies go out as they are: they fit into a packet or two. */
const LEAST_BYTES = 4_096;

const packers = {
  br: (body: string | Buffer) => promisify(brotliCompress)(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
  gzip: (body: string | Buffer) => promisify(gzip)(body),
} as const;

export interface Encoded {
  readonly body: string | Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

/** A large body in the encoding that the client takes (RFC 9110, 12.5.3). Done beside the event loop. */
export function encodeBody(accepted: string | undefined, body: string | Buffer): Encoded | Promise<Encoded> {
  // Three bytes a character at most: that many are not counted in an answer that is far too small.
  const isSmall = body.length * 3 < LEAST_BYTES || Buffer.byteLength(body) < LEAST_BYTES;
  return isSmall ? { body, headers: {} } : encodeLarge(accepted, body);
}

async function encodeLarge(accepted: string | undefined, body: string | Buffer): Promise<Encoded> {
  const taken = new Map<string, number>();
  for (const entry of (accepted ?? "").toLowerCase().split(",")) {
    const [name = "", ...parameters] = entry.split(";").map((part) => part.trim());
    const weight = parameters.find((parameter) => parameter.startsWith("q="));
    taken.set(name, weight === undefined ? 1 : Number(weight.slice(2)) || 0);
  }
  const weightOf = (name: string): number => taken.get(name) ?? taken.get("*") ?? 0;
  const [br, gz] = [weightOf("br"), weightOf("gzip")];
  if (br <= 0 && gz <= 0) return { body, headers: { vary: "accept-encoding" } };
  const name = br >= gz ? "br" : "gzip";
  return { body: await packers[name](body), headers: { vary: "accept-encoding", "content-encoding": name } };
}
