import { existsSync } from "node:fs";
import { expect } from "vitest";
import { ANY, at, BUY, type Case, product, run, tryCases, turns, whole } from "./scene.ts";

// A purchase whose replies are lost, late, repeated, dear, or tell nothing: at a service that we did not write.

tryCases([
  ...(["503", "500", "429-date", "429-ms"] as const).map(
    (mishap): Case => ({
      name: `a ${mishap} is waited out and nothing is bought twice`,
      habit: { mishap: at(3, mishap) },
      steps: [run(`${BUY} --per-page 50`, 0, { ...whole(260), rows: 260 })],
    }),
  ),
  // A service that tells the version of its dataset promises nothing of keys by that.
  ...product(
    [
      ["drop", undefined],
      ["cut", undefined],
      ["drop", () => "v1"],
    ] as const,
    [1, 4],
  ).map(
    ([[mishap, version], concurrency]): Case => ({
      name: `a reply that was charged and lost (${mishap}) is in doubt, version ${version?.()}, ${concurrency} under way`,
      habit: { version, mishap: at(3, mishap) },
      steps: [
        run(`${BUY} --per-page 50 --max-credits 200 --concurrency ${concurrency}`, 5, {
          ...whole(150, 50),
          says: ["50 credits may have been charged"],
        }),
        // A higher cap goes on with the same run: what came is not bought again. The one that is named is enough.
        run(/; headcount (resume \S+ --max-credits 310) buys the other 110\n/, 0, {
          ...whole(260, 50),
          rows: 260,
        }),
      ],
    }),
  ),
  {
    name: "a service that is down ends in bounded time",
    habit: { mishap: () => "503" },
    steps: [
      run(BUY, 8, {
        charged: 0,
        silent: ["\u001b"],
        check: ({ service }) => expect(service.paidCalls()).toBeLessThanOrEqual(12),
      }),
    ],
  },

  {
    name: "rows that come twice: exit 5, no file, and a receipt that says so",
    habit: { duplicateEvery: 10 },
    steps: [
      run(`${BUY} --per-page 50`, 5, {
        ...whole(260),
        receipt: {
          credits: 260,
          received: 260,
          distinct: 234,
          duplicates: 26,
          complete: false,
          output: null,
        },
        check: ({ u }) => expect(existsSync(u.file("o.csv"))).toBe(false),
      }),
      run("runs export last --format ndjson", ANY, {
        check: (_, { stdout }) => {
          const ids = stdout
            .trim()
            .split("\n")
            .map((line) => JSON.parse(line).id);
          expect(new Set(ids).size).toBe(234);
        },
      }),
    ],
  },
  {
    name: "fewer than were counted: exit 5, and nothing is asked for again and again",
    habit: { countedTooMany: 30 },
    steps: [
      run(`${BUY} --per-page 50`, 5, {
        charged: 260,
        receipt: {
          credits: 260,
          uncertain_credits: 0,
          count: 290,
          received: 260,
          complete: false,
        },
      }),
    ],
  },
  // Where a reply tells no balance the next page would go out beside it.
  ...[true, false].map(
    (tellsLeft): Case => ({
      name: `a dataset that moves while a run is at work: exit 5, and the same command begins anew: balance ${tellsLeft}`,
      habit: { people: 100, tellsLeft, version: (calls) => (calls < 3 ? "v1" : "v2") },
      steps: [
        run(`${BUY} --per-page 20 --concurrency 1`, 5, {
          charged: 60,
          says: ["changed its dataset from v1 to v2", "the same command begins anew"],
        }),
        run("runs --json", 0, { out: [{ status: "stale" }] }),
        run(`${BUY} --per-page 20`, 0, { rows: 100, charged: 160, silent: ["continuing"] }),
      ],
    }),
  ),
  {
    // It pages by offset, and nobody told us: `page` is ignored and every page is the first.
    name: "a service that never turns the page is stopped, not paid to the end",
    habit: { people: 2_000, paging: "offset" },
    steps: [
      run(`${BUY} --per-page 20 --concurrency 2`, 5, {
        says: ["gave a page twice"],
        calls: 2,
        charged: 40,
        receipt: { distinct: 20, complete: false },
      }),
      run(`${BUY} --per-page 20`, 5, {
        says: ["cannot be continued: the service gave"],
        silent: ["to buy for"],
        charged: 40,
      }),
    ],
  },
  {
    name: "a run that buys no more on what came is over: a quote says why, and nothing is to be resumed",
    habit: { people: 100, paging: "offset" },
    steps: [
      run(`${BUY} --per-page 20`, 5, { silent: ["tries to go on"] }),
      run("runs list --json", 0, {
        out: [{ status: "over", problem: expect.stringContaining("gave a page twice") }],
      }),
      run(`${BUY} --per-page 20 --dry-run`, 5, { says: ["gave a page twice"] }),
      run("resume last --yes", 5, { says: ["--again buys everything anew"] }),
      run("resume", ANY, { says: ["no run is unfinished"], charged: 40 }),
      run(`${BUY} --per-page 20 --again --paging offset --overwrite`, 0, { charged: 140 }),
    ],
  },
  {
    name: "a run whose rows came twice is over, and runs export names nothing that goes on with it",
    habit: { people: 60, duplicateEvery: 5 },
    steps: [
      run(BUY, 5, { says: ["12 of 60 rows came twice"] }),
      run("runs list --json", 0, {
        out: [{ status: "over", problem: expect.stringContaining("came twice") }],
      }),
      run("runs export last -o some.csv", 0, { silent: ["headcount resume"] }),
      run(BUY, 5, { charged: 60 }),
    ],
  },
  {
    name: "a run that is gone with its dataset names the command that begins anew, with what it takes",
    habit: { people: 60, version: () => "v1" },
    steps: [
      run("search --country x --max-credits 25 -o o.csv", 0),
      turns({ version: () => "v2" }),
      run("resume last --max-credits 60", 5, {
        says: ["the same command with --overwrite begins anew"],
      }),
      run("search --country x --max-credits 25 -o o.csv --overwrite", 0, { charged: 50 }),
    ],
  },
  {
    name: "a paid page that holds no rows: its run is over, and what the others hold is written",
    habit: () => {
      let answers = 0;
      return {
        people: 30,
        maxPerPage: 10,
        rowsUnder: "people",
        shape: (rows) => (++answers === 2 ? "oops" : { people: rows }),
      };
    },
    steps: [
      run(`${BUY} --per-page 10 --concurrency 1`, 5, { says: ["a paid reply cannot be read"] }),
      run(`${BUY} --per-page 10 --dry-run`, 5, {
        says: ["cannot be continued: a paid reply"],
      }),
      run("runs export last --json -o o2.csv --require-complete", 5, { charged: 20 }),
      run("runs export last --json -o o.csv", 0, {
        charged: 20,
        rows: 10,
        says: ["10 paid rows cannot be read", "holds no list of profiles"],
      }),
      // Whom nobody has is nobody: nothing is touched.
      run("forget network.example/in/person-25 --yes", 6, {
        says: ["nobody who is kept is"],
      }),
    ],
  },
]);
