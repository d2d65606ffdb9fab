import { expect, test } from "vitest";
import { swiftClock } from "../support/client.ts";
import {
  ANY,
  ask,
  at,
  type Case,
  DOORS,
  EVERY_DOOR,
  keysOf,
  openScene,
  product,
  run,
  tryCases,
} from "./scene.ts";

// Replies that are lost after they were charged: where the service knows the key of a request nothing is paid twice, and where it
// does not, or only says so, what it may have cost is inside the cap.

const FORGETS = { people: 60, announcesKeys: true, version: () => "v1" } as const;
const LINES = { ...DOORS, enrich: `${DOORS.enrich} d.example e.example f.example` };

const REPEATED = { idempotent: true, announcesKeys: true, version: () => "v1" };

tryCases([
  {
    name: "a promise of keys is believed of one lost reply: of two the balance tells, before a third",
    habit: { people: 20, announcesKeys: true, version: () => "v1", mishap: at([1, 2, 3], "drop") },
    steps: [
      run("search --country x --yes -o o.csv --max-credits 50", 5, { charged: 40, calls: 2 }),
    ],
  },
  {
    name: "of one lost reply under a kept key the balance is not asked",
    habit: { people: 20, ...REPEATED, mishap: at(1, "drop") },
    steps: [
      run("search --country x --yes -o o.csv --max-credits 50", 0, {
        charged: 20,
        calls: 2,
        check: ({ service }) =>
          expect(service.seen.filter(({ path }) => path === "/v1/account")).toHaveLength(2),
      }),
    ],
  },
  {
    name: "a repeat that says that it was free is no gift: up to its rows at the price, and never less than 0",
    habit: {
      people: 80,
      ...REPEATED,
      mishap: at(2, "drop"),
      spelled: (text, calls) =>
        calls === 2 ? text.replace(/"credits_used":\d+/, '"credits_used":0') : text,
    },
    steps: [
      run("search --country x --per-page 20 --concurrency 1 --yes -o o.csv --max-credits 60", 0, {
        charged: 60,
        says: ["Exported 60 of 80 profiles for 40 credits", "20 more credits may have been"],
        silent: [/-\d+ (credit|of them)/],
        spent: { settled: 40, uncertain: 20 },
      }),
      run(/headcount (resume \S+ --max-credits 80) buys the other 20/, 0, {
        more: " --yes --overwrite",
        charged: 80,
        rows: 80,
        says: ["for 60 credits (20 of them now)"],
      }),
    ],
  },
  ...product(["search", "employees"] as const, [true, false]).map(
    ([door, idempotent]): Case => ({
      name: `a lost page is asked for again under its own key, after resume too: ${door}, kept ${idempotent}`,
      habit: { people: 60, idempotent, mishap: at(6, "drop") },
      steps: [
        run(`${DOORS[door]} --max-credits 60 --concurrency 1`, 5),
        run(/headcount (resume \S+ --max-credits 70) buys the other 10\n/, 0, {
          charged: idempotent ? 60 : 70,
          spent: { settled: 60 },
          check: ({ service }) => {
            expect(service.seen.filter(({ key }) => key !== undefined)).toHaveLength(7);
            expect(keysOf(service)).toHaveLength(6);
          },
        }),
      ],
    }),
  ),

  ...product(EVERY_DOOR, [1, 4]).map(
    ([door, concurrency]): Case => ({
      name: `lost for ever, they count against the cap: ${door}, ${concurrency} under way`,
      habit: { ...FORGETS, mishap: () => "drop" },
      steps: [
        run(`${LINES[door]} --max-credits 40 --concurrency ${concurrency}`, undefined, {
          spent: { settled: 0 },
        }),
        // Nor is the promise believed by whoever goes on.
        run("resume last --yes", ANY, { chargedAtMost: 40 }),
      ],
    }),
  ),
  ...EVERY_DOOR.map(
    (door): Case => ({
      name: `each second one is lost: what it cost is booked, and ends inside the cap: ${door}`,
      habit: { ...FORGETS, mishap: (call) => (call % 2 === 1 ? "drop" : undefined) },
      steps: [
        run(`${LINES[door]} --max-credits 40 --concurrency 1`, ANY, {
          spent: { uncertain: expect.toSatisfy((uncertain: number) => uncertain > 0) },
        }),
      ],
    }),
  ),
  ...product(EVERY_DOOR, [1, 4]).map(
    ([door, concurrency]): Case => ({
      name: `where keys are kept nothing is in doubt: ${door}, ${concurrency} under way`,
      habit: {
        ...FORGETS,
        idempotent: true,
        mishap: (call) => (call % 4 > 0 ? "drop" : undefined),
      },
      steps: [
        run(`${LINES[door]} --max-credits 60 --concurrency ${concurrency}`, 0, {
          spent: { uncertain: 0 },
        }),
      ],
    }),
  ),
  ...[1, 4].map(
    (concurrency): Case => ({
      name: `of a balance that is late the promise is believed after a rest, ${concurrency} under way`,
      habit: {
        ...FORGETS,
        idempotent: true,
        tellsLeft: false,
        lateMs: 1_500,
        mishap: at(2, "drop"),
      },
      steps: [run(`${LINES.search} --concurrency ${concurrency}`, 0, { spent: { uncertain: 0 } })],
    }),
  ),
  ...[1, 4].map(
    (concurrency): Case => ({
      name: `what a proxy told as an error comes under its key, and was paid once, ${concurrency} under way`,
      habit: { ...FORGETS, idempotent: true, mishap: at(4, "mangled") },
      steps: [
        run(`${LINES.search} --concurrency ${concurrency}`, ANY, { spent: { uncertain: 10 } }),
        run("resume last --yes", 0, {
          charged: 60,
          rows: 60,
          spent: { settled: 60, uncertain: 0 },
          silent: ["may have been charged"],
        }),
      ],
    }),
  ),
  {
    name: "of a balance that shows nothing the whole time nobody waits for ever",
    habit: {
      ...FORGETS,
      idempotent: true,
      tellsLeft: false,
      lateMs: 600_000,
      mishap: at(2, "drop"),
    },
    steps: [run(LINES.search, 0)],
  },
  {
    name: "nor do a job and an agent pass their caps",
    habit: { ...FORGETS, mishap: () => "drop" },
    files: {
      "jobs.json": {
        jobs: {
          a: {
            filters: { country: "x" },
            command: "search",
            per_page: 5,
            limit: 20,
            max_credits: 20,
            output: "a.csv",
          },
        },
      },
    },
    steps: [
      run("jobs run a --file jobs.json", ANY, { chargedAtMost: 20 }),
      ask("--max-credits 20", "buy", { filters: { country: "y" }, profiles: 5 }, [0, 1], {
        chargedAtMost: 40,
        spent: { settled: 0 },
      }),
    ],
  },
  {
    name: "a stored reply's balance is of then: what was topped up since is no loss",
    habit: { people: 60, idempotent: true, mishap: at(1, "drop") },
    steps: [
      run(`${DOORS.search} --limit 5 --max-credits 5`, 5),
      ({ service }) => service.spend(-100),
      run("resume last --max-credits 20", 0, {
        says: ["balance 5,095"],
        spent: { settled: 5, uncertain: 0 },
      }),
    ],
  },
]);

test.each([false, true])(
  "one reply that an earlier session lost as it was interrupted, its key kept: %s",
  async (idempotent) => {
    const scene = await openScene({ ...FORGETS, idempotent });
    const buy = `${DOORS.search} --max-credits 60 --concurrency 1`;
    const killed = await scene.u.run(buy.split(" "), {
      before: ({ interrupt }) => {
        scene.service.options.mishap = (call) => {
          if (call === 3) interrupt("SIGTERM");
          return call === 3 ? "drop" : undefined;
        };
      },
    });
    expect(killed.code, killed.stderr).toBe(130);

    // A promise that the balance does not bear out: both may have been charged.
    const twice = idempotent ? 0 : 10;
    await scene.take(
      run("resume last --yes", ANY, {
        spent: { settled: 60, uncertain: twice, foreign: 0 },
        charged: 60 + twice,
      }),
    );
  },
);

test.each([
  ["search", 1],
  ["search", 3],
  ["enrich", 3],
] as const)(
  "what our own runs spent side by side is nobody else's: %s, %i under way",
  async (command, concurrency) => {
    const scene = await openScene({ people: 60, jitterMs: 15, accountId: "ours" });
    // Each of companies of its own: one that two ask for at once is asked for once.
    const names = (run: number) =>
      Array.from(
        { length: 30 },
        (_, index) => `${index % 3 === 2 ? "missing" : "here"}${index}.run${run}.example`,
      );
    const what = (index: number): string =>
      command === "enrich"
        ? `enrich ${names(index).join(" ")}`
        : `search --country c${index} --per-page 10`;
    const rans = await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        scene.run(`${what(index)} --again --yes -o o${index}.csv --concurrency ${concurrency}`),
      ),
    );

    for (const ran of rans) {
      // Beside others nobody knows whose of several misses was free.
      expect(command === "enrich" ? [0, 5] : [0], ran.stderr).toContain(ran.code);
      if (command === "search") expect(ran.stderr).not.toContain("others spent");
    }
    const settled = scene.service.charged();
    const doubt = command === "enrich" ? { mayBlame: true } : { spent: { settled, uncertain: 0 } };
    await scene.take(run("spend --json", 0, doubt));
  },
);

test.each([
  [1, undefined],
  [4, "waiting for 3 pages in flight"],
] as const)(
  "a signal in a pause waits for nothing but what is under way: of %i pages",
  async (concurrency, waits) => {
    const scene = await openScene({
      people: 60,
      jitterMs: 150,
      random: () => 1,
      mishap: at(3, "429-ms"),
    });
    let signal = (): void => undefined;
    const sleep = async (): Promise<void> => {
      signal();
      throw new Error("no pause ends once it is interrupted");
    };
    const line = `${DOORS.search} --max-credits 60 --concurrency ${concurrency}`;
    const ran = await scene.u.run(line.split(" "), {
      clock: { ...swiftClock(), now: Date.now, sleep },
      before: ({ interrupt }) => {
        signal = () => interrupt("SIGINT");
      },
    });

    expect(ran.code, ran.stderr).toBe(130);
    if (waits === undefined) expect(ran.stderr).not.toContain("waiting for");
    else expect(ran.stderr).toContain(waits);
    // What was refused only was never under way, and is asked for as any other page.
    expect(ran.stderr).not.toContain("may be charged");
    await scene.take(run("resume last --yes", 0, { charged: 60, rows: 60 }));
  },
);
