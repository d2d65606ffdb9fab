import { expect } from "vitest";
import { ANY, at, BUY, type Case, product, run, tryCases, whole } from "./scene.ts";

// Pages that are shorter or larger than was asked for, that come again, or have a size of their own.

const SLUG = "employees acme -o o.csv --yes --receipt r.json";
const DOMAIN = "employees acme.example -o o.csv --limit 1000 --yes --receipt r.json";

const TOTALS = [undefined, "own-length", "header", "result"] as const;
/** They are shown, and never read. */
const REFUSALS = ["wordless", "misleading", "bad-request"] as const;

const described = (value: object): string => JSON.stringify(value);
tryCases([
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
          says: ["no page there that is as small"],
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
      // Each answer after all that go out with it were charged, however busy the machine is.
      jitterMs: 120,
      random: () => 1,
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
        check: (_, { stderr }) => expect(stderr.match(/tells what a call cost/g)).toHaveLength(1),
      }),
    ],
  },
]);
