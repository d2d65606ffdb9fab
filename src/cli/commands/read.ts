import { namedIn } from "../../app/own/ids.ts";
import type { Context } from "../../shared/context.ts";
import { option, say, usageError } from "../../shared/errors.ts";
import {
  addExportOptions,
  BUYING,
  type ExportFlags,
  readExportOptions,
} from "../arguments/export-options.ts";
import { type Command, WHO_COLUMN } from "../options.ts";
import { buy } from "../purchase/buy.ts";
import type { ParsedPurchase } from "../purchase/purchase.ts";

export function register(program: Command, context: Context, run: typeof buy = buy): void {
  const command = program
    .command("read")
    .takes("<file>", "ids: lines under the word id, or a table with such a column", {
      kind: "file",
    })
    .description(
      "Buy people by their ids, at a vendor where a search finds ids for nothing. " +
        "Whom you own already is written beside them and not paid for.",
    )
    .option(...WHO_COLUMN);

  addExportOptions(command, "person")
    .examples(`
  $ headcount -c apollo search --country germany --ids german.csv
  $ headcount -c apollo read german.csv --max-credits 20 -o german.ndjson`)
    .does(BUYING, async (flags: ReadFlags, file: string) =>
      run(await parse(file, flags, context), context),
    );
}

type ReadFlags = ExportFlags & { readonly column?: string };

async function parse(file: string, flags: ReadFlags, context: Context): Promise<ParsedPurchase> {
  if (flags.again === true)
    throw usageError(
      say`${option("again")} buys a segment anew, and ids are of people`,
      say`without it only those are paid for whom you do not own`,
    );
  const view = readExportOptions(context, flags, "person");
  return { order: { ...view, target: await namedIn(file, context, flags.column) }, flags };
}
