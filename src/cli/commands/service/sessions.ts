import type { ConsoleSession } from "../../../service/admin/console-store.ts";
import type { Context } from "../../../shared/context.ts";
import { usageError } from "../../../shared/errors.ts";
import type { Command } from "../../options.ts";
import { actor, addFolderOptions, atDesk, type Desk, type FolderOptions, printList } from "./folder.ts";
import { iso, type Listed, timeColumn } from "./list.ts";

export function register(service: Command, context: Context): void {
  const sessions = addFolderOptions(service.command("sessions"))
    .summary("list and end sessions of the console")
    .description("List who is signed in to the console, the newest first; `end` signs one of them out.")
    .examples("\n  $ headcount service sessions\n  $ headcount service sessions end 1f2e3d4c5b6a")
    .does(atDesk(context, list));
  addFolderOptions(sessions.command("end"))
    .summary("sign a session out")
    .argument("<id>", "as the list names it")
    .does(atDesk(context, end));
}

const list = async (desk: Desk<FolderOptions>): Promise<void> =>
  printList(desk, COLUMNS, await desk.store.console.sessions(), "Nobody is signed in.");

async function end({ context, printer, store }: Desk<FolderOptions>, id: string): Promise<void> {
  const ended = await store.console.endSession(id, actor(context));
  if (!ended) throw usageError(`no session ${id} goes on`, "headcount service sessions lists them");
  if (printer.json) printer.document<"service sessions end">({ id, ended: true });
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
