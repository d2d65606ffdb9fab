import { spawnSync } from "node:child_process";
import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { type JournalRecord, replay } from "../../../src/engine/runs/journal.ts";
import { charged, runIds, seeded, type User, user } from "../../support/export.ts";
import { decodeLog } from "../../support/journals.ts";
import type { TestService } from "../../support/service.ts";
import type { Campaign, Course } from "../campaign.ts";
import { CREDITS, startService } from "./scene.ts";
import { AppendedFile, type Event, type Fate, losses, type Recorded, record } from "./trace.ts";

// All writes, syncs and paid requests of a whole run are recorded; after each of them the disk is what a power failure could have left.
const HAS_STRACE = spawnSync("strace", ["-V"]).status === 0;
const JOURNAL = "journal.ndjson";
const ROWS = 130;
const ARGV = [
  "search",
  "--department",
  "Sales",
  "--limit",
  String(ROWS),
  "--per-page",
  "20",
  "--yes",
  "--format",
  "ndjson",
];

/** Every kind of unsynced remains: none, all, and by chance some of the writes and some of their sectors. */
function fates(random: () => number, count: number): (() => Fate)[] {
  const byChance = (): Fate => {
    const draw = random();
    return draw < 0.2 ? "gone" : draw < 0.4 ? "whole" : () => random() < 0.5;
  };
  return [() => "gone", () => "whole", ...Array.from({ length: count }, () => byChance)];
}

/** A run that was recorded, and what it left. */
interface Life {
  readonly u: User;
  readonly id: string;
  readonly recorded: Recorded;
  /** Its rows. */
  readonly expected: string;
  /** Its folder after its end, without what says that it is over. */
  readonly kept: string;
  readonly journal: string;
}

async function recordRun(service: TestService): Promise<Life> {
  const u = user(service.url, service.key);
  // As a run that is not over keeps its lookup, the name under which the same command finds it.
  const recorded = await record(u, [...ARGV, "--require-complete", "--concurrency", "3"]);
  const [id = ""] = runIds(u);
  const journal = join("state", "runs", id, JOURNAL);
  const expected = (await u.run(["runs", "export", id, "--format", "ndjson"])).stdout;
  const kept = join(u.dir, "kept");
  cpSync(join(u.dir, "state"), kept, { recursive: true });
  rmSync(join(kept, "runs", id, "receipt.json"), { force: true });

  expect({ code: recorded.code, rows: expected.trim().split("\n").length }).toEqual({
    code: 5,
    rows: ROWS,
  });
  const { events } = recorded;
  expect(events.filter(({ kind }) => kind === "sent").length).toBeGreaterThanOrEqual(7);
  const whole = Buffer.concat(
    events.flatMap((event) =>
      event.kind === "append" && event.file === journal ? [event.data] : [],
    ),
  );
  expect(whole.equals(readFileSync(join(kept, "runs", id, JOURNAL)))).toBe(true);
  const printed = events.flatMap((event) => (event.kind === "printed" ? [event.data] : []));
  expect(Buffer.concat(printed).toString()).toBe(expected);
  return { u, id, recorded, expected, kept, journal };
}

/** The replies whose lines and bytes are on the disk. */
function wholeReplies(durable: Buffer): string {
  const { entries } = decodeLog<JournalRecord>(durable, JOURNAL);
  return entries
    .map(({ record, end }) => durable.toString("utf8", end, end + (record.follows ?? 0)))
    .join("\n");
}

/** No request goes out before its key is on the disk, and no row before its page is. */
function checkOrder(events: readonly Event[], file: string): void {
  const journal = new AppendedFile();
  let settled = "";
  for (const [number, event] of events.entries()) {
    if ("file" in event && event.file === file) {
      journal.apply(event, number);
      if (event.kind === "synced") settled = wholeReplies(journal.durable);
    } else if (event.kind === "sent") {
      if (!journal.durable.includes(`"key":"${event.key}"`))
        throw new Error(`sent before its key was on the disk: ${event.key}`);
    } else if (event.kind === "printed") {
      for (const row of event.data.toString().trim().split("\n"))
        expect(settled.includes(row)).toBe(true);
    }
  }
  expect(journal.isSynced).toBe(true);
}

/** What the run is and what was bought has its name and its bytes on the disk before it is relied on. */
async function checkNames(service: TestService): Promise<void> {
  const deep = user(service.url, service.key);
  const env = { ...deep.env, HEADCOUNT_STATE_DIR: join(deep.dir, "far", "down", "state") };
  const words = [
    "search",
    "--department",
    "Sales",
    "--limit",
    "30",
    "--per-page",
    "10",
    "--yes",
    "-o",
    "people.csv",
  ];
  const { code, events } = await record({ ...deep, env }, [...words, "--receipt", "receipt.json"]);
  expect(code).toBe(0);
  // A lock is nothing after a power failure, how fast one may ask is learned again, and drafts are written again.
  const isBeside = (file: string): boolean => /lock|pacing|^config|\.cache|\.db/.test(file);
  const counts = (file: string): boolean => !isBeside(file) && !/\.(?:tmp|part)$/.test(file);
  expect(losses(events, counts)).toEqual([]);
  const named = events.flatMap((event) =>
    event.kind === "named" && counts(event.file) ? [event.file] : [],
  );
  const ends = ["far", "plan.json", "journal.ndjson", "people.csv", "receipt.json"];
  for (const end of ends) expect(named.some((file) => file.endsWith(end))).toBe(true);
  // Without the syncs of any one file or folder something is lost.
  const synced = new Set(events.flatMap((event) => (event.kind === "synced" ? [event.file] : [])));
  for (const file of [...synced].filter((each) => !isBeside(each) && !each.endsWith(JOURNAL))) {
    const without = events.map((event) =>
      event.kind === "synced" && event.file === file ? { ...event, before: 0 } : event,
    );
    expect({ file, losses: losses(without, counts) }).not.toMatchObject({ losses: [] });
  }
}

/** Whatever of the unsynced bytes is there, what was synced is read, and nothing that is torn. @returns how many disks were read */
function readAllDisks({ journal: file, recorded }: Life, course: Course): number {
  const random = seeded(7);
  const journal = new AppendedFile();
  let [states, torn] = [0, 0];
  for (const [number, event] of recorded.events.entries()) {
    if (!("file" in event) || event.file !== file) continue;
    journal.apply(event, number);
    const synced = decodeLog<JournalRecord>(journal.durable, JOURNAL).entries;
    for (const fate of fates(random, course.isWhole ? 400 : 20)) {
      const image = journal.image(fate);
      const { entries, validBytes } = decodeLog<JournalRecord>(image, JOURNAL);
      states++;
      if (validBytes < image.length) torn++;
      expect(entries.slice(0, synced.length)).toEqual(synced);
      // The next session goes on from exactly there.
      expect(decodeLog<JournalRecord>(image.subarray(0, validBytes), JOURNAL)).toEqual({
        entries,
        validBytes,
      });
    }
  }
  expect(states).toBeGreaterThan(250);
  expect(torn).toBeGreaterThan(50);
  return states;
}

/** The same command on a disk that was left: it ends in the same rows, and pays for none twice. */
async function resumeOn(life: Life, image: Buffer, service: TestService): Promise<void> {
  const { expected, id, kept, recorded, u } = life;
  const requested = new Set(
    recorded.events.flatMap((event) => (event.kind === "sent" ? [event.key] : [])),
  );
  const { session, units } = replay(decodeLog<JournalRecord>(image, JOURNAL).entries);
  // The recorded life went on: every unit that it got to ask for is paid for, under the key that stands here.
  const paid = [...units.values()].filter(
    ({ intent, voided }) => !voided && requested.has(intent.key),
  );
  const rows = paid.reduce((sum, { intent }) => sum + intent.perPage, 0);
  rmSync(join(u.dir, "state"), { recursive: true });
  cpSync(kept, join(u.dir, "state"), { recursive: true });
  writeFileSync(join(u.dir, "state", "runs", id, JOURNAL), image);

  const before = await charged(service, CREDITS);
  const { code, stderr, stdout } = await u.run(ARGV);
  expect({ code, stdout }).toEqual({ code: 0, stdout: expected });
  expect((await charged(service, CREDITS)) - before).toBe(ROWS - rows);
  if (session !== undefined) expect(stderr).toContain(`continuing run ${id}`);
}

async function resumeOnAll(life: Life, service: TestService, course: Course): Promise<number> {
  const { journal: file, recorded } = life;
  const random = seeded(course.seed);
  const journal = new AppendedFile();
  const images: Buffer[] = [];
  for (const [number, event] of recorded.events.entries()) {
    if (!("file" in event) || event.file !== file) continue;
    journal.apply(event, number);
    const possible = journal.isSynced
      ? [() => "gone" as const]
      : fates(random, course.isWhole ? 4 : 1);
    for (const fate of course.isWhole ? possible : possible.slice(-1))
      images.push(journal.image(fate));
  }
  expect(images.length).toBeGreaterThan(15);
  const step = course.isWhole ? Math.ceil(1 / course.share) : images.length / course.cases;
  let states = 0;
  for (let at = 0; at < images.length; at += step, states++)
    await resumeOn(life, images[Math.floor(at)] ?? Buffer.alloc(0), service);
  return states;
}

const withoutSyncs = (events: readonly Event[], file: string): readonly Event[] =>
  events.map((event) =>
    event.kind === "synced" && event.file === file ? { ...event, before: 0 } : event,
  );

export const exportPowerLoss: Campaign = {
  name: "export-power-loss",
  seed: 11,
  cases: { quick: 3, whole: Number.POSITIVE_INFINITY },
  canRun: HAS_STRACE,
  control: { without: "the syncs of the journal", seen: /^sent before its key was on the disk/ },

  async run(course) {
    const service = await startService();
    try {
      const life = await recordRun(service);
      const { events } = life.recorded;
      checkOrder(course.isBroken ? withoutSyncs(events, life.journal) : events, life.journal);
      await checkNames(service);
      const read = readAllDisks(life, course);
      return { read, resumed: await resumeOnAll(life, service, course) };
    } finally {
      await service.close();
    }
  },
};
