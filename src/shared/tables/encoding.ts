import { isAscii, isUtf8 } from "node:buffer";

/**
 * What Windows-1252 has from 0x80 on: Node 20 decodes that name as Latin-1. A blank: nothing.
 */
const WINDOWS = [..."€ ‚ƒ„…†‡ˆ‰Š‹Œ Ž  ‘’“”•–—˜™š›œ žŸ"];

/** Bytes as text, piece by piece. @param label of the WHATWG Encoding Standard */
export function decoderOf(label: string): (bytes?: Uint8Array) => string {
  if (label !== "windows-1252") {
    const decoder = new TextDecoder(label);
    return (bytes) => decoder.decode(bytes, { stream: bytes !== undefined });
  }
  return (bytes = Buffer.alloc(0)) =>
    Buffer.from(bytes)
      .toString("latin1")
      .replace(/[\x80-\x9f]/g, (char) => WINDOWS[char.charCodeAt(0) - 0x80]?.trim() || char);
}

/**
 * UTF-16 by its mark, or by the zero bytes that it
 * makes of ASCII; a few other characters have one too.
 */
export function markOf(head: Buffer): string | undefined {
  if (head[0] === 0xff && head[1] === 0xfe) return "utf-16le";
  if (head[0] === 0xfe && head[1] === 0xff) return "utf-16be";
  const zeros = [0, 0];
  const size = Math.min(head.length, 2_000);
  for (let at = 0; at < size; at++) if (head[at] === 0) zeros[at % 2] = (zeros[at % 2] ?? 0) + 1;
  const [even = 0, odd = 0] = zeros;
  if (odd > size / 16 && odd > 2 * even) return "utf-16le";
  if (even > size / 16 && even > 2 * odd) return "utf-16be";
  return undefined;
}

/**
 * Counts lines that are UTF-8 with more than ASCII,
 * that are not, and that read well as Windows-1252.
 */
export function encodingJudge() {
  let rest = Buffer.alloc(0);
  let [utf8, other, windows] = [0, 0, 0];
  const judge = (bytes: Buffer): void => {
    if (isUtf8(bytes)) {
      if (!isAscii(bytes)) utf8++;
      return;
    }

    for (let at = 0; at < bytes.length; ) {
      const end = bytes.indexOf(0x0a, at);
      const line = bytes.subarray(at, end < 0 ? bytes.length : end);
      at += line.length + 1;
      if (isAscii(line)) continue;
      if (isUtf8(line)) utf8++;
      else {
        other++;
        if (readsAsWindows1252(line)) windows++;
      }
    }
  };

  return {
    take(chunk: Buffer): void {
      const cut = chunk.lastIndexOf(0x0a) + 1;
      if (cut === 0 && rest.length < 1 << 22) {
        rest = Buffer.concat([rest, chunk]);
        return;
      }
      judge(Buffer.concat([rest, chunk.subarray(0, cut)]));
      rest = Buffer.from(chunk.subarray(cut));
    },

    verdict(): string {
      judge(rest);
      return other === 0 || other < utf8 || windows < other * 0.9 ? "utf-8" : "windows-1252";
    },
  };
}

const isLetter = (byte: number): boolean =>
  (byte >= 0x41 && byte <= 0x5a) || (byte >= 0x61 && byte <= 0x7a);
/** Quotes, dashes, the euro sign and the like, which stand anywhere. */
const SIGNS = new Set([
  0x80, 0x85, 0x91, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97, 0x99, 0xa0, 0xab, 0xb0, 0xb7, 0xbb,
]);

/**
 * Accented letters beside plain ones, as in Western
 * names; Cyrillic in another code page has none of these.
 */
function readsAsWindows1252(line: Buffer): boolean {
  return line.every((byte, at) => {
    if (byte < 0x80 || SIGNS.has(byte)) return true;
    const isAccented =
      (byte >= 0xc0 && byte !== 0xd7 && byte !== 0xf7) || [0x8a, 0x8e, 0x9a, 0x9e].includes(byte);
    return isAccented && (isLetter(line[at - 1] ?? 0) || isLetter(line[at + 1] ?? 0));
  });
}
