import { resolve } from "node:path";
import type { Manifest } from "../../../service/admin/backup.ts";
import type { Findings } from "../../../service/admin/verify.ts";
import type { Context } from "../../../shared/context.ts";
import { counted } from "../../../shared/contract/text.ts";
import { failed, shellWord } from "../../../shared/errors.ts";
import type { Command, GlobalOptions } from "../../options.ts";
import { atDesk, type Desk, type Printer } from "../../terminal/printer.ts";
import {
  actor,
  addFolderOptions,
  type FolderOptions,
  folderOf,
  ledgerPlaceOf,
  serviceError,
  storeOf,
} from "./folder.ts";

export function register(service: Command, context: Context): void {
  addFolderOptions(service.command("backup").argument("<dir>", "a folder that is missing or empty"))
    .description(
      "Copy one state of the ledger and the dataset that is served into a folder, " +
        "also while a service is at work, and verify the copy. Every file's SHA-256 " +
        "is in its backup.json. The copy is whole or not there; it holds stored " +
        "replies of up to a day, so it is nobody else's. " +
        "Accounts in PostgreSQL are backed up by its own tools (pg_dump).",
    )
    .examples(
      "\n  $ headcount service backup ./backup-monday\n  $ headcount " +
        "service backup ./backup-tuesday --data ./data --json",
    )
    .does(
      `reads data
      writes output
      exits 1 5 8 9`,
      atDesk(context, run),
    );
}

async function run({ options, printer, context }: Desk<FolderOptions>, to: string) {
  const dir = await folderOf(options, context);
  const target = resolve(context.cwd, to);
  const store = await storeOf(options, context);
  const elsewhere = store !== undefined && /^postgres/i.test(store);

  try {
    const { backUp } = await import("../../../service/admin/backup.ts");
    const { ledgerFile } = await import("../../../service/admin/data-folder.ts");
    const ledger = elsewhere ? undefined : ledgerFile(dir, store);
    const manifest = await backUp({ dir, ledger, to: target, now: context.now });

    if (printer.json) printer.document<"service backup">({ backup: target, ...viewOf(manifest) });
    else printer.lines(linesOf(manifest));
    if (elsewhere)
      printer.say(
        "notice: accounts in PostgreSQL are not in it: " +
          "pg_dump --schema headcount copies them, from one snapshot",
      );

    printer.note(
      `verified; headcount service restore ${shellWord(to)} --data DIR makes a data folder of it`,
    );
  } catch (error) {
    throw backupError(error, dir, options.store);
  }
}

const viewOf = ({ dataset, files, head, made_at }: Manifest) => ({
  made_at,
  head,
  dataset,
  files: files.length,
  bytes: bytesOf(files),
});

const linesOf = ({
  dataset,
  files,
  head,
  made_at,
}: Manifest): readonly (readonly [string, string])[] => [
  ["made", made_at],
  ["ledger", head ?? "none"],
  ["dataset", dataset ?? "none"],
  ["files", `${counted(files.length, "file")}, ${Math.ceil(bytesOf(files) / 1e6)} MB`],
];

const bytesOf = (files: Manifest["files"]): number =>
  files.reduce((sum, { bytes }) => sum + bytes, 0);

function backupError(error: unknown, dir: string, store?: string): unknown {
  if (!(error instanceof Error)) return error;
  if (error.name === "TakenError") {
    return failed.usage(error.message, undefined, "folder_taken", error);
  }

  if (error.name === "BackupError") {
    const { breaches } = error as Error & { readonly breaches: readonly string[] };
    if (breaches.length === 0)
      return failed.filesystem(error.message, undefined, "backup_damaged", error);
    return failed
      .internal(error.message, undefined, "breach", error)
      .with({ details: breaches.slice(0, 20) });
  }

  return serviceError(error, dir, store);
}

type VerifyOptions = FolderOptions & { readonly against?: string };

/** The end of a ledger's chain, as `service verify` tells it. */
const HEAD = /^[\w-]{43}$/;

export function registerVerify(service: Command, context: Context): void {
  addFolderOptions(service.command("verify"))
    .option(
      "--against <backup>",
      "hold the ledger against a backup of it too (the folder, a file of accounts, " +
        "or postgres://... of a restored dump), or against the head that was told last",
    )
    .description(
      "Recompute every invariant of the ledger (balances, holds, entries, stored replies) " +
        "and of the dataset from zero, hold every file of the dataset against its SHA-256 " +
        "from when it was made, and write nothing: a read-only copy will do, and a service " +
        "may run meanwhile. Exits 1 on a breach. A ledger that somebody wrote anew, " +
        "chain and all, is sound in itself: --against tells, since all that is in a " +
        "backup must be the beginning of today's. An old copy put back is sound too: " +
        "--against HEAD tells, the head as serve --log or service backup " +
        "told it last, for a service that is stopped.",
    )
    .examples("\n  $ headcount service verify\n  $ headcount service verify --data ./data --json")
    .does(
      `reads data
      exits 1 8 9`,
      atDesk(context, verify),
    );
}

async function verify({ options, printer, context }: Desk<VerifyOptions>) {
  const dir = await folderOf(options, context);
  const store = await storeOf(options, context);
  const files = "a folder of service backup, a SQLite file, a head";
  const expectHead = HEAD.test(options.against ?? "") ? options.against : undefined;
  const backup =
    options.against === undefined || expectHead !== undefined
      ? undefined
      : ledgerPlaceOf("--against", options.against, files, context);

  const { breachesOf, verifyFolder } = await import("../../../service/admin/verify.ts");
  const findings = await verifyFolder({ dir, store, backup, expectHead, now: context.now }).catch(
    (error: unknown) => {
      throw backupError(error, dir, options.store);
    },
  );
  const breaches = breachesOf(findings);

  if (printer.json)
    printer.document<"service verify">({ sound: breaches.length === 0, ...findings });
  else printFindings(findings, printer);

  if (breaches.length === 0) return;

  throw failed
    .internal(
      `${counted(breaches.length, "breach", "breaches")} found in ${dir}`,
      "stop the service, keep the folder as it is, and make a new one of the last " +
        "sound backup: headcount service restore BACKUP --data DIR",
      "breach",
    )
    .with({ details: breaches.slice(0, 20) });
}

function printFindings(
  { against, dataset, head, ledger, notes }: Findings,
  printer: Printer,
): void {
  const verdict = (breaches: readonly string[] | null): string =>
    breaches === null ? "none" : breaches.length === 0 ? "sound" : `${breaches.length} found`;
  printer.lines([
    ["ledger", verdict(ledger)],
    ["dataset", verdict(dataset)],
    ...(against === null ? [] : [["against", verdict(against)] as const]),
    ...(head === null ? [] : [["head", head] as const]),
  ]);
  for (const note of notes) printer.note(`notice: ${note}`);
}

type RestoreOptions = GlobalOptions & { readonly data?: string };

export function registerRestore(service: Command, context: Context): void {
  service
    .command("restore")
    .argument("<dir>", "a folder that service backup has made")
    .description(
      "Make a data folder of a backup: every file is held against its SHA-256, " +
        "ledger and dataset are verified, and the folder is there whole or not at all. " +
        "It has to be missing or empty. What was charged, revoked or " +
        "taken out after the backup was made is not in it.",
    )
    .option("--data <dir>", "data folder to make (default: the XDG data folder)")
    .examples(
      "\n  $ headcount service restore ./backup-monday --data " +
        "./restored\n  $ headcount serve --data ./restored",
    )
    .does(
      `reads given
      writes data
      exits 1 5 8 9`,
      atDesk(context, restoreFrom),
    );
}

async function restoreFrom({ options, printer, context }: Desk<RestoreOptions>, from: string) {
  const dir = await folderOf(options, context);
  try {
    const { restoreBackup: restore } = await import("../../../service/admin/backup.ts");
    const source = resolve(context.cwd, from);
    const manifest = await restore({ from: source, dir, now: context.now, actor: actor(context) });

    if (printer.json) printer.document<"service restore">({ data: dir, ...viewOf(manifest) });
    else printer.lines(linesOf(manifest));

    printer.note(
      `restored and verified; headcount serve --data ${shellWord(options.data ?? dir)} serves it`,
    );
    printer.say(
      `notice: the ledger is that of ${manifest.made_at}: keys revoked, ` +
        "people taken out and credits added since then have to be so again",
    );
  } catch (error) {
    throw backupError(error, dir);
  }
}
