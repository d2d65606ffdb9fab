import { expect } from "vitest";
import { readCsv } from "../support/export.ts";
import { BUY, type Case, run, tryCases, whole } from "./scene.ts";

// Our client at a service that we did not write, and that chose otherwise wherever the contract is silent.

const COUNTS = [undefined, "count", "total", "total_results", "total_count", "results_count"];
const ROWS = [
  undefined,
  "profiles",
  "people",
  "persons",
  "results",
  "items",
  "data",
  "employees",
] as const;

const described = (value: object): string => JSON.stringify(value);

tryCases([
  ...COUNTS.map(
    (countUnder): Case => ({
      name: `a count is read as ${countUnder ?? "a bare number"}`,
      habit: { countUnder },
      steps: [
        run("count --country x", 0, {
          check: (_, { stdout }) => expect(stdout).toBe("260\n"),
        }),
      ],
    }),
  ),
  ...ROWS.map(
    (rowsUnder): Case => ({
      name: `a page is read under ${rowsUnder ?? "nothing"}, and every field is kept`,
      habit: { rowsUnder, people: 30 },
      steps: [
        run(BUY, 0, {
          ...whole(30),
          rows: 30,
          check: ({ u }) =>
            expect(readCsv(u.read("o.csv"))[4]).toMatchObject({
              name: "Person 4",
              title: 'Sales, "Lead"',
              nickname: "P4",
              "current.since.year": "2004",
              skills: "a; b;4",
            }),
        }),
      ],
    }),
  ),
  {
    name: "balance, limits and prices are found under other names",
    habit: { price: 0.25 },
    steps: [
      run("account --json", 0, {
        out: {
          credits: { balance: 5_000 },
          rate_limits: { per_minute: 6_000, per_day: 100_000 },
          costs: { person_search: 0.25, company_enrich: 0.25, company_employees: 0.25 },
        },
      }),
    ],
  },
  {
    name: "only the price that matters is missed aloud",
    habit: { tellsCosts: false },
    steps: [
      run(BUY, 0, {
        check: (_, { stderr }) =>
          expect(stderr.match(/does not tell what \w+ costs/g)).toEqual([
            "does not tell what person_search costs",
          ]),
      }),
    ],
  },
  ...(
    [
      { paging: "page", firstPage: 0 },
      { paging: "offset", firstPage: 1 },
      { paging: "cursor", firstPage: 1 },
    ] as const
  ).map(
    (dialect): Case => ({
      name: `paging by ${dialect.paging} from ${dialect.firstPage}, whole and up to a cap`,
      habit: dialect,
      dialect,
      steps: [
        run(`${BUY} --per-page 30`, 0, { ...whole(260), rows: 260 }),
        run(`${BUY} --per-page 30 --max-credits 77 --overwrite`, 0, {
          rows: 77,
          charged: 260 + 77,
        }),
      ],
    }),
  ),
  ...[{}, { tellsMaxPerPage: true }, { clamp: true }].map(
    (change): Case => ({
      name: `a largest page that is refused, told or clamped: ${described(change)}`,
      habit: { maxPerPage: 25, ...change },
      steps: [run(BUY, 0, { ...whole(260), rows: 260 })],
    }),
  ),
  {
    name: "companies: a match in a wrapper, a free miss, employees up to a limit",
    habit: {},
    steps: [
      run("enrich globex.example --yes --json", 0, { out: { name: "Globex" } }),
      ...["enrich missing.example --yes", "employees missing.example --limit 5 --yes"].map((line) =>
        run(line, 6, { charged: 1, check: (_, { stdout }) => expect(stdout).toBe("") }),
      ),
      run("employees globex.example --limit 41 --yes --per-page 20", 0, {
        charged: 42,
        check: (_, { stdout }) => expect(stdout.trim().split("\n")).toHaveLength(41),
      }),
    ],
  },

  ...[1, 3, 8].map(
    (concurrency): Case => ({
      name: `1,007 credits land exactly with ${concurrency} pages in flight`,
      habit: { people: 1_500 },
      steps: [
        run(`${BUY} --max-credits 1007 --per-page 100 --concurrency ${concurrency}`, 0, {
          ...whole(1_007),
          rows: 1_007,
        }),
      ],
    }),
  ),
  ...(
    [
      ["0.75", 3],
      ["3.5", 14],
      ["0.26", 1],
    ] as const
  ).map(
    ([cap, rows]): Case => ({
      name: `${cap} credits at 0.25 a profile buy ${rows}`,
      habit: { price: 0.25 },
      steps: [run(`${BUY} --max-credits ${cap}`, 0, { ...whole(rows / 4), rows })],
    }),
  ),
  {
    name: "0.2 credits at 0.25 a profile buy 0",
    habit: { price: 0.25 },
    steps: [
      run(`${BUY} --max-credits 0.2`, 4, {
        charged: 0,
        says: ["one profile costs 0.25 credits, more than --max-credits; nothing was spent"],
      }),
    ],
  },
  {
    name: "more than the balance is refused before anything is spent, with the limit that fits",
    habit: { price: 0.25, balance: 10 },
    steps: [
      run(BUY, 4, { says: ["--limit 40 would fit"], calls: 0 }),
      run(`${BUY} --limit 40`, 0, whole(10)),
    ],
  },
]);
