import type { Dialect } from "../../../engine/client/dialect.ts";
import { Library } from "../../../engine/library/library.ts";
import { openLibrary, requireRead, shelfAt } from "../../../engine/library/take-in.ts";
import { checkOutput } from "../../../engine/output/paths.ts";
import { checkSink } from "../../../engine/output/sinks/sink.ts";
import { payerOf } from "../../../engine/purchase/world.ts";
import { RunStore } from "../../../engine/runs/run-store.ts";
import { command, option, say, usageError } from "../../../shared/errors.ts";
import { nowhere, worldOf } from "../../buy/order.ts";
import type { Refreshing, RefreshOrder, Work } from "./work.ts";

export type Prepared = Omit<Work, "latest">;

/**
 * What a refresh works with.
 * @throws CliError where its list could not be written: then nothing is bought
 */
export async function prepare(
  ...[request, session, context, events]: Parameters<Refreshing["planRefresh"]>
): Promise<Prepared> {
  const world = worldOf(session, context);
  const output = request.output && (await checkOutput(request.output));
  await checkSink({ ...request.terms, ...request.view, output }, "person", world.disk);

  const deps = {
    ...world,
    stdout: nowhere(),
    consent: async () => undefined,
    onNotice: (text: string) => session.notice(text),
    onWarning: events.warning,
    onStart: events.start,
  };

  requireOfVendor(session.client.dialect, request);
  const account = await payerOf(deps);
  const shelf = shelfAt(deps.stateDir, session.serviceId, account.keyMode);
  const store = new RunStore(deps.stateDir, deps.disk);
  return { order: { ...request, output }, account, events, context, deps, store, shelf };
}

/** @throws CliError exit 2 for what the file of a vendor cannot say: before anything is asked */
function requireOfVendor({ idRows, vendor }: Dialect, { verify }: RefreshOrder): void {
  if (vendor === undefined) return;

  const rest = "docs/how-to/vendors.md says what works";
  if (idRows === undefined)
    throw usageError(
      `a list of ${vendor} cannot be refreshed: it tells nobody before he is paid for`,
      say`${command("search")} buys it anew; ${rest}`,
      "not_of_vendor",
    );
  if (verify.length > 0)
    throw usageError(
      say`${vendor} tells who is in a segment, and of nobody whether a field is still the same`,
      say`without ${option("verify_fields")} it is found who left and who is new; ${rest}`,
      "not_of_vendor",
    );
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
