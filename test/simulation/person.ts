import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Unit } from "../../src/engine/runs/journal.ts";
import type { Plan } from "../../src/engine/runs/plan.ts";
import { planOf, stateOf } from "../../src/engine/runs/reader.ts";
import { type TestContext, tempDir } from "../support/client.ts";
import { readCsv } from "../support/export.ts";
import type { Wanted } from "./agent.ts";
import { jobsDone, type TypedJob } from "./jobs.ts";
import type { Line, Sold } from "./network.ts";
import type { Ordered } from "./page.ts";
import type { Command, Owned, UserName } from "./story.ts";

/** A command as somebody typed it. */
export interface Typed {
  readonly argv: readonly string[];
  readonly kind: Command["kind"] | "other";
  /** What it writes, and of which department or companies; for a refresh also `.added`, `.removed` and `.changed` beside it. */
  readonly file: string | undefined;
  readonly groups: readonly string[];
  readonly cap: number | null;
  readonly limit: number | null;
  readonly owned: Owned;
  /** Which run is resumed; undefined: whichever is unfinished. */
  readonly run?: string | undefined;
  /** Whom it suppresses or forgets. */
  readonly who?: string;
  /** What it may run, each a purchase of its own. */
  readonly jobs?: readonly TypedJob[];
  /** What all purchases of its budget may cost: of jobs in a month, of agents for good. */
  readonly budget?: number | null;
  /** What an agent is to get. */
  readonly wanted?: Wanted;
  /** What is ordered at the console. */
  readonly ordered?: Ordered;
}

/** What a run had. */
export interface Stage {
  readonly rows: number;
  /** Of whom it did not buy: they stand behind all others. */
  readonly beside: number;
  readonly settled: number;
  readonly uncertain: number;
  readonly charged: number;
  readonly isDone: boolean;
  readonly isOpen: boolean;
  readonly isPending: boolean;
  readonly output: string | null;
  readonly limit: number | null;
  readonly job: string | undefined;
  readonly budgets: readonly string[];
  /** Of the same dataset, department or company and kind of purchase: rows from the first one on without a gap. */
  readonly pieces: ReadonlyMap<string, number>;
}

/** A purchase, from when it was typed first. */
export interface Asked {
  readonly typed: Typed;
  /** Versions of the dataset that were served since then. */
  readonly versions: Set<string>;
  /** Who was owned then. */
  readonly owned: ReadonlySet<string>;
}

/** What there was when a command began. */
export interface Before {
  /** All files, and what is in them. */
  readonly files: ReadonlyMap<string, string>;
  readonly runs: ReadonlyMap<string, Stage>;
  readonly owned: ReadonlySet<string>;
  /** Of whom there is a record of the dataset that is served. */
  readonly current: ReadonlySet<string>;
  readonly deliveries: number;
  readonly at: number;
  /** When each job was begun that was done last. */
  readonly jobsDone: ReadonlyMap<string, number>;
  readonly isIdle: boolean;
  /** How many mishaps there had been. */
  readonly mishaps: number;
}

const BESIDE = ["added", "removed", "changed"] as const;

export class Person {
  readonly name: UserName;
  readonly dir = tempDir("headcount-sim-");
  readonly line: Line;
  key = { id: "", key: "" };
  /** Purchases by the file that they are for, the last one of each. */
  readonly asked = new Map<string, Asked>();
  /** The last one that did not end well. */
  open: Asked | undefined;
  running:
    | { readonly test: TestContext; readonly typed: Typed; readonly before: Before }
    | undefined;
  readonly sold: Sold[] = [];
  /** Whom nothing shows any more: suppressed, or forgotten. */
  readonly avoided = new Set<string>();
  readonly forgotten = new Set<string>();
  #listed = 0;
  /** Files that are there whole, and what they are lists of. */
  readonly lists = new Map<string, Typed>();
  files = 0;
  /** What the last command said. */
  said = "";
  readonly #runs = new Set<string>();

  constructor(name: UserName, line: Line) {
    this.name = name;
    this.line = line;
  }

  /** Whether the suppression list has more entries, below its head, than when it was last looked at. */
  listGrows(): boolean {
    const file = this.path("state/suppression/list.ndjson");
    const before = this.#listed;
    this.#listed = existsSync(file) ? readFileSync(file, "utf8").split("\n").length - 2 : 0;
    return this.#listed > before;
  }

  path(file: string): string {
    return join(this.dir, file);
  }

  idsIn(file: string): string[] {
    return readCsv(readFileSync(this.path(file), "utf8")).map(({ id }) => id ?? "");
  }

  /** Runs, oldest first. */
  runs(): string[] {
    const folder = join(this.dir, "state", "runs");
    if (!existsSync(folder)) return [];
    // Those of one second have names in any order.
    for (const name of readdirSync(folder).sort())
      if (!name.startsWith(".")) this.#runs.add(join(folder, name));
    return [...this.#runs].filter((path) => existsSync(join(path, "journal.ndjson")));
  }

  /** Pages that were asked for, of all runs. */
  units(): Unit[] {
    return this.runs().flatMap((run) => [...stateOf(run).units.values()]);
  }

  /** Those of which nobody knows how they ended. */
  pending(): Unit[] {
    return this.units().filter(({ settled, voided }) => settled === undefined && !voided);
  }

  /** Whom the journals brought. @param isMeant which runs are looked at */
  owned(isMeant = (_run: string): boolean => true): Set<string> {
    const ids = new Set<string>();
    const delivered = new Map(this.sold.map((sold) => [sold.key, sold.ids]));
    for (const run of this.runs()) {
      if (!isMeant(run)) continue;
      for (const { intent, settled } of stateOf(run).units.values()) {
        if (settled !== undefined) for (const id of delivered.get(intent.key) ?? []) ids.add(id);
      }
    }
    return ids;
  }

  /** The run that wrote a file. */
  runOf(file: string): string | undefined {
    return this.runs().findLast(
      (run) => planOf(run)?.output === this.path(file) && stateOf(run).done !== undefined,
    );
  }

  /** A purchase begins, and not one that goes on. */
  ask(typed: Typed, version: string): void {
    if (typed.file !== undefined) {
      this.asked.set(typed.file, { typed, versions: new Set([version]), owned: this.owned() });
    }
    // A job goes on with what it began, or does the same anew.
    for (const job of typed.jobs ?? []) {
      const versions = new Set([...(this.asked.get(job.file ?? "")?.versions ?? []), version]);
      this.asked.set(job.file ?? "", { typed: job, versions, owned: this.owned() });
    }
  }

  /** Just before a command. */
  before(mishaps: number, version: string, at: number): Before {
    return {
      files: this.written(),
      runs: new Map(this.runs().map((run) => [run, this.stage(run)])),
      owned: this.owned(),
      current: this.owned((run) => planOf(run)?.dataset_version === version),
      deliveries: this.sold.length,
      at,
      jobsDone: jobsDone(this),
      isIdle: this.runs().every((run) => {
        const { done, ended } = stateOf(run);
        return (done ?? ended) !== undefined;
      }),
      mishaps,
    };
  }

  written(): Map<string, string> {
    const names = readdirSync(this.dir).filter((name) => name.endsWith(".csv"));
    return new Map(names.map((name) => [name, readFileSync(this.path(name), "utf8")]));
  }

  /** What calls of a run cost, as far as a reply ever left the service. @param since epoch milliseconds */
  charged(run: string, since = 0): number {
    const keys = new Set([...stateOf(run).units.values()].map(({ intent }) => intent.key));
    const fresh = new Map<string, number>();
    const once = new Map<string, number>();
    for (const { at, credits, key, replayed } of this.sold) {
      if (!keys.has(key) || at < since) continue;
      once.set(key, Math.max(once.get(key) ?? 0, credits));
      if (!replayed) fresh.set(key, (fresh.get(key) ?? 0) + credits);
    }
    return [...once].reduce(
      (sum, [key, credits]) => sum + Math.max(credits, fresh.get(key) ?? 0),
      0,
    );
  }

  stage(run: string): Stage {
    const { beside, budgets, done, ended, job, rows, session, settled, uncertain, units } =
      stateOf(run);
    const plan = planOf(run);
    const pieces = new Map<string, number>();
    const pages = [...units.values()].sort((one, other) => one.intent.offset - other.intent.offset);
    for (const { intent, settled: reply } of pages) {
      const piece =
        plan === undefined || reply === undefined ? undefined : pieceOf(plan, intent.target);
      if (piece === undefined || reply === undefined || intent.offset > (pieces.get(piece) ?? 0))
        continue;
      pieces.set(piece, Math.max(pieces.get(piece) ?? 0, intent.offset + reply.rows));
    }
    return {
      ...{
        rows,
        beside,
        settled: Number(settled) / 1e6,
        uncertain: Number(uncertain) / 1e6,
        charged: this.charged(run),
      },
      isDone: done !== undefined,
      isOpen: (done ?? ended) === undefined,
      isPending: pages.some((unit) => unit.settled === undefined && !unit.voided),
      output: plan?.output ?? null,
      limit: session?.limit ?? null,
      job,
      budgets: [...budgets],
      pieces,
    };
  }
}

/** What is sold row by row from its first one on: a department, or a company. @returns undefined for what is drawn or divided */
function pieceOf({ dataset_version, draw, parts, target }: Plan, at: number): string | undefined {
  if (target.kind === "employees") return `${dataset_version} ${target.companies[at]?.value}`;
  const isPlain =
    target.kind === "search" && target.owned === undefined && target.list === undefined;
  if (!isPlain || draw !== undefined || parts !== undefined || target.sample !== undefined)
    return undefined;
  return `${dataset_version} ${target.filters.department}`;
}

/** `list-1.csv` has `list-1.added.csv` beside it, and so on. */
export const besides = (file: string): string[] =>
  BESIDE.map((what) => file.replace(/\.csv$/, `.${what}.csv`));
