import stringWidth from "string-width";

let segmenter: Intl.Segmenter | undefined;

function graphemes(text: string): Iterable<Intl.SegmentData> {
  // Made when a text is to be cut: it takes ten milliseconds, and most exports cut none.
  segmenter ??= new Intl.Segmenter("en", { granularity: "grapheme" });
  return segmenter.segment(text);
}

export const widthOf = (text: string): number => stringWidth(text);

/** A text cut to a width, whole characters only, with `…` where something is missing. */
export function truncate(text: string, width: number): string {
  if (text.length <= width && /^[\x20-\x7e]*$/.test(text)) return text;
  if (widthOf(text) <= width) return text;

  let cut = "";
  let used = 0;
  for (const { segment } of graphemes(text)) {
    const more = widthOf(segment);
    if (used + more > width - 1) break;
    cut += segment;
    used += more;
  }

  return `${cut.trimEnd()}…`;
}

// From the first right-to-left letter to the end of the cell: cells are two spaces apart.
const RIGHT_TO_LEFT =
  /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}](?: ?[^ \u001b])*/gu;

/**
 * Isolates right-to-left text in a line that is laid
 * out: a terminal reorders within the cell alone.
 */
export const isolateRightToLeft = (line: string): string =>
  line.replace(RIGHT_TO_LEFT, "\u2068$&\u2069");

/** A text in lines of at most `width` columns, broken at spaces where there are any. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    const joined = line === "" ? word : `${line} ${word}`;
    if (widthOf(joined) <= width) {
      line = joined;
      continue;
    }

    if (line !== "") lines.push(line);
    line = "";

    for (const { segment } of graphemes(word)) {
      if (widthOf(line) + widthOf(segment) > width) {
        lines.push(line);
        line = "";
      }
      line += segment;
    }
  }

  if (line !== "" || lines.length === 0) lines.push(line);

  return lines;
}
