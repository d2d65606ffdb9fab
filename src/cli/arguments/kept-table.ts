import { realpath } from "node:fs/promises";
import { resolve } from "node:path";
import { checkPrefix, DEFAULT_PREFIX, readKept } from "../../app/buy/input-table.ts";
import { openRuns } from "../../app/keep/store.ts";
import type { CompanyQuery } from "../../engine/client/dialect.ts";
import { JOINED } from "../../engine/output/join.ts";
import type { ExportOptions } from "../../engine/purchase/order.ts";
import { isSuppressedCompany } from "../../engine/purchase/unnamed.ts";
import type { Context } from "../../shared/context.ts";
import { counted } from "../../shared/contract/text.ts";
import { usageError } from "../../shared/errors.ts";
import { inputName, readTableFile } from "../../shared/input.ts";
import type { RecordKind } from "../../shared/rows/values.ts";
import type { Command } from "../options.ts";
import { type CompanyFlags, howOf, MAX_INPUT_BYTES } from "./companies.ts";
import { type ExportFlags, readExportOptions } from "./export-options.ts";

export interface TableFlags extends ExportFlags, CompanyFlags {
  readonly keepInput?: boolean;
  readonly prefix?: string;
}

export const addTableOptions = (command: Command): Command =>
  command
    .option("--keep-input", "the file's rows, with what is bought beside them")
    .option(
      "--prefix <text>",
      `with --keep-input: what the names of our columns begin with (${DEFAULT_PREFIX})`,
      checkPrefix,
    );

/**
 * The table whose rows are kept, with what is bought beside
 * them: `--input`, or the one file that is named instead.
 * @returns undefined without `--keep-input`
 */
export async function readKeptTable(
  context: Context,
  names: readonly string[],
  flags: TableFlags,
  kind: RecordKind,
) {
  if (flags.keepInput !== true) {
    if (flags.prefix !== undefined)
      throw usageError("--prefix goes with --keep-input", "add --keep-input");
    return undefined;
  }

  const [input, ...others] = flags.input === undefined ? names : [flags.input, ...names];
  if (input === undefined || others.length > 0) {
    const command = kind === "person" ? "employees" : "enrich";
    throw usageError(
      `--keep-input takes one file, not ${input === undefined ? "none" : others.length + 1}`,
      `for example: headcount ${command} crm.csv --keep-input -o crm-enriched.csv`,
    );
  }

  const table = await readTableFile(context, input, "companies", MAX_INPUT_BYTES);
  const how = { ...howOf(flags, context), prefix: flags.prefix ?? DEFAULT_PREFIX };

  const list = await openRuns(context).suppression();
  const isLeftOut = (company: CompanyQuery): boolean => isSuppressedCompany(company, list);
  const { companies, keep, join, leftOut } = await readKept(
    table,
    inputName(input),
    how,
    isLeftOut,
  );
  const toPipe = flags.output === undefined && context.stdout.isTTY !== true && flags.json !== true;
  const implied = toPipe ? (join.json ? "ndjson" : "csv") : undefined;
  const format = flags.format ?? implied;

  const view = {
    ...readExportOptions(context, format === undefined ? flags : { ...flags, format }, kind),
    join,
  };
  if (!JOINED.includes(view.format)) {
    throw usageError(
      `--keep-input writes ${JOINED.join(", ")}, not ${view.format}`,
      "add --format csv",
    );
  }

  await requireApart(input, view, context);

  const nameless = join.rows.filter(({ match }) => match === "no company").length;
  const left = [
    leftOut > 0 && `${counted(leftOut, "row")} with a company on the suppression list`,
    nameless > 0 && `${counted(nameless, "row")} without a company`,
  ].filter((each) => each);
  const notice = `notice: ${left.join(", ")}: neither asked for nor paid`;
  return { companies, keep, view, notice: left.length > 0 ? notice : undefined };
}

/** @throws CliError exit 2 where something would take the place of the table itself */
async function requireApart(
  input: string,
  { output, receipt, misses }: Pick<ExportOptions, "output" | "receipt" | "misses">,
  context: Context,
): Promise<void> {
  const real = async (path: string): Promise<string> => realpath(path).catch(() => path);
  const own = await real(resolve(context.cwd, input));

  for (const [option, path] of Object.entries({
    "-o": output,
    "--receipt": receipt,
    "--misses": misses,
  })) {
    if (input === "-" || path === undefined || (await real(path)) !== own) continue;
    throw usageError(
      `${option} names the table that is read: it stays as it is`,
      "choose another name; the same table can then be read again",
      "same_file",
    );
  }
}
