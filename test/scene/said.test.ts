import { copyFileSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { rawServer } from "../support/client.ts";
import { user } from "../support/export.ts";
import { ANY, ask, at, type Case, idsIn, run, TELLS, tryCases, turns } from "./scene.ts";

// Behind each sentence that headcount says stands here the opposite truth: then it must not be
// said. That nothing was charged, that something is free, and that others spent it is held against
// every step by scene.ts.

const SEARCH = "search --country x --yes -o o.csv";
const EVERYBODY = { filters: { country: "x" } };

const DENIED = /nothing (more )?was (charged|spent)/;

const WHY = "that was dataset A, and whoever is in the one of today too is paid for again";
const MOVED = new RegExp(`run \\S+ of .* UTC bought 25 rows of the same; ${WHY}`);
const AWAY = /moved or removed, cannot be looked at: \S+\/o\.csv/;
const COUNTED = { rows_paid: 12, forgotten: 1, credits: 12, people: 11 };

tryCases([
  {
    name: "a command to type: an agent has tools, where rows came twice too",
    habit: { people: 60, maxPerPage: 10, pageIgnored: true },
    steps: [
      ask("--max-credits 90", "buy", { filters: { country: "x --limit 5" } }, 1, {
        says: ["the tool read_rows"],
        silent: [/headcount (runs|search|resume)/],
      }),
    ],
  },
  ...TELLS.map(
    (faultTells): Case => ({
      name: `nothing was charged: an error of a paid call costs, and tells ${faultTells} of it`,
      habit: { mishap: () => "500-charged", faultCosts: 3, faultTells },
      steps: [run(`${SEARCH} --max-credits 50`, undefined, { charged: 3, silent: [DENIED] })],
    }),
  ),
  {
    name: "nothing was charged: a reply is lost each time, after it was charged",
    habit: { mishap: () => "drop" },
    steps: [
      run(`${SEARCH} --max-credits 5000`, undefined, {
        silent: [DENIED],
        spent: { settled: 0, uncertain: expect.toSatisfy((credits: number) => credits > 0) },
      }),
    ],
  },
  {
    name: "nobody there: no number came",
    habit: { countUnder: "sum_of_them" },
    steps: [run("count --country x", undefined, { silent: [/^0$|nobody matches/m] })],
  },
  {
    name: "complete: more are counted than ever come",
    habit: { countedTooMany: 30, people: 60 },
    steps: [
      run(`${SEARCH} --receipt r.json`, undefined, {
        silent: [/Exported 90|all of it/],
        says: [/60 of 90|30 (more|fewer|are missing|rows)|90/],
      }),
    ],
  },
  ...["search", "agent"].map(
    (door): Case => ({
      name: `complete: rows of null were paid for (${door})`,
      habit: {
        people: 20,
        shape: (rows) => ({ people: rows.map((row, index) => (index === 2 ? null : row)) }),
      },
      steps:
        door === "agent"
          ? [ask("--max-credits 50", "buy", EVERYBODY, 0, { says: ["1 paid row cannot be read"] })]
          : [
              run(SEARCH, 5, { isWritten: true, says: ["1 paid row cannot be read", "row 3 of"] }),
              run("runs export last -o o.csv", ANY, {
                charged: 20,
                check: ({ u }) => {
                  expect(idsIn(u)).toHaveLength(19);
                  expect(idsIn(u)).not.toContain("");
                },
              }),
            ],
    }),
  ),
  {
    name: "twice: rows that cannot be told apart are not said to be different people",
    habit: { people: 60, shape: (rows) => ({ people: rows.map(() => ({})) }) },
    steps: [run(`${SEARCH} --per-page 10`, 5, { says: ["twice, of rows without id and address"] })],
  },
  {
    name: "0 credits: an agent is told what the balance says of rows that came for nothing",
    habit: { people: 20, usedIs: 0 },
    steps: [
      ask("--max-credits 50", "buy", EVERYBODY, [0, 1], {
        charged: 20,
        out: { credits: 0, uncertain_credits: 20, budget_left: 30 },
        says: ["for 0 credits, and 20 more may have been charged"],
      }),
    ],
  },
  ...["count --country x", "count --by department", SEARCH, "employees a b c --dry-run"].map(
    (line): Case => ({
      name: `free: the first count that costs credits by the service's own words is the last: ${line}`,
      habit: { people: 20, countCosts: 5 },
      steps: [
        run(`${line} --json`, 5, {
          charged: 5,
          spent: { settled: 5, uncertain: 0 },
          says: [
            '"code":"charged_for_free"',
            "it charged 5 credits for a call that is free by the contract",
          ],
        }),
        run(line, 5, {
          charged: 10,
          spent: { settled: 10, uncertain: 0 },
          says: ["it charged 5 credits for a call that is free by the contract"],
        }),
      ],
    }),
  ),
  {
    name: "free: an agent's count that costs credits by the service's own words",
    habit: { people: 20, countCosts: 5 },
    steps: [
      ask("--max-credits 50", "count_people", { filters: { country: "x" } }, 1, {
        charged: 5,
        says: ["it charged 5 credits for a call that is free by the contract"],
      }),
    ],
  },
  ...(
    [
      ["runs", "runs"],
      ["runs", "spend"],
      ["runs", "owned"],
      ["suppression", "suppress list"],
      ["suppression", "search --country x --limit 1 --yes -o o.csv"],
    ] as const
  ).map(
    ([folder, line]): Case => ({
      name: `nothing there: of a folder that is a file, ${folder}: ${line}`,
      habit: { people: 5 },
      steps: [
        ({ u }) => {
          mkdirSync(u.file("state"), { recursive: true });
          writeFileSync(join(u.file("state"), folder), "");
        },
        run(line, undefined, { charged: 0, hasNoBooks: true }),
      ],
    }),
  ),
  {
    name: "balance: beside a service that is not there",
    habit: {},
    steps: [
      run("account", 0),
      ({ service }) => service.close(),
      run("account", undefined, { silent: [/5,?000/] }),
    ],
  },
  {
    name: "written again: where it could not be",
    habit: { people: 40 },
    steps: [
      run(SEARCH, 0),
      run("runs export last -o no-such-folder/o.csv", undefined, {
        silent: [/written again|Wrote|Exported/],
      }),
    ],
  },
  {
    name: "added: who is on the list already",
    habit: {},
    steps: [
      run("suppress add p_0000000042", ANY),
      run("suppress add p_0000000042", ANY, { silent: [/added 1 /] }),
    ],
  },
  {
    name: "forgotten: a copy that headcount was not told of is not said to be gone",
    habit: { people: 20 },
    steps: [
      run(SEARCH, 0),
      ({ u }) => copyFileSync(u.file("o.csv"), u.file("copy.csv")),
      run("forget 1000003 --yes", ANY, {
        silent: [/everywhere|every copy|nothing is left/, "copy.csv"],
        check: ({ u }) => {
          expect(readFileSync(u.file("copy.csv"), "utf8")).toContain("1000003");
          expect(u.read("o.csv")).not.toContain("1000003");
        },
      }),
    ],
  },
  {
    name: "none has the person: a file that was moved was not looked at, and is named",
    habit: { people: 20 },
    steps: [
      run(SEARCH, 0),
      ({ u }) => renameSync(u.file("o.csv"), u.file("moved.csv")),
      run("data --json", ANY, {
        check: ({ u }, { stdout }) =>
          expect(JSON.parse(stdout).kept).toContainEqual(
            expect.objectContaining({ what: "moved or removed", path: u.file("o.csv") }),
          ),
      }),
      run("forget 1000003 --dry-run", 0, { says: [AWAY] }),
      // It had the person: that nobody has them any more cannot be said.
      run("forget 1000003 --yes", 5, {
        says: [AWAY, /1 place that may have the person: moved or removed/, "put it back"],
      }),
      ({ u }) => renameSync(u.file("moved.csv"), u.file("o.csv")),
      run("forget 1000003 --yes", 0, {
        says: ["none has the person\n"],
        silent: ["not looked at"],
        check: ({ u }) => expect(u.read("o.csv")).not.toContain("1000003"),
      }),
    ],
  },
  {
    name: "none has the person: a file that was moved and never had them changes nothing, and was not looked at",
    habit: { people: 20 },
    steps: [
      run(`${SEARCH} --limit 2`, 0),
      ({ u }) => renameSync(u.file("o.csv"), u.file("moved.csv")),
      run("search --country x --yes --again -o p.csv", 0),
      run("forget 1000003 --yes", 0, {
        says: [AWAY, "none has the person; 1 moved or removed, not looked at"],
      }),
    ],
  },
  {
    name: "for 20 credits: of a run that was bought before, how much of it now",
    habit: { people: 20 },
    steps: [
      run(`${SEARCH} --limit 12`, 0),
      run("resume last --yes --overwrite", 0, { says: ["for 12 credits (0 of them now) to "] }),
      run("resume last --limit 20 --max-credits 20 --yes --overwrite", 0, {
        says: ["for 20 credits (8 of them now) to "],
      }),
    ],
  },
  {
    name: "unchanged: a list whose fields nobody asked for again",
    habit: { people: 20 },
    steps: [
      run(SEARCH, 0),
      run("refresh o.csv --dry-run", ANY, { silent: [/\b0 changed|unchanged/] }),
    ],
  },
  {
    name: "may have been charged: for a lost reply once, however often the run is resumed",
    habit: { people: 150, maxPerPage: 100, mishap: at(1, "drop") },
    steps: [
      run(`${SEARCH} --concurrency 1`, 5, { charged: 150 }),
      // One credit below what is named does not do; what is named then does.
      run("resume last --max-credits 249", 5, { charged: 150 }),
      run(/headcount (resume \S+ --max-credits \d+)/, 0, {
        charged: 250,
        spent: { uncertain: 100 },
      }),
    ],
  },
  {
    name: "never twice: where no dataset is named, what is bought once more is said before",
    habit: { people: 50 },
    steps: [
      run(SEARCH, 0),
      run("search --country x --dry-run", ANY, {
        says: [
          /notice: run \S+ of .* UTC bought 50 rows of the same; the service names no dataset/,
        ],
      }),
      run(/headcount (runs export \S+) writes those of then for nothing/, 0, {
        charged: 50,
        more: " -o again.csv",
        check: ({ u }) => expect(u.read("again.csv")).toBe(u.read("o.csv")),
      }),
    ],
  },
  {
    name: "never twice: where the dataset moved, what is bought once more is said, at every door",
    habit: { people: 60, version: () => "A", total: "header" },
    steps: [
      run("search --country x --max-credits 25 -o a.csv", 0, { charged: 25 }),
      turns({ version: () => "B" }),
      run("search --country x --dry-run", ANY, { says: [MOVED] }),
      ask("--max-credits 400", "quote", { ...EVERYBODY, profiles: 25 }, 0, {
        out: { notice: expect.stringMatching(MOVED) },
      }),
      run("search --country x --max-credits 25 -o b.csv", 0, { charged: 50, says: [MOVED] }),
      run(/headcount (runs export \S+) writes those of then for nothing/, 0, {
        more: " -o again.csv",
        check: ({ u }) => expect(u.read("again.csv")).toBe(u.read("a.csv")),
      }),
      run("search --country x --max-credits 25 --overwrite -o b.csv", ANY, {
        silent: ["that was dataset"],
        charged: 50,
        hasRoom: true,
      }),
    ],
  },
  {
    name: "lost: every reply came, and told another charge",
    habit: { people: 60, usedIs: 0 },
    steps: [
      run(`${SEARCH} --max-credits 60`, ANY, {
        charged: 60,
        says: ["60 more credits may have been charged"],
        silent: [/replies that were lost$/m],
      }),
    ],
  },
  {
    name: "left of the budget: what a refusal cost is counted once",
    habit: { people: 250, maxPerPage: 100, mishap: at(2, "500-charged"), faultCosts: 100 },
    steps: [
      ask("--max-credits 400", "buy", EVERYBODY, [0, 1], { charged: 200 }),
      ask("--max-credits 400", "account", {}, 0, { out: { budget: { spent: 200, left: 200 } } }),
    ],
  },

  {
    name: "yours already: what is owned is of an older dataset",
    habit: { people: 40, version: () => "a" },
    steps: [
      run(SEARCH, 0),
      turns({ version: () => "b" }),
      run(`${SEARCH} --overwrite --dry-run`, ANY, {
        silent: [/(are|is) yours already|not paid for again/],
        says: [/\S/],
      }),
    ],
  },
  {
    name: "40 credits: each row costs two",
    habit: { people: 40, price: 2 },
    steps: [run("search --country x --dry-run", ANY, { silent: [/\b40 credits/], says: [/\S/] })],
  },
  {
    name: "nobody: forty are there, and the count has another shape",
    habit: { people: 40, countUnder: "sum_of_them" },
    steps: [
      run("search --country x --dry-run", ANY, {
        silent: [/nobody|\b0 people|matches 0/],
        says: [/\S/],
      }),
    ],
  },
  {
    name: "owned: who is forgotten is counted once, also where another run takes the rest",
    habit: { people: 20, version: () => "v1" },
    steps: [
      run(`${SEARCH} --limit 12`, 0),
      run("forget 1000003 --yes", 0),
      run("search --country x --yes -o b.csv --limit 12", ANY, { says: ["for 0 credits"] }),
      run("owned --json", ANY, { out: COUNTED }),
      run("owned rebuild", 0),
      run("owned --json", ANY, { out: COUNTED }),
    ],
  },
]);

test.each(["account", "doctor", "count --country x", SEARCH])(
  "the key is not shown where the service answers with what it was sent: %s",
  async (line) => {
    const key = "acme_live_0123456789abcdefghij";
    const echoes = await rawServer(({ headers }, response) => {
      response
        .writeHead(400, { "content-type": "text/plain" })
        .end(`you sent ${headers.authorization}`);
    });
    onTestFinished(() => echoes.close());
    const u = user(echoes.url, key);
    for (const more of [[], ["--json"], ["--verbose"]]) {
      const { code, stdout, stderr } = await u.run([...line.split(" "), ...more]);
      expect(code).not.toBe(0);
      expect(`${stdout}\n${stderr}`).toContain("you sent Bearer ...");
      expect(`${stdout}\n${stderr}`).not.toContain(key);
    }
  },
);
