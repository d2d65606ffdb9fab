import { writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { startAgent, YES } from "../support/agent.ts";
import { type ForeignScene, foreignScene } from "../support/foreign-scene.ts";
import type { ForeignOptions, Mishap } from "../support/foreign-service.ts";

// What a service takes without saying so, or against the contract, is inside every cap: its books and ours.

interface Spent {
  readonly settled: number;
  readonly uncertain: number;
  readonly refunded: number;
  readonly foreign: number;
}

async function spent({ u }: ForeignScene): Promise<Spent> {
  return (JSON.parse((await u.run(["spend", "--json"])).stdout) as { total: Spent }).total;
}

const TELLS = ["used", "balance", "nothing"] as const;
const SEARCH = ["search", "--country", "x", "--per-page", "10", "-o", "o.csv", "--yes"];
const EMPLOYEES = [
  "employees",
  "acme.example",
  "--limit",
  "60",
  "--per-page",
  "10",
  "-o",
  "o.csv",
  "--yes",
];
const ENRICH = ["enrich", "a.example", "b.example", "c.example", "-o", "o.csv", "--yes"];

describe("an error that costs credits", () => {
  for (const faultTells of TELLS) {
    test.each([SEARCH, EMPLOYEES, ENRICH])(
      `told by ${faultTells}: asked once, and booked inside the cap: %s`,
      async (...argv) => {
        // Beyond its hold only the service's own words tell whose it is.
        const faultCosts = faultTells === "used" ? 50 : argv[0] === "enrich" ? 1 : 10;
        for (const announcesKeys of [false, true]) {
          const charges = { faultTells, faultCosts, mishap: (): Mishap => "500-charged" };
          const s = await foreignScene({
            people: 60,
            announcesKeys,
            version: () => "v1",
            ...charges,
          });
          const ran = await s.run(...argv, "--max-credits", "10");
          expect(ran, ran.stderr).toMatchObject({ code: 8, stdout: "" });
          expect(ran.stderr).toContain("not asked again");
          expect(ran.stderr).not.toContain("nothing was charged");
          expect(s.service.paidCalls()).toBe(1);
          expect(await spent(s)).toMatchObject({ settled: 0, uncertain: faultCosts, foreign: 0 });
          expect(s.service.charged()).toBe(faultCosts);
          // Going on is inside the same cap, and under the same key.
          const [, id = ""] = /resume (\S+)/.exec(ran.stderr) ?? [];
          await s.run("resume", id, "--yes");
          expect(s.service.charged()).toBeLessThanOrEqual(Math.max(10, faultCosts));
          expect(new Set(s.service.seen.flatMap(({ key }) => key ?? [])).size).toBe(1);
        }
      },
    );
  }

  test.each([302, 400, 401, 402, 403, 404, 409, 422, 429, 451])(
    "also by the balance of an answer %s, which ends the run",
    async (status) => {
      for (const faultTells of ["balance", "nothing"] as const) {
        for (const argv of status === 404 || status === 422
          ? [SEARCH]
          : [SEARCH, EMPLOYEES, ENRICH]) {
          const faultCosts = argv === ENRICH ? 1 : 3;
          const s = await foreignScene({
            people: 60,
            faultTells,
            faultCosts,
            mishap: () => `${status}-charged`,
          });
          const ran = await s.run(...argv, "--max-credits", "10");
          expect(ran.code, ran.stderr).not.toBe(0);
          expect(ran.stderr).not.toContain("nothing was charged");
          const { settled, uncertain, foreign } = await spent(s);
          expect({ settled, uncertain, foreign }, ran.stderr).toEqual({
            settled: 0,
            uncertain: s.service.charged(),
            foreign: 0,
          });
          expect(s.service.charged()).toBeLessThanOrEqual(10);
        }
      }
    },
  );

  test.each([SEARCH, EMPLOYEES])(
    "one that is waited for never passes the cap, a resume included: %s",
    async (...argv) => {
      for (const faultTells of ["balance", "nothing"] as const) {
        const mishap = (call: number) => (call > 1 && call < 8 ? "429-charged" : undefined);
        const s = await foreignScene({ people: 60, faultTells, faultCosts: 5, mishap });
        const ran = await s.run(...argv, "--max-credits", "30", "--concurrency", "3");
        const [, id] = /resume (\S+)/.exec(ran.stderr) ?? [];
        if (id !== undefined) await s.run("resume", id, "--yes");
        expect(s.service.charged(), ran.stderr).toBeLessThanOrEqual(30);
        const { settled, uncertain, foreign } = await spent(s);
        expect({ sum: settled + uncertain, foreign }).toEqual({
          sum: s.service.charged(),
          foreign: 0,
        });
      }
    },
  );

  test("where keys are honoured, what others spend while a limit is waited for is theirs", async () => {
    for (const concurrency of ["1", "4"]) {
      const s = await foreignScene({
        people: 60,
        idempotent: true,
        announcesKeys: true,
        version: () => "v1",
      });
      s.service.options.mishap = (call) => {
        if (call === 3) s.service.spend(33);
        return call === 3 ? "429-charged" : undefined;
      };
      const ran = await s.run(...SEARCH, "--max-credits", "60", "--concurrency", concurrency);
      expect(ran, ran.stderr).toMatchObject({ code: 0 });
      expect(await spent(s)).toMatchObject({ settled: 60, uncertain: 0, foreign: 33 });
    }
  });

  test("a 402 that the balance bears out lays what is gone to others", async () => {
    const s = await foreignScene({
      people: 60,
      balance: 60,
      mishap: (call) => {
        if (call === 3) s.service.spend(35);
        return undefined;
      },
    });
    const ran = await s.run(...SEARCH, "--concurrency", "1");
    expect(ran.stderr).toContain("the balance covers 5 more; going on with smaller pages");
    expect([ran.code, ran.stderr]).toEqual([
      4,
      expect.stringContaining("35 credits more left the balance than"),
    ]);
    expect(await spent(s)).toMatchObject({ settled: 25, uncertain: 0, foreign: 35 });
  });

  test("an answer without content is told as empty, and a conflict is no mistake of whoever typed the command", async () => {
    const mishap = (status: number) => (call: number) =>
      call === 2 ? (`${status}-charged` as const) : undefined;
    const empty = await foreignScene({ people: 60, faultCosts: 3, mishap: mishap(204) });
    const { stderr } = await empty.run(...SEARCH);
    expect(stderr).toContain(
      "a reply was lost (the answer 204 is empty): 3 credits may have been charged",
    );
    const conflict = await foreignScene({ people: 60, mishap: mishap(409) });
    const ran = await conflict.run(...SEARCH);
    expect([ran.code, ran.stderr]).toEqual([
      8,
      expect.stringContaining("the service answered 409: Oops."),
    ]);
  });

  test("what replies cost that were lost beside others is not laid to an answer that came and was free", async () => {
    const s = await foreignScene({
      ...{ people: 57, delayMs: 30, announcesKeys: true, version: () => "v1" },
      mishap: (call) => ([3, 4, 6].includes(call) ? "drop" : undefined),
    });
    const ran = await s.run(...SEARCH, "--per-page", "5", "--concurrency", "4");
    expect(ran.stderr).toMatch(
      /an answer that was lost, or that says it cost less: \d+ credits may have been charged/,
    );
  });

  test("a refusal that cost nothing is told as such, also where it does not tell the balance", async () => {
    const s = await foreignScene({
      people: 60,
      faultTells: "nothing",
      mishap: () => "451-charged",
    });
    const ran = await s.run(...SEARCH, "--max-credits", "10");
    expect(ran.stderr).toContain("the service answered 451: Oops.; nothing was charged");
    expect(await spent(s)).toMatchObject({ uncertain: 0, foreign: 0 });
  });

  test("beside others that are under way it is told from what they cost", async () => {
    for (const concurrency of ["1", "4"]) {
      const s = await foreignScene({
        people: 200,
        jitterMs: 20,
        faultTells: "balance",
        faultCosts: 10,
        mishap: (call) => (call === 5 ? "500-charged" : undefined),
      });
      const ran = await s.run(...SEARCH, "--max-credits", "200", "--concurrency", concurrency);
      expect(ran, ran.stderr).toMatchObject({ code: 8 });
      const { settled, uncertain, foreign } = await spent(s);
      expect({ settled, uncertain, foreign }).toEqual({
        settled: s.service.charged() - 10,
        uncertain: 10,
        foreign: 0,
      });
    }
  });

  test("an honest error beside others that are under way is no charge", async () => {
    const s = await foreignScene({
      people: 200,
      jitterMs: 20,
      mishap: (call) => (call % 3 === 0 ? "500-charged" : undefined),
    });
    const ran = await s.run(...SEARCH, "--concurrency", "4");
    expect(ran, ran.stderr).toMatchObject({ code: 0 });
    expect(await spent(s)).toMatchObject({ settled: 200, uncertain: 0, foreign: 0 });
  });
});

describe("a service that charges for misses", () => {
  const names = Array.from(
    { length: 80 },
    (_, at) => `${at % 4 === 3 ? "here" : "missing"}${at}.example`,
  );
  for (const faultTells of TELLS) {
    test.each([
      ["enrich", "1"],
      ["enrich", "8"],
      ["employees", "1"],
      ["employees", "8"],
    ])(
      `told by ${faultTells}: the cap of %s holds with %s under way`,
      async (command, concurrency) => {
        const s = await foreignScene({ people: 1, missCosts: 1, faultTells, jitterMs: 5 });
        const limit = command === "enrich" ? [] : ["--limit", "1000", "--per-page", "1"];
        const ran = await s.run(
          command,
          ...names,
          ...limit,
          "-o",
          "o.csv",
          "--yes",
          "--max-credits",
          "30",
          "--concurrency",
          concurrency,
        );
        expect(ran, ran.stderr).toMatchObject({ code: 5 });
        expect(ran.stderr).not.toContain("others spent");
        expect(s.service.charged()).toBeLessThanOrEqual(30);
        const { settled, uncertain, foreign } = await spent(s);
        expect({ sum: settled + uncertain, foreign }).toEqual({
          sum: s.service.charged(),
          foreign: 0,
        });
      },
    );
  }

  test("beside hits that are under way, too, the first miss tells what the others cost", async () => {
    const s = await foreignScene({ people: 1, missCosts: 10, faultTells: "balance", jitterMs: 5 });
    const mixed = Array.from(
      { length: 60 },
      (_, at) => `${at % 2 === 1 ? "missing" : "here"}${at}.example`,
    );
    await s.run(
      "enrich",
      ...mixed,
      "-o",
      "o.csv",
      "--yes",
      "--max-credits",
      "60",
      "--concurrency",
      "4",
    );
    expect(s.service.charged()).toBeLessThanOrEqual(100);
  });

  test("one that does not is asked as fast as ever, and nothing is in doubt", async () => {
    const s = await foreignScene({ people: 1, jitterMs: 5 });
    const ran = await s.run(
      "enrich",
      ...names,
      "-o",
      "o.csv",
      "--yes",
      "--max-credits",
      "30",
      "--concurrency",
      "8",
    );
    expect(ran, ran.stderr).toMatchObject({ code: 0 });
    expect(await spent(s)).toMatchObject({ settled: 20, uncertain: 0, foreign: 0 });
    expect(s.service.seen.filter(({ path }) => path === "/v1/account").length).toBeLessThanOrEqual(
      8,
    );
  });

  test("one company alone: not found, and not said that it was free", async () => {
    const s = await foreignScene({ missCosts: 1, faultTells: "balance" });
    const ran = await s.run("enrich", "missing.example", "--yes");
    expect(ran).toMatchObject({ code: 6, stdout: "" });
    expect(ran.stderr).not.toContain("nothing was charged");
    expect(await spent(s)).toMatchObject({ uncertain: 1, foreign: 0 });
  });
});

describe("a miss that costs more than the price", () => {
  const absent = Array.from({ length: 9 }, (_, at) => `missing${at}.example`);
  const dear = { people: 1, missCosts: 5 };
  const CASES = [
    ...TELLS.flatMap((faultTells) =>
      ["enrich", "employees"].map((command): [string, string, Partial<ForeignOptions>] => [
        command,
        `told by ${faultTells}`,
        { ...dear, faultTells },
      ]),
    ),
    ["enrich", "a success without a row", { ...dear, missing: { result: [] } }],
  ] as [string, string, Partial<ForeignOptions>][];

  test.each(CASES)(
    "is booked whole, and the cap of %s holds for the others: %s",
    async (command, _, change) => {
      for (const concurrency of ["1", "8"]) {
        const s = await foreignScene({ ...change, jitterMs: 5 });
        const argv = [
          command,
          ...absent,
          "here.example",
          "-o",
          "o.csv",
          "--yes",
          "--max-credits",
          "10",
        ];
        const ran = await s.run(...argv, "--concurrency", concurrency);
        expect(ran, ran.stderr).toMatchObject({ code: 5 });
        expect(ran.stderr).not.toContain("others spent");
        expect(s.service.charged()).toBe(10);
        expect(await spent(s)).toMatchObject({ settled: 0, uncertain: 10, foreign: 0 });
      }
    },
  );

  test("nor does a job or an agent pass its cap by more than one of them", async () => {
    const s = await foreignScene({ ...dear, faultTells: "nothing" });
    const agent = await startAgent(s.u, ["--max-credits", "7"], { answer: YES });
    for (const domain of absent) await agent.call("enrich_company", { domain });
    await agent.close();
    expect(s.service.charged()).toBeLessThanOrEqual(10);
    expect(await spent(s)).toMatchObject({ uncertain: s.service.charged(), foreign: 0 });
  });

  test("free ones are looked at once, and believed then", async () => {
    const s = await foreignScene({ people: 1, faultTells: "nothing" });
    const ran = await s.run(
      "enrich",
      ...absent,
      "here.example",
      "-o",
      "o.csv",
      "--yes",
      "--concurrency",
      "1",
    );
    expect(ran, ran.stderr).toMatchObject({ code: 0 });
    const looks = s.service.seen.filter(({ path }) => path === "/v1/account").length;
    const plain = await foreignScene({ people: 1, faultTells: "balance" });
    await plain.run(
      "enrich",
      ...absent,
      "here.example",
      "-o",
      "o.csv",
      "--yes",
      "--concurrency",
      "1",
    );
    expect(looks).toBeLessThanOrEqual(
      1 + plain.service.seen.filter(({ path }) => path === "/v1/account").length,
    );
    expect(await spent(s)).toMatchObject({ settled: 1, uncertain: 0, foreign: 0 });
  });
});

test.each(["balance", "nothing"] as const)(
  "an error that costs more than its page is booked whole by the balance, and that is said: %s",
  async (faultTells) => {
    for (const argv of [SEARCH, EMPLOYEES, ENRICH]) {
      const s = await foreignScene({
        people: 60,
        faultTells,
        faultCosts: 50,
        mishap: () => "500-charged",
      });
      const ran = await s.run(...argv, "--max-credits", "10");
      expect(ran, ran.stderr).toMatchObject({ code: 8 });
      expect(ran.stderr).toContain(
        "its answer may have cost 50 credits by the balance, though errors are free",
      );
      expect(s.service.charged()).toBe(50);
      expect(await spent(s)).toMatchObject({ settled: 0, uncertain: 50, foreign: 0 });
    }
  },
);

test("what an error may have cost is told as a doubt where no balance was told", async () => {
  for (const argv of [SEARCH, EMPLOYEES, ENRICH]) {
    const silent = { tellsBalance: false, tellsLeft: false, faultTells: "nothing" } as const;
    const s = await foreignScene({
      ...silent,
      people: 60,
      faultCosts: 1,
      mishap: () => "500-charged",
    });
    const ran = await s.run(...argv, "--max-credits", "10");
    expect(ran, ran.stderr).toMatchObject({ code: 8 });
    expect(ran.stderr).toMatch(
      /its answer may have cost (1 credit|10 credits), though errors are free/,
    );
  }
});

test.each([
  ["enrich", 10],
  ["employees", 21],
] as const)(
  "what a miss of %s costs beyond the price is no free miss, and nobody knows that others spent it",
  async (command, charged) => {
    const s = await foreignScene({ people: 1, missCosts: 10, faultTells: "balance" });
    const names = ["missing1.example", "missing2.example", "here.example", "missing3.example"];
    const ran = await s.run(
      command,
      ...names,
      "-o",
      "o.csv",
      "--yes",
      "--max-credits",
      "30",
      "--concurrency",
      "1",
    );
    // The quote of four companies is 4 credits, and that of the people 30.
    expect(ran, ran.stderr).toMatchObject({ code: 5 });
    expect(s.service.charged()).toBe(charged);
    const { settled, uncertain, foreign } = await spent(s);
    expect({ sum: settled + uncertain, foreign }).toEqual({ sum: charged, foreign: 0 });
    expect(ran.stderr).not.toContain("free of charge");
    expect(ran.stderr).not.toContain("others spent");
  },
);

describe("a lost page", () => {
  test.each([SEARCH, EMPLOYEES])(
    "is asked for again under its own key, after resume too: %s",
    async (...argv) => {
      for (const idempotent of [true, false]) {
        const s = await foreignScene({
          people: 60,
          idempotent,
          mishap: (call) => (call === 6 ? "drop" : undefined),
        });
        const ran = await s.run(...argv, "--max-credits", "60", "--concurrency", "1");
        expect(ran, ran.stderr).toMatchObject({ code: 5 });
        const [, goesOn = ""] =
          /headcount (resume \S+ --max-credits 70) buys the other 10\n/.exec(ran.stderr) ?? [];
        expect(await s.run(...goesOn.split(" "), "--yes")).toMatchObject({ code: 0 });
        expect(s.service.charged()).toBe(idempotent ? 60 : 70);
        const keys = s.service.seen.flatMap(({ key }) => key ?? []);
        expect({ calls: keys.length, keys: new Set(keys).size }).toEqual({ calls: 7, keys: 6 });
        const { settled, uncertain, refunded, foreign } = await spent(s);
        expect({ settled, uncertain: uncertain - refunded, foreign }).toEqual({
          settled: 60,
          uncertain: idempotent ? 0 : 10,
          foreign: 0,
        });
      }
    },
  );
});

describe("a promise to know keys that is not kept", () => {
  const FORGETS = { people: 60, announcesKeys: true, version: () => "v1" };
  const DOORS = [SEARCH, EMPLOYEES, [...ENRICH, "d.example", "e.example", "f.example"]];

  test.each(DOORS)("replies that are lost for ever count against the cap: %s", async (...argv) => {
    for (const concurrency of ["1", "4"]) {
      const s = await foreignScene({ ...FORGETS, mishap: () => "drop" });
      const ran = await s.run(...argv, "--max-credits", "40", "--concurrency", concurrency);
      expect(ran.code, ran.stderr).not.toBe(0);
      expect(s.service.charged()).toBeLessThanOrEqual(40);
      expect(await spent(s)).toMatchObject({
        settled: 0,
        uncertain: s.service.charged(),
        foreign: 0,
      });
      // Nor is it believed by whoever goes on.
      const [, id = ""] = /resume (\S+)/.exec(ran.stderr) ?? [];
      await s.run("resume", id, "--yes");
      expect(s.service.charged()).toBeLessThanOrEqual(40);
    }
  });

  test.each(DOORS)(
    "each second reply is lost: what it cost is booked, and ends inside the cap: %s",
    async (...argv) => {
      const s = await foreignScene({
        ...FORGETS,
        mishap: (call) => (call % 2 === 1 ? "drop" : undefined),
      });
      await s.run(...argv, "--max-credits", "40", "--concurrency", "1");
      const { settled, uncertain, foreign } = await spent(s);
      expect({ sum: settled + uncertain, foreign }).toEqual({
        sum: s.service.charged(),
        foreign: 0,
      });
      expect(uncertain).toBeGreaterThan(0);
      expect(s.service.charged()).toBeLessThanOrEqual(40);
    },
  );

  test.each(DOORS)(
    "one that keeps them is asked again, and nothing is in doubt: %s",
    async (...argv) => {
      for (const concurrency of ["1", "4"]) {
        const s = await foreignScene({
          ...FORGETS,
          idempotent: true,
          mishap: (call) => (call % 4 > 0 ? "drop" : undefined),
        });
        const ran = await s.run(...argv, "--max-credits", "60", "--concurrency", concurrency);
        expect(ran, ran.stderr).toMatchObject({ code: 0 });
        const { settled, uncertain, foreign } = await spent(s);
        expect({ settled, uncertain, foreign }).toEqual({
          settled: s.service.charged(),
          uncertain: 0,
          foreign: 0,
        });
      }
    },
  );

  test.each([false, true])(
    "one reply that an earlier session lost, its key kept: %s",
    async (idempotent) => {
      const s = await foreignScene({ ...FORGETS, idempotent });
      const buy = [...SEARCH, "--max-credits", "60", "--concurrency", "1"];
      const killed = await s.u.run(buy, {
        before: ({ interrupt }) => {
          s.service.options.mishap = (call) => {
            if (call === 3) interrupt("SIGTERM");
            return call === 3 ? "drop" : undefined;
          };
        },
      });
      expect(killed.code, killed.stderr).toBe(130);
      const [, id = ""] = /resume (\S+)/.exec(killed.stderr) ?? [];
      await s.run("resume", id, "--yes");
      const { settled, uncertain, foreign } = await spent(s);
      // Colleagues may have spent it as well: it is in the books, and holds nothing up.
      const beside = idempotent ? 0 : 10;
      expect({ settled, uncertain, foreign }).toEqual({
        settled: 60,
        uncertain: 0,
        foreign: beside,
      });
      expect(s.service.charged()).toBe(60 + beside);
    },
  );

  test("nor do a job and an agent pass their caps", async () => {
    const s = await foreignScene({ ...FORGETS, mishap: () => "drop" });
    const job = {
      filters: { country: "x" },
      command: "search",
      per_page: 5,
      limit: 20,
      max_credits: 20,
    };
    writeFileSync(
      s.u.file("jobs.jsonc"),
      JSON.stringify({ jobs: { a: { ...job, output: "a.csv" } } }),
    );
    await s.run("jobs", "run", "a", "--file", "jobs.jsonc");
    expect(s.service.charged()).toBeLessThanOrEqual(20);
    const before = s.service.charged();
    const agent = await startAgent(s.u, ["--max-credits", "20"], { answer: YES });
    const quote = await agent.call("quote", {
      kind: "people",
      filters: { country: "y" },
      profiles: 5,
    });
    await agent.call("buy", { quote_id: String(quote.data.quote_id) });
    await agent.close();
    expect(s.service.charged() - before).toBeLessThanOrEqual(20);
    expect(await spent(s)).toMatchObject({
      settled: 0,
      uncertain: s.service.charged(),
      foreign: 0,
    });
  });
});

describe("runs of one state folder side by side", () => {
  test.each([
    ["search", "1"],
    ["search", "3"],
    ["enrich", "3"],
  ])(
    "what our own runs spent is nobody else's: %s with %s pages under way",
    async (command, concurrency) => {
      const s = await foreignScene({ people: 60, jitterMs: 15 });
      const names = Array.from(
        { length: 30 },
        (_, at) => `${at % 3 === 2 ? "missing" : "here"}${at}.example`,
      );
      const rans = await Promise.all(
        Array.from({ length: 6 }, (_, at) => {
          const argv =
            command === "enrich"
              ? ["enrich", ...names]
              : ["search", "--country", `c${at}`, "--per-page", "10"];
          return s.run(
            ...argv,
            "--again",
            "--yes",
            "-o",
            `o${at}.csv`,
            "--concurrency",
            concurrency,
          );
        }),
      );
      for (const ran of rans) expect(ran, ran.stderr).toMatchObject({ code: 0 });
      expect(rans.map(({ stderr }) => stderr).join("")).not.toContain("others spent");
      expect(await spent(s)).toMatchObject({
        settled: s.service.charged(),
        uncertain: 0,
        foreign: 0,
      });
    },
  );
});

describe("the caps of other doors", () => {
  test("a job and an agent book what a refusal cost", async () => {
    const s = await foreignScene({
      people: 60,
      faultTells: "balance",
      faultCosts: 3,
      mishap: () => "451-charged",
    });
    const job = {
      filters: { country: "x" },
      command: "search",
      limit: 5,
      max_credits: 5,
      output: "a.csv",
    };
    writeFileSync(s.u.file("jobs.jsonc"), JSON.stringify({ jobs: { a: job } }));
    const ran = await s.run("jobs", "run", "a", "--file", "jobs.jsonc");
    expect(ran).toMatchObject({
      code: 8,
      stderr: expect.not.stringContaining("nothing was charged"),
    });
    const agent = await startAgent(s.u, ["--max-credits", "50"], { answer: YES });
    const quote = await agent.call("quote", {
      kind: "people",
      filters: { country: "y" },
      profiles: 5,
    });
    const bought = await agent.call("buy", { quote_id: String(quote.data.quote_id) });
    expect(bought.text).not.toContain("nothing was charged");
    await agent.close();
    expect(await spent(s)).toMatchObject({ settled: 0, uncertain: 6, foreign: 0 });
    expect(s.service.charged()).toBe(6);
  });

  test("a budget of jobs counts what an error cost, and the next job is refused", async () => {
    const s = await foreignScene({
      people: 60,
      faultTells: "used",
      faultCosts: 50,
      mishap: () => "500-charged",
    });
    const job = { command: "search", filters: { country: "x" }, limit: 5, max_credits: 5 };
    const document = {
      budget: "50/month",
      jobs: { a: { ...job, output: "a.csv" }, b: { ...job, output: "b.csv" } },
    };
    writeFileSync(s.u.file("jobs.jsonc"), JSON.stringify(document));
    for (const name of ["a", "b"]) {
      const ran = await s.run("jobs", "run", name, "--file", "jobs.jsonc");
      expect(ran.code, ran.stderr).not.toBe(0);
    }
    expect({ calls: s.service.paidCalls(), charged: s.service.charged() }).toEqual({
      calls: 1,
      charged: 50,
    });
    expect(await spent(s)).toMatchObject({ uncertain: 50, foreign: 0 });
  });

  test("the cap of an agent counts what errors and misses cost", async () => {
    const s = await foreignScene({
      people: 60,
      faultTells: "balance",
      missCosts: 1,
      faultCosts: 3,
      mishap: () => "500-charged",
    });
    const agent = await startAgent(s.u, ["--max-credits", "5"], { answer: YES });
    try {
      const filters = { country: "france" };
      for (let at = 0; at < 4; at++) {
        const quote = await agent.call("quote", { kind: "people", filters, profiles: 3 });
        expect(await agent.call("buy", { quote_id: String(quote.data.quote_id) })).toMatchObject({
          failed: true,
        });
      }
      for (let at = 0; at < 8; at++)
        await agent.call("enrich_company", { domain: `missing${at}.example` });
    } finally {
      await agent.close();
    }
    expect(s.service.charged()).toBeLessThanOrEqual(5);
    expect(await spent(s)).toMatchObject({
      settled: 0,
      uncertain: s.service.charged(),
      foreign: 0,
    });
  });
});

describe("what rows cost that nobody tells", () => {
  const UNTOLD = { people: 100, price: 3, tellsCosts: false } as const;
  test.each([
    ["neither account nor replies tell", { ...UNTOLD, usedIs: "missing", tellsLeft: false }],
    ["replies tell a balance alone", { ...UNTOLD, usedIs: "missing" }],
    ["replies say that it is free", { ...UNTOLD, usedIs: 0 }],
    [
      "replies say that it is free, and tell no balance",
      { ...UNTOLD, usedIs: 0, tellsLeft: false },
    ],
    ["replies say too little", { ...UNTOLD, usedIs: 1 }],
  ] as const)("is told by the balance, and the cap holds: %s", async (_, options) => {
    for (const argv of [
      SEARCH,
      EMPLOYEES,
      [
        "enrich",
        ...Array.from({ length: 30 }, (_, at) => `c${at}.example`),
        "--yes",
        "-o",
        "o.csv",
      ],
    ]) {
      const s = await foreignScene(options);
      const ran = await s.run(...argv, "--max-credits", "50");
      expect([0, 5], ran.stderr).toContain(ran.code);
      expect(s.service.charged(), ran.stderr).toBeLessThanOrEqual(50);
      const books = await spent(s);
      expect(books.settled + books.uncertain).toBeGreaterThanOrEqual(s.service.charged());
      expect(books.foreign).toBe(0);
    }
  });

  test("a row dearer than told, in replies that tell a balance alone: passed by a page at most", async () => {
    const s = await foreignScene({ people: 200, usedIs: "missing" });
    s.service.options.mishap = () => {
      s.service.options.price = 2;
      return undefined;
    };
    const ran = await s.run(...SEARCH, "--max-credits", "100", "--concurrency", "1");
    expect(ran, ran.stderr).toMatchObject({
      code: 5,
      stderr: expect.stringContaining("50 credits may have been"),
    });
    expect(s.service.charged()).toBe(100);
    const { settled, uncertain, foreign } = await spent(s);
    expect({ sum: settled + uncertain, foreign }).toEqual({ sum: s.service.charged(), foreign: 0 });
  });

  test("a stored reply's balance is of then: what was topped up since is no loss", async () => {
    const s = await foreignScene({
      people: 60,
      idempotent: true,
      mishap: (call) => (call === 1 ? "drop" : undefined),
    });
    expect((await s.run(...SEARCH, "--limit", "5", "--max-credits", "5")).code).toBe(5);
    s.service.spend(-100);
    const ran = await s.run("resume", "last", "--max-credits", "20");
    expect(ran.code, ran.stderr).toBe(0);
    expect(ran.stderr).toContain("balance 5,095");
    expect(await spent(s)).toMatchObject({ settled: 5, uncertain: 5, refunded: 5, foreign: 0 });
  });

  test("what misses cost that were under way when a run was stopped is in the books", async () => {
    const s = await foreignScene({
      people: 60,
      missCosts: 5,
      faultTells: "nothing",
      mishap: (call) => (call === 4 ? "500-charged" : undefined),
    });
    const companies = ["c0", "missing1", "c1", "c2", "missing2", "c3"].map(
      (name) => `${name}.example`,
    );
    const ran = await s.run(
      "enrich",
      ...companies,
      "--concurrency",
      "4",
      "--max-credits",
      "60",
      "-o",
      "o.csv",
    );
    expect(ran.code, ran.stderr).not.toBe(0);
    const { settled, uncertain, foreign } = await spent(s);
    expect(settled + uncertain + foreign).toBe(s.service.charged());
  });
});
