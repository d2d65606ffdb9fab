// Tested by test/unit/shared/tables.test.ts.
import { type FileKind, InputError } from "./input-file.ts";
import { zipParts } from "./zip.ts";

/** Bytes that say what a file is. */
export const TELLING_BYTES = 1 << 16;

const READ: readonly (readonly [beginning: string, kind: FileKind])[] = [
  ["\x1f\x8b", "gzip"],
  ["PK\x03\x04", "workbook"],
  ["PAR1", "parquet"],
];

const AS_CSV = "open it in a spreadsheet and save the sheet as CSV UTF-8 or as .xlsx";

/** What begins so cannot be read: what it is, and what to do. */
const REFUSED: readonly (readonly [beginning: RegExp, what: string, hint: string])[] = [
  [/^\(\xb5\/\xfd/i, "packed with zstd", "unpack it: zstd -d FILE"],
  [/^bzh/i, "packed with bzip2", "unpack it: bunzip2 FILE"],
  [/^\xfd7zxz/i, "packed with xz", "unpack it: unxz FILE"],
  [/^(?:7z\xbc\xaf|rar!)/i, "an archive", "unpack it and give the table in it"],
  [/^\xd0\xcf\x11\xe0/i, "a workbook of the old kind (.xls), or one with a password", AS_CSV],
  [/^%pdf/i, "a PDF", "get the table itself, as CSV or .xlsx"],
  [/^sqlite format 3/i, "a SQLite database", "write the table out as CSV: sqlite3 -csv -header"],
  [/^.{8}duck/is, "a DuckDB database", "write the table out: COPY people TO 'people.csv'"],
  [/^obj\x01/i, "an Avro file", "write the rows out as CSV, NDJSON or Parquet"],
  [/^orc/i, "an ORC file", "write the rows out as CSV, NDJSON or Parquet"],
  [/^\{\\rtf/i, "a text with formats (RTF)", AS_CSV],
  [/^<\?xml|^<\w+:workbook/i, "XML", AS_CSV],
  [
    /^(?:<!doctype|<!--|<(?:html|head|body|table|meta|style|div)\b)/i,
    "an HTML page",
    `no table: a sign-in page, or an export that is one; ${AS_CSV}`,
  ],
];

/** @throws InputError for what can be read as no table */
export function fileKind(name: string, head: Buffer): FileKind {
  const beginning = head.toString("latin1", 0, 4);
  const known = READ.find(([bytes]) => beginning.startsWith(bytes));
  if (known !== undefined) return known[1];

  const raw = head.toString("latin1", 0, 512);
  const text = raw
    .replace(/^(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)/, "")
    .replaceAll("\0", "")
    .trimStart();
  const refused = REFUSED.find(([sign]) => sign.test(raw) || sign.test(text));
  if (refused !== undefined) {
    const [, what, hint] = refused;
    throw new InputError(`${name} is ${what}, no table`, hint.replace("FILE", name));
  }

  if (text.startsWith("{")) return "objects";
  return /^\[\s*(?:[[{\]"\d]|$)/.test(text) ? "array" : "text";
}

/** Entries that tell what a zip archive is. */
const OTHER_WORKBOOKS: readonly (readonly [entry: RegExp, what: string])[] = [
  [/^xl\/workbook\.bin$/i, "a binary workbook (.xlsb)"],
  [/^content\.xml$/i, "an OpenDocument sheet (.ods)"],
  [/^Index\/|^Index\.zip$/i, "a Numbers document"],
  [/^word\//i, "a text document (.docx)"],
];

/** @throws InputError for an archive that is no workbook */
export function requireWorkbook(name: string, bytes: Buffer): ReturnType<typeof zipParts> {
  const parts = zipParts(name, bytes);
  if (parts.some((part) => part.name.endsWith("workbook.xml"))) return parts;

  const other = OTHER_WORKBOOKS.find(([entry]) => parts.some((part) => entry.test(part.name)));
  if (other !== undefined) throw new InputError(`${name} is ${other[1]}, not .xlsx`, AS_CSV);

  const names = parts.slice(0, 3).map((part) => part.name);
  throw new InputError(
    `${name} is a zip archive: ${names.join(", ") || "empty"}`,
    "unpack it and give the table in it",
  );
}
