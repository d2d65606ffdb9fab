import { resolve } from "node:path";
import { openFolder } from "../../app/keep/sync/open.ts";
import { sync } from "../../app/keep/sync/sync.ts";
import { type Synced, syncLine, syncProblem } from "../../app/keep/sync/syncing.ts";
import { type Context, canPrompt } from "../../shared/context.ts";
import { usageError } from "../../shared/errors.ts";
import type { Command, GlobalOptions } from "../options.ts";
import { atDesk, type Desk, type Printer } from "../terminal/printer.ts";

type SyncOptions = GlobalOptions & {
  readonly join?: boolean;
  readonly insecureStorage?: boolean;
};

export function register(program: Command, context: Context): void {
  program
    .command("sync <folder>")
    .description(
      "Share what you own through a folder: finished runs and who is forgotten or left out go " +
        "in, and what others put there comes out. People whom another machine bought are owned " +
        "here too. Everything in the folder is sealed with its key.",
    )
    .option("--join", "ask for the folder's key, or read it from stdin, and keep it")
    .option("--insecure-storage", "keep the key in a file, where there is no keychain")
    .examples(`
  $ headcount sync /mnt/team --insecure-storage      the first one makes the key and shows it once
  $ headcount sync /mnt/team --join < key.txt        on another machine
  $ HEADCOUNT_SYNC_KEY=hcsync_... headcount sync /mnt/team     in a container
  $ headcount spend --by machine

The folder is any that several machines see: a share, a volume, a mounted bucket. Whoever has its
key can read everybody in it. API keys, connections, jobs, lists and paths never travel.
See also: docs/sync.md`)
    .does(atDesk(context, run));
}

async function run(
  { options, printer, context }: Desk<SyncOptions>,
  folder: string,
): Promise<void> {
  if (folder === "")
    throw usageError("the folder is empty text", "a variable may not be set: name a folder");
  const path = resolve(context.cwd, folder);
  const opening = {
    inFile: options.insecureStorage === true,
    mayBegin: true,
    ...(options.join === true ? { join: () => askKey(context) } : {}),
  };
  const { head, key, made } = await openFolder(path, opening, context);
  if (made !== undefined) printer.say(`the folder's key, shown this once: ${made}`);

  report(await sync(path, head, key, context), printer);
}

async function askKey(context: Context): Promise<string> {
  if (canPrompt(context))
    return context.prompt("Key of the folder (not shown): ", { hidden: true });
  let text = "";
  for await (const chunk of context.stdin) text += String(chunk);
  return text;
}

/** @throws CliError exit 5 where something could not be read, or may still have somebody */
function report(synced: Synced, printer: Printer): void {
  if (printer.json) printer.document<"sync">(documentOf(synced));
  else printer.text(`${syncLine(synced)}\n`);

  const problem = syncProblem(synced);
  if (problem !== undefined) throw problem;
}

const documentOf = ({ tookIn, gave, forgotten, unread, left }: Synced) => ({
  took_in: [...tookIn].map(([machine, { runs, rows }]) => ({ machine, runs, rows })),
  gave,
  forgotten_from: [...forgotten],
  unread: [...unread].map(([file, why]) => ({ file, why })),
  left: [...left],
});
