import { mkdirSync, readFileSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { seeded, user } from "../support/export.ts";
import { long } from "../support/long.ts";
import {
  Crowd,
  type Human,
  type PeopleOptions,
  type PeopleService,
  startPeopleService,
} from "../support/people-service.ts";
import {
  ask,
  type Books,
  idsIn,
  loadsFirst,
  playAt,
  product,
  run,
  type Scene,
  type Step,
  sceneOf,
  writes,
} from "./scene.ts";

// Services that give only the first rows of a segment, and tell it of no account: only a refusal does. And such whose pages have
// one size.

type Crowded = PeopleService & Books;

interface CrowdCase {
  readonly name: string;
  readonly habit: Partial<PeopleOptions>;
  readonly steps: readonly Step<Crowded>[];
  readonly people?: Human[];
  readonly dialect?: object;
  readonly files?: Readonly<Record<string, unknown>>;
  /** Its kind is in the quick form already. */
  readonly isLong?: boolean;
  /** Fewer than so many people are sold twice; nobody where it is not said. */
  readonly twice?: number;
}

function crowdOf(size: number, { seed = 7, addressless = 0, more = {} } = {}): Human[] {
  const crowd = new Crowd(seeded(seed), addressless);
  return Array.from({ length: size }, () => crowd.born(more));
}

const inSales = (people: readonly Human[]): number =>
  people.filter(({ department }) => department === "Sales").length;

const FEW = crowdOf(1_250);
const MANY = crowdOf(2_000);
const ADDRESSLESS = crowdOf(2_000, { addressless: 0.1 });
const sales = (size: number): Human[] => crowdOf(size, { seed: 3, more: { department: "Sales" } });

/** Rows of everybody in sales. */
const [few, many] = [inSales(FEW), inSales(MANY)];

const SALES = "search --department Sales";
const WALL = { wall: 250, maxPerPage: 50, wallSays: "page*per_page must not exceed 250" };

async function openCrowd({ habit, people = MANY, dialect, files = {} }: CrowdCase) {
  const started = await startPeopleService({ people, maxPerPage: 100, ...habit });
  onTestFinished(() => started.close());
  const service: Crowded = Object.assign(started, {
    charged: () => started.rowsSold() * started.options.price,
    others: () => 0,
    balance: () => 1_000_000 - started.rowsSold() * started.options.price,
    paidCalls: () => started.asked.filter(({ path }) => path === "/v1/person/search").length,
    ids: () => started.matching({ department: "Sales" }).map(({ id }) => id ?? ""),
  });
  const u = user(service.url, service.key);
  const scene = sceneOf(service, u, ["-c", "work"]);

  const work = { baseUrl: service.url, dialect: { paging: "page", firstPage: 1, ...dialect } };
  mkdirSync(u.file("config"));
  writes("config/config.json", { connections: { work } })({ u });
  for (const [name, content] of Object.entries(files)) writes(name, content)({ u });
  return scene;
}

/** What the connection has learned. */
const learned = ({ u }: Scene<Crowded>): object =>
  JSON.parse(readFileSync(u.file("config/config.json"), "utf8")).connections.work.dialect;

const LEGAL = "search --department Legal --yes -o legal.csv";

const BUYERS: Readonly<Record<string, (rows: number) => Step<Crowded>>> = {
  search: (rows) => run(`${SALES} --yes -o o.csv`, 0, { charged: rows }),
  "search --new-only": (rows) => run(`${SALES} --new-only --yes -o o.csv`, 0, { charged: rows }),
  refresh: (rows) =>
    run("refresh --department Sales --max-credits 4000 -o o.csv", 0, { charged: rows }),
  "a job": (rows) => run("jobs run sales --file jobs.json", 0, { charged: rows }),
  "a tool": (rows) =>
    ask("--max-credits 4000", "buy", { filters: { department: "Sales" } }, 0, { charged: rows }),
};

const HABITS: Readonly<Record<string, Partial<PeopleOptions>>> = {
  "a wall": WALL,
  "pages of 25": { fixedPage: 25 },
};

const JOB = { filters: { department: "Sales" }, max_credits: 4_000, output: "o.csv" };

const CASES: readonly CrowdCase[] = [
  ...[
    "page*per_page must not exceed 250",
    "no",
    "per_page: must be less than or equal to 5; unknown field: page",
  ].map((wallSays, index): CrowdCase => {
    let refused = 0;
    return {
      isLong: index > 0,
      name: `${wallSays}: what lies behind it is divided and bought, nobody twice`,
      habit: { wall: 250, maxPerPage: 50, wallSays },
      steps: [
        run(`${SALES} --yes -o o.csv --receipt r.json`, 0, {
          charged: many,
          receipt: { credits: many, complete: true },
          check: (scene) => {
            // A refusal is no proof of a limit that holds for every segment and for ever.
            expect(learned(scene)).not.toHaveProperty("maxDepth");
            refused = scene.service.refusedPages();
          },
        }),
        // So the next segment meets the wall again, once: by the pages that are in flight then.
        run(LEGAL, 0, {
          check: ({ service }) => expect(service.refusedPages()).toBeLessThanOrEqual(refused + 8),
        }),
      ],
    };
  }),
  {
    name: "the cap holds over both sides of a wall, and what it left is resumed for its own price",
    // What the smaller page at its end is refused for, the pages before it tell.
    habit: { ...WALL, smallerFirst: true },
    steps: [
      run(`${SALES} --max-credits 366 -o o.csv`, 0, { charged: 366, silent: ["as small as"] }),
      run(`resume last --max-credits ${many} --overwrite`, 0, { charged: many }),
    ],
  },
  ...Object.entries(BUYERS).map(
    ([buyer, buys]): CrowdCase => ({
      name: `the small last page that begins right behind a wall is refused for that, not for its size: ${buyer}`,
      habit: WALL,
      people: sales(264),
      files: { "jobs.json": { jobs: { sales: JOB } } },
      steps: [buys(264)],
      isLong: buyer !== "search",
    }),
  ),
  {
    name: "whether it is the size or the place nobody can tell for less than a whole page: it ends and says so",
    habit: WALL,
    people: sales(264),
    steps: [
      run(`${SALES} --max-credits 264 -o o.csv`, 5, {
        says: ["no page there that is as small as what is left to buy"],
        charged: 250,
      }),
      run(/headcount (resume \S+ --max-credits 300)/, 0, { charged: 264 }),
    ],
  },
  // What a smaller page behind it is refused for, the pages before it tell, whichever answer is first.
  ...Object.entries({
    search: run(`${SALES} --limit 366 --yes -o o.csv`, 0),
    "search --with-owned": run(`${SALES} --with-owned --limit 366 --yes -o o.csv`, 0),
    "a job": run("jobs run sales --file jobs.json", 0),
    "a tool": ask(
      "--max-credits 4000",
      "buy",
      { filters: { department: "Sales" }, profiles: 366 },
      0,
    ),
  } satisfies Record<string, Step<Crowded>>).map(
    ([buyer, step]): CrowdCase => ({
      isLong: true,
      name: `refusals that overtake those of the pages before them: ${buyer}`,
      habit: { ...WALL, smallerFirst: true },
      files: { "jobs.json": { jobs: { sales: { ...JOB, command: "search", limit: 366 } } } },
      steps: [{ ...step, charged: 366, silent: ["as small as"] }],
    }),
  ),
  {
    name: "people without an address are told by their names and departments",
    habit: { wall: 250, maxPerPage: 50, wallSays: "at most 250 rows: page x per_page" },
    people: ADDRESSLESS,
    steps: [run(`${SALES} --yes -o o.csv`, 0, { charged: inSales(ADDRESSLESS) })],
  },
  ...["", " --concurrency 1"].map(
    (calls): CrowdCase => ({
      isLong: calls !== "",
      name: `parts that lie in another order end it at the first person who comes again${calls}`,
      habit: {
        ...WALL,
        order: (people, { name_prefix: prefix }) =>
          prefix === undefined ? people : people.reverse(),
      },
      steps: [run(`${SALES}${calls} --yes -o o.csv`, 5)],
      // With one call at a time those of a single page: as soon as it is divided, parts are looked at.
      twice: calls === "" ? 200 : 20,
    }),
  ),
  {
    name: "pages by offset",
    habit: { wall: 250, maxPerPage: 50, wallSays: "offset + limit must be at most 250" },
    dialect: { paging: "offset" },
    steps: [run(`${SALES} --yes -o o.csv`, 0, { charged: many })],
  },
  {
    name: "--new-only goes past a wall too, and so does --again",
    habit: WALL,
    steps: [
      run(`${SALES} --new-only --yes -o o.csv`, 0, { charged: many }),
      run(`${SALES} --again --yes -o again.csv`, 0, { charged: 2 * many }),
    ],
    twice: many + 1,
  },

  ...[
    [60, 100],
    [75, 100],
    [10, 100],
    [60, 25],
  ].map(
    ([size = 0, maxPerPage = 0]): CrowdCase => ({
      name: `${size} people in pages of 25, whatever is asked for, where the account tells ${maxPerPage}`,
      habit: { fixedPage: 25, maxPerPage },
      people: sales(size),
      steps: [run(`${SALES} --yes -o o.csv`, 0, { charged: size })],
    }),
  ),
  ...(
    [
      ["search", "75"],
      ["refresh", "10"],
    ] as const
  ).map(
    ([command, rest]): CrowdCase => ({
      isLong: command !== "search",
      name: `${command} stakes no page beyond its cap, says what one takes, and goes on`,
      habit: { fixedPage: 25 },
      people: sales(60),
      steps: [
        run(`${command} --department Sales --max-credits 60 -o o.csv`, 5, {
          says: [
            "a page came with 25 where more was asked for, and the last one may have as many: --max-credits 75 leaves room for it",
          ],
          charged: 50,
        }),
        run(`${command} --department Sales --max-credits ${rest} -o o.csv`, 0, { charged: 60 }),
      ],
    }),
  ),

  ...product(Object.entries(HABITS), Object.entries(BUYERS)).map(
    ([[habit, change], [buyer, buys]]): CrowdCase => ({
      name: `whoever buys learns it: ${habit}, ${buyer}`,
      habit: change,
      people: FEW,
      files: { "jobs.json": { jobs: { sales: JOB } } },
      steps: [buys(few)],
    }),
  ),
];

expect(few, "more than lie before the wall").toBeGreaterThan(250);

loadsFirst(true);

for (const each of CASES)
  (each.isLong ? long : test)(each.name, async () => {
    const scene = await openCrowd(each);
    await playAt(scene, each.steps);
    const again = [...scene.service.sold.values()].filter((times) => times > 1);
    expect(again.length).toBeLessThan(each.twice ?? 1);
  });

long("a list beyond a wall is kept up to date by the same commands", async () => {
  const scene = await openCrowd({ name: "", habit: WALL, people: FEW, steps: [] });
  await scene.take(run(`${SALES} --yes -o o.csv`, 0, { charged: few }));
  const came = crowdOf(100, { seed: 8, more: { department: "Sales" } }).map((human, index) => ({
    ...human,
    id: `n${index}`,
    network_url: `https://www.people.example/in/n${index}`,
  }));
  scene.service.options.people = [...FEW, ...came];

  await scene.take(
    run("refresh o.csv --max-credits 4000 --max-calls 20000", 0, {
      chargedAtMost: few + 125,
    }),
  );
  expect(new Set(idsIn(scene.u)).size).toBe(few + 100);
});
