import { Library } from "../../../engine/library/library.ts";
import { openLibrary, requireRead, shelfAt } from "../../../engine/library/take-in.ts";
import { checkOutput } from "../../../engine/output/paths.ts";
import { checkSink } from "../../../engine/output/sinks/sink.ts";
import { RunStore } from "../../../engine/runs/run-store.ts";
import { usageError } from "../../../shared/errors.ts";
import { nowhere, worldOf } from "../../buy/order.ts";
import type { Refreshing, Work } from "./work.ts";

export type Prepared = Omit<Work, "latest">;

/**
 * What a refresh works with.
 * @throws CliError where its list could not be written: then nothing is bought
 */
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

  const { vendor } = session.client.dialect;
  if (vendor !== undefined)
    throw usageError(
      `a list of ${vendor} cannot be refreshed yet`,
      "headcount search buys it anew; docs/vendors.md says what works",
      "not_of_vendor",
    );

  const account = await session.client.account(context.interrupted);
  const shelf = shelfAt(deps.stateDir, session.serviceId, account.keyMode);
  const store = new RunStore(deps.stateDir, deps.disk);
  return { order: { ...request, output }, account, events, context, deps, store, shelf };
}

/** @throws CliError see {@link requireRead} */
export async function libraryOf({ shelf, store }: Pick<Work, "shelf" | "store">): Promise<Library> {
  const opened = await openLibrary(shelf, store);
  if (opened === undefined) return Library.open(shelf.path, await store.suppression());
  const { unread } = opened.taken;
  if (unread.length > 0) opened.library.close();
  requireRead(unread);
  return opened.library;
}
