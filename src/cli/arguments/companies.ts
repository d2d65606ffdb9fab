import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { companiesOf, type SharedHost, sharedQuestion } from "../../app/buy/column.ts";
import { cellsOf, companyColumns } from "../../app/buy/input-table.ts";
import type { CompanyQuery } from "../../engine/client/dialect.ts";
import { type Context, canPrompt } from "../../shared/context.ts";
import {
  type CompanyName,
  companyKey,
  isCompany,
  type NoName,
  read,
} from "../../shared/contract/naming/read.ts";
import { echo, shellWord } from "../../shared/contract/text.ts";
import { type CliError, usageError } from "../../shared/errors.ts";
import { inputName, readTableFile } from "../../shared/input.ts";
import type { Command } from "../options.ts";

export interface CompanyFlags {
  readonly input?: string;
  readonly column?: string;
  readonly by?: "name" | "id";
  readonly misses?: string;
}

export const addCompanyOptions = (command: Command): Command =>
  command
    .option("--input <file>", "more companies: a file or - (lines, CSV, NDJSON)")
    .option("--column <name>", "the column of the file that names the company")
    .oneOf("--by <what>", "what companies are named by", ["name", "id"])
    .option("--misses <file>", "list the companies that are not known in a file");

export const MAX_INPUT_BYTES = 64 * 1024 * 1024;

const HOW =
  "give a domain (acme.com), a profile address or its slug; --by name or --by id for those";
const TOLD = 5;

/** Asks about hosts that several rows share, where somebody is there to answer. */
export const agreeing =
  (context: Context) =>
  async (hosts: readonly SharedHost[]): Promise<ReadonlySet<string>> => {
    const agreed = new Set<string>();
    if (!canPrompt(context)) return agreed;
    for (const shared of hosts)
      if (await context.confirm(sharedQuestion(shared))) agreed.add(shared.host);
    return agreed;
  };

/**
 * The companies that arguments and `--input` name, each once;
 * lines of the file that name none are told and left out.
 * @throws CliError exit 2 for an argument that names no company, or where no line does
 */
export async function readCompanies(
  context: Context,
  names: readonly string[],
  flags: CompanyFlags,
): Promise<readonly CompanyQuery[]> {
  const { input } = flags;
  if (input === undefined && flags.column !== undefined)
    throw usageError("--column goes with --input FILE");

  const companies = new Map<string, CompanyQuery>();
  const naming = { by: flags.by, agree: agreeing(context) };
  const add = (name: CompanyName | NoName | undefined): boolean => {
    if (name === undefined || !isCompany(name)) return false;
    const key = companyKey(name);
    if (!companies.has(key)) companies.set(key, name);
    return true;
  };

  const given = await companiesOf(
    names.map((text) => [{ text }]),
    naming,
  );
  for (const [at, name] of given.entries())
    if (!add(name)) throw noCompany(names[at] ?? "", name, context);

  if (input !== undefined) {
    const table = await readTableFile(context, input, "companies", MAX_INPUT_BYTES);
    const name = inputName(input);
    const places = companyColumns(table, name, flags.column);
    const rows = table.rows.map((row) => ({ line: row.line, cells: cellsOf(row, places, table) }));
    const inRows = await companiesOf(
      rows.map(({ cells }) => cells),
      naming,
    );
    const notes = rows.flatMap(({ line, cells: [cell] }, at) => {
      const found = inRows[at];
      if (add(found) || (!table.json && cell === undefined)) return [];
      const note = `${name} line ${line}: "${echo(cell?.text ?? "")}" names no company`;
      return [{ note, why: whyNot(found) }];
    });
    const [first] = notes;
    if (first !== undefined && companies.size === 0)
      throw usageError(`${first.note}${first.why}`, HOW);

    for (const { note, why } of notes.slice(0, TOLD))
      context.stderr.write(`warning: ${note}: left out${why}\n`);
    if (notes.length > TOLD)
      context.stderr.write(`warning: so do ${notes.length - TOLD} more lines: left out\n`);
  }

  if (companies.size === 0) {
    throw usageError(
      "no company is given",
      "name it by domain, profile address or slug, or give --input FILE",
    );
  }

  return [...companies.values()];
}

/** What a text was taken for that names no company, in brackets. */
const whyNot = (name: CompanyName | NoName | undefined): string =>
  name === undefined || isCompany(name) || name.why === "empty" ? "" : ` (${name.why})`;

/** What an argument is, that names no company. */
function noCompany(
  text: string,
  name: CompanyName | NoName | undefined,
  context: Context,
): CliError {
  const reading = read(text);
  if (reading.is === "unknown" && reading.isFile) {
    return existsSync(resolve(context.cwd, text))
      ? usageError(
          `"${echo(text)}" is a file, and names no company`,
          `--input ${shellWord(text)} takes companies from it; --keep-input keeps its rows and columns`,
        )
      : usageError(`"${echo(text)}" is the name of a file, and there is no such file`, HOW);
  }
  return usageError(`"${echo(text)}" names no company${whyNot(name)}`, HOW);
}
