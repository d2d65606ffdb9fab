import { existsSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { companiesOf, networksFor, type SharedHost, sharedQuestion } from "../../app/buy/column.ts";
import { namedRows } from "../../app/buy/input-table.ts";
import { learnedNetworks } from "../../app/buy/networks.ts";
import type { CompanyQuery } from "../../engine/client/dialect.ts";
import { type Context, canPrompt } from "../../shared/context.ts";
import {
  type CompanyName,
  companyKey,
  isCompany,
  type NoName,
  read,
} from "../../shared/contract/naming/read.ts";
import { echo } from "../../shared/contract/text.ts";
import { type CliError, option, say, shellWord, usageError } from "../../shared/errors.ts";
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
  "give a domain (acme.com or https://acme.zip), a profile address or its slug; " +
  "--by name or --by id for those";
const TOLD = 5;

/** Asks about hosts that several rows share, where somebody is there to answer. */
const agreeing =
  (context: Context) =>
  async (hosts: readonly SharedHost[]): Promise<ReadonlySet<string>> => {
    const agreed = new Set<string>();
    if (!canPrompt(context)) return agreed;
    for (const shared of hosts)
      if (await context.confirm(sharedQuestion(shared))) agreed.add(shared.host);
    return agreed;
  };

/** A file that is named as a company is one to be read. */
function columnHint([file, ...others]: readonly string[], column: string): string | undefined {
  if (file === undefined || others.length > 0 || !/\.\w+$/.test(file)) return undefined;
  const [read, word] = [file, column].map(shellWord);
  return `--input ${read} --column ${word} reads the companies of the file`;
}

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
    throw usageError("--column goes with --input FILE", columnHint(names, flags.column));

  const cells = names.map((text) => [{ text }]);
  const learned = await networksFor(cells, () => learnedNetworks(context));
  const given = await companiesOf(cells, {
    by: flags.by,
    learned,
    agree: agreeing(context),
  });
  // A file may be named as a domain is (`.md` is that of Moldova), and whoever has it may mean it.
  const wrong = given.findIndex(
    (name, at) =>
      !isCompany(name) || (flags.by === undefined && isFileHere(names[at] ?? "", context)),
  );
  if (wrong >= 0) throw noCompany(names[wrong] ?? "", given[wrong], context);

  const listed = input === undefined ? [] : await inFile(input, flags, context);
  const companies = new Map(
    [...given, ...listed].flatMap((name) => (isCompany(name) ? [[companyKey(name), name]] : [])),
  );
  if (companies.size === 0)
    throw usageError(
      "no company is given",
      "name it by domain, profile address or slug, or give --input FILE",
    );

  return [...companies.values()];
}

/** The companies of a list; lines that name none are told. @throws CliError where no line does */
async function inFile(
  input: string,
  flags: CompanyFlags,
  context: Context,
): Promise<readonly CompanyName[]> {
  const file = inputName(input);
  const read = await readTableFile(context, input, "companies", MAX_INPUT_BYTES);
  const { table, cells, names } = await namedRows(read, file, howOf(flags, context));

  const notes = table.rows.flatMap(({ line }, at) => {
    const [name, [cell] = []] = [names[at], cells[at]];
    if (name === undefined || isCompany(name) || (!table.json && cell === undefined)) return [];
    const said = `"${echo(cell?.text ?? "")}" names no company`;
    return [{ note: `${file} line ${line}: ${said}`, is: itIs(name) }];
  });
  for (const { note, is } of notes.slice(0, TOLD))
    context.stderr.write(`warning: ${note}: left out${is}\n`);
  if (notes.length > TOLD)
    context.stderr.write(`warning: so do ${notes.length - TOLD} more lines: left out\n`);

  return names.filter(isCompany);
}

/** How the companies of a table are read: by records, and what somebody at a terminal says. */
export const howOf = ({ column, by }: CompanyFlags, context: Context) => ({
  column: column ?? null,
  by: by ?? null,
  agree: agreeing(context),
  learn: () => learnedNetworks(context),
});

const isFileHere = (text: string, { cwd }: Context): boolean =>
  text.includes(".") && existsSync(resolve(cwd, text)) && statSync(resolve(cwd, text)).isFile();

const itIs = (name: CompanyName | NoName | undefined): string => {
  if (name === undefined || isCompany(name)) return "";
  const { is, isSeveral, why } = name;
  if (is !== undefined) return `; it is ${is}`;
  return isSeveral === true ? `; it ${why}` : "";
};

/** What an argument is, that names no company. */
function noCompany(
  text: string,
  name: CompanyName | NoName | undefined,
  context: Context,
): CliError {
  if (isFileHere(text, context))
    return usageError(
      `"${echo(text)}" is a file, and names no company`,
      `--input ${shellWord(text)} takes companies from it, --keep-input its rows and columns; ` +
        `https://${shellWord(text)} is the domain`,
    );

  const reading = read(text);
  if (reading.is !== "unknown" || reading.isFile !== true)
    return usageError(`"${echo(text)}" names no company${itIs(name)}`, HOW);

  return usageError(
    `"${echo(text)}" is the name of a file, and there is no such file`,
    text.startsWith("@") ? say`${option("input", text.slice(1))} takes companies from it` : HOW,
  );
}
