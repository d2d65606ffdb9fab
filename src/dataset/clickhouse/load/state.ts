import { createHash } from "node:crypto";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { FileReport, TableReport } from "../../build/import-stage.ts";
import type { ClearedReport, DepartmentReport } from "../../build/import-values.ts";
import { MOST_EXAMPLES } from "../../build/rejects.ts";

export interface PartReport
  extends Pick<TableReport, "rows" | "taken" | "refused" | "reasons" | "examples"> {
  readonly file: FileReport;
  /** With every value, not the most frequent only: parts are added up. */
  readonly departments: DepartmentReport;
  readonly cleared: Readonly<Record<string, ClearedReport>>;
  readonly hiddenDomains: readonly string[];
  /** Rows that were sent: those taken before the ids of other files were known. */
  readonly sent: number;
}

type LoadStep = "twins" | "companies" | "hidden" | "publish";

interface Saved {
  readonly fingerprint: string;
  readonly version: string;
  readonly done: readonly LoadStep[];
}

/**
 * Which version a load makes, and what of it is done.
 * Kept in a folder, so that the next process goes on.
 */
export type LoadState = ReturnType<typeof stateOf>;

function stateOf(
  folder: string,
  { fingerprint, version, ...saved }: Saved,
  parts: Map<number, PartReport>,
) {
  let { done } = saved;
  const save = (): Promise<void> =>
    replace(join(folder, "load.json"), { fingerprint, version, done });

  return {
    folder,
    version,
    fingerprint,
    save,
    remove: (): Promise<void> => rm(folder, { recursive: true, force: true }),
    part: (part: number): PartReport | undefined => parts.get(part),
    isDone: (step: LoadStep): boolean => done.includes(step),
    rejects: (part: number): string => join(folder, `part-${part}-rejects.ndjson`),
    twins: (part: number): string => join(folder, `part-${part}-twins.csv`),

    /**
     * @param report undefined where the part is not on the
     * servers after all: all after it is to be made again
     */
    async setPart(part: number, report: PartReport | undefined): Promise<void> {
      if (report === undefined) {
        done = [];
        await save();
        parts.delete(part);
      } else parts.set(part, report);
      await replace(join(folder, `part-${part}.json`), report ?? null);
    },

    async setDone(step: LoadStep): Promise<void> {
      done = [...done, step];
      await save();
    },
  };
}

export async function openLoad(folder: string): Promise<LoadState | undefined> {
  const saved = await readJson<Saved>(join(folder, "load.json"));
  if (saved === undefined) return undefined;
  const parts = new Map<number, PartReport>();
  for (let part = 0; ; part++) {
    const report = await readJson<PartReport | null>(join(folder, `part-${part}.json`));
    if (report === undefined) break;
    if (report !== null) parts.set(part, report);
  }
  return stateOf(folder, saved, parts);
}

export async function beginLoad(
  folder: string,
  fingerprint: string,
  version: string,
  parts: number,
) {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const state = stateOf(folder, { fingerprint, version, done: [] }, new Map());
  for (let part = 0; part < parts; part++) await replace(join(folder, `part-${part}.json`), null);
  await state.save();
  return state;
}

async function replace(path: string, value: unknown): Promise<void> {
  await writeFile(`${path}.new`, JSON.stringify(value), { mode: 0o600, flush: true });
  await rename(`${path}.new`, path);
}

async function readJson<Value>(path: string): Promise<Value | undefined> {
  try {
    return JSON.parse(await readFile(path, "utf8")) as Value;
  } catch {
    return undefined;
  }
}

export const fingerprintOf = (value: unknown): string =>
  createHash("sha256").update(JSON.stringify(value)).digest("hex");

const sum = (numbers: readonly number[]): number =>
  numbers.reduce((total, number) => total + number, 0);

export function tableReport(parts: readonly PartReport[]): TableReport {
  const reasons: Record<string, number> = {};
  for (const part of parts) {
    for (const [reason, count] of Object.entries(part.reasons))
      reasons[reason] = (reasons[reason] ?? 0) + (count ?? 0);
  }

  return {
    files: parts.length,
    rows: sum(parts.map(({ rows }) => rows)),
    taken: sum(parts.map(({ taken }) => taken)),
    refused: sum(parts.map(({ refused }) => refused)),
    reasons: Object.fromEntries(Object.entries(reasons).sort(([a], [b]) => (a < b ? -1 : 1))),
    examples: parts.flatMap(({ examples }) => examples).slice(0, MOST_EXAMPLES),
    read: parts.map(({ file }) => file),
  };
}

type Example = readonly [value: string, count: number];

/** The most frequent values, as a query over all rows would list them. */
function most(examples: readonly Example[], limit: number): Example[] {
  const counts = new Map<string, number>();
  for (const [value, count] of examples) counts.set(value, (counts.get(value) ?? 0) + count);
  const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
  return [...counts].sort(([a, x], [b, y]) => y - x || byBytes(a, b)).slice(0, limit);
}

export function departmentsReport(parts: readonly PartReport[]): DepartmentReport {
  const all = parts.map(({ departments }) => departments);
  const examples = all.flatMap((one) =>
    one.examples.map(({ value, people }): Example => [value, people]),
  );
  return {
    unknown: sum(all.map(({ unknown }) => unknown)),
    missing: sum(all.map(({ missing }) => missing)),
    examples: most(examples, 10).map(([value, people]) => ({ value, people })),
  };
}

export function clearedReports(parts: readonly PartReport[]): Record<string, ClearedReport> {
  const cleared: Record<string, ClearedReport> = {};
  for (const field of new Set(parts.flatMap((part) => Object.keys(part.cleared)))) {
    const all = parts.flatMap((part) => part.cleared[field] ?? []);
    const examples = all.flatMap((one) =>
      one.examples.map(({ value, rows }): Example => [value, rows]),
    );
    const values = sum(all.map((one) => one.values));
    cleared[field] = {
      values,
      examples: most(examples, 5).map(([value, rows]) => ({ value, rows })),
    };
  }

  return cleared;
}
