import { resolve } from "node:path";
import type { Manifest } from "../../../service/admin/backup.ts";
import type { Context } from "../../../shared/context.ts";
import { shellWord } from "../../../shared/contract/command-line.ts";
import { counted } from "../../../shared/contract/text.ts";
import { CliError } from "../../../shared/errors.ts";
import type { Command } from "../../options.ts";
import { Printer } from "../../terminal/printer.ts";
import { addFolderOptions, type FolderOptions, folderOf, serviceError, storeOf } from "./folder.ts";

export function register(service: Command, context: Context): void {
  addFolderOptions(service.command("backup").argument("<dir>", "a folder that is missing or empty"))
    .summary("copy ledger and dataset, also of a running service")
    .description(
      "Copy one state of the ledger and the dataset that is served into a folder, also while a service is at work, and verify the copy. Every file's SHA-256 is in its backup.json. The copy is whole or not there; it holds stored replies of up to a day, so it is nobody else's. Accounts in PostgreSQL are backed up by its own tools (pg_dump).",
    )
    .examples(
      "\n  $ headcount service backup ./backup-monday\n  $ headcount service backup ./backup-tuesday --data ./data --json",
    )
    .does((options: FolderOptions, to: string) => run(to, options, context));
}

async function run(to: string, options: FolderOptions, context: Context): Promise<void> {
  const dir = await folderOf(options, context);
  const target = resolve(context.cwd, to);
  const store = await storeOf(options, context);
  const elsewhere = store !== undefined && /^postgres/i.test(store);
  const printer = new Printer(context, options);
  try {
    const [{ backUp }, { ledgerFile }] = await Promise.all([
      import("../../../service/admin/backup.ts"),
      import("../../../service/admin/data-folder.ts"),
    ]);
    const ledger = elsewhere ? undefined : ledgerFile(dir, store);
    const manifest = await backUp({ dir, ledger, to: target, now: context.now });
    if (printer.json) printer.document<"service backup">(told(manifest, { backup: target }) as never);
    else printer.lines(linesOf(manifest));
    if (elsewhere)
      printer.say(
        "notice: accounts in PostgreSQL are not in it: pg_dump --schema headcount copies them, from one snapshot",
      );
    printer.note(`verified; headcount service restore ${shellWord(to)} --data DIR makes a data folder of it`);
  } catch (error) {
    throw backupError(error, dir);
  }
}

export const told = ({ dataset, files, head, made_at }: Manifest, more: Readonly<Record<string, string>>) => ({
  ...more,
  made_at,
  head,
  dataset,
  files: files.length,
  bytes: bytesOf(files),
});

export const linesOf = ({ dataset, files, head, made_at }: Manifest): readonly (readonly [string, string])[] => [
  ["made", made_at],
  ["ledger", head ?? "none"],
  ["dataset", dataset ?? "none"],
  ["files", `${counted(files.length, "file")}, ${Math.ceil(bytesOf(files) / 1e6)} MB`],
];

const bytesOf = (files: Manifest["files"]): number => files.reduce((sum, { bytes }) => sum + bytes, 0);

export function backupError(error: unknown, dir: string): unknown {
  if (!(error instanceof Error)) return error;
  if (error.name === "TakenError") {
    return new CliError({ code: "folder_taken", category: "usage", message: error.message, cause: error });
  }
  if (error.name === "BackupError") {
    const { breaches } = error as Error & { readonly breaches: readonly string[] };
    const [category, code] =
      breaches.length > 0 ? (["internal", "breach"] as const) : (["filesystem", "backup_damaged"] as const);
    return new CliError({ code, category, message: error.message, details: breaches.slice(0, 20), cause: error });
  }
  return serviceError(error, dir);
}
