import { expect } from "vitest";
import {
  ANY,
  ask,
  at,
  type Case,
  DOORS,
  type Door,
  EVERY_DOOR,
  keysOf,
  product,
  run,
  TELLS,
  tryCases,
} from "./scene.ts";

// What an answer costs that is no success, against the contract, is inside every cap, and said as what it may have been.

const ALL_FAIL = () => "500-charged" as const;
const NOT_USED = ["balance", "nothing"] as const;

const REFRESH = "refresh --country x -o o.csv --yes";

const TWO = "employees a.example b.example --limit 4";
const THREE = "enrich a.example b.example c.example";
const STILL = "2 of 3 rows are paid for and kept";

const REFUSED = [
  [404, TWO, 0, 4, "1 not found: a.example"],
  [404, THREE, 0, 2, "1 not found: b.example"],
  [402, TWO, 0, 4, "going on with smaller pages"],
  [402, THREE, 4, 2, "not enough credits (402)"],
  ...([400, 413, 422] as const).flatMap(
    (status) =>
      [
        [status, TWO, 5, 2, "no page there that is as small as what is left to buy"],
        [status, THREE, 2, 2, STILL],
      ] as const,
  ),
  [429, TWO, 0, 4, "Exported 2 profiles for 4 credits"],
  [429, THREE, 0, 3, "Exported 1 of 3 companies for 3 credits"],
] as const;

/** Where a service answers all companies alike, two of the doors would not be told a refusal from a miss. */
const refusals = [
  ...product([302, 400, 401, 402, 403, 409, 429, 451], EVERY_DOOR),
  ...product([404, 422], ["search"] as const),
];

/** Beyond its hold only the service's own words tell whose it is. */
const dear = (tells: (typeof TELLS)[number], door: Door): number =>
  tells === "used" ? 50 : door === "enrich" ? 1 : 10;

const asked = (calls: number) => ({ calls, says: ["not asked again"] });

tryCases([
  ...product(product(TELLS, EVERY_DOOR), [false, true]).map(
    ([[faultTells, door], announcesKeys]): Case => {
      const faultCosts = dear(faultTells, door);
      // What an answer says of itself is charged; what the balance alone shows may have been.
      const spent =
        faultTells === "used"
          ? { settled: faultCosts, uncertain: 0 }
          : { settled: 0, uncertain: faultCosts };
      return {
        name: `an error told by ${faultTells} is asked once, and booked: ${door}, keys ${announcesKeys}`,
        habit: {
          people: 60,
          announcesKeys,
          version: () => "v1",
          faultTells,
          faultCosts,
          mishap: ALL_FAIL,
        },
        steps: [
          run(`${DOORS[door]} --max-credits 10`, 8, {
            ...asked(1),
            spent,
            charged: faultCosts,
            mayPass: true,
          }),
          // Going on is inside the same cap, and under the same key.
          run("resume last --yes", ANY, {
            chargedAtMost: Math.max(10, faultCosts),
            mayPass: true,
            check: ({ service }) => expect(keysOf(service)).toHaveLength(1),
          }),
        ],
      };
    },
  ),

  ...product(refusals, NOT_USED).map(
    ([[status, door], faultTells]): Case => ({
      name: `a charged ${status} ends the run, told by ${faultTells}: ${door}`,
      habit: {
        people: 60,
        faultTells,
        faultCosts: door === "enrich" ? 1 : 3,
        mishap: () => `${status}-charged`,
      },
      steps: [
        run(`${DOORS[door]} --max-credits 10`, undefined, {
          spent: { settled: 0 },
          silent: ["nothing was charged"],
        }),
      ],
    }),
  ),

  ...product([402, 429], EVERY_DOOR).map(
    ([status, door]): Case => ({
      name: `a ${status} that says it was charged is booked, and asked once: ${door}`,
      habit: { people: 60, faultTells: "used", faultCosts: 3, mishap: () => `${status}-charged` },
      steps: [
        run(`${DOORS[door]} --max-credits 10`, 8, {
          ...asked(1),
          charged: 3,
          spent: { settled: 3, uncertain: 0 },
        }),
      ],
    }),
  ),

  ...product(["search", "employees"] as const, NOT_USED).map(
    ([door, faultTells]): Case => ({
      name: `one that is waited for never passes the cap, told by ${faultTells}: ${door}`,
      habit: {
        people: 60,
        faultTells,
        faultCosts: 5,
        mishap: at([2, 3, 4, 5, 6, 7], "429-charged"),
      },
      steps: [
        run(`${DOORS[door]} --max-credits 30 --concurrency 3`, ANY),
        run("resume last --yes", ANY, { chargedAtMost: 30 }),
      ],
    }),
  ),

  ...[1, 4].map(
    (concurrency): Case => ({
      name: `what others spend while a limit is waited for is theirs, ${concurrency} under way`,
      habit: (service) => ({
        people: 60,
        idempotent: true,
        announcesKeys: true,
        version: () => "v1",
        mishap: (call) => {
          if (call === 3) service().spend(33);
          return call === 3 ? "429-charged" : undefined;
        },
      }),
      steps: [
        run(`${DOORS.search} --max-credits 60 --concurrency ${concurrency}`, 0, {
          spent: { settled: 60, uncertain: 0, foreign: 33 },
        }),
      ],
    }),
  ),
  {
    name: "under a kept key a limit is believed free: what it took unsaid is named, and no doubt",
    habit: {
      people: 60,
      idempotent: true,
      announcesKeys: true,
      version: () => "v1",
      faultTells: "balance",
      faultCosts: 4,
      mishap: at(3, "429-charged"),
    },
    steps: [
      run(`${DOORS.search} --max-credits 60`, 0, {
        says: ["4 credits more left the balance than the answers tell"],
        spent: { settled: 60, uncertain: 0, foreign: 4 },
        charged: 64,
        mayPass: true,
      }),
    ],
  },
  ...[1, 4].map(
    (concurrency): Case => ({
      name: `and of several the second is held against the balance, and the cap holds: ${concurrency} under way`,
      habit: {
        people: 60,
        idempotent: true,
        announcesKeys: true,
        version: () => "v1",
        faultTells: "balance",
        faultCosts: 4,
        mishap: at([3, 4, 6, 7, 9, 10], "429-charged"),
      },
      steps: [
        run(`${DOORS.search} --max-credits 60 --concurrency ${concurrency}`, 5, {
          says: ["credits may have been charged for"],
          chargedAtMost: 60,
          mayDoubt: true,
        }),
      ],
    }),
  ),
  {
    name: "a 402 that the balance bears out lays what is gone to others",
    habit: (service) => ({
      people: 60,
      balance: 60,
      mishap: (call) => void (call === 3 && service().spend(35)),
    }),
    steps: [
      run(`${DOORS.search} --concurrency 1`, 4, {
        says: [
          "the balance covers 5 more; going on with smaller pages",
          "35 credits more left the balance than",
        ],
        spent: { settled: 25, uncertain: 0, foreign: 35 },
      }),
    ],
  },

  {
    name: "room for an answer without rows is in the price of what is left, and its last page is asked for",
    habit: { people: 24, faultCosts: 6, mishap: at(2, "429-charged") },
    steps: [
      run(DOORS.search, 8, { spent: { settled: 16, uncertain: 0 } }),
      run("resume last --yes", 0, {
        says: ["14 to buy for 14 credits, and up to 5 credits for an answer without rows"],
        charged: 30,
        rows: 24,
      }),
    ],
  },
  {
    name: "and a cap that has none for it names one that does",
    habit: { people: 24, faultCosts: 6, mishap: at(2, "429-charged") },
    steps: [
      run(`${DOORS.search} --max-credits 30 --require-complete`, 8),
      run("resume last --yes --max-credits 30 --require-complete", 5, { charged: 26 }),
      run(/headcount (resume \S+ --max-credits 35)/, 0, {
        more: " --yes",
        charged: 30,
        rows: 24,
      }),
    ],
  },
  {
    name: "what a row costs is learned from rows, not from an answer without any",
    habit: {
      people: 24,
      price: 2,
      tellsCosts: false,
      faultCosts: 6,
      mishap: at(2, "429-charged"),
    },
    steps: [
      run(DOORS.search, 8, { spent: { settled: 8, uncertain: 0 } }),
      run("resume last --yes", 0, { says: ["23 to buy for 46 credits"], charged: 54, rows: 24 }),
    ],
  },
  {
    name: "a 402 that costs, where neither it nor an account tells so, is in doubt whole",
    habit: {
      people: 60,
      tellsBalance: false,
      tellsLeft: false,
      faultTells: "nothing",
      faultCosts: 3,
      mishap: at(3, "402-charged"),
    },
    steps: [
      run(`${DOORS.search} --concurrency 1`, 4, { spent: { uncertain: 10 }, mayDoubt: true }),
    ],
  },

  {
    name: "an answer without content is told as empty",
    habit: { people: 60, faultCosts: 3, mishap: at(2, "204-charged") },
    steps: [
      run(DOORS.search, ANY, {
        says: ["3 credits may have been charged for what was lost, failed or said otherwise"],
      }),
    ],
  },
  {
    name: "a conflict is no mistake of whoever typed the command",
    habit: { people: 60, mishap: at(2, "409-charged") },
    steps: [run(DOORS.search, 8, { says: ["the service answered 409: Oops."] })],
  },
  {
    name: "what lost replies cost is not laid to one that came and was free",
    habit: {
      people: 57,
      delayMs: 30,
      announcesKeys: true,
      version: () => "v1",
      mishap: at([3, 4, 6], "drop"),
    },
    steps: [
      run("search --country x --per-page 5 -o o.csv --yes --concurrency 4", ANY, {
        says: [/\d+ credits may have been charged for what was lost, failed or said otherwise/],
      }),
    ],
  },
  {
    name: "a refusal that cost nothing is told as such, also where it tells no balance",
    habit: { people: 60, faultTells: "nothing", mishap: () => "451-charged" },
    steps: [
      run(`${DOORS.search} --max-credits 10`, ANY, {
        says: ["the service answered 451: Oops.; nothing was charged"],
        spent: { uncertain: 0 },
      }),
    ],
  },
  ...[1, 4].map(
    (concurrency): Case => ({
      name: `beside ${concurrency - 1} others that are under way it is told from what they cost`,
      habit: {
        people: 200,
        jitterMs: 20,
        faultTells: "balance",
        faultCosts: 10,
        mishap: at(5, "500-charged"),
      },
      steps: [
        run(`${DOORS.search} --max-credits 200 --concurrency ${concurrency}`, 8, {
          spent: { uncertain: 10 },
        }),
      ],
    }),
  ),
  {
    name: "an honest error beside others that are under way is no charge",
    habit: {
      people: 200,
      jitterMs: 20,
      mishap: (call) => (call % 3 === 0 ? "500-charged" : undefined),
    },
    steps: [run(`${DOORS.search} --concurrency 4`, 0, { spent: { settled: 200, uncertain: 0 } })],
  },

  ...product(NOT_USED, EVERY_DOOR).map(
    ([faultTells, door]): Case => ({
      name: `one that costs more than its page is booked whole by the balance: ${faultTells}, ${door}`,
      habit: { people: 60, faultTells, faultCosts: 50, mishap: ALL_FAIL },
      steps: [
        run(`${DOORS[door]} --max-credits 10`, 8, {
          says: ["its answer may have cost 50 credits by the balance, though errors are free"],
          charged: 50,
          spent: { settled: 0, uncertain: 50 },
          mayPass: true,
        }),
      ],
    }),
  ),
  ...EVERY_DOOR.map(
    (door): Case => ({
      name: `where no balance was told it is told as a doubt: ${door}`,
      habit: {
        people: 60,
        tellsBalance: false,
        tellsLeft: false,
        faultTells: "nothing",
        faultCosts: 1,
        mishap: ALL_FAIL,
      },
      steps: [
        run(`${DOORS[door]} --max-credits 10`, 8, {
          says: [/its answer may have cost (1 credit|10 credits), though errors are free/],
          mayDoubt: true,
        }),
      ],
    }),
  ),

  {
    name: "a job and an agent book what a refusal cost",
    habit: { people: 60, faultTells: "balance", faultCosts: 3, mishap: () => "451-charged" },
    files: {
      "jobs.json": {
        jobs: {
          a: {
            filters: { country: "x" },
            command: "search",
            limit: 5,
            max_credits: 5,
            output: "a.csv",
          },
        },
      },
    },
    steps: [
      run("jobs run a --file jobs.json", 8),
      ask("--max-credits 50", "buy", { filters: { country: "y" }, profiles: 5 }, 1, {
        charged: 6,
        spent: { settled: 0, uncertain: 6 },
      }),
    ],
  },
  {
    name: "a budget of jobs counts what an error cost, and the next job is refused",
    habit: { people: 60, faultTells: "used", faultCosts: 50, mishap: ALL_FAIL },
    files: {
      "jobs.json": {
        budget: "50/month",
        jobs: Object.fromEntries(
          ["a", "b"].map((name) => [
            name,
            {
              command: "search",
              filters: { country: "x" },
              limit: 5,
              max_credits: 5,
              output: `${name}.csv`,
            },
          ]),
        ),
      },
    },
    steps: [
      run("jobs run a --file jobs.json", undefined),
      run("jobs run b --file jobs.json", undefined, {
        calls: 1,
        charged: 50,
        spent: { settled: 50 },
      }),
    ],
  },
  {
    name: "the cap of an agent counts what errors and misses cost",
    habit: {
      people: 60,
      faultTells: "balance",
      missCosts: 1,
      faultCosts: 3,
      mishap: ALL_FAIL,
    },
    steps: [
      ...Array.from({ length: 4 }, () =>
        ask("--max-credits 5", "buy", { filters: { country: "france" }, profiles: 3 }, 1),
      ),
      ...Array.from({ length: 8 }, (_, index) =>
        ask("--max-credits 5", "enrich_company", { domain: `missing${index}.example` }, [0, 1], {
          chargedAtMost: 5,
          spent: { settled: 0 },
        }),
      ),
    ],
  },
  {
    name: "the same refresh finishes the run that an error which was charged ended",
    habit: {
      people: 24,
      maxPerPage: 10,
      tellsMaxPerPage: true,
      faultCosts: 6,
      mishap: at(2, "500-charged"),
    },
    steps: [
      run(REFRESH, 8, { charged: 16, calls: 2, spent: { settled: 16, uncertain: 0 } }),
      run(REFRESH, 0, {
        says: ["10 rows are paid for and not bought again, 14 to buy for 14 credits"],
        charged: 30,
        calls: 4,
        spent: { settled: 30, uncertain: 0 },
        rows: 24,
      }),
      run("runs list --json", 0, { says: ['"status":"finished"'] }),
    ],
  },
  // A refusal that is free, of the second call: what it means hangs on what was asked for.
  ...REFUSED.map(
    ([status, line, code, charged, says]): Case => ({
      name: `what the answer ${status} means of ${line.split(" ")[0]}: ${says}`,
      habit: { people: 2, mishap: at(2, `${status}-charged`) },
      steps: [run(`${line} --yes -o o.csv`, code, { charged, says: [says] })],
    }),
  ),
]);
