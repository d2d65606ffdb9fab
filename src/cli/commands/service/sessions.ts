import type { ConsoleSession } from "../../../service/admin/console-store.ts";
import type { Context } from "../../../shared/context.ts";
import { usageError } from "../../../shared/errors.ts";
import type { Command } from "../../options.ts";
import { Printer } from "../../terminal/printer.ts";
import { actor, addFolderOptions, type FolderOptions, withStore } from "./folder.ts";
import { iso, List, type Listed, timeColumn } from "./list.ts";

/** `service sessions`: who is signed in to the console, and the end of it. */
export function register(service: Command, context: Context): void {
  const sessions = addFolderOptions(service.command("sessions"))
    .summary("list and end sessions of the console")
    .description("List who is signed in to the console, the newest first; `end` signs one of them out.")
    .examples("\n  $ headcount service sessions\n  $ headcount service sessions end 1f2e3d4c5b6a")
    .does((options: FolderOptions) => list(options, context));
  addFolderOptions(sessions.command("end"))
    .summary("sign a session out")
    .argument("<id>", "as the list names it")
    .does((options: FolderOptions, id: string) => end(id, options, context));
}

async function list(options: FolderOptions, context: Context): Promise<void> {
  const found = await withStore(options, context, (store) => store.console.sessions());
  await new List(COLUMNS, new Printer(context, options)).print(found, context, "Nobody is signed in.");
}

async function end(id: string, options: FolderOptions, context: Context): Promise<void> {
  const ended = await withStore(options, context, (store) => store.console.endSession(id, actor(context)));
  if (!ended) throw usageError(`no session ${id} goes on`, "headcount service sessions lists them");
  const printer = new Printer(context, options);
  if (printer.json) printer.document({ id, ended: true });
  else printer.note(`Session ${id} is over.`);
}

const COLUMNS: readonly Listed<ConsoleSession>[] = [
  { name: "id", title: "id", value: ({ id }) => id },
  { name: "account", title: "account", value: ({ accountId }) => accountId },
  { name: "role", title: "role", value: ({ role }) => role },
  timeColumn("made", "made (UTC)", ({ createdAt }) => createdAt),
  timeColumn("seen", "seen (UTC)", ({ seenAt }) => seenAt),
  { name: "expires", value: ({ expiresAt }) => iso(expiresAt) },
];
