// Tested by test/unit/shared/tables.test.ts.
import { InputError } from "./input-file.ts";
import { requireWorkbook } from "./kinds.ts";

/** The rows of a sheet; each with its number there. */
export interface Sheet {
  readonly rows: readonly { readonly line: number; readonly cells: readonly string[] }[];
  /** What a person should know of how it was read. */
  readonly notes: readonly string[];
}

/**
 * As CSV, each row on the line of its number, as far as no cell before it has line breaks. All are
 * of one width: a sheet leaves empty last cells out, and a short line of CSV may be a broken one.
 */
export function sheetText(rows: Sheet["rows"]): string {
  const width = rows.reduce((most, { cells }) => Math.max(most, cells.length), 0);
  let at = 1;
  const lines = rows.map(({ line, cells }) => {
    const gap = "\n".repeat(Math.max(0, line - at));
    at = line + 1;
    return gap + cells.map(quotedCell).join(",") + ",".repeat(width - cells.length);
  });
  return `${lines.join("\n")}\n`;
}

const quotedCell = (cell: string): string =>
  /[",\r\n]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;

const ENTITY = /&(?:lt|gt|amp|quot|apos|#x([0-9a-fA-F]+)|#(\d+));/g;
const NAMED: Readonly<Record<string, string>> = {
  "&lt;": "<",
  "&gt;": ">",
  "&amp;": "&",
  "&quot;": '"',
  "&apos;": "'",
};

const unescaped = (xml: string): string =>
  xml.replace(
    ENTITY,
    (whole, hex?: string, digits?: string) =>
      NAMED[whole] ??
      String.fromCodePoint(hex === undefined ? Number(digits) : Number.parseInt(hex, 16)),
  );

/** Spreadsheets write what XML cannot hold, and that escape itself, as `_xHHHH_`. */
export const textIn = (xml: string): string =>
  unescaped(xml).replace(/_x([0-9A-Fa-f]{4})_/g, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );

/** Elements of a name, whatever prefix their writer gave them. */
const elements = (xml: string, name: string): RegExpStringIterator<RegExpExecArray> =>
  xml.matchAll(
    new RegExp(`<(?:\\w+:)?${name}((?:\\s[^>]*?)?)(?:/>|>(.*?)</(?:\\w+:)?${name}>)`, "gs"),
  );

const attribute = (attributes: string, name: string): string | undefined => {
  const said = new RegExp(`(?:^|\\s)(?:\\w+:)?${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`).exec(
    attributes,
  );
  return said === null ? undefined : unescaped(said[1] ?? said[2] ?? "");
};

/** All runs of a text; what is only said of how it sounds (`rPh`) is none of it. */
const richText = (xml: string): string =>
  [...elements(xml.replace(/<(?:\w+:)?rPh\b.*?<\/(?:\w+:)?rPh>/gs, ""), "t")]
    .map(([, , text = ""]) => textIn(text))
    .join("");

/** Formats of numbers that show a date, of those that have no code of their own. */
const isDateFormat = (id: number): boolean =>
  (id >= 14 && id <= 22) || (id >= 27 && id <= 36) || (id >= 45 && id <= 47);

/** For each style whether it shows a date. */
function datesIn(xml: string): readonly boolean[] {
  const codes = new Map(
    [...elements(xml, "numFmt")].map(([, said = ""]) => [
      Number(attribute(said, "numFmtId")),
      (attribute(said, "formatCode") ?? "").replace(/"[^"]*"|\\.|\[[^\]]*\]/g, ""),
    ]),
  );
  const [[, , styles = ""] = []] = elements(xml, "cellXfs");
  return [...elements(styles, "xf")].map(([, said = ""]) => {
    const id = Number(attribute(said, "numFmtId") ?? 0);
    const code = codes.get(id);
    return code === undefined ? isDateFormat(id) : /[ymdhs]/i.test(code);
  });
}

const DAY_MS = 86_400_000;
/** Days from the first of spreadsheets to 1970. */
const EPOCH = 25_569;
const LATER_EPOCH = 1_462;

/** As ISO-8601: the day, or the instant to a second, where it is not midnight. */
function dateOf(serial: number): string {
  const at = new Date(Math.round((serial - EPOCH) * (DAY_MS / 1_000)) * 1_000);
  if (!Number.isFinite(at.getTime())) return String(serial);
  const text = at.toISOString();
  if (serial < 1) return text.slice(11, 19);
  return Number.isInteger(serial) ? text.slice(0, 10) : text.slice(0, 19).replace("T", " ");
}

const columnOf = (place: string): number =>
  [...(/^[A-Z]+/i.exec(place)?.[0] ?? "")].reduce(
    (sum, letter) => 26 * sum + (letter.toUpperCase().charCodeAt(0) - 64),
    0,
  ) - 1;

/** What cells refer to, by number. */
interface Book {
  readonly shared: readonly string[];
  readonly isDate: readonly boolean[];
  /** Days between the first day of this book and the usual one. */
  readonly shift: number;
}

function cellText(said: string, body: string, { shared, isDate, shift }: Book): string {
  const type = attribute(said, "t") ?? "n";
  if (type === "inlineStr") return richText(body);

  const [[, , xml = ""] = []] = elements(body, "v");
  const value = type === "str" ? textIn(xml) : unescaped(xml);
  if (type === "s") return shared[Number(value)] ?? "";
  if (type === "b") return value === "1" ? "true" : "false";
  if (type !== "n" || value === "") return value;
  const isDay = isDate[Number(attribute(said, "s") ?? 0)] === true;
  return isDay ? dateOf(Number(value) + shift) : String(Number(value));
}

/** Without those that have no text. */
function rowsOf(sheet: string, book: Book): Sheet["rows"] {
  let line = 0;
  return [...elements(sheet, "row")].flatMap(([, said = "", body = ""]) => {
    line = Number(attribute(said, "r") ?? line + 1);
    const cells: string[] = [];
    for (const [, cell = "", value = ""] of elements(body, "c")) {
      const place = attribute(cell, "r");
      const at = place === undefined ? cells.length : columnOf(place);
      while (cells.length < at) cells.push("");
      cells[at] = cellText(cell, value, book);
    }
    return cells.some((cell) => cell.trim() !== "") ? [{ line, cells }] : [];
  });
}

/** The first sheet that is shown and has rows. @throws InputError where there is none */
export function readWorkbook(name: string, bytes: Buffer): Sheet {
  const parts = requireWorkbook(name, bytes);
  const partOf = (ending: string): string => {
    const part = parts.find((each) => each.name === ending || each.name.endsWith(`/${ending}`));
    return part?.bytes().toString() ?? "";
  };

  const main = partOf("workbook.xml");
  const book: Book = {
    shared: [...elements(partOf("sharedStrings.xml"), "si")].map(([, , text = ""]) =>
      richText(text),
    ),
    isDate: datesIn(partOf("styles.xml")),
    shift: /date1904\s*=\s*["'](?:1|true)/.test(main) ? LATER_EPOCH : 0,
  };

  const targets = new Map(
    [...elements(partOf("workbook.xml.rels"), "Relationship")].map(([, said = ""]) => [
      attribute(said, "Id"),
      attribute(said, "Target")?.replace(/^\/?(?:xl\/)?/, "") ?? "",
    ]),
  );
  const filled = [...elements(main, "sheet")]
    .map(([, said = ""]) => ({
      title: attribute(said, "name") ?? "",
      isHidden: (attribute(said, "state") ?? "visible") !== "visible",
      rows: rowsOf(partOf(targets.get(attribute(said, "id")) ?? ""), book),
    }))
    .filter(({ rows }) => rows.length > 0);

  const chosen = filled.find(({ isHidden }) => !isHidden) ?? filled[0];
  if (chosen === undefined) throw new InputError(`${name} has no sheet with rows`);

  const others = filled.filter((sheet) => sheet !== chosen).map(({ title }) => `"${title}"`);
  return {
    rows: chosen.rows,
    notes:
      others.length === 0 ? [] : [`the sheet "${chosen.title}" was read, not ${others.join(", ")}`],
  };
}
