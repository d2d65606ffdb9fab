import { writeFileSync } from "node:fs";
import { expect } from "vitest";
import { ask, BUY, run, tryCases, turns } from "./scene.ts";

// What a service says of itself, and does not keep to: a price of 0, and the name of its dataset.

const FREE = { people: 2_500, pricesTold: 0 };

/** A version that is another one in each answer. */
function unsteady() {
  let answers = 0;
  return { people: 40, version: () => `v${answers++}` };
}

const JOB = {
  jobs: {
    x: { command: "search", filters: { country: "x" }, max_credits: 0, output: "job.csv" },
  },
};

tryCases([
  {
    name: "a price of 0 that is told is believed for the first row alone, without consent",
    habit: FREE,
    steps: [
      run("search --country x -o o.csv", 5, {
        charged: 1,
        calls: 1,
        says: ["1 credit, 1 more than the 0 that were agreed to", "1 of 2,500 rows came"],
        mayPass: true,
      }),
    ],
  },
  {
    name: "and under a cap of 0, by a search and by a job",
    habit: FREE,
    steps: [
      run("search --country x -o o.csv --max-credits 0", 0, {
        charged: 1,
        calls: 1,
        says: ["1 credit, 1 more than the 0 that were agreed to"],
        mayPass: true,
        hasRoom: true,
      }),
      ({ u }) => writeFileSync(u.file("jobs.json"), JSON.stringify(JOB)),
      run("jobs run x --file jobs.json", [0, 5], {
        chargedAtMost: 2,
        mayPass: true,
        hasRoom: true,
      }),
    ],
  },
  {
    name: "and by an agent with a budget of 50",
    habit: FREE,
    steps: [
      ask("--max-credits 50", "buy", { filters: { country: "x" } }, 1, {
        charged: 1,
        calls: 1,
        mayPass: true,
      }),
    ],
  },
  {
    name: "a dataset version that never holds still is said, and not compared: the run ends whole",
    habit: unsteady(),
    steps: [
      run(BUY, 0, {
        charged: 40,
        rows: 40,
        says: ["the service names another dataset in each answer (v0, v1, v2)"],
        check: ({ u }) =>
          expect(JSON.parse(u.read("r.json"))).toMatchObject({ dataset_version: null }),
      }),
      run("search --country x --max-credits 10 -o p.csv", 0, { charged: 50 }),
      run(/(resume \S+) --max-credits/, 0, { more: " --max-credits 40", charged: 80 }),
    ],
  },
  {
    name: "an agent buys at such a service what its quote said",
    habit: unsteady(),
    steps: [ask("--max-credits 50", "buy", { filters: { country: "x" } }, 0, { charged: 40 })],
  },
  {
    name: "a version that moved once between two answers is compared",
    habit: () => ({ people: 40, version: (calls: number) => (calls > 1 ? "v2" : "v1") }),
    steps: [
      run("search --country x --per-page 20 -o o.csv --yes", 5, {
        says: ["the service changed its dataset from v1 to v2"],
      }),
      turns({ version: () => "v2" }),
      run("search --country x -o o.csv --yes", 0, { rows: 40 }),
    ],
  },
]);
