import { spawnSync } from "node:child_process";
import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type JournalRecord, replay } from "../../../src/engine/runs/journal.ts";
import { cases, LONG } from "../../support/campaign.ts";
import { charged, runIds, seeded, type User, user } from "../../support/export.ts";
import { decodeLog } from "../../support/journals.ts";
import { long } from "../../support/long.ts";
import { startTestService, type TestService } from "../../support/service.ts";
import { isLeftOut } from "../../support/tools.ts";
import { AppendedFile, type Fate, losses, type Recorded, record } from "./power-loss.ts";

const HAS_STRACE = spawnSync("strace", ["-V"]).status === 0;
const CREDITS = 10_000_000;
const JOURNAL = "journal.ndjson";
const argv = [
  "search",
  "--department",
  "Sales",
  "--limit",
  "130",
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

describe.skipIf(isLeftOut(HAS_STRACE))(
  "power loss: the disk after every system call of an export",
  () => {
    let service: TestService;
    let u: User;
    let life: Recorded;
    let id: string;
    let expected: string;
    /** The run's folder after its end, without what says that it is over. */
    const kept = (): string => join(u.dir, "kept");

    const journalFile = (): string => join("state", "runs", id, JOURNAL);

    beforeAll(async () => {
      const perMinute = { perMinute: 1_000_000, perDay: 100_000_000 };
      service = await startTestService({ people: 2_000, credits: CREDITS, plan: perMinute });
      u = user(service.url, service.key);
      // As a run that is not over keeps its lookup, the name under which the same command finds it.
      life = await record(u, [...argv, "--require-complete", "--concurrency", "3"]);
      [id = ""] = runIds(u);
      expected = (await u.run(["runs", "export", id, "--format", "ndjson"])).stdout;
      cpSync(join(u.dir, "state"), kept(), { recursive: true });
      rmSync(join(kept(), "runs", id, "receipt.json"), { force: true });
    }, 120_000);
    afterAll(() => service.close());

    test("the run was recorded whole", () => {
      expect({ code: life.code, rows: expected.trim().split("\n").length }).toEqual({
        code: 5,
        rows: 130,
      });
      expect(life.events.filter(({ kind }) => kind === "sent").length).toBeGreaterThanOrEqual(7);
      const whole = Buffer.concat(
        life.events.flatMap((event) =>
          event.kind === "append" && event.file === journalFile() ? [event.data] : [],
        ),
      );
      expect(whole.equals(readFileSync(join(kept(), "runs", id, JOURNAL)))).toBe(true);
      const printed = life.events.flatMap((event) =>
        event.kind === "printed" ? [event.data] : [],
      );
      expect(Buffer.concat(printed).toString()).toBe(expected);
    });

    test("no request goes out before its key is on the disk, and no row before its page is", () => {
      const journal = new AppendedFile();
      let settled = "";
      for (const [number, event] of life.events.entries()) {
        if ("file" in event && event.file === journalFile()) {
          journal.apply(event, number);
          if (event.kind === "synced") settled = wholeReplies(journal.durable);
        } else if (event.kind === "sent")
          expect(journal.durable.includes(`"key":"${event.key}"`)).toBe(true);
        else if (event.kind === "printed") {
          for (const row of event.data.toString().trim().split("\n"))
            expect(settled.includes(row)).toBe(true);
        }
      }
      expect(journal.isSynced).toBe(true);
    });

    test("what the run is and what was bought has its name and its bytes on the disk before it is relied on", async () => {
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
      const { code, events } = await record({ ...deep, env }, [
        ...words,
        "--receipt",
        "receipt.json",
      ]);
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
      const synced = new Set(
        events.flatMap((event) => (event.kind === "synced" ? [event.file] : [])),
      );
      for (const file of [...synced].filter((each) => !isBeside(each) && !each.endsWith(JOURNAL))) {
        const without = events.map((event) =>
          event.kind === "synced" && event.file === file ? { ...event, before: 0 } : event,
        );
        expect({ file, losses: losses(without, counts) }).not.toMatchObject({ losses: [] });
      }
    }, 120_000);

    /** The replies whose lines and bytes are on the disk. */
    function wholeReplies(durable: Buffer): string {
      const { entries } = decodeLog<JournalRecord>(durable, JOURNAL);
      return entries
        .map(({ record, end }) => durable.toString("utf8", end, end + (record.follows ?? 0)))
        .join("\n");
    }

    test("whatever of the unsynced bytes is there, what was synced is read, and nothing that is torn", () => {
      const random = seeded(7);
      const journal = new AppendedFile();
      let states = 0;
      let torn = 0;
      for (const [number, event] of life.events.entries()) {
        if (!("file" in event) || event.file !== journalFile()) continue;
        journal.apply(event, number);
        const synced = decodeLog<JournalRecord>(journal.durable, JOURNAL).entries;
        for (const fate of fates(random, cases(40, 400))) {
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
      expect(states).toBeGreaterThan(500);
      expect(torn).toBeGreaterThan(100);
    }, 600_000);

    long(
      "the same command then ends in the same rows, and pays for no row twice",
      async () => {
        const random = seeded(11);
        const journal = new AppendedFile();
        const requested = new Set(
          life.events.flatMap((event) => (event.kind === "sent" ? [event.key] : [])),
        );
        let states = 0;
        for (const [number, event] of life.events.entries()) {
          if (!("file" in event) || event.file !== journalFile()) continue;
          journal.apply(event, number);
          const possible = journal.isSynced ? [() => "gone" as const] : fates(random, LONG ? 4 : 1);
          for (const fate of LONG ? possible : possible.slice(-1)) {
            const image = journal.image(fate);
            const { entries } = decodeLog<JournalRecord>(image, JOURNAL);
            const { units, session } = replay(entries);
            // The recorded life went on: every unit that it got to ask for is paid for, under the key that stands here.
            const paid = [...units.values()].filter(
              ({ intent, voided }) => !voided && requested.has(intent.key),
            );
            const rows = paid.reduce((sum, { intent }) => sum + intent.perPage, 0);
            rmSync(join(u.dir, "state"), { recursive: true });
            cpSync(kept(), join(u.dir, "state"), { recursive: true });
            writeFileSync(join(u.dir, "state", "runs", id, JOURNAL), image);
            const before = await charged(service, CREDITS);
            const again = await u.run(argv);
            states++;
            expect({ number, code: again.code, stdout: again.stdout }).toEqual({
              number,
              code: 0,
              stdout: expected,
            });
            expect({ number, spent: (await charged(service, CREDITS)) - before }).toEqual({
              number,
              spent: 130 - rows,
            });
            if (session !== undefined) expect(again.stderr).toContain(`continuing run ${id}`);
          }
        }
        expect(states).toBeGreaterThan(15);
      },
      900_000,
    );
  },
);
