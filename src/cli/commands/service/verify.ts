import type { Context } from "../../../shared/context.ts";
import { CliError } from "../../../shared/errors.ts";
import type { Command } from "../../options.ts";
import { Printer } from "../../terminal/printer.ts";
import { backupError } from "./backup.ts";
import { addFolderOptions, type FolderOptions, folderOf, placeOf, serviceError, storeOf } from "./folder.ts";

interface VerifyOptions extends FolderOptions {
  readonly against?: string;
}

/** What was found wrong, part by part; empty lists where all is sound, null where the folder has none. */
interface Findings {
  readonly ledger: readonly string[] | null;
  readonly dataset: readonly string[] | null;
  /** What the ledger has no more as the backup has it; null where none was named. */
  readonly against: readonly string[] | null;
  /** What could not be seen from here. */
  readonly notes: readonly string[];
  /** The end of the ledger's chain. */
  readonly head: string | null;
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
  const dataset = await verifyDataset(dir);
  const { ledgerFile, verifyLedger } = await import("../../../service/admin/data-folder.ts");
  const {
    breaches: ledger,
    head,
    notes,
  } = await verifyLedger(ledgerFile(dir, store)).catch((error: unknown) => {
    // After an import into a new folder there are no accounts yet, and nothing is wrong with that.
    if (error instanceof Error && error.name === "NoLedgerError" && store === undefined && dataset !== null) {
      const note = `${error.message}: headcount serve and service keys create make them`;
      return { breaches: null, notes: [note], head: null };
    }
    throw serviceError(error, dir);
  });
  const against = await verifyHistory(dir, options, context);
  const findings: Findings = { ledger, dataset, against, notes, head };
  const printer = new Printer(context, options);
  if (printer.json) printer.document({ sound: soundness(findings), ...findings });
  else print(findings, printer);
  if (soundness(findings)) return;
  const breaches = [...(findings.ledger ?? []), ...(findings.dataset ?? []), ...(findings.against ?? [])];
  throw new CliError({
    code: "breach",
    category: "internal",
    message: `${breaches.length} ${breaches.length === 1 ? "breach" : "breaches"} found in ${dir}`,
    details: breaches.slice(0, 20),
    hint: "stop the service, keep the folder as it is, and make a new one of the last sound backup: headcount service restore BACKUP --data DIR",
  });
}

const soundness = ({ against, dataset, ledger }: Findings): boolean =>
  [against, dataset, ledger].every((found) => (found?.length ?? 0) === 0);

async function verifyHistory(dir: string, options: VerifyOptions, context: Context): Promise<readonly string[] | null> {
  if (options.against === undefined) return null;
  const backup = placeOf("--against", options.against, "a folder of service backup, a SQLite file", context);
  const store = await storeOf(options, context);
  const { verifyAgainst } = await import("../../../service/admin/against.ts");
  return verifyAgainst({ dir, backup, now: context.now, ...(store === undefined ? {} : { store }) }).catch(
    (error: unknown) => {
      throw backupError(error, dir);
    },
  );
}

/** The dataset, and that of test keys where one is there; of a backup also the files that it lists. */
async function verifyDataset(dir: string): Promise<readonly string[] | null> {
  const [{ datasetDir, testDatasetDir }, { checkBackup }] = await Promise.all([
    import("../../../service/admin/data-folder.ts"),
    import("../../../service/admin/backup.ts"),
  ]);
  const folders = [datasetDir(dir), testDatasetDir(dir)];
  const [dataset = null, test] = await Promise.all(folders.map((folder) => verifyFolder(folder, dir)));
  const others = [...(test ?? []), ...(await checkBackup(dir))];
  return dataset === null && others.length === 0 ? null : [...(dataset ?? []), ...others];
}

async function verifyFolder(folder: string, dir: string): Promise<readonly string[] | null> {
  const [{ openDataset }, { checkVersionFiles: checkFiles }] = await Promise.all([
    import("../../../dataset/embedded/open.ts"),
    import("../../../dataset/versions.ts"),
  ]);
  const hurt = await checkFiles(folder);
  if (hurt === undefined) return null;
  try {
    const engine = await openDataset(folder);
    try {
      return [...hurt, ...(await engine.verify())];
    } finally {
      await engine.close();
    }
  } catch (error) {
    // What is so damaged that it cannot be opened is a breach too, and hides none of the ledger.
    if (hurt.length > 0) return hurt;
    if (error instanceof Error && error.name === "DatasetDamagedError") return [error.message];
    throw serviceError(error, dir);
  }
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
