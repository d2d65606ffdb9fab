import { expect } from "vitest";
import { ANY, ask, at, type Case, product, run, type Scene, TELLS, tryCases } from "./scene.ts";

// A company that is not known is free, unless the service takes something for that all the same.

const BOTH = ["enrich", "employees"] as const;

const companies = (count: number, name: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => `${name(index)}${index}.example`).join(" ");

const MANY = companies(80, (index) => (index % 4 === 3 ? "here" : "missing"));
const MIXED = companies(60, (index) => (index % 2 === 1 ? "missing" : "here"));
const ABSENT = companies(9, () => "missing");
const WHOM = "--limit 1000 --per-page 1";

/** At the account, of a purchase whose misses tell what is left: the quote, the misses, the end. */
const LOOKS = 3;

const looks = ({ service }: Scene): number =>
  service.seen.filter(({ path }) => path === "/v1/account").length;

tryCases([
  ...product(product(TELLS, BOTH), [1, 8]).map(
    ([[faultTells, command], concurrency]): Case => ({
      name: `told by ${faultTells}: the cap of ${command} holds with ${concurrency} under way`,
      habit: { people: 1, missCosts: 1, faultTells, jitterMs: 5 },
      steps: [
        run(
          `${command} ${MANY} ${command === "employees" ? WHOM : "--again"} -o o.csv --yes --max-credits 30 --concurrency ${concurrency}`,
          faultTells === "used" ? 0 : 5,
        ),
      ],
    }),
  ),
  {
    name: "beside hits that are under way the first miss tells what the others cost",
    habit: { people: 1, missCosts: 10, faultTells: "balance", jitterMs: 5 },
    steps: [
      run(`enrich ${MIXED} -o o.csv --yes --max-credits 60 --concurrency 4`, ANY, {
        chargedAtMost: 100,
        mayPass: true,
        mayBlame: true,
      }),
    ],
  },
  {
    name: "free ones are asked as fast as ever, and nothing is in doubt",
    habit: { people: 1, jitterMs: 5 },
    steps: [
      run(`enrich ${MANY} -o o.csv --yes --max-credits 30 --concurrency 8`, 0, {
        spent: { settled: 20, uncertain: 0 },
        check: (scene) => expect(looks(scene)).toBeLessThanOrEqual(8),
      }),
    ],
  },
  {
    name: "one company alone: not found, and not said that it was free",
    habit: { missCosts: 1, faultTells: "balance" },
    steps: [
      run("enrich missing.example --yes", 6, {
        spent: { uncertain: 1 },
        silent: ["nothing was charged"],
        check: (_, { stdout }) => expect(stdout).toBe(""),
      }),
    ],
  },

  ...product(
    [
      ...product(BOTH, TELLS).map(([command, faultTells]) => ({
        command,
        told: `told by ${faultTells}`,
        change: { faultTells },
      })),
      { command: "enrich", told: "a success without a row", change: { missing: { result: [] } } },
    ],
    [1, 8],
  ).map(
    ([{ command, told, change }, concurrency]): Case => ({
      name: `dearer than the price, ${told}: ${command} books it whole, ${concurrency} under way`,
      habit: { people: 1, missCosts: 5, jitterMs: 5, ...change },
      steps: [
        run(
          `${command} ${ABSENT} here.example -o o.csv --yes --max-credits 10 --concurrency ${concurrency}`,
          // What answers tell is charged, and the cap is reached; what the balance shows may have been.
          told === "told by used" ? 0 : 5,
          {
            charged: 10,
            spent:
              told === "told by used"
                ? { settled: 10, uncertain: 0 }
                : { settled: 0, uncertain: 10 },
          },
        ),
      ],
    }),
  ),
  {
    name: "dearer than the price: nor does an agent pass its cap by more than one",
    habit: { people: 1, missCosts: 5, faultTells: "nothing" },
    steps: ABSENT.split(" ").map((domain) =>
      ask("--max-credits 7", "enrich_company", { domain }, [0, 1], { chargedAtMost: 10 }),
    ),
  },
  ...(["nothing", "balance"] as const).map(
    (faultTells): Case => ({
      name: `free ones are looked at once, and believed then: ${faultTells}`,
      habit: { people: 1, faultTells },
      steps: [
        run(`enrich ${ABSENT} here.example -o o.csv --yes --concurrency 1`, 0, {
          spent: { settled: 1, uncertain: 0 },
          // The quote, the end, and where a miss tells nothing one look more.
          check: (scene) =>
            expect(looks(scene)).toBeLessThanOrEqual(faultTells === "nothing" ? LOOKS + 1 : LOOKS),
        }),
      ],
    }),
  ),
  ...product(
    [
      ["enrich", 10],
      ["employees", 21],
    ] as const,
    ["--concurrency 1"],
  ).map(
    ([[command, charged], one]): Case => ({
      name: `what a miss of ${command} costs beyond the price is no free miss`,
      habit: { people: 1, missCosts: 10, faultTells: "balance" },
      steps: [
        // The quote of four companies is 4 credits, and that of the people 30.
        run(
          `${command} missing1.example missing2.example here.example missing3.example -o o.csv --yes --max-credits 30 ${one}`,
          5,
          { charged },
        ),
      ],
    }),
  ),

  ...product(BOTH, [undefined]).map(
    ([command]): Case => ({
      name: `the only company is not known, and that was charged: nothing is to buy (${command})`,
      habit: { missCosts: 1 },
      steps: [
        run(`${command} missing.example --max-credits 3 -o o.csv`, 6),
        run(`${command} missing.example --max-credits 3 -o o.csv`, 6, {
          says: ["0 rows are paid for and not bought again, nothing to buy (--again begins anew)"],
          charged: 1,
        }),
        run("resume", ANY, { says: ["no run is unfinished"] }),
      ],
    }),
  ),
  {
    name: "what a cap left out is priced without those who were not found",
    habit: { missCosts: 1 },
    steps: [
      run(
        "enrich a.example missing1.example missing2.example b.example --max-credits 3 -o o.csv --concurrency 1",
        0,
        { says: ["--max-credits 4 goes on with the rest"] },
      ),
      run("resume last --max-credits 4 --overwrite", 0, { charged: 4 }),
    ],
  },
  {
    name: "companies that a run did not find are not to be bought when it is gone on with",
    habit: {},
    steps: [
      run("enrich a.example missing1.example missing2.example --yes -o o.csv", 0, { charged: 1 }),
      run("resume last", 0, {
        says: [
          /continuing run \S+: 1 row is paid for and not bought again, nothing to buy\n/,
          "Exported 1 of 3 companies for 1 credit (0 of them now)",
        ],
        charged: 1,
      }),
    ],
  },
  {
    name: "a charged miss ended it: what a later session pays is told as paid now",
    habit: { missCosts: 1, faultTells: "nothing" },
    steps: [
      run("enrich a.example missing.example b.example --max-credits 2 -o o.csv", 5, { charged: 2 }),
      run("resume last --max-credits 5 --yes", 0, {
        says: ["for 2 credits (1 of them now)"],
        charged: 3,
      }),
    ],
  },
  {
    name: "what a miss costs is known to the next command, too",
    habit: { missCosts: 5, faultTells: "balance", people: 7 },
    steps: [6, 13].map((cap) =>
      run(
        `enrich missing1.example a.example ${ABSENT} --max-credits ${cap} --yes -o o.csv --concurrency 8`,
        ANY,
        { chargedAtMost: cap },
      ),
    ),
  },
  {
    name: "neither charge nor balance in a reply: a short page hides nothing of what a miss cost",
    habit: {
      tellsLeft: false,
      usedIs: "missing",
      companies: { "a.example": 7 },
      missCosts: 2,
      faultTells: "balance",
      total: "header",
    },
    steps: [
      run("employees a.example missing.example --limit 40 --yes -o o.csv --concurrency 1", ANY),
    ],
  },
  {
    name: "what misses cost that were under way when a run was stopped is in the books",
    habit: {
      people: 60,
      missCosts: 5,
      faultTells: "nothing",
      mishap: at(4, "500-charged"),
    },
    steps: [
      run(
        "enrich c0.example missing1.example c1.example c2.example missing2.example c3.example --concurrency 4 --max-credits 60 -o o.csv",
        undefined,
        { mayBlame: true },
      ),
    ],
  },

  ...(["used", "balance"] as const).flatMap((faultTells): Case[] => [
    {
      name: `a miss that costs is not said to be free, and tells ${faultTells} of it`,
      habit: { missCosts: 2, faultTells },
      steps: [run("enrich missing.example --yes -o o.csv", ANY, { charged: 2 })],
    },
    {
      name: `an agent looks up what costs though it is not found (${faultTells})`,
      habit: { missCosts: 2, faultTells },
      steps: [
        ask("--max-credits 50", "enrich_company", { domain: "missing.example" }, [0, 1], {
          charged: 2,
          silent: [/nothing was (charged|spent)/],
        }),
      ],
    },
  ]),
  {
    name: "a charged success without a company finds none, and says so again without asking",
    habit: { missCosts: 1, missing: { result: null, used: 1_000 } },
    steps: [
      run("enrich missing.example", 5, { says: ["charged 1 credit for 0 rows quoted at 0"] }),
      ...["enrich missing.example", "resume last"].map((line) =>
        run(line, 6, {
          says: ["1 credit charged, though a miss is free"],
          silent: ["resume"],
          charged: 1,
        }),
      ),
      run("enrich missing.example globex.example --yes -o o.csv --misses m.txt", 5),
      run("enrich missing.example globex.example --yes -o o.csv --misses m.txt", ANY, {
        says: [/1 not found.*missing/],
        charged: 3,
        check: ({ u }) => expect(u.read("m.txt")).toBe("missing.example\n"),
      }),
    ],
  },
  {
    name: "an agent is not told of a company that a charged success did not find",
    habit: { missCosts: 1, missing: { result: null, used: 1_000 } },
    steps: [
      ask("--max-credits 50", "enrich_company", { domain: "missing.example" }, 1),
      ask("--max-credits 50", "enrich_company", { domain: "missing.example" }, [0, 1], {
        out: { found: false, credits: 0, budget_left: 49 },
        silent: ["resume"],
        charged: 1,
      }),
    ],
  },
]);
