import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { queryOf } from "../../app/buy/companies.ts";
import { companyColumns, namingTexts } from "../../app/buy/input-table.ts";
import type { CompanyQuery } from "../../engine/client/dialect.ts";
import { companyKey } from "../../engine/runs/plan.ts";
import type { Context } from "../../shared/context.ts";
import { echo, shellWord } from "../../shared/contract/text.ts";
import { usageError } from "../../shared/errors.ts";
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
/** Endings of files, none of them of a host: taken for a domain such a name would find nobody. */
const FILE = /\.(?:csv|tsv|tab|txt|json|ndjson|jsonl|parquet|pq|xlsx?|xlsm|xlsb|ods|numbers|gz)$/i;

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
  const add = (text: string): boolean => {
    const query = queryOf(text, flags.by);
    if (query !== undefined && !companies.has(companyKey(query)))
      companies.set(companyKey(query), query);
    return query !== undefined;
  };

  refuseFile(names, context);

  const wrong = names.find((name) => !add(name));
  if (wrong !== undefined) throw usageError(`"${echo(wrong)}" names no company`, HOW);

  if (input !== undefined) {
    const table = await readTableFile(context, input, "companies", MAX_INPUT_BYTES);
    const name = inputName(input);
    const places = companyColumns(table, name, flags.column);
    const lines = table.rows.flatMap((row) => {
      const texts = namingTexts(row, places);
      if (texts.some(add) || (texts.length === 0 && !table.json)) return [];
      return [{ line: row.line, text: texts[0] ?? "" }];
    });
    const notes = lines.map(
      ({ line, text }) => `${name} line ${line}: "${echo(text)}" names no company`,
    );
    const [first] = notes;
    if (first !== undefined && companies.size === 0) throw usageError(first, HOW);

    for (const each of notes.slice(0, TOLD)) context.stderr.write(`warning: ${each}: left out\n`);
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

/** @throws CliError exit 2 for an argument that is a file, there or not */
function refuseFile(names: readonly string[], context: Context): void {
  const exists = (name: string): boolean => existsSync(resolve(context.cwd, name));
  const file = names.find(
    (name) => FILE.test(name) || (/^\.{0,2}[/\\]/.test(name) && exists(name)),
  );
  if (file !== undefined) {
    const is = exists(file) ? "is a file" : "is the name of a file that is not there";
    throw usageError(
      `"${echo(file)}" ${is}, and names no company`,
      `--input ${shellWord(file)} takes companies from it; --keep-input keeps its rows and columns`,
    );
  }
}
