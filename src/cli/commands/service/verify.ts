import type { Findings } from "../../../service/admin/verify.ts";
import type { Context } from "../../../shared/context.ts";
import { CliError } from "../../../shared/errors.ts";
import type { Command } from "../../options.ts";
import { Printer } from "../../terminal/printer.ts";
import { backupError } from "./backup.ts";
import { addFolderOptions, type FolderOptions, folderOf, ledgerPlaceOf, storeOf } from "./folder.ts";

interface VerifyOptions extends FolderOptions {
  readonly against?: string;
}

export function register(service: Command, context: Context): void {
  addFolderOptions(service.command("verify"))
    .option(
      "--against <backup>",
      "hold the ledger against a backup of it too: the folder, a file of accounts, or postgres://... of a restored dump",
    )
    .summary("recompute the ledger's and the dataset's invariants")
    .description(
      "Recompute every invariant of the ledger (balances, holds, entries, stored replies) and of the dataset from zero, hold every file of the dataset against its SHA-256 from when it was made, and write nothing: a read-only copy will do, and a service may run meanwhile. Exits 1 on a breach. A ledger that somebody wrote anew, chain and all, is sound in itself: --against tells, since all that is in a backup must be the beginning of today's.",
    )
    .examples("\n  $ headcount service verify\n  $ headcount service verify --data ./data --json")
    .does((options: FolderOptions) => run(options, context));
}

async function run(options: VerifyOptions, context: Context): Promise<void> {
  const dir = await folderOf(options, context);
  const store = await storeOf(options, context);
  const files = "a folder of service backup, a SQLite file";
  const backup =
    options.against === undefined ? undefined : ledgerPlaceOf("--against", options.against, files, context);
  const { breachesOf, verifyFolder } = await import("../../../service/admin/verify.ts");
  const findings = await verifyFolder({ dir, store, backup, now: context.now }).catch((error: unknown) => {
    throw backupError(error, dir);
  });
  const breaches = breachesOf(findings);
  const printer = new Printer(context, options);
  if (printer.json) printer.document<"service verify">({ sound: breaches.length === 0, ...findings });
  else print(findings, printer);
  if (breaches.length === 0) return;
  throw new CliError({
    code: "breach",
    category: "internal",
    message: `${breaches.length} ${breaches.length === 1 ? "breach" : "breaches"} found in ${dir}`,
    details: breaches.slice(0, 20),
    hint: "stop the service, keep the folder as it is, and make a new one of the last sound backup: headcount service restore BACKUP --data DIR",
  });
}

function print({ against, dataset, head, ledger, notes }: Findings, printer: Printer): void {
  const verdict = (breaches: readonly string[] | null): string =>
    breaches === null ? "none" : breaches.length === 0 ? "sound" : `${breaches.length} found`;
  printer.lines([
    ["ledger", verdict(ledger)],
    ["dataset", verdict(dataset)],
    ...(against === null ? [] : [["against", verdict(against)] as const]),
    ...(head === null ? [] : [["head", head] as const]),
  ]);
  for (const note of notes) printer.say(`notice: ${note}`);
}
