import { entriesOf, queryOf } from "../../app/buy/companies.ts";
import type { CompanyQuery } from "../../engine/client/types.ts";
import { companyKey } from "../../engine/runs/plan.ts";
import type { Context } from "../../shared/context.ts";
import { echo } from "../../shared/contract/text.ts";
import { usageError } from "../../shared/errors.ts";
import { inputName, readInput } from "../../shared/input.ts";
import type { Command } from "../options.ts";

export interface CompanyFlags {
  readonly input?: string;
  readonly column?: string;
  readonly name?: boolean;
  readonly id?: boolean;
  readonly misses?: string;
}

export const addCompanyOptions = (command: Command): Command =>
  command
    .option("--input <file>", "more companies from a file (- for stdin): one a line, CSV or NDJSON")
    .option("--column <name>", "the column of the file that names the company")
    .option("--name", "the arguments are names of companies")
    .option("--id", "the arguments are ids of companies")
    .option("--misses <file>", "list the companies that are not known in a file");

export const MAX_INPUT_BYTES = 64 * 1024 * 1024;

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
    const text = await readInput(context, input, "companies", MAX_INPUT_BYTES);
    for (const [line, value] of await entriesOf(text, input, flags.column)) {
      given.push([`${inputName(input)} line ${line}: `, value]);
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
    found.set(companyKey(query), found.get(companyKey(query)) ?? query);
  }
  return [...found.values()];
}
