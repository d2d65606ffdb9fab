import { ANY, ask, type Case, HINT, run, tryCases } from "./scene.ts";

// A service that pages by cursor, and nobody said so: the cursor of its first reply does, before anything is paid twice.

const SAYS = "the service gave a cursor to the next page";
const SEARCH = "search --country x --per-page 10 --yes";
const EMPLOYEES = "employees acme.com --per-page 10 --limit 60 --yes";

const cases: Case[] = [
  ...[SEARCH, EMPLOYEES].flatMap((line) =>
    [{}, { numbers: true }, { pagingUnder: "meta" }, { maxPerPage: 7, clamp: true }].map(
      (habit): Case => ({
        name: `its cursors are followed: ${line} ${JSON.stringify(habit)}`,
        habit: { people: 60, paging: "cursor", ...habit },
        steps: [
          run(`${line} -o o.csv`, 0, {
            rows: 60,
            charged: 60,
            says: [SAYS],
          }),
        ],
      }),
    ),
  ),
  {
    name: "the run remembers it: the rest is bought by cursor",
    habit: { people: 60, paging: "cursor" },
    steps: [
      run("search --country x --per-page 10 --max-credits 20 -o o.csv", 0, { charged: 20 }),
      run(HINT, 0, { rows: 60, charged: 60 }),
    ],
  },
  {
    name: "a reply that is lost is asked for once more by its cursor",
    habit: { people: 60, paging: "cursor", mishap: (call) => (call === 3 ? "500" : undefined) },
    steps: [run(`${SEARCH} -o o.csv`, ANY, { rows: 60, mayDoubt: true })],
  },
  {
    name: "what is said holds: pages by number are asked for where that was said",
    habit: { people: 60, paging: "cursor" },
    steps: [run(`${SEARCH} --paging page -o o.csv`, 5, { charged: 20, silent: [SAYS] })],
  },
  {
    name: "an agent buys as exactly",
    habit: { people: 60, paging: "cursor", maxPerPage: 10, clamp: true },
    steps: [ask("--max-credits 100", "buy", { filters: { country: "x" } }, 0, { charged: 60 })],
  },
  {
    name: "of one page nothing is said, and a service of numbers is asked by number",
    habit: { people: 10, paging: "cursor" },
    steps: [run(`${SEARCH} -o o.csv`, 0, { rows: 10, charged: 10, calls: 1, silent: [SAYS] })],
  },
];

tryCases(cases);
