import { lstatSync, symlinkSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { asTyped } from "../support/as-typed.ts";
import { bought, expectFiles, keysIn, keysOf, rowsIn, without } from "../support/kept-list.ts";
import { long } from "../support/long.ts";
import { type Human, personKey } from "../support/people-service.ts";

const WEEK = { gone: 0.01, moved: 0.01, born: 0.01 };

describe("before anything is spent", () => {
  test("what could not be written, or not enough, is refused", async () => {
    const { crowd, service, me, people } = await bought(400, { seed: 12 });
    service.options.people = crowd.week(people, WEEK);
    const paid = service.rowsSold();
    for (const [argv, code, said] of [
      [["-o", "nowhere/list.csv"], 2, "does not exist"],
      [["-o", "duckdb:list.duckdb#people"], 2, "refresh writes four files, and -o names a table"],
      [["-o", "-"], 2, "refresh writes four files"],
      [["--min-rows", "100000"], 5, "fewer than --min-rows 100000; nothing was spent"],
      [["--verify-fields", "headline"], 2, "no count tells its value"],
      [["--verify-fields", "title", "--buy-changed"], 2, "--buy-changed needs --max-credits"],
      [["--buy-changed", "--max-credits", "5"], 2, "--buy-changed goes with --verify-fields"],
    ] as const) {
      const ran = await me.run(["refresh", "sales.ndjson", "--yes", ...argv]);
      expect(ran.code, ran.stderr).toBe(code);
      expect(ran.stderr).toContain(said);
    }
    expect(service.rowsSold()).toBe(paid);
  });

  test("through a symbolic link the list is the same one", async () => {
    const { me, before } = await bought(300, { seed: 13 });
    symlinkSync(me.file("sales.ndjson"), me.file("link.ndjson"));
    await me.ran(["refresh", "link.ndjson"]);
    expect(lstatSync(me.file("link.ndjson")).isSymbolicLink()).toBe(true);
    expect(keysIn(me, "sales.ndjson")).toEqual(keysOf(before));
    expect(keysIn(me, "sales.added.ndjson")).toEqual([]);
  });
});

long(
  "interrupted while it buys: resume names the list, and the same command pays for nobody twice",
  async () => {
    const { crowd, service, me, before, people } = await bought(1_000, { seed: 14 });
    service.options.people = crowd.week(people, { gone: 0.02, moved: 0, born: 0.15 });
    const argv = ["refresh", "sales.ndjson", "--max-credits", "200"];
    let searches = 0;
    const stopped = await me.run(argv, {
      before: ({ interrupt }) => {
        service.options.before = (_, path) => {
          if (path.endsWith("search") && ++searches === 2) interrupt("SIGTERM");
        };
      },
    });
    service.options.before = () => undefined;
    expect(stopped.code, stopped.stderr).toBe(130);
    expect(keysIn(me, "sales.ndjson")).toEqual(keysOf(before));
    // The run is let go of a moment after the command has said how it ended.
    let resumed = await me.run(["resume"]);
    for (let tries = 0; resumed.code !== 2 && tries < 50; tries++) {
      await new Promise((again) => setTimeout(again, 50));
      resumed = await me.run(["resume"]);
    }
    expect(resumed.code, resumed.stderr).toBe(2);
    expect(resumed.stderr).toContain(
      `headcount refresh --department=Sales -o ${me.file("sales.ndjson")} goes on with it`,
    );
    // What the first call agreed to is no yes of another one.
    const sold = service.sold.size;
    const asked = await me.run(["refresh", "sales.ndjson"]);
    expect(asked.stderr).toMatch(
      /this buys the rest of run \S+, which was begun for this list, for at most \d+ credits?,/,
    );
    const declined = await me.run(["refresh", "sales.ndjson"], {
      tty: true,
      answers: ["n"],
      env: { NO_COLOR: "1" },
    });
    expect([asked.code, declined.code, service.sold.size]).toEqual([2, 10, sold]);
    await me.ran(argv);
    expectFiles(me, before, service.matching({ department: "Sales" }));
    for (const human of without(service.matching({ department: "Sales" }), before)) {
      expect(service.sold.get(personKey(human))).toBe(1);
    }
  },
);

describe("what a list is", () => {
  test("a run, a file nobody wrote with filters beside it, filters alone; what is not owned is said", async () => {
    const { service, me, before } = await bought(400, { seed: 10 });
    const run = (await me.json(["runs", "--json"]))[0].id;
    await me.ran(["refresh", run, "-o", "list.ndjson"]);
    expect(keysIn(me, "list.ndjson")).toEqual(keysOf(before));
    await me.ran(["refresh", "--department", "Sales", "-o", "list.ndjson"]);
    await me.ends(
      2,
      asTyped`refresh --department Legal -o list.ndjson --yes`,
      "list.ndjson is a list of ",
    );
    expect((await me.run(["refresh", "nosuch.csv"])).stderr).toContain(
      "there is no file nosuch.csv",
    );
    await me.ends(
      2,
      ["refresh", "list.ndjson", "--department", "Legal"],
      "the filters beside it say",
    );
    writeFileSync(me.file("old.csv"), `id,network_url,name\nh-old,,Somebody Else\n`);
    await me.ends(2, ["refresh", "old.csv"], "no finished run wrote old.csv");
    await me.ends(
      2,
      ["refresh", "old.csv", "--department", "Sales"],
      "headcount owned import old.csv takes them in",
    );
    await me.ran(["owned", "import", "old.csv"]);
    expect(await me.json(["refresh", "old.csv", "--department", "Sales", "--json"])).toMatchObject({
      removed: 1,
      added: before.length,
      credits: 0,
    });
    await me.ends(
      2,
      asTyped`refresh --network-url ${String(before[0]?.network_url)} -o one.csv`,
      "names its people by address",
    );
    await me.ends(2, ["refresh"]);
    const table = await me.run(["refresh", "old.csv", "-o", "duckdb:x.duckdb#people"]);
    expect(table.stderr).toContain("refresh writes four files, and -o names a table");
    const drawn = await me.run(["refresh", "old.csv", "-o", "x.txt", "--format", "table"]);
    expect(drawn.stderr).toContain("not as a table");
    expect([table.code, drawn.code]).toEqual([2, 2]);
    expect(service.rowsSold()).toBe(before.length);
  });

  test("a file of addresses alone is of those who are owned, however the records write them", async () => {
    const { me, before } = await bought(200, { seed: 10 });
    writeFileSync(
      me.file("ids.csv"),
      "id,network_url,name\nh-old,https://people.example/in/old,Somebody Else\n",
    );
    await me.ran(["owned", "import", "ids.csv"]);
    writeFileSync(me.file("urls.csv"), "network_url\nhttps://people.example/in/old/\n");
    expect(await me.json(asTyped`refresh urls.csv --department Sales --json`)).toMatchObject({
      removed: 1,
      added: before.length,
      credits: 0,
    });
  });

  test("files in the way are not replaced; the columns and the format are those of the list", async () => {
    const { crowd, service, me, people } = await bought(400, { seed: 11 });
    const csv = asTyped`search --department Sales --yes -o list.csv --fields name,id,title --overwrite`;
    await me.ran(csv);
    writeFileSync(me.file("list.added.csv"), "mine");
    await me.ends(2, ["refresh", "list.csv", "--max-credits", "50"]);
    expect(me.read("list.added.csv")).toBe("mine");
    service.options.people = crowd.week(people, { gone: 0.05, moved: 0, born: 0.05 });
    await me.ran(asTyped`refresh list.csv --max-credits 50 --overwrite`);
    for (const name of ["list.csv", "list.added.csv", "list.removed.csv", "list.changed.csv"]) {
      expect(me.read(name).split("\n")[0]).toBe("name,id,title");
    }
    // They are its own now.
    await me.ran(["refresh", "list.csv"]);
    const [shrunk, gone] = [me.read("list.csv"), me.read("list.removed.csv")];
    service.options.people = [];
    await me.ends(5, ["refresh", "list.csv"]);
    expect(me.read("list.csv")).toBe(shrunk);
    expect(me.read("list.removed.csv")).toBe(gone);
  });
});

/** Somebody without an address is told from a namesake by nothing (docs/how-to/refresh.md). */
function sameUpToNamesakes(list: readonly Human[], there: readonly Human[]): void {
  const without = (people: readonly Human[], others: readonly Human[]): Human[] => {
    const keys = new Set(others.map(personKey));
    return people.filter((human) => !keys.has(personKey(human)));
  };
  const namesOf = (people: readonly Human[]): string[] => people.map(({ name }) => name).sort();
  const left = without(list, there);
  expect(left.filter(({ network_url }) => network_url !== null)).toEqual([]);
  expect(namesOf(left)).toEqual(namesOf(without(there, list)));
}

long(
  "any history of weeks, purchases and refreshes pays for a person once, but for who is bought along",
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 1_000_000 }),
        fc.array(fc.constantFrom("week", "refresh", "search", "rebuild", "kill"), {
          minLength: 3,
          maxLength: 7,
        }),
        async (seed, steps) => {
          const options = {
            seed,
            addressless: seed % 3 === 0 ? 0.05 : 0,
            maxValues: seed % 2 === 0 ? 50 : 1_000,
          };
          const { crowd, service, me } = await bought(250, options);
          const refresh = asTyped`refresh sales.ndjson --max-credits 250 --max-calls 20000`;
          for (const step of steps) {
            if (step === "week") {
              service.options.people = crowd.week(service.options.people, {
                gone: 0.05,
                moved: 0.03,
                born: 0.06,
              });
            } else if (step === "refresh") {
              await me.ran(refresh);
              sameUpToNamesakes(
                rowsIn(me, "sales.ndjson"),
                service.matching({ department: "Sales" }),
              );
            } else if (step === "search") {
              const argv = asTyped`search --country france --limit 20 --yes -o some.ndjson --overwrite`;
              await me.ran(argv);
            } else if (step === "kill") {
              let calls = 0;
              await me.run(refresh, {
                before: ({ interrupt }) => {
                  service.options.before = () => {
                    if (++calls === 1 + (seed % 40)) interrupt("SIGTERM");
                  };
                },
              });
              service.options.before = () => undefined;
            } else expect((await me.run(["owned", "rebuild"])).code).toBe(0);
          }
          await me.ran(refresh);
          const now = service.matching({ department: "Sales" });
          sameUpToNamesakes(rowsIn(me, "sales.ndjson"), now);
          const owned = await me.run(["owned", "export", "--format", "ndjson"]);
          const ids = new Set(
            owned.stdout
              .trim()
              .split("\n")
              .map((line) => personKey(JSON.parse(line) as Human)),
          );
          expect(ids).toEqual(new Set(service.sold.keys()));
          if (options.addressless === 0)
            for (const human of now) expect(ids).toContain(personKey(human));
          const third = await me.run([...refresh, "--json"]);
          const receipt = JSON.parse(third.stdout) as {
            added: number;
            removed: number;
            credits: number;
          };
          expect(receipt).toMatchObject({ added: 0, removed: 0 });
          // Counts cannot tell somebody without an address from a namesake: such a one may be
          // bought along again.
          expect(receipt.credits).toBeLessThanOrEqual(options.addressless === 0 ? 0 : 3);
        },
      ),
      { numRuns: 8 },
    );
  },
  120_000,
);
