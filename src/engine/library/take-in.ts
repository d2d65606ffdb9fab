import { hash } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { maxCredits, ZERO } from "../../shared/contract/money.ts";
import { command, failed, option, say } from "../../shared/errors.ts";
import { Page } from "../../shared/rows/page.ts";
import { type JsonRecord, stringifyExact } from "../../shared/rows/values.ts";
import { identityOf, kindOf } from "../output/distinct.ts";
import { errorCode } from "../runs/disk.ts";
import { BESIDE } from "../runs/journal.ts";
import { type Plan, targetText } from "../runs/plan.ts";
import type { RunReader } from "../runs/reader.ts";
import type { RunStore } from "../runs/run-store.ts";
import { TAKEN_IN } from "./history.ts";
import { Library, type NewRow, type PaidPage, recordPage } from "./library.ts";
import { libraryPath } from "./path.ts";
import { normalValues } from "./person.ts";
import { inTransaction } from "./sqlite.ts";

export interface Shelf {
  readonly path: string;
  readonly serviceId: string;
  readonly mode: "live" | "test";
}

/** What all runs were to buy, and which cannot be read, and why. */
export async function plansIn(store: RunStore) {
  const plans = new Map<string, Plan>();
  const unread: { run: string; why: string }[] = [];
  for (const id of await store.ids()) {
    try {
      plans.set(id, await store.readPlan(id));
    } catch (error) {
      if ((error as { code?: string }).code !== "no_such_run")
        unread.push({ run: id, why: (error as Error).message });
    }
  }
  return { plans, unread };
}

/**
 * After taking in what the runs hold beyond it (docs/reference/library.md, "Files and crashes").
 * @returns undefined where nothing was ever bought there; `unread`: runs that cannot be read, and
 * why
 */
export async function openLibrary(
  shelf: Shelf,
  store: RunStore,
  all?: Awaited<ReturnType<typeof plansIn>>,
) {
  const found = all ?? (await plansIn(store));
  const plans = new Map([...found.plans].filter(([, plan]) => belongs(plan, shelf)));
  const unread = [...found.unread];
  if (plans.size === 0 && !existsSync(shelf.path)) return undefined;

  const library = await Library.open(shelf.path, await store.suppression());
  try {
    let pages = 0;
    // Oldest first, so that a person's newest record comes last.
    for (const id of [...plans.keys()].sort()) {
      if (library.hasRun(id, store.finishedAt(id))) continue;
      try {
        pages += await takeIn(library, await store.open(id));
      } catch (error) {
        // Without a journal nothing was bought: it died before its first line.
        if (errorCode(error) !== "ENOENT") unread.push({ run: id, why: (error as Error).message });
      }
    }

    return { library, taken: { pages, unread } };
  } catch (error) {
    library.close();
    throw error;
  }
}

/**
 * Before only new people are bought.
 * @throws CliError exit 5 where a run cannot be read: its people would be again
 */
export function requireRead([unread]: readonly {
  readonly run: string;
  readonly why: string;
}[]): void {
  if (unread === undefined) return;
  const { run, why } = unread;
  const options = [option("force"), option("output", "rest.ndjson")];
  const next = command("runs export", { arguments: [run], options });
  const message =
    `run ${run} cannot be read, and its people would be bought again: ` +
    `${why}; nothing was spent`;
  throw failed
    .incomplete(
      message,
      say`${next}, headcount owned import rest.ndjson where it has any, and headcount runs
    remove ${run} --force --yes`,
      "unread_run",
    )
    .with({ next });
}

export async function rebuildLibrary(
  shelf: Shelf,
  store: RunStore,
): ReturnType<typeof openLibrary> {
  const opened = await openLibrary(shelf, store);
  if (opened === undefined) return undefined;
  opened.library.forgetRuns(await store.ids());
  opened.library.close();
  return openLibrary(shelf, store);
}

/** A file of people: its name, and when it was last written, in epoch milliseconds. */
export interface PeopleFile {
  readonly name: string;
  readonly at: number;
  readonly records: readonly JsonRecord[];
}

/** At no price; again, it changes nothing. @returns how many people are new */
export function importRecords(
  library: Library,
  sources: readonly PeopleFile[],
  end?: "ROLLBACK",
): number {
  const before = library.size;
  let fresh = 0;
  const takeAll = (): void => {
    for (const { name, at, records } of sources) {
      const texts = records.map(stringifyExact);
      const id = `${TAKEN_IN}${hash("sha256", texts.join()).slice(0, 12)}`;
      library.addPages([{ run: id, unit: 1, at, rows: rowsOf(recordPage(texts), 0n) }]);
      library.putRun({
        id,
        command: "import",
        target: name,
        datasetVersion: null,
        output: null,
        createdAt: new Date(at).toISOString(),
        finishedAt: at,
      });
    }
    fresh = library.size - before;
  };

  inTransaction(library.database, takeAll, end);
  return fresh;
}

export const identitiesOf = (records: readonly JsonRecord[]): string[] =>
  rowsOf(recordPage(records.map(stringifyExact)), 0n).map(({ identity }) => identity);

export const shelfAt = (
  stateDir: string,
  serviceId: string,
  mode: Shelf["mode"] = "live",
): Shelf => ({
  path: libraryPath(stateDir, serviceId, mode),
  serviceId,
  mode,
});

/** Undefined where the run bought companies. */
export const shelfOfPlan = (stateDir: string, plan: Plan): Shelf | undefined =>
  kindOf({ plan }) === "person"
    ? shelfAt(stateDir, plan.base_url, plan.key_mode ?? "live")
    : undefined;

/**
 * Of other services, by the connection that bought there last; of one whose runs were all removed
 * by its host. The people of the sample are made up, and nobody's.
 */
export function shelvesBeside(
  { path: own, mode }: Shelf,
  plans: Iterable<Plan>,
): ReadonlyMap<string, Shelf> {
  const folder = dirname(own);
  const files = existsSync(folder) ? readdirSync(folder) : [];
  const shelves = new Map<string, readonly [name: string, shelf: Shelf]>();
  for (const file of files.filter((each) => each.endsWith(".db") && !SAMPLE_DB.test(each))) {
    const [, host = file, test] = /^(.*)-[0-9a-f]{8}(-test)?\.db$/.exec(file) ?? [];
    const kind = test === undefined ? "live" : "test";
    shelves.set(file, [host, { path: join(folder, file), serviceId: file, mode: kind }]);
  }
  for (const plan of plans) {
    const shelf = shelfOfPlan(dirname(folder), plan);
    const host = shelf === undefined ? null : URL.parse(shelf.serviceId)?.host;
    if (shelf !== undefined && host)
      shelves.set(basename(shelf.path), [
        plan.connection === "environment" ? host : plan.connection,
        shelf,
      ]);
  }

  shelves.delete(basename(own));
  return new Map([...shelves.values()].filter(([, shelf]) => shelf.mode === mode));
}

const SAMPLE_DB = /^sample-[0-9a-f]{8}(-test)?\.db$/;

function belongs(plan: Plan, { serviceId, mode }: Shelf): boolean {
  const own = shelfOfPlan("", plan);
  return own?.serviceId === serviceId && own.mode === mode;
}

/** Each time costs a sync of the disk. */
const GROUP_ROWS = 10_000;

async function takeIn(library: Library, run: RunReader): Promise<number> {
  let count = 0;
  let group: PaidPage[] = [];
  let rows = 0;
  const put = (): void => {
    library.addPages(group);
    count += group.length;
    [group, rows] = [[], 0];
  };

  for await (const { unit, settled, body } of run.pages()) {
    const { n, target } = unit.intent;
    // Records of earlier purchases, from here.
    if (target === BESIDE || library.hasPage(run.id, n)) continue;

    const page = Page.read(body, "person");
    const used = maxCredits(ZERO, settled.used ?? ZERO);
    const paid = Math.max(settled.rows, page.length);
    const missing = settled.owned === undefined ? paid - page.length : 0;
    const forgotten = Array.from({ length: missing }, (_, index) =>
      share(used, paid, page.length + index),
    );
    group.push({ run: run.id, unit: n, at: settled.at, rows: rowsOf(page, used, paid), forgotten });
    rows += page.length;
    if (rows >= GROUP_ROWS) put();
  }

  put();

  const { plan, state } = run;
  library.putRun({
    ...plan,
    target: targetText(plan.target),
    datasetVersion: versionOf(run),
    createdAt: plan.created_at,
    // Only where nothing more can come: an unfinished run is read again.
    finishedAt: state.done === undefined ? null : state.lastAt,
  });

  return count;
}

const share = (used: bigint, rows: number, position: number): bigint =>
  used / BigInt(rows) + (BigInt(position) < used % BigInt(rows) ? 1n : 0n);

/** What does not divide is on the first ones, so that the sum is what was charged. */
function rowsOf(page: Page, used: bigint, paid = page.length): NewRow[] {
  return page.indexes.map((position) => {
    const record = page.text(position);
    // A row that names nobody is known again where it comes again as it was.
    const identity = identityOf(page, position, "person") ?? `#${hash("sha256", record)}`;
    const price = share(used, paid, position);
    return { position, identity, values: normalValues(page.row(position)), price, record };
  });
}

/** Null where it moved meanwhile: then what one page says may hold in neither. */
function versionOf({ plan, state }: RunReader): string | null {
  const hasMoved = [...state.units.values()].some(
    ({ settled }) => settled?.version !== undefined && settled.version !== plan.dataset_version,
  );
  return hasMoved ? null : plan.dataset_version;
}

/** Opens a library for one piece of work. */
export async function withLibrary<T>(
  path: string,
  store: RunStore,
  work: (library: Library) => T,
): Promise<T> {
  const library = await Library.open(path, await store.suppression());
  try {
    return work(library);
  } finally {
    library.close();
  }
}
