import { openRuns } from "../../../app/keep/store.ts";
import { SAMPLE, serviceIdOf } from "../../../engine/connections/config.ts";
import { sampleDir, sampleId, stateDir } from "../../../engine/connections/paths.ts";
import { connectionMeant, keyModeOf, selectionOf } from "../../../engine/connections/resolve.ts";
import type { Library } from "../../../engine/library/library.ts";
import { openLibrary, type Shelf, shelfAt } from "../../../engine/library/take-in.ts";
import type { Context } from "../../../shared/context.ts";
import { usageError } from "../../../shared/errors.ts";
import { type Command, type GlobalOptions, modeOption } from "../../options.ts";
import { atDesk, type Desk } from "../../terminal/printer.ts";

export type ShelfOptions = GlobalOptions & { readonly mode?: "live" | "test" };

export const addShelfOption = (command: Command): Command => command.addOption(modeOption());

/** The service whose people are meant, as runs name it. Asks nobody and needs no key. */
function serviceMeant(options: GlobalOptions, context: Context): string {
  if (selectionOf(options, context).connection === SAMPLE) return sampleId(sampleDir(context));

  const { baseUrl, entry } = connectionMeant(options, context);
  if (baseUrl === undefined)
    throw usageError(
      "no connection is named, so nobody knows whose people are meant",
      "name one with -c, or an address with --base-url; headcount connections lists them",
      "no_connection",
    );
  return serviceIdOf({ baseUrl, vendor: entry?.vendor });
}

export function shelfOf(options: ShelfOptions, context: Context): Shelf {
  const serviceId = serviceMeant(options, context);
  const ofKey = keyModeOf(context.env.HEADCOUNT_API_KEY ?? "") === "test" ? "test" : "live";
  return shelfAt(stateDir(context), serviceId, options.mode ?? ofKey);
}

export interface LibraryDesk<Options> extends Desk<Options> {
  /** Undefined where nothing was ever bought there. */
  readonly library: Library | undefined;
}

/**
 * Works with the library of the service that is meant,
 * after it has taken in what was bought meanwhile.
 */
export const atLibrary = <Options extends ShelfOptions, Args extends unknown[]>(
  context: Context,
  work: (desk: LibraryDesk<Options>, ...args: Args) => void | Promise<void>,
) =>
  atDesk(context, async (desk: Desk<Options>, ...args: Args) => {
    const { options, printer } = desk;
    const shelf = shelfOf(options, context);
    const opened = await openLibrary(shelf, openRuns(context));
    for (const { run, why } of opened?.taken.unread ?? [])
      printer.say(`warning: run ${run} is not counted: ${why}`);

    if (opened === undefined) {
      printer.note(
        "nothing was bought from " +
          `${shelf.serviceId}${shelf.mode === "test" ? " with a test key" : ""} yet`,
      );
    }

    try {
      await work({ ...desk, library: opened?.library }, ...args);
    } finally {
      opened?.library.close();
    }
  });
