/** What stderr says, in words: with `--json` each line of it is a document, `{"notice"}`. */
export const noticesIn = (stderr: string): string =>
  stderr
    .split("\n")
    .map((line) => (line.startsWith('{"notice"') ? (JSON.parse(line).notice as string) : line))
    .join("\n");
