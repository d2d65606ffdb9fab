import { openRuns } from "../app/keep/store.ts";
import type { Library } from "../engine/library/library.ts";
import { openLibrary, shelfAt } from "../engine/library/take-in.ts";
import { checkedFilters } from "../shared/filters.ts";
import type { Connected } from "./connected.ts";
import type { Owned, Row } from "./index.ts";
import { shownOwned } from "./views.ts";

/** What is owned of the service, after it has taken in what was bought meanwhile. */
export function ownedOf(desk: Connected): Owned {
  const { context, notice, session } = desk;

  const open = async (): Promise<Library | undefined> => {
    const mode = session.keyMode ?? "live";
    const shelf = shelfAt(desk.stateDir, session.serviceId, mode);
    const opened = await openLibrary(shelf, openRuns(context));
    for (const { run, why } of opened?.taken.unread ?? [])
      notice(`warning: run ${run} is not counted: ${why}`);
    return opened?.library;
  };
  const atLibrary = <T>(work: (library: Library | undefined) => T): Promise<T> =>
    desk.ask(async () => {
      const library = await open();
      try {
        return work(library);
      } finally {
        library?.close();
      }
    });

  return {
    summary: () => atLibrary((library) => shownOwned(library?.database)),

    count: (filters) =>
      atLibrary((library) => library?.count(checkedFilters(filters).canonical) ?? 0),

    async *rows(filters) {
      const { canonical, library } = await desk.ask(async () => ({
        canonical: checkedFilters(filters).canonical,
        library: await open(),
      }));
      try {
        for (const record of library?.records(canonical) ?? []) yield JSON.parse(record) as Row;
      } finally {
        library?.close();
      }
    },
  };
}
