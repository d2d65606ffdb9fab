import { expect } from "vitest";
import { ANY, ask, at, type Case, HINT, idsIn, run, tryCases, writes } from "./scene.ts";

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

/** At the fourth paid call a row begins to cost ten. */
const DEARER: Case["habit"] = (service) => ({
  people: 200,
  maxPerPage: 10,
  mishap: (call) => void (call === 4 && Object.assign(service().options, { price: 10 })),
});

const errorIn = (stderr: string): object =>
  JSON.parse(stderr.split("\n").find((line) => line.startsWith('{"error"')) ?? "").error;

tryCases([
  ...(
    [
      // 130 were charged for 40 rows: nothing is left, less than a row, two rows.
      ["--max-credits 125", null, "--max-credits 980 "],
      ["--max-credits 139", null, "--max-credits 1120 "],
      ["--limit 60 --max-credits 500", null, "--max-credits 330 "],
      ["--limit 60 --yes", null, "--max-credits 330 "],
      ["--max-credits 150", /^headcount resume \S+$/, ""],
    ] as const
  ).map(
    ([bounds, next, above]): Case => ({
      name: `a run that became dearer is resumable where the same bounds have room: ${bounds}`,
      habit: DEARER,
      steps: [
        run(`${SEARCH} --concurrency 1 --json ${bounds}`, 5, {
          charged: 130,
          mayPass: true,
          check: (_, { stderr }) =>
            expect(errorIn(stderr)).toMatchObject({
              code: "price_moved",
              resumable: next !== null,
              next: next && expect.stringMatching(next),
              hint: expect.stringMatching(new RegExp(`resume \\S+ ${above}tries to go on$`)),
            }),
        }),
        // Without a terminal, and whatever is typed: nobody agreed to more.
        run("resume last --json", ANY, { charged: next === null ? 130 : 150, mayPass: true }),
      ],
    }),
  ),
  ...[{ command: "search", concurrency: 1, max_credits: 139 }, { max_credits: 200 }].map(
    (job): Case => ({
      name: `a job that became dearer than its cap is told so in its own keys: ${job.command}`,
      habit: DEARER,
      files: { "jobs.json": jobs(job) },
      steps: [
        run(`${JOB} --json`, 5, {
          mayPass: true,
          check: (_, { stderr }) =>
            expect(errorIn(stderr)).toMatchObject({
              code: "price_moved",
              resumable: false,
              next: null,
              hint: expect.stringMatching(/^with "max_credits": 1\d{3} in the job/),
            }),
        }),
      ],
    }),
  ),
  {
    name: "a run that became dearer, with all of its rows: going on writes them at 0 credits",
    habit: DEARER,
    steps: [
      run(`${SEARCH} --concurrency 1 --limit 40 --yes --json`, 5, {
        charged: 130,
        check: (_, { stderr }) => expect(errorIn(stderr)).toMatchObject({ resumable: true }),
      }),
      run("resume last", 0, { charged: 130, rows: 40 }),
    ],
  },
  {
    name: "an agent whose rows became dearer is told of a quote, and of no command of a shell's",
    habit: DEARER,
    steps: [
      ask("--max-credits 400", "buy", { ...EVERYBODY, profiles: 120 }, 1, {
        mayPass: true,
        says: ["a new quote for the same tries to go on"],
        silent: ["headcount resume", "--max-credits", "resumable"],
      }),
    ],
  },
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
        run(line, 5, { says: ["going on asks again under the same key"] }),
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
    name: "a job that holds nothing of it yet is told of the cap in its own keys, and a higher one fits",
    habit: { people: 100, minPerPage: 10 },
    steps: [
      writes("jobs.json", jobs({ command: "search", per_page: 10, max_credits: 5 }, "100/month")),
      run(`${JOB} --json`, 2, {
        charged: 0,
        check: (_, { stdout }) =>
          expect(JSON.parse(stdout)[0].error).toMatchObject({
            next: null,
            resumable: false,
            hint: expect.stringMatching(/pages of 5, 2, 1 rows: a higher .*"max_credits"/),
          }),
      }),
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
  {
    name: "the room for an answer without rows was not spent: so many credits are paid now",
    habit: { people: 20, faultCosts: 20, mishap: at(1, "451-charged") },
    steps: [
      run(`${SEARCH} --max-credits 60`, ANY, { charged: 20 }),
      run("resume last --yes --overwrite", 0, {
        charged: 40,
        says: [/for 40 credits \(20 of them now\)/],
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
          spent: { settled: 57, uncertain: 0 },
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
        spent: { uncertain: 0 },
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
]);
