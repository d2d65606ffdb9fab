import { crc32, deflateRawSync } from "node:zlib";

type Cell =
  | string
  | { readonly date: number }
  | { readonly number: string }
  | { readonly truth: boolean };

interface Form {
  readonly shared?: boolean;
  readonly prefix?: string;
  readonly hidden?: boolean;
  readonly second?: boolean;
  /** An archive with only this. */
  readonly only?: string;
}

const escaped = (text: string): string =>
  text.replace(/[&<]/g, (sign) => (sign === "&" ? "&amp;" : "&lt;"));

/** A workbook in the forms that other writers have: each row on the line of its place. */
export function workbookOf(rows: readonly (readonly Cell[])[], form: Form = {}): Buffer {
  if (form.only !== undefined) return zipOf({ [form.only]: "x" });

  const p = form.prefix ?? "";
  const texts: string[] = [];
  const cellXml = (cell: Cell, place: string): string => {
    if (typeof cell === "string") {
      if (!form.shared)
        return `<${p}c r="${place}" t="inlineStr"><${p}is><${p}t>${escaped(cell)}</${p}t></${p}is></${p}c>`;
      return `<${p}c r="${place}" t="s"><${p}v>${texts.push(cell) - 1}</${p}v></${p}c>`;
    }
    if ("date" in cell) return `<${p}c r="${place}" s="1"><${p}v>${cell.date}</${p}v></${p}c>`;
    if ("number" in cell) return `<${p}c r="${place}"><${p}v>${cell.number}</${p}v></${p}c>`;
    return `<${p}c r="${place}" t="b"><${p}v>${cell.truth ? 1 : 0}</${p}v></${p}c>`;
  };

  const sheetXml = (all: readonly (readonly Cell[])[]): string => {
    const lines = all.flatMap((cells, at) => {
      if (cells.length === 0) return [];
      const inner = cells.map((cell, n) =>
        cellXml(cell, `${String.fromCharCode(65 + n)}${at + 1}`),
      );
      return [`<${p}row r="${at + 1}">${inner.join("")}</${p}row>`];
    });
    return `<${p}worksheet><${p}sheetData>${lines.join("")}</${p}sheetData></${p}worksheet>`;
  };

  const sheets = [
    ...(form.hidden
      ? [{ name: "Zero", state: ' state="hidden"', rows: [["Website"], ["no.example"]] }]
      : []),
    { name: "One", state: "", rows },
    ...(form.second ? [{ name: "Two", state: "", rows: [["Website"], ["other.example"]] }] : []),
  ];
  const parts: Record<string, string> = {
    "xl/workbook.xml": `<${p}workbook><${p}sheets>${sheets
      .map(
        ({ name, state }, at) =>
          `<${p}sheet name="${name}"${state} sheetId="${at + 1}" r:id="rId${at + 1}"/>`,
      )
      .join("")}</${p}sheets></${p}workbook>`,
    "xl/_rels/workbook.xml.rels": `<Relationships>${sheets
      .map((_, at) => `<Relationship Id="rId${at + 1}" Target="/xl/worksheets/s${at + 1}.xml"/>`)
      .join("")}</Relationships>`,
    "xl/styles.xml":
      '<styleSheet><numFmts><numFmt numFmtId="170" formatCode="dd/mm/yyyy"/></numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="170"/></cellXfs></styleSheet>',
  };
  for (const [at, sheet] of sheets.entries())
    parts[`xl/worksheets/s${at + 1}.xml`] = sheetXml(sheet.rows as readonly (readonly Cell[])[]);
  if (form.shared)
    parts["xl/sharedStrings.xml"] = `<sst>${texts
      .map(
        (text) =>
          `<si><r><t>${escaped(text.slice(0, 2))}</t></r><r><t>${escaped(text.slice(2))}</t></r><rPh><t>kana</t></rPh></si>`,
      )
      .join("")}</sst>`;

  return zipOf(parts);
}

function zipOf(parts: Readonly<Record<string, string>>): Buffer {
  const local: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  for (const [name, text] of Object.entries(parts)) {
    const packed = deflateRawSync(text);
    const head = Buffer.alloc(30);
    head.writeUInt32LE(0x04034b50, 0);
    head.writeUInt16LE(8, 8);
    head.writeUInt32LE(crc32(text), 14);
    head.writeUInt32LE(packed.length, 18);
    head.writeUInt32LE(Buffer.byteLength(text), 22);
    head.writeUInt16LE(name.length, 26);
    const entry = Buffer.alloc(46);
    entry.writeUInt32LE(0x02014b50, 0);
    head.copy(entry, 8, 6, 28);
    entry.writeUInt16LE(name.length, 28);
    entry.writeUInt32LE(at, 42);
    local.push(head, Buffer.from(name), packed);
    directory.push(entry, Buffer.from(name));
    at += 30 + name.length + packed.length;
  }
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...local, ...directory, end]);
}
