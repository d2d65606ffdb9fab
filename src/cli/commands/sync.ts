import { resolve } from "node:path";
import type { FolderStatus } from "../../app/keep/sync/machines.ts";
import { openFolder, rekey } from "../../app/keep/sync/open.ts";
import { statusOf, sync } from "../../app/keep/sync/sync.ts";
import { type Synced, syncLine, syncProblem } from "../../app/keep/sync/syncing.ts";
import { type Context, canPrompt } from "../../shared/context.ts";
import { counted } from "../../shared/contract/text.ts";
import { option, say, usageError } from "../../shared/errors.ts";
import type { Command, GlobalOptions } from "../options.ts";
import { type ColumnOf, documentsOf, printList } from "../terminal/list.ts";
import { atDesk, type Desk, type Printer } from "../terminal/printer.ts";

type SyncOptions = GlobalOptions & {
  readonly join?: boolean;
  readonly insecureStorage?: boolean;
  readonly status?: boolean;
  readonly copied?: boolean;
  readonly moved?: boolean;
  readonly rekey?: boolean;
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
    .option("--status", "only show who syncs, since when, and whether it knows whom all forgot")
    .option("--copied", "this state folder is a copy of another that syncs: a machine of its own")
    .option("--moved", "this state folder came from another place, which is gone: the same machine")
    .option("--rekey", "seal the folder anew under a new key, with which the others join")
    .examples(`
  $ headcount sync /mnt/team --insecure-storage      the first one makes the key and shows it once
  $ headcount sync /mnt/team --join < key.txt        on another machine
  $ HEADCOUNT_SYNC_KEY=hcsync_... headcount sync /mnt/team     in a container
  $ headcount sync /mnt/team --status
  $ headcount spend --by machine

The folder is any that several machines see: a share, a volume, a mounted bucket. Whoever has its \
key can read everybody in it. API keys, connections, jobs and paths never travel.
See also: docs/how-to/sync.md`)
    .does(
      `reads connection segments runs library suppression sync
      writes connection segments runs library suppression register sync
      exits 5 9 130`,
      atDesk(context, run),
    );
}

async function run(
  { options, printer, context }: Desk<SyncOptions>,
  folder: string,
): Promise<void> {
  if (folder === "")
    throw usageError("the folder is empty text", "a variable may not be set: name a folder");
  const claims = (["status", "copied", "moved", "rekey"] as const).filter(
    (one) => options[one] === true,
  );
  if (claims.length > 1)
    throw usageError(
      say`${option(claims[0] ?? "")} and ${option(claims[1] ?? "")} do not go together`,
    );
  const [claim] = claims;

  const path = resolve(context.cwd, folder);
  const opening = {
    inFile: options.insecureStorage === true,
    mayBegin: claim === undefined,
    ...(options.join === true ? { join: () => askKey(context) } : {}),
  };
  const { head, key, made } = await openFolder(path, opening, context);
  if (made !== undefined) printer.say(`the folder's key, shown this once: ${made}`);

  if (claim === "status") return await show(await statusOf(path, { head, key }, context), printer);
  const copied = claim === "rekey" ? undefined : claim;
  const synced = await sync(path, { head, key }, context, copied);
  if (claim === "rekey") {
    const shown = (anew: string) =>
      printer.say(`the folder's new key, shown this once; the others --join with it: ${anew}`);
    await rekey(path, { head, key }, { inFile: opening.inFile, show: shown }, context);
  }
  report(synced, printer);
}

async function askKey(context: Context): Promise<string> {
  if (canPrompt(context))
    return context.prompt("Key of the folder (not shown): ", { hidden: true });
  let text = "";
  for await (const chunk of context.stdin) text += String(chunk);
  return text;
}

const COLUMNS: readonly ColumnOf<FolderStatus["machines"][number]>[] = [
  {
    name: "machine",
    long: true,
    show: ({ isHere, machine }) => (isHere ? `${machine} (here)` : machine),
  },
  { name: "here", title: null, value: ({ isHere }) => isHere },
  { name: "synced" },
  {
    name: "up_to_date",
    title: "knows whom all forgot",
    value: ({ isUpToDate }) => isUpToDate,
    show: ({ isUpToDate }) => (isUpToDate ? "yes" : "not yet"),
  },
];

async function show({ machines, runs, waiting }: FolderStatus, printer: Printer): Promise<void> {
  if (printer.json)
    return printer.document({ machines: documentsOf(COLUMNS, machines), runs, waiting });

  await printList(COLUMNS, machines, printer, "none");
  printer.note(`${counted(runs, "run")} in the folder, ${waiting} of them not taken in here`);
}

/** @throws CliError exit 5 where something could not be read, or may still have somebody */
function report(synced: Synced, printer: Printer): void {
  if (printer.json) printer.document<"sync">(documentOf(synced));
  else printer.text(`${syncLine(synced)}\n`);

  const problem = syncProblem(synced);
  if (problem !== undefined) throw problem;
}

const documentOf = ({
  tookIn,
  paidTwice,
  gave,
  lists,
  forgotten,
  unread,
  left,
  twins,
}: Synced) => ({
  took_in: [...tookIn].map(([machine, { ids, rows }]) => ({ machine, runs: ids.length, rows })),
  paid_twice: paidTwice,
  gave,
  histories: { took_in: lists.came, gave: lists.gave },
  forgotten_from: [...forgotten],
  unread: [...unread].map(([file, why]) => ({ file, why })),
  left: [...left],
  segments_kept_twice: [...twins],
});
