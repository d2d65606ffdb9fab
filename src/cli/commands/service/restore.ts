import { resolve } from "node:path";
import type { Context } from "../../../shared/context.ts";
import { shellWord } from "../../../shared/contract/command-line.ts";
import type { Command, GlobalOptions } from "../../options.ts";
import { Printer } from "../../terminal/printer.ts";
import { backupError, linesOf, told } from "./backup.ts";
import { actor, folderOf } from "./folder.ts";

interface RestoreOptions extends GlobalOptions {
  readonly data?: string;
}

export function register(service: Command, context: Context): void {
  service
    .command("restore")
    .argument("<dir>", "a folder that service backup has made")
    .summary("make a data folder of a backup")
    .description(
      "Make a data folder of a backup: every file is held against its SHA-256, ledger and dataset are verified, and the folder is there whole or not at all. It has to be missing or empty. What was charged, revoked or taken out after the backup was made is not in it.",
    )
    .option("--data <dir>", "data folder to make (default: the XDG data folder)")
    .examples(
      "\n  $ headcount service restore ./backup-monday --data ./restored\n  $ headcount serve --data ./restored",
    )
    .does((options: RestoreOptions, from: string) => run(from, options, context));
}

async function run(from: string, options: RestoreOptions, context: Context): Promise<void> {
  const dir = await folderOf(options, context);
  const printer = new Printer(context, options);
  try {
    const { restoreBackup: restore } = await import("../../../service/admin/backup.ts");
    const source = resolve(context.cwd, from);
    const manifest = await restore({ from: source, dir, now: context.now, actor: actor(context) });
    if (printer.json) printer.document<"service restore">(told(manifest, { data: dir }) as never);
    else printer.lines(linesOf(manifest));
    printer.note(`restored and verified; headcount serve --data ${shellWord(options.data ?? dir)} serves it`);
    printer.say(
      `notice: the ledger is that of ${manifest.made_at}: keys revoked, people taken out and credits added since then have to be so again`,
    );
  } catch (error) {
    throw backupError(error, dir);
  }
}
