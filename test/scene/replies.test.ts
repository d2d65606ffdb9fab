import { existsSync } from "node:fs";
import { expect } from "vitest";
import { ANY, at, BUY, type Case, product, run, tryCases, turns, whole } from "./scene.ts";

// A purchase whose replies are lost, late, repeated, dear, or tell nothing: at a service that we did not write.

const SLUG = "employees acme -o o.csv --yes --receipt r.json";
const DOMAIN = "employees acme.example -o o.csv --limit 1000 --yes --receipt r.json";

const TOTALS = [undefined, "own-length", "header", "result"] as const;
const REFUSALS = ["laravel", "between", "pydantic", "bad-request"] as const;

const described = (value: object): string => JSON.stringify(value);

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
  {
    name: "a dataset that moves while a run is at work: exit 5, and the same command begins anew",
    habit: { people: 100, version: (calls) => (calls < 3 ? "v1" : "v2") },
    steps: [
      run(`${BUY} --per-page 20 --concurrency 1`, 5, {
        charged: 60,
        says: ["changed its dataset from v1 to v2", "the same command begins anew"],
      }),
      run("runs --json", 0, { out: [{ status: "stale" }] }),
      run(`${BUY} --per-page 20`, 0, { rows: 100, charged: 160, silent: ["continuing"] }),
    ],
  },
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
      run("runs export last --json -o o.csv", 5, { charged: 20, rows: 10 }),
      // Whom nobody has is nobody: nothing is touched.
      run("forget network.example/in/person-25 --yes", 6, {
        says: ["nobody who is kept is"],
      }),
    ],
  },

  ...product(product([SLUG, DOMAIN], TOTALS), [true, false]).map(
    ([[line, total], clamp]): Case => ({
      name: `a short page is not the last one where nothing says so: ${line.slice(10, 23)}, ${total}, clamped ${clamp}`,
      habit: { people: 237, maxPerPage: 25, total, clamp },
      steps: [run(`${line} --require-complete --paging page`, 0, { ...whole(237), rows: 237 })],
    }),
  ),
  ...product([SLUG, DOMAIN, BUY], [40, 3_000]).map(([line, people]): Case => {
    // Where a count says that the first page was all, no second one is asked for.
    const isWhole = people === 40 && line !== DOMAIN;
    const charged = isWhole ? 40 : 2 * Math.min(people, 100);
    const says = isWhole ? [] : ["gave a page twice"];
    return {
      name: `a page that comes again ends the buying: ${line.slice(0, 23)}, ${people} people`,
      habit: { people, pageIgnored: true, maxPerPage: 100, clamp: true },
      steps: [
        run(`${line} --concurrency 8`, isWhole ? 0 : 5, { charged, says }),
        ...(isWhole ? [] : [run(line, 5, { charged })]),
      ],
    };
  }),
  {
    // Of b the first page alone: it is slow, and meanwhile c's second one shows that pages are not turned.
    name: "a page that came again behind a page that is missing is known when the run goes on",
    habit: () => {
      let replies = 0;
      return {
        companies: { "a.example": 0, "b.example": 300, "c.example": 7 },
        pageIgnored: true,
        maxPerPage: 50,
        jitterMs: 300,
        random: () => (++replies === 2 ? 1 : 0),
      };
    },
    steps: [
      async (scene) => {
        const line =
          "employees a.example b.example c.example --limit 1000 --per-page 20 --yes -o o.csv";
        await scene.take(run(line, 5, { says: ["gave a page twice"] }));
        const charged = scene.service.charged();
        // Which of the two requests comes first is the machine's choice.
        expect([20 + 2 * 7, 2 * 20 + 7]).toContain(charged);
        await scene.take(run(line, 5, { says: ["gave a page twice"], charged }));
      },
    ],
  },
  ...(
    [
      [`${DOMAIN} --paging cursor --per-page 100`, "nobody knows"],
      [`${SLUG} --paging cursor`, "gave 100 of the 237 profiles"],
    ] as const
  ).map(
    ([line, says]): Case => ({
      name: `a whole page without a cursor or a total leaves open whether there are more: ${says}`,
      habit: { people: 237, maxPerPage: 100, clamp: true, paging: "cursor", nextUnder: "after" },
      steps: [run(line, 5, { ...whole(100), says: [says] })],
    }),
  ),
  ...product([{ minPerPage: 10 }, { sizes: [10, 25, 50, 100] }], REFUSALS).map(
    ([change, refusal]): Case => ({
      name: `pages of a minimum or of fixed sizes are bought to the last row, and never beyond a cap: ${described(change)}, ${refusal}`,
      habit: { people: 237, maxPerPage: 100, refusal, ...change },
      steps: [
        run(BUY, 0, { ...whole(237), rows: 237 }),
        run(`${SLUG} --max-credits 203 --overwrite`, 5, {
          chargedAtMost: 237 + 203,
          says: ["no page that is as small"],
        }),
      ],
    }),
  ),
  ...[
    run(`${BUY} --limit 37`, 5, {
      says: ["30 of 37 rows came", "--limit 40 buys the next one, --limit 30 ends whole"],
    }),
    run(`${BUY} --limit 30`, 0),
    run(`${BUY} --limit 40`, 0),
  ].map(
    (step): Case => ({
      name: `a limit that no pages make says which ones do, and they do: ${step.line}`,
      habit: { people: 237, minPerPage: 10, maxPerPage: 10 },
      steps: [step],
    }),
  ),

  {
    name: "a price that rises while pages are under way: what was charged above the cap is said, also the next time",
    habit: (service) => ({
      people: 400,
      jitterMs: 5,
      mishap: (call) => void (call === 3 && Object.assign(service().options, { price: 5 })),
    }),
    steps: ([5, 0] as const).map((code) =>
      run(`${BUY} --per-page 20 --concurrency 4 --max-credits 150`, code, {
        mayPass: true,
        check: ({ service }, { stderr }) => {
          const above = service.charged() - 150;
          expect(above).toBeGreaterThan(0);
          expect(stderr).toContain(
            `${above} more than the 150 that were agreed to: the service took more`,
          );
        },
      }),
    ),
  },
  ...[237, 1_000].map(
    (people): Case => ({
      name: `replies that overtake each other: nobody else spent, of ${people}`,
      habit: { people, jitterMs: 12 },
      steps: [
        run(`${BUY} --per-page 10 --concurrency 8`, 0, {
          ...whole(people),
          says: [`(balance ${(5_000 - people).toLocaleString("en")})`],
        }),
      ],
    }),
  ),
  {
    name: "the first paid call is alone: it tells price, page size and keys to the others",
    habit: { people: 3, jitterMs: 30, random: () => 1 },
    steps: [
      run(
        "enrich a.example b.example c.example d.example e.example --yes -o o.csv --concurrency 4",
        0,
        {
          check: ({ service }) => {
            const [first, ...others] = service.seen.filter(({ key }) => key !== undefined);
            expect(others).toHaveLength(4);
            for (const other of others)
              expect(other.at).toBeGreaterThanOrEqual((first?.done ?? 0) - 5);
          },
        },
      ),
    ],
  },
  {
    name: "a price that nobody told is learned with one row, and the cap holds",
    habit: { people: 237, price: 3, tellsCosts: false },
    steps: [
      run(`${BUY} --max-credits 150`, 0, {
        charged: 150,
        rows: 50,
        receipt: { credits: 150, uncertain_credits: 0, unit_cost: 3, complete: false },
        check: ({ service }) =>
          expect(service.seen.find(({ path }) => path.endsWith("/search"))?.size).toBe(1),
      }),
    ],
  },
  {
    name: "a price that nobody told, and what was agreed to: the hint buys the rest",
    habit: { people: 100, price: 3, tellsCosts: false },
    steps: [
      run(BUY, 5, { says: ["33 of 100 rows came"] }),
      run(/headcount (resume \S+ --max-credits \d+) buys the rest/, 0, {
        more: " --yes",
        rows: 100,
        charged: 300,
      }),
    ],
  },
  {
    name: "a price that nobody told, and that is low: everybody is bought inside the cap",
    habit: { people: 100, price: 0.25, tellsCosts: false },
    steps: [run(`${BUY} --max-credits 30`, 0, { ...whole(25), rows: 100 })],
  },
  {
    name: "a negative charge is no charge: it ends the run, and every later try",
    habit: { people: 100, usedIs: -5 },
    steps: [1, 2, 3].map(() =>
      run(`${BUY} --per-page 10`, 5, {
        says: ["charged -5 credits, which cannot be"],
        charged: 10,
        spent: { settled: 0 },
        isUnbooked: true,
      }),
    ),
  },
  {
    // It honours keys, and does not say so.
    name: "a reply that tells the charge of a lost one again is that charge: no credit is given away",
    habit: { people: 120, idempotent: true, mishap: at(2, "drop") },
    steps: [
      run(`${BUY} --per-page 20 --max-credits 120 --concurrency 1`, 0, {
        ...whole(120),
        rows: 120,
        spent: { settled: 120, uncertain: 0 },
      }),
    ],
  },
  {
    name: "a reply that does not say what it cost is booked at the quote's price, and that is said once",
    habit: { people: 100, price: 0.25, usedIs: "missing" },
    steps: [
      run(`${BUY} --per-page 10`, ANY, {
        ...whole(25),
        check: (_, { stderr }) =>
          expect(stderr.match(/does not say what a call cost/g)).toHaveLength(1),
      }),
    ],
  },
]);
