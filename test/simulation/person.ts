import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Unit } from "../../src/engine/runs/journal.ts";
import { planOf, stateOf } from "../../src/engine/runs/reader.ts";
import { type TestContext, tempDir } from "../support/client.ts";
import { readCsv } from "../support/export.ts";
import type { Line, Sold } from "./network.ts";
import type { Owned, UserName } from "./story.ts";

/** A command as somebody typed it. */
export interface Typed {
  readonly argv: readonly string[];
  readonly kind: "search" | "refresh" | "other";
  /** What it writes, and of which segment; for a refresh also `.added`, `.removed` and `.changed` beside it. */
  readonly file: string | undefined;
  readonly department: string | undefined;
  readonly cap: number | null;
  readonly limit: number | null;
  readonly owned: Owned;
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
  /** Bytes of the files that it may write. */
  readonly files: ReadonlyMap<string, string | undefined>;
  readonly owned: ReadonlySet<string>;
  readonly deliveries: number;
  readonly isIdle: boolean;
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
  running: { readonly test: TestContext; readonly typed: Typed; readonly before: Before } | undefined;
  readonly sold: Sold[] = [];
  /** Whom nothing shows any more: suppressed, or forgotten. */
  readonly avoided = new Set<string>();
  readonly forgotten = new Set<string>();
  /** Files that are there whole, and what they are lists of. */
  readonly lists = new Map<string, Typed & { readonly department: string }>();
  files = 0;

  constructor(name: UserName, line: Line) {
    this.name = name;
    this.line = line;
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
    return readdirSync(folder)
      .filter((name) => !name.startsWith("."))
      .sort()
      .map((name) => join(folder, name))
      .filter((path) => existsSync(join(path, "journal.ndjson")));
  }

  /** Pages that were asked for, of all runs. */
  units(): Unit[] {
    return this.runs().flatMap((run) => [...stateOf(run).units.values()]);
  }

  /** Those of which nobody knows how they ended. */
  pending(): Unit[] {
    return this.units().filter(
      ({ settled, uncertain, voided }) => settled === undefined && !voided && uncertain === 0n,
    );
  }

  /** Whom the journals brought. @param but a run that is not looked at */
  owned(but?: string): Set<string> {
    const ids = new Set<string>();
    const delivered = new Map(this.sold.map((sold) => [sold.key, sold.ids]));
    for (const run of this.runs()) {
      if (run === but) continue;
      for (const { intent, settled } of stateOf(run).units.values()) {
        if (settled !== undefined) for (const id of delivered.get(intent.key) ?? []) ids.add(id);
      }
    }
    return ids;
  }

  /** The run that wrote a file. */
  runOf(file: string): string | undefined {
    return this.runs().findLast((run) => planOf(run)?.output === this.path(file) && stateOf(run).done !== undefined);
  }

  /** A purchase begins, and not one that goes on. */
  ask(typed: Typed, version: string): void {
    if (typed.file !== undefined) {
      this.asked.set(typed.file, { typed, versions: new Set([version]), owned: this.owned() });
    }
  }

  /** Just before a command. */
  before({ file, kind }: Typed): Before {
    const files = file === undefined ? [] : [file, ...(kind === "refresh" ? besides(file) : [])];
    const read = (name: string): string | undefined =>
      existsSync(this.path(name)) ? readFileSync(this.path(name), "utf8") : undefined;
    return {
      files: new Map(files.map((name) => [name, read(name)])),
      owned: this.owned(),
      deliveries: this.sold.length,
      isIdle: this.runs().every((run) => {
        const { done, ended } = stateOf(run);
        return (done ?? ended) !== undefined;
      }),
    };
  }
}

/** `list-1.csv` has `list-1.added.csv` beside it, and so on. */
export const besides = (file: string): string[] => BESIDE.map((what) => file.replace(/\.csv$/, `.${what}.csv`));
