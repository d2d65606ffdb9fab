import { expect, onTestFinished, test } from "vitest";
import { answerError, rawServer } from "../support/client.ts";
import { user } from "../support/export.ts";
import { ANY, ask, type Case, HINT, run, tryCases, turns, writes } from "./scene.ts";

// Where nobody is counted, or a page taught what the service never told: nothing is said that was not looked at.

const SEARCH = "search --country x -o o.csv";
const BUY = `${SEARCH} --yes --concurrency 1`;
const EVERYBODY = { filters: { country: "x" } };

const jobs = (job: object, budget?: string): object => ({
  budget,
  jobs: { x: { filters: { country: "x" }, output: "o.csv", ...job } },
});
const JOB = "jobs run x --file jobs.json";

const NO_COUNTS =
  /the service does not count people: POST \/v1\/person\/count is answered (404|405|501)/;

tryCases([
  {
    name: "a search where nobody is counted is bounded by the user, and its pages tell the rest",
    habit: { counts: false, people: 57, maxPerPage: 25, total: "header" },
    steps: [
      run("search --department Sales -o o.csv --yes", 2, {
        says: ["the service does not count people", "hint: add --max-credits N or --limit N\n"],
        silent: ["is this the API's address?"],
        charged: 0,
      }),
      run("search --department Sales -o o.csv --sample 5 --yes", 2, {
        says: ["the service does not count people, and of an unknown number nobody is drawn"],
        charged: 0,
      }),
      run("search --department Sales -o o.csv --max-credits 100", 0, {
        charged: 57,
        rows: 57,
        silent: ["is this the API's address?"],
      }),
    ],
  },
  ...[false, 404, 405, 501].map((counts): Case => {
    const lines = [
      "count --department Sales",
      "count --department Sales --json",
      "count --by country=france",
      "count --union --department Sales --except legal.json",
      "search --department Sales --except legal.json --yes -o o.csv",
      "refresh --department Sales --yes -o o.csv",
    ];
    return {
      name: `a service without counts is called so wherever one is needed (${counts})`,
      habit: { counts, people: 57, maxPerPage: 25, total: "header" },
      files: {
        "legal.json": { department: "Legal" },
        "jobs.json": jobs({ filters: { department: "Sales" }, max_credits: 20 }),
      },
      steps: [
        ...lines.map((line) =>
          run(line, 8, {
            charged: 0,
            says: [NO_COUNTS, "headcount search buys without counts"],
          }),
        ),
        run(JOB, 8, { charged: 0, says: [NO_COUNTS] }),
        ask("--max-credits 30", "count_people", { filters: { department: "Sales" } }, 1, {
          says: [NO_COUNTS, "the tool quote needs no count where profiles are given"],
        }),
        ask("--max-credits 30", "quote", { filters: { department: "Sales" }, profiles: 7 }, 0, {
          out: { credits: 7 },
        }),
        run("doctor --json", ANY, {
          silent: ["unknown filters"],
          // It sells even a look for nobody, and that is said to be so.
          isUnbooked: true,
          check: (_, { stdout }) => {
            const { checks } = JSON.parse(stdout) as { checks: Record<string, string>[] };
            expect(checks.find(({ name }) => name === "Count")).toMatchObject({
              status: "warn",
              message: expect.stringMatching(NO_COUNTS),
            });
            expect(checks.find(({ name }) => name === "Paging")).toBeDefined();
          },
        }),
      ],
    };
  }),
  {
    name: "where nobody is counted, who is owned already changes nothing",
    habit: { counts: false, people: 57, maxPerPage: 25, total: "header" },
    steps: [
      run("search --department Sales --max-credits 100 -o a.csv", 0),
      run("search --department Sales --max-credits 100 --again -o b.csv", 0, { charged: 114 }),
      run("search --department Sales --limit 60 --yes -o c.csv", 0),
      async (scene) => {
        const charged = scene.service.charged();
        const says = ["the service does not count people, and who is new is found by counts"];
        await scene.take(
          run("search --department Sales --new-only --yes -o d.csv", 2, { says, charged }),
        );
      },
    ],
  },

  ...([{ fixedPage: 25 }, { maxPerPage: 25, clamp: true }] as const).map(
    (change): Case => ({
      name: `a cap in the midst of a segment holds, the second time too: ${JSON.stringify(change)}`,
      habit: { people: 592, ...change },
      steps: [
        ...["a", "b"].map((name, index) =>
          run(`search --country x --again --max-credits 60 -o ${name}.csv`, 5, {
            charged: 50 * (index + 1),
            says: ["the last one may have as many: --max-credits 75 leaves room for it"],
          }),
        ),
        run("search --country x --max-credits 60 -o b.csv", ANY),
        run(/headcount (resume \S+ --max-credits 75) tries to go on/, 0, { charged: 125 }),
      ],
    }),
  ),
  ...([{ maxPerPage: 10, clamp: true }, { fixedPage: 10 }] as const).map(
    (change): Case => ({
      name: `where nobody is counted and pages have one size, the hint names the cap that goes on: ${JSON.stringify(change)}`,
      habit: { counts: false, people: 57, ...change },
      steps: [
        run("search --country x --max-credits 25 -o o.csv", 5, {
          charged: 20,
          says: ["the next one may have as many: --max-credits 30 leaves room for it"],
        }),
        run(HINT, 0, { charged: 30 }),
        // The file is the run's own, also after a session that wrote none.
        run("resume last --max-credits 45", 5, { charged: 40 }),
        run(HINT, 0, { charged: 50 }),
      ],
    }),
  ),
  ...[true, false].map(
    (counts): Case => ({
      name: `a job that its cap holds up says so, and goes on with the one that is named, counted: ${counts}`,
      habit: { counts, people: 57, fixedPage: 10 },
      files: { "jobs.json": jobs({ command: "search", max_credits: 25 }) },
      steps: [
        run(`${JOB} --json`, ANY, {
          check: (_, { stderr }) => {
            const line = stderr.split("\n").find((text) => text.startsWith('{"error"')) ?? "";
            expect(JSON.parse(line).error).toMatchObject({
              resumable: false,
              next: null,
              hint: expect.stringMatching(/^with "max_credits": 30/),
            });
          },
        }),
        writes("jobs.json", jobs({ command: "search", max_credits: 30 })),
        run(JOB, 0, { charged: 30 }),
      ],
    }),
  ),
  ...[1, 2].map((first): Case => {
    const kept = (first - 1) * 14;
    return {
      name: `a page without a reply (${first}) that the cap has no room for: the hint names the cap that has`,
      habit: {
        people: 57,
        idempotent: true,
        announcesKeys: true,
        version: () => "v1",
        mishap: (call) => (call >= first && call < 30 ? "drop" : undefined),
      },
      steps: [
        run(`${SEARCH} --per-page 14 --concurrency 1 --yes --max-wait 1`, ANY, {
          isUnbooked: true,
        }),
        turns({ mishap: () => undefined }),
        run(`resume last --yes --max-credits ${kept + 6}`, 5, {
          // What the page in flight may have cost is told twice: as in doubt, and as gone from the balance.
          ...{ mayPass: true, mayBlame: true, isUnbooked: true },
          says: [
            `: ${kept} rows are paid for and not bought again, nothing to buy`,
            "14 credits may have been charged for replies that were lost",
          ],
        }),
        run(/headcount (resume \S+ --max-credits 57) buys/, 0, {
          charged: 57,
          rows: 57,
          mayBlame: true,
          mayDoubt: true,
        }),
      ],
    };
  }),
  {
    name: "what a budget has left is not passed by pages of one size either",
    habit: { people: 592, fixedPage: 25 },
    steps: [ask("--max-credits 30", "buy", { ...EVERYBODY, profiles: 30 }, 1, { charged: 25 })],
  },
  {
    name: "an agent is not told that a new quote goes on with a run that is over",
    habit: { people: 2_500, paging: "offset" },
    steps: [
      ask("--max-credits 9000", "buy", EVERYBODY, [0, 1], {
        says: [/gave a page twice[\s\S]*keeps 2,000 rows for 2,000 credits\n/],
      }),
      ask("--max-credits 9000", "quote", EVERYBODY, [0, 1], {
        says: ["cannot be continued: the service gave a page twice"],
        charged: 2_000,
      }),
    ],
  },
  ...(
    [
      ["page", "offset"],
      ["offset", "page"],
    ] as const
  ).map(
    ([paging, said]): Case => ({
      name: `where it pages by ${paging} and --paging said ${said}, nothing is charged, and doctor is named`,
      habit: { people: 9, paging, strict: true, tellsMaxPerPage: true },
      steps: [
        run(`${BUY} --paging ${said}`, 2, {
          says: ["so were pages of 9, 5, 2, 1 rows", "headcount doctor looks at the rest"],
          charged: 0,
        }),
      ],
    }),
  ),
  {
    name: "what a page taught is not said to hold from now on where no connection keeps it",
    habit: { people: 300, maxPerPage: 50, clamp: true },
    steps: [run(BUY, 0, { silent: ["from now on"] })],
  },
  {
    name: "where a cap leaves no room for one page, the hint names no run that is not there",
    habit: { people: 60, minPerPage: 10 },
    steps: [
      run(`${BUY} --max-credits 5`, 2, {
        says: [
          "so were pages of 5, 2, 1 rows: a higher --max-credits or --limit asks for a larger",
        ],
        silent: ["resume"],
        charged: 0,
      }),
      run(`${BUY} --max-credits 10`, 0, { rows: 10 }),
    ],
  },
  {
    name: "more rows than were wanted are not told as some of these",
    habit: { people: 60, fixedPage: 25 },
    steps: [
      run(`${BUY} --max-credits 5`, ANY, {
        says: ["  25 rows are paid for and kept in run "],
        mayPass: true,
      }),
    ],
  },
  {
    name: "what a cap bounds is not called what the service counted",
    habit: { people: 65, countedTooMany: 35, version: () => "v1", total: "result" },
    steps: [
      run(`${BUY} --max-credits 85`, 5, {
        says: ["65 of the 85 profiles that were asked for, of 100 that"],
      }),
    ],
  },
  ...["employees acme.com", "search --country x"].map(
    (what): Case => ({
      name: `a higher cap pays for the rest alone where cursors lead on: ${what}`,
      habit: { people: 45, paging: "cursor", counts: false, version: () => "v1" },
      steps: [
        run(`${what} --paging cursor --per-page 10 --max-credits 20 -o a.csv`, 0),
        run(`${what} --paging cursor --per-page 10 --max-credits 100 -o o.csv`, 0, {
          rows: 45,
          charged: 45,
        }),
      ],
    }),
  ),
]);

test("where no call is answered at an address, nothing is said of counts", async () => {
  const website = await rawServer((_, response) => answerError(response, 404, ["Not Found"]));
  onTestFinished(() => website.close());
  const { code, stderr } = await user(website.url, "x_live_12345678").run([
    "count",
    "--department",
    "Sales",
  ]);
  expect(stderr).toContain("is this the API's address?");
  expect(code).toBe(8);
});
