import { createReadStream } from "node:fs";
import { resolve } from "node:path";
import type { CompanyQuery } from "../client/types.ts";
import type { Context } from "../context.ts";
import { canonicalAddress, canonicalDomain, normalForm } from "../contract/normalise.ts";
import { echo } from "../contract/text.ts";
import { usageError } from "../errors.ts";

/** How companies are named on a command line. */
export interface CompanyFlags {
  /** `--input FILE`, `-` for stdin. */
  readonly input?: string;
  /** The column of a CSV file, or the member of NDJSON objects. */
  readonly column?: string;
  /** Arguments are names, or ids, and not domains or profile addresses. */
  readonly name?: boolean;
  readonly id?: boolean;
}

/** Columns that hold what a company is looked up by, best first. */
const COLUMNS = ["company_network_url", "domain", "company_domain", "website", "url", "company"] as const;
const MAX_INPUT_BYTES = 64 * 1024 * 1024;

/**
 * The companies that arguments and `--input` name, each once, in their order.
 * @throws CliError exit 2 naming the argument or the line that names no company
 */
export async function readCompanies(
  context: Context,
  names: readonly string[],
  flags: CompanyFlags,
): Promise<readonly CompanyQuery[]> {
  if (flags.name === true && flags.id === true) throw usageError("--name and --id exclude each other");
  const given: [where: string, text: string][] = names.map((name) => ["", name]);
  if (flags.input !== undefined) {
    const { input } = flags;
    const text = await readInput(context, input);
    for (const [line, value] of entriesOf(text, input, flags.column)) {
      given.push([`${input === "-" ? "stdin" : input} line ${line}: `, value]);
    }
  } else if (flags.column !== undefined) throw usageError("--column goes with --input FILE");
  if (given.length === 0) {
    throw usageError("no company is given", "name it by domain, profile address or slug, or give --input FILE");
  }
  const found = new Map<string, CompanyQuery>();
  for (const [where, text] of given) {
    const query = queryOf(text, flags);
    if (query === undefined) {
      throw usageError(
        `${where}"${echo(text)}" names no company`,
        "give a domain (acme.com), a profile address or its slug; --name and --id for those",
      );
    }
    found.set(identityOf(query), found.get(identityOf(query)) ?? query);
  }
  return [...found.values()];
}

/** What a text is, told by its look: an address with a path is a profile, a host is a domain, anything else a slug. */
export function queryOf(text: string, flags: Pick<CompanyFlags, "name" | "id"> = {}): CompanyQuery | undefined {
  const value = text.trim();
  if (value === "") return undefined;
  if (flags.name === true) return { by: "name", value };
  if (flags.id === true) return { by: "id", value };
  const address = canonicalAddress(value);
  if (address === undefined) return undefined;
  if (address.includes("/")) return { by: "company_network_url", value };
  const domain = canonicalDomain(value);
  if (domain !== undefined) return { by: "domain", value: domain };
  return { by: "company_network_url", value };
}

const identityOf = ({ by, value }: CompanyQuery): string =>
  `${by} ${by === "company_network_url" ? (canonicalAddress(value) ?? value) : by === "id" ? value : normalForm(value)}`;

async function readInput(context: Context, input: string): Promise<string> {
  const source = input === "-" ? context.stdin : createReadStream(resolve(context.cwd, input));
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of source) {
      const bytes = typeof chunk === "string" ? Buffer.from(chunk) : (chunk as Buffer);
      chunks.push(bytes);
      size += bytes.length;
      if (size > MAX_INPUT_BYTES) throw usageError(`${input} is larger than 64 MiB; split it`);
    }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT") throw usageError(`there is no file ${input}`);
    if (code === "EISDIR") throw usageError(`${input} is a folder, not a file`);
    throw error;
  }
  return Buffer.concat(chunks)
    .toString("utf8")
    .replace(/^\ufeff/, "");
}

/** Values with their line numbers: from NDJSON, from a column of CSV, or from plain lines. */
function entriesOf(text: string, input: string, column: string | undefined): [line: number, value: string][] {
  if (/^\s*\{/.test(text)) return fromNdjson(text, column);
  const rows = parseCsv(text);
  const [header] = rows;
  const isTable = column !== undefined || /\.csv$/i.test(input) || (header?.cells.length ?? 0) > 1;
  if (!isTable || header === undefined) {
    return rows.flatMap(({ line, cells }) => (cells[0]?.trim() ? [[line, cells[0]] as [number, string]] : []));
  }
  const names = header.cells.map((cell) => cell.trim());
  const wanted = column ?? COLUMNS.find((name) => names.includes(name)) ?? (names.length === 1 ? names[0] : undefined);
  const index = wanted === undefined ? -1 : names.indexOf(wanted);
  if (index < 0) {
    const what = column === undefined ? "no column that names a company" : `no column "${echo(column)}"`;
    throw usageError(
      `${input} has ${what}; its columns: ${names.map(echo).join(", ")}`,
      "choose one with --column NAME",
    );
  }
  return rows.slice(1).flatMap(({ line, cells }) => {
    const value = cells[index]?.trim() ?? "";
    return value === "" ? [] : [[line, value] as [number, string]];
  });
}

function fromNdjson(text: string, column: string | undefined): [number, string][] {
  return text.split("\n").flatMap((line, index) => {
    if (line.trim() === "") return [];
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch {
      throw usageError(`line ${index + 1} is not a JSON object`);
    }
    const fields = value as Readonly<Record<string, unknown>>;
    const key = column ?? COLUMNS.find((name) => typeof fields?.[name] === "string");
    const found = key === undefined ? undefined : fields?.[key];
    if (typeof found !== "string" || found.trim() === "") {
      throw usageError(
        `line ${index + 1} has no ${key === undefined ? `text under ${COLUMNS.join(", ")}` : `text under "${echo(key)}"`}`,
        "choose the member with --column NAME",
      );
    }
    return [[index + 1, found] as [number, string]];
  });
}

interface CsvRow {
  /** The line that the row begins at, from 1. */
  readonly line: number;
  readonly cells: readonly string[];
}

/** RFC 4180: quoted cells with doubled quotes and line breaks inside; comma, semicolon or tab, whichever the first line has. */
export function parseCsv(text: string): CsvRow[] {
  const firstLine = text.slice(0, text.search(/\r?\n|$/));
  const delimiter = [",", ";", "\t"].find((mark) => firstLine.includes(mark)) ?? ",";
  const rows: CsvRow[] = [];
  let cells: string[] = [];
  let cell = "";
  let quoted = false;
  let line = 1;
  let startedAt = 1;
  const endRow = (): void => {
    if (cells.length > 0 || cell.trim() !== "") rows.push({ line: startedAt, cells: [...cells, cell] });
    cells = [];
    cell = "";
    startedAt = line + 1;
  };
  for (let at = 0; at < text.length; at++) {
    const mark = text[at] ?? "";
    if (quoted) {
      if (mark === '"' && text[at + 1] === '"') cell += text[++at];
      else if (mark === '"') quoted = false;
      else cell += mark;
      if (mark === "\n") line++;
    } else if (mark === '"' && cell === "") quoted = true;
    else if (mark === delimiter) {
      cells.push(cell);
      cell = "";
    } else if (mark === "\n") {
      endRow();
      line++;
    } else if (mark !== "\r") cell += mark;
  }
  endRow();
  return rows;
}
