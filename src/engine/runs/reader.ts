import { closeSync, existsSync, openSync, readFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { credits, priceOf, ZERO } from "../../shared/contract/money.ts";
import { NOBODY_SUPPRESSED, type Suppression } from "../../shared/contract/suppression.ts";
import { counted } from "../../shared/contract/text.ts";
import { type CliError, failed, type OwnCommand } from "../../shared/errors.ts";
import { ifMissing } from "../../shared/folder.ts";
import {
  apply,
  creditsOf,
  emptyState,
  type JournalRecord,
  placesOf,
  type RunState,
  replay,
  type Sums,
  settledUnits,
  type Unit,
} from "./journal.ts";
import {
  checksum,
  FROM_BACKUP,
  type LogSource,
  logSourceOf,
  reading,
  readLastRecord,
  readLog,
  undamaged,
} from "./log.ts";
import { type Matches, type Plan, peopleAt, resumeOf } from "./plan.ts";

/**
 * `finished`: its output was written whole, or `problem` says why not. `running`: a
 * living process holds it. `unfinished`: it is to be resumed. `closed`: the reader
 * had enough; only `resume` by name goes on. `stale`: its dataset is gone, or others
 * have its rest. `over`: nothing more is bought by it (docs/reference/runs.md, "Going on").
 */
export type RunStatus =
  | "finished"
  | "running"
  | "unfinished"
  | "closed"
  | "stale"
  | "over"
  | "damaged";

export interface RunSummary extends Sums {
  readonly id: string;
  readonly status: RunStatus;
  readonly plan: Plan;
  readonly pending: number;
  readonly lastAt: number;
  readonly problem?: string | undefined;
}

export const isResumable = ({ status }: RunSummary): boolean =>
  status === "unfinished" || status === "closed";

/**
 * The command that goes on with a run: with higher bounds where its own were reached and it is to
 * be complete. Of an unknown rest as many rows again.
 */
export function onwardOf(run: RunSummary): OwnCommand {
  const { expected, misses, plan, rows, settled, uncertain } = run;
  const answers = rows + misses;
  const isBounded = plan.guard?.requireComplete === true && answers >= (expected ?? Infinity);
  const limit = plan.matches ?? 2 * answers;
  if (!isBounded || limit <= answers) return resumeOf(plan);

  const rest = priceOf(limit - answers, creditsOf(plan.unit_price));
  return resumeOf(plan, { limit, maxCredits: credits(settled + uncertain + rest) });
}

export const LAYOUT = 2;

export const journalOf = (path: string): string => join(path, "journal.ndjson");

export const stateOf = (path: string): RunState =>
  replay(undamaged(readLog<JournalRecord>(journalOf(path))).entries);

export function readableState(path: string) {
  const { entries, damage } = readLog<JournalRecord>(journalOf(path));
  const state = emptyState();
  for (const { record, end } of entries) {
    // Its intent was in what was damaged: the page goes to the end.
    if (record.t === "settled" && !state.units.has(record.n)) {
      const { n, rows, used = ZERO, at } = record;
      const offset = Number.MAX_SAFE_INTEGER;
      const key = `damaged ${n}`;
      apply(state, { t: "intent", n, target: 0, offset, perPage: rows, key, hold: used, at });
    }
    apply(state, record, end);
  }

  return { state, problem: damage?.message };
}

export function finishedSums(path: string, id: string) {
  const last = readLastRecord(journalOf(path)) as JournalRecord | undefined;
  if (last?.t !== "done" || last.run !== id || last.sums === undefined) return undefined;
  return { sums: last.sums, at: last.at, problem: last.problem };
}

/** @throws CliError where it cannot be read, or is of a later version */
export function planOf(path: string): Plan | undefined {
  const file = join(path, "plan.json");
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    return ifMissing(undefined, "ENOTDIR")(error);
  }

  let plan: Plan;
  try {
    plan = JSON.parse(text) as Plan;
  } catch (error) {
    throw damagedRun(`${file} is damaged: ${(error as Error).message}`, error);
  }

  if (plan.version === LAYOUT) return plan;

  throw failed.incomplete(
    `${file} was written by another version of headcount (layout ` +
      `${plan.version}, this one knows ${LAYOUT})`,
    "nothing was bought or changed; use that version for it",
    "other_layout",
  );
}

/** A run whose plan cannot be read is listed, and what it spent counts. */
export function knownPlan(
  path: string,
  id: string,
): { readonly plan: Plan | undefined; readonly problem?: string | undefined } {
  try {
    // In this order: a run that is begun meanwhile has its plan before its journal.
    const isBegun = existsSync(journalOf(path));
    const plan = planOf(path);
    if (plan !== undefined || !isBegun) return { plan };
    return { plan: unknownPlan(id), problem: `${join(path, "plan.json")} is gone` };
  } catch (error) {
    return { plan: unknownPlan(id), problem: (error as Error).message };
  }
}

const unknownPlan = (id: string): Plan => ({
  version: LAYOUT,
  id,
  created_at: id.replace(/^(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d).*$/, "$1-$2-$3T$4:$5:$6.000Z"),
  command: "search",
  connection: "unknown",
  base_url: "unknown",
  account_id: null,
  key_mode: null,
  target: { kind: "search", filters: {}, canonical: "unknown" },
  dataset_version: null,
  unit_price: "0",
  matches: null,
  paging: "page",
  output: null,
  view: { format: "ndjson", fields: null, excel: false, raw: false },
  per_page: null,
  misses: null,
  receipt: null,
});

export async function runIds(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(ifMissing([]));
  const runs = entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith("."));
  return runs
    .map(({ name }) => name)
    .sort()
    .reverse();
}

export async function receiptOf(path: string): Promise<unknown> {
  const text = await readFile(join(path, "receipt.json"), "utf8").catch(ifMissing(undefined));
  return text === undefined ? undefined : JSON.parse(text);
}

export const damagedRun = (message: string, cause?: unknown): CliError =>
  failed.incomplete(message, FROM_BACKUP, "damaged_run", cause);

export class RunReader {
  readonly path: string;
  readonly #plan: Plan;
  readonly state: RunState;
  /** What was damaged is left out and told here; undefined: it ends the reading. */
  damages: Set<string> | undefined;
  suppression: Suppression = NOBODY_SUPPRESSED;

  constructor(path: string, plan: Plan, state: RunState) {
    this.path = path;
    this.#plan = plan;
    this.state = state;
  }

  /** As it was made, and as it was divided since. */
  get plan(): Plan {
    return this.state.division === undefined
      ? this.#plan
      : { ...this.#plan, ...this.state.division };
  }

  get id(): string {
    return this.#plan.id;
  }

  /** In the order of the output, one in memory at a time. Throws where one was damaged. */
  async *pages(wanted: (unit: Unit) => boolean = () => true) {
    const file = openSync(journalOf(this.path), "r");
    try {
      const source = logSourceOf(file);
      for (const unit of settledUnits(this.state)) {
        if (unit.settled.follows === undefined || !wanted(unit)) continue;

        let body: Buffer;
        try {
          body = this.replyOf(unit, source);
        } catch (error) {
          if (this.damages === undefined) throw error;
          this.damages.add((error as Error).message);
          continue;
        }

        yield { unit, settled: unit.settled, body };
      }
    } finally {
      closeSync(file);
    }
  }

  /** One page. Throws where it was damaged. */
  readReply(unit: Unit): Buffer {
    return reading(journalOf(this.path), (source) => this.replyOf(unit, source)) ?? Buffer.alloc(0);
  }

  /** What there is of it: as counted, or as its pages told since, which are newer. */
  get offer(): Matches {
    const { target, matches, parts, counts } = this.plan;
    const all = [...this.state.units.values()];
    const told = new Map<number, number>();
    for (const { intent, settled: { total = 0, rows = 0 } = {} } of all) {
      // Some tell a page's own length.
      if (total > rows) told.set(intent.target, Math.max(total, told.get(intent.target) ?? 0));
    }

    // Who was asked for and not found is none of them.
    if (target.kind === "enrich") return { matches: matches && matches - this.state.misses };
    if (target.kind === "employees") {
      const empty = all.filter(({ intent, settled }) => intent.offset === 0 && settled?.rows === 0);
      const asked = new Set(empty.map(({ intent }) => intent.target));
      const missing = new Set(
        all.flatMap(({ intent, settled }) => (settled?.miss ? intent.target : [])),
      );

      const peopleOf = (at: number): number | undefined =>
        matches === null ? told.get(at) : peopleAt(counts?.[at], target);
      const each = target.companies.map((_, at) => (missing.has(at) ? 0 : peopleOf(at)));
      return {
        matches: each.reduce<number | null>(
          (sum, rows) => (sum === null || rows === undefined ? null : sum + rows),
          0,
        ),
        uncounted: counts?.filter((count, at) => count === 0 && !asked.has(at)).length,
      };
    }
    if (parts !== undefined) return { matches };
    if (matches === null) return { matches: told.get(0) ?? null };

    return {
      matches: all.reduce((most, { settled }) => Math.max(most, settled?.total ?? 0), matches),
    };
  }

  /** Rows that it has once it is whole; null: nobody knows. */
  get wanted(): number | null {
    const { matches } = this.plan;
    const told = matches === null ? this.offer.matches : null;
    const asked = this.state.session?.rows ?? matches;
    return told === null ? asked : Math.min(told, asked ?? told);
  }

  /** Rows that may still come of it; null: nobody knows. */
  get rest(): number | null {
    const { matches, uncounted = 0 } = this.offer;
    return matches === null ? null : Math.max(0, matches + uncounted - placesOf(this.state));
  }

  receipt(): Promise<unknown> {
    return receiptOf(this.path);
  }

  placeOf({ intent }: Unit): string {
    return `page ${intent.n} in ${journalOf(this.path)}`;
  }

  protected replyOf(unit: Unit, source: LogSource): Buffer {
    const body = source(unit.replyAt, unit.settled?.follows ?? 0);
    if (checksum(body) === unit.settled?.crc) return body;
    throw damagedRun(
      `${this.placeOf(unit)} is damaged: ` +
        `its ${counted(unit.settled?.rows ?? 0, "paid row")} cannot be read; ` +
        "nothing else of the run is touched",
    );
  }
}
