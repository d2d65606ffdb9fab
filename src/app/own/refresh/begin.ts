import { Library } from "../../../engine/library/library.ts";
import { openLibrary, shelfAt } from "../../../engine/library/take-in.ts";
import { checkOutput } from "../../../engine/output/paths.ts";
import { checkSink } from "../../../engine/output/sinks/sink.ts";
import { RunStore } from "../../../engine/runs/run-store.ts";
import { failed } from "../../../shared/errors.ts";
import { nowhere, worldOf } from "../../buy/order.ts";
import type { Refreshing, Work } from "./work.ts";

export type Prepared = Omit<Work, "latest">;

/** What a refresh works with. @throws CliError where its list could not be written: then nothing is bought */
export async function prepare(
  ...[request, session, context, events]: Parameters<Refreshing["planRefresh"]>
): Promise<Prepared> {
  const world = worldOf(session, context);
  const output = request.output === undefined ? undefined : await checkOutput(request.output);
  await checkSink({ ...request.terms, ...request.view, output }, "person", world.disk);
  const deps = {
    ...world,
    stdout: nowhere(),
    consent: async () => undefined,
    onNotice: (text: string) => session.notice(text),
    onWarning: events.warning,
    onStart: events.start,
  };
  const account = await session.client.account(context.interrupted);
  const shelf = shelfAt(deps.stateDir, session.serviceId, account.keyMode);
  const store = new RunStore(deps.stateDir, deps.disk);
  return { order: { ...request, output }, account, events, context, deps, store, shelf };
}

/** @throws CliError exit 5 where a run cannot be read: its people would be bought again */
export async function libraryOf({ shelf, store }: Pick<Work, "shelf" | "store">): Promise<Library> {
  const opened = await openLibrary(shelf, store);
  if (opened === undefined) return Library.open(shelf.path, await store.suppression());
  const [unread] = opened.taken.unread;
  if (unread === undefined) return opened.library;
  opened.library.close();
  const next = `headcount runs export ${unread.run} --force -o rest.ndjson`;
  const message = `run ${unread.run} cannot be read, and its people would be bought again: ${unread.why}; nothing was spent`;
  const hint = `${next}, headcount owned import rest.ndjson, and headcount runs remove ${unread.run} --force`;
  throw failed.incomplete(message, hint, "unread_run").with({ next });
}
