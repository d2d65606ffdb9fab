import { expect, onTestFinished, test } from "vitest";
import { answerError, rawServer } from "../support/client.ts";
import { user } from "../support/export.ts";
import {
  ANY,
  ask,
  at,
  type Case,
  HINT,
  idsIn,
  run,
  type Step,
  tryCases,
  turns,
  writes,
} from "./scene.ts";

// The end of a purchase at a service that gives pages of its own size, loses replies or counts nobody: what is said of it is so, and
// the command that a hint names does what the hint says.

const SEARCH = "search --country x -o o.csv";
const BUY = `${SEARCH} --yes --concurrency 1`;
const EVERYBODY = { filters: { country: "x" } };
const TAKEN = { people: 57, clamp: true, maxPerPage: 25 } as const;
const CUT = { ...TAKEN, tellsMaxPerPage: false } as const;

const jobs = (job: object, budget?: string): object => ({
  budget,
  jobs: { x: { filters: { country: "x" }, output: "o.csv", ...job } },
});
const JOB = "jobs run x --file jobs.json";

const hintOf = (text: string) =>
  expect.stringMatching(`^${text}, headcount jobs run x --file \\S+ goes on where it stopped$`);

const NO_COUNTS =
  /the service does not count people: POST \/v1\/person\/count is answered (404|405|501)/;

/** A cap that is not enough, with what a job is told of it. */
function heldUp(
  max_credits: number,
  budget: string,
  hint: string,
): (Step | ReturnType<typeof writes>)[] {
  return [
    writes("jobs.json", jobs({ command: "search", per_page: 10, max_credits }, budget)),
    run(`${JOB} --json`, 5, {
      charged: 0,
      check: (_, { stdout }) =>
        expect(JSON.parse(stdout)[0].error).toMatchObject({
          next: null,
          resumable: false,
          hint: hintOf(hint),
        }),
    }),
  ];
}

/** What the next part of people whom nobody counts is bought with. */
const MORE = /there may be more: headcount (resume .+) buys up to \d+\n/;

const UNCOUNTED = [
  ["employees acme.com", "page", "--max-credits 20", / --max-credits 40 /],
  ["employees acme.com", "offset", "--limit 20 --yes", / --limit 40 --max-credits 40 /],
  ["employees acme.com", "cursor", "--max-credits 20", / --max-credits 40 /],
  ["search --country x", "page", "--max-credits 20", / --max-credits 40 /],
  ["search --country x", "cursor", "--limit 20 --yes", / --limit 40 --max-credits 40 /],
] as const;

const UNTOLD = [
  [0.3, 500, "--max-credits 30.5", "what was agreed to", "agreed", 100],
  [0.7, 500, "--limit 100 --max-credits 99.9", "--limit", "limit", 100],
  [3, 100, "--max-credits 100", "--max-credits", "cap", 33],
  [3, 100, "--limit 50 --max-credits 50", "--max-credits", "cap", 16],
] as const;

/** A lost first page: what is left within a cap is what other pages hold. */
const LEFT = [
  // One page of all of it; all that the cap pays for; behind the lost page nothing can be asked for.
  [{ maxPerPage: 100 }, 36, 36, 0, 30],
  [{ maxPerPage: 100 }, 30, 30, 0, 30],
  [{ maxPerPage: 10, paging: "cursor" }, 16, 16, 0, 16],
  // Other pages than the lost one are.
  [{ maxPerPage: 10 }, 10, 16, 6, 16],
] as const;

tryCases([
  {
    name: "one size, a lost reply and no keys: what it may have cost ended it, and the hint buys the rest",
    habit: { people: 112, fixedPage: 25, mishap: at(2, "drop") },
    steps: [
      run(BUY, 5, {
        says: [
          "25 credits may have been charged for replies that were lost",
          /75 of 112 rows came; headcount resume \S+ --max-credits 150 buys the other 37/,
        ],
      }),
      run(HINT, 0, { rows: 112, charged: 137 }),
    ],
  },
  {
    name: "the same of a list: the hint is the refresh that goes on with it",
    habit: { people: 112, fixedPage: 25, mishap: at(2, "drop") },
    steps: [
      run("refresh --country x -o o.csv --yes", 5),
      // Counts by beginnings of names are beyond this service: what was begun is gone on with before them.
      run(/rows came; headcount (refresh --country=x -o \S+) buys the other/, ANY, {
        more: " --max-credits 50",
        says: ["75 rows are paid for and not bought again, 37 to buy for 37 credits"],
        charged: 137,
      }),
    ],
  },
  ...["refresh --country x -o o.csv --max-credits 57", JOB].map(
    (line): Case => ({
      name: `a list whose page was lost is asked for again under its key: ${line}`,
      habit: { ...TAKEN, idempotent: true, announcesKeys: false, mishap: at(2, "drop") },
      files: { "jobs.json": jobs({ max_credits: 57 }) },
      steps: [
        run(line, 5, { says: ["going on asks for it under the same key"] }),
        run(line, ANY, { charged: 57 }),
        run("runs list --json", 0, { says: ['"status":"finished"'] }),
      ],
    }),
  ),
  ...[false, true].map(
    (tellsMaxPerPage): Case => ({
      name: `a small first page and a larger cap later cut no page down, largest told: ${tellsMaxPerPage}`,
      habit: { people: 400, maxPerPage: 100, clamp: true, tellsMaxPerPage },
      steps: [run(`${BUY} --max-credits 88`, 0), run(HINT, 0, { rows: 400, charged: 400 })],
    }),
  ),
  {
    name: "no page as small as what a cap leaves: the cap that fits is named, and fits",
    habit: { people: 100, minPerPage: 10 },
    steps: [
      run(`${BUY} --max-credits 15 --per-page 10`, 5, {
        says: ["--max-credits 20 buys the next one, --limit 10 ends whole without it"],
      }),
      run(HINT, 0, { rows: 20, charged: 20 }),
    ],
  },
  {
    name: "a job that holds nothing of it yet is told the cap in its own keys, and that one fits",
    habit: { people: 100, minPerPage: 10 },
    steps: [
      ...heldUp(5, "100/month", 'with "max_credits": 10 in the job'),
      ...heldUp(
        5,
        "5/month",
        'with "max_credits": 10 in the job and a "budget" of at least 10 a month in the file',
      ),
      writes("jobs.json", jobs({ command: "search", per_page: 10, max_credits: 10 }, "100/month")),
      run(`${JOB} --json`, 0, { charged: 10, out: [{ error: null }] }),
    ],
  },
  ...(
    [
      [123, 50, 89, 73],
      [112, 25, 62, 50],
      [112, 25, 112, 100],
    ] as const
  ).map(
    ([people, size, cap, charged]): Case => ({
      name: `pages of ${size} that are told as the largest: what ${cap} credits pay for comes, and hints buy the rest`,
      habit: { people, fixedPage: size, maxPerPage: size, tellsMaxPerPage: true },
      steps: [
        run(`${BUY} --max-credits ${cap}`, 5, { charged, silent: ["page0"] }),
        async (scene) => {
          let code = 5;
          while (code === 5) ({ code } = await scene.take(run(HINT, [0, 5])));
          expect(new Set(idsIn(scene.u)).size).toBe(scene.service.rowsSold());
          expect(scene.service.charged()).toBeGreaterThan(cap - size);
        },
      ],
    }),
  ),
  {
    name: "neither charge nor balance in a reply: a short page hides nothing of what a lost one cost",
    habit: {
      tellsLeft: false,
      usedIs: "missing",
      people: 130,
      maxPerPage: 100,
      clamp: true,
      mishap: at(2, "drop"),
    },
    steps: [run(BUY, ANY)],
  },
  {
    name: "a page that is longer than was asked for: what its rows cost was spent by nobody else",
    habit: { people: 37, fixedPage: 50, usedIs: "missing" },
    steps: [run(`${BUY} --max-credits 27`, 5, { spent: { uncertain: 0 }, mayPass: true })],
  },
  ...(["offset", "cursor", "page0"] as const).map(
    (how): Case => ({
      name: `the command that a hint names goes on with ${how}, which no connection knows`,
      habit: {
        people: 60,
        paging: how === "page0" ? "page" : how,
        firstPage: how === "page0" ? 0 : 1,
      },
      steps: [
        run(`${BUY} --max-credits 20 --paging ${how}`, 0),
        run(HINT, 0, { rows: 60, charged: 60 }),
      ],
    }),
  ),

  ...UNCOUNTED.map(
    ([what, paging, bound, again]): Case => ({
      name: `a part of whom nobody counts is told to be one, and how it goes on: ${what}, ${bound}, ${paging}`,
      habit: { people: 45, paging, counts: false },
      steps: [
        run(`${what} ${bound} --paging ${paging} -o o.csv`, ANY, {
          says: [`notice: stopped at ${bound.split(" ")[0]}; there may be more`, again],
        }),
        run(MORE, 0, { rows: 40, charged: 40, more: " --yes" }),
        run(MORE, 0, { rows: 45, charged: 45, more: " --yes", silent: ["stopped at"] }),
        run(`${what} ${bound} --paging ${paging} -o p.csv --again --require-complete`, 5, {
          charged: 65,
          says: [again],
        }),
      ],
    }),
  ),
  {
    name: "of people whom nobody counts the balance pays for no more",
    habit: { people: 45, balance: 20 },
    steps: [
      run("employees acme.com --max-credits 20 -o o.csv", ANY, {
        says: ["stopped at --max-credits; the balance pays for no more"],
      }),
    ],
  },
  ...UNTOLD.flatMap(([price, people, options, where, bound, rows]): Case[] => [
    {
      name: `a price of ${price} that nobody told, ${options}: what ended it is said (${bound}), where all was required`,
      habit: { people, price, tellsCosts: false },
      steps: [
        run(`${BUY} ${options} --require-complete --receipt r.json`, undefined, {
          says: [`not complete: ${rows} of ${people} rows were bought: stopped at ${where}`],
          receipt: { bound, received: rows },
          charged: rows * price,
        }),
      ],
    },
    {
      name: `a price of ${price} that nobody told, ${options}: what ended it is said (${bound})`,
      habit: { people, price, tellsCosts: false },
      steps: [
        run(`${BUY} ${options}`, 0, {
          says: [`stopped at ${where}; headcount resume`],
          // What it was agreed to was a guess: there is room for a row more.
          hasRoom: bound === "agreed",
        }),
      ],
    },
  ]),

  ...[
    run(BUY, ANY, { charged: 37, mayPass: true }),
    run(`${BUY} --max-credits 500`, ANY, { charged: 37 }),
    run(JOB, ANY, { charged: 37 }),
    ask("--max-credits 500", "buy", EVERYBODY, [0, 1], { charged: 37 }),
  ].map(
    (step): Case => ({
      name: `pages are silently cut, and the count tells 37 of 57: ${step.tool?.[0] ?? step.line}`,
      habit: { ...CUT, countedTooMany: -20 },
      files: { "jobs.json": jobs({ max_credits: 500 }) },
      steps: [step],
    }),
  ),
  {
    name: "a balance that is held for as many rows as are asked for is spent to the last credit",
    habit: { ...CUT, balance: 57 },
    steps: [run(BUY, 0, { rows: 57, charged: 57 })],
  },
  {
    name: "a total below the count ends nothing: an empty page would",
    habit: { ...CUT, total: "header", totalIs: 30 },
    steps: [run(BUY, 0, { rows: 57 })],
  },
  ...(
    [
      [57, 5, 40, ["the last page whole: how many there are, nobody knows"]],
      [39, 0, 39, []],
    ] as const
  ).map(
    ([people, code, rows, says]): Case => ({
      name: `the smallest page brings more than was counted: all of ${people} only where it was not whole`,
      habit: { people, minPerPage: 10, countedTooMany: 37 - people },
      steps: [
        run(`${BUY} --per-page 10 --receipt r.json`, code, {
          charged: rows,
          says: [`${rows - 37} more than the 37 that were agreed to: ${rows} rows came`, ...says],
        }),
      ],
    }),
  ),
  {
    name: "a balance below the smallest page: nothing is said to go on",
    habit: { people: 57, minPerPage: 10, balance: 57 },
    steps: [run(`${BUY} --per-page 10`, 4, { charged: 50, silent: ["the balance covers"] })],
  },

  {
    name: "a lost page that is charged again by a later session: so many credits are paid now",
    habit: { ...TAKEN, mishap: at(2, "drop") },
    steps: [
      run(`${BUY} --max-credits 57`, ANY, { charged: 57 }),
      run(HINT, 0, {
        charged: 82,
        says: [
          /for 57 credits \(25 of them now\) to \S+ \(balance 4,918\)/,
          "warning: 25 more credits may have been charged",
        ],
      }),
    ],
  },
  ...LEFT.map(([change, first, cap, more, whole]): Case => {
    const paging = "paging" in change ? ` --paging ${change.paging}` : "";
    const buy = (most: number): string =>
      `${SEARCH} --max-credits ${most} --concurrency 1${paging}`;
    const lost = first === 10 ? 10 : whole === 16 ? 10 : 30;
    return {
      name: `what a lost page may have cost is no part of what is left: ${JSON.stringify(change)}, ${first} and ${cap}`,
      habit: { people: 30, tellsMaxPerPage: true, mishap: at(1, "drop"), ...change },
      steps: [
        run(buy(first), 5, { charged: lost, calls: 1 }),
        run(`${buy(cap)} --dry-run --json`, ANY, { out: { rows: more, kept: 0, credits: more } }),
        run(buy(cap), 5, {
          charged: lost + more,
          calls: more === 0 ? 1 : undefined,
          says: [
            more === 0
              ? ", nothing to buy within --max-credits ("
              : `, ${more} to buy for ${more} credits (`,
            `${more} of ${whole} rows came`,
            `${more} of ${whole} rows are paid for and kept`,
          ],
          silent: ["more than --max-credits"],
        }),
        async (scene) => {
          const { stdout } = await scene.run("runs list --json");
          expect(JSON.parse(stdout)).toMatchObject([{ rows: more, expected: whole }]);
        },
        run(HINT, 0, { more: paging, charged: 30 + lost }),
      ],
    };
  }),
  ...[1, 4].map(
    (concurrency): Case => ({
      name: `a reply that was kept is the charge of the lost one, ${concurrency} under way`,
      habit: { ...TAKEN, idempotent: true, mishap: at(2, "drop") },
      steps: [
        run(`${SEARCH} --concurrency ${concurrency} --max-credits 57 --receipt r.json`, 5),
        run(HINT, 0, {
          charged: 57,
          says: [/for 57 credits \(0 of them now\) to \S+ \(balance 4,943\)/],
          receipt: { credits: 57, uncertain_credits: 0, balance: 4_943 },
          spent: { settled: 57, uncertain: 25, refunded: 25 },
        }),
      ],
    }),
  ),
  {
    name: "a page among others in flight whose reply was lost and kept: no credit stays in doubt",
    habit: { people: 200, idempotent: true, delayMs: 20, mishap: at(4, "drop") },
    steps: [
      run(`${SEARCH} --yes --concurrency 4 --per-page 10`, 0, {
        rows: 200,
        charged: 200,
        spent: { uncertain: 10, refunded: 10 },
      }),
    ],
  },
  {
    name: "an agent that lost a reply which was kept: its budget has it once",
    habit: { ...TAKEN, idempotent: true, mishap: at(2, "drop") },
    steps: [
      ask("--max-credits 82", "buy", { ...EVERYBODY, profiles: 57 }, 1, {
        says: ["25 credits may have been charged"],
      }),
      ask("--max-credits 82", "buy", { ...EVERYBODY, profiles: 57 }, [0, 1], {
        out: { credits: 57, uncertain_credits: 0, budget_left: 25 },
        charged: 57,
      }),
    ],
  },

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
      ["page", "offset", /another way than by offset: [^\n]*\n[^\n]*; --paging page, or/],
      ["offset", "page", /another way than by page: [^\n]*\n[^\n]*; --paging offset, or/],
    ] as const
  ).map(
    ([paging, said, words]): Case => ({
      name: `where it pages by ${paging} and --paging said ${said}, the hint names the other`,
      habit: { people: 9, paging, strict: true, tellsMaxPerPage: true },
      steps: [run(`${BUY} --paging ${said}`, 8, { says: [words], charged: 0 })],
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
      run(`${BUY} --max-credits 5`, 5, {
        says: ["0 of 5 rows came; the same command with --max-credits 10 buys the next one"],
        silent: ["resume"],
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
