import { lstatSync, symlinkSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { asTyped } from "../support/as-typed.ts";
import { seeded, type User, user } from "../support/export.ts";
import { expectFiles, inSales, keysIn, keysOf, rowsIn, without } from "../support/kept-list.ts";
import { long } from "../support/long.ts";
import {
  Crowd,
  type Human,
  type PeopleOptions,
  personKey,
  startPeopleService,
} from "../support/people-service.ts";

/** A service with a crowd, and somebody who bought its sales people. */
async function bought(
  count: number,
  more: Partial<PeopleOptions> & {
    readonly seed?: number;
    readonly addressless?: number;
    readonly unemployed?: boolean;
  } = {},
) {
  const { seed = 1, addressless = 0, unemployed = false, ...options } = more;
  const crowd = new Crowd(seeded(seed), addressless);
  const people = Array.from({ length: count }, () =>
    crowd.born(unemployed ? { company_network_url: null } : {}),
  );
  const service = await startPeopleService({ people, ...options });
  onTestFinished(() => service.close());
  const me = user(service.url, service.key);
  await me.ran(asTyped`search --department Sales --yes -o sales.ndjson`);
  return { crowd, people, service, me, before: people.filter(inSales) };
}

const WEEK = { gone: 0.01, moved: 0.01, born: 0.01 };

describe("headcount refresh", () => {
  test("a list, or a file beside it, that somebody changed stays, and nothing is spent", async () => {
    const { crowd, service, me, people } = await bought(300);
    await me.ran(["refresh", "sales.ndjson"]);
    service.options.people = crowd.week(people, { gone: 0.1, moved: 0.1, born: 0.1 });
    const sold = service.rowsSold();
    for (const name of ["sales.ndjson", "sales.added.ndjson"]) {
      const before = me.read(name);
      writeFileSync(me.file(name), `${before}{"mine":1}\n`);
      const ran = await me.run(["refresh", "sales.ndjson", "--yes"]);
      expect(ran).toMatchObject({ code: 5, stdout: "" });
      expect(ran.stderr).toContain(`${name} is not as it was written`);
      expect([me.read(name), service.rowsSold()]).toEqual([`${before}{"mine":1}\n`, sold]);
      writeFileSync(me.file(name), before);
    }
    await me.ran(["refresh", "sales.ndjson", "--yes"]);
  });

  long(
    "after a week: the list, who is new, who is gone; about as many credits as there are new people",
    async () => {
      const { crowd, service, me, before, people } = await bought(3_000);
      const paid = service.rowsSold();
      service.options.people = crowd.week(people, WEEK);
      const now = service.matching({ department: "Sales" });
      const fresh = without(now, before).length;
      const { stdout, stderr } = await me.ran(
        asTyped`refresh sales.ndjson --max-credits 100 --json`,
      );
      expectFiles(me, before, now);
      const receipt = JSON.parse(stdout);
      const credits = service.rowsSold() - paid;
      expect(credits).toBeLessThanOrEqual(fresh * 1.25);
      expect(receipt).toMatchObject({
        filters: { department: "Sales" },
        count: now.length,
        added: fresh,
        removed: without(before, now).length,
        credits,
        bought: credits,
        rebuy_credits: now.length,
        certificate: { count: now.length, owned: now.length, equal: true },
        files: { list: { file: me.file("sales.ndjson"), rows: now.length } },
      });
      expect(stderr).toContain(
        `sales.ndjson: ${now.length.toLocaleString("en")} people, ${fresh} added (sales.added.ndjson),`,
      );
      // No address is asked after that is not owned.
      const owned = new Set(people.filter(inSales).map((human) => human.network_url));
      for (const human of rowsIn(me, "sales.ndjson")) owned.add(human.network_url);
      for (const { filters } of service.asked) {
        for (const address of [filters.network_url ?? []].flat()) expect(owned).toContain(address);
      }
      // The next time nothing has changed: one look, no credits.
      expect(await me.json(["refresh", "sales.ndjson", "--json"])).toMatchObject({
        added: 0,
        removed: 0,
        changed: 0,
        credits: 0,
        runs: [],
      });
      // With nobody new whoever came before stays to be read.
      expect(keysIn(me, "sales.added.ndjson")).toHaveLength(fresh);
      expect(service.rowsSold() - paid).toBe(credits);
    },
  );

  long("lists of 50, pages of 25, people without addresses, missing values: the same", async () => {
    const options = { maxValues: 50, maxPerPage: 25, addressless: 0.03, seed: 4 };
    const { crowd, service, me, before, people } = await bought(1_500, options);
    service.options.people = crowd.week(people, { gone: 0.03, moved: 0.02, born: 0.03 });
    const now = service.matching({ department: "Sales" });
    await me.ran(["refresh", "sales.ndjson", "--max-credits", "200"]);
    expectFiles(me, before, now);
  });

  long(
    "why nobody is there is asked within --max-calls, and takes no call from the list itself",
    async () => {
      const { service, me } = await bought(200);
      const counts = () => service.asked.filter(({ path }) => path === "/v1/person/count").length;
      const before = counts();
      const nobody = asTyped`
        --department Sales --title ${"nobody a"} --title ${"nobody b"} --title ${"nobody c"}
      `;
      expect(
        (await me.json(asTyped`refresh ${nobody} -o none.ndjson --min-rows 0 --max-calls 4 --json`))
          .free_calls,
      ).toBe(counts() - before);
      expect(counts() - before).toBeLessThanOrEqual(4);
    },
  );

  test("one person without an address left, and a namesake of another came: told apart, and bought", async () => {
    const { service, me, before, people } = await bought(600, { seed: 15, addressless: 0.2 });
    const nameless = before.filter(({ network_url: url }) => url === null);
    const [left, other] = nameless.filter(
      ({ name }, at) => nameless.findIndex((human) => human.name === name) === at,
    );
    const came = { ...(other as Human), id: "h-new" };
    service.options.people = [...people.filter((human) => human !== left), came];
    await me.ran(["refresh", "sales.ndjson", "--max-credits", "60"]);
    expectFiles(me, before, service.matching({ department: "Sales" }));
  });

  test("somebody who has another name is bought again with the new ones, where the cap has room for it", async () => {
    const { crowd, service, me, before, people } = await bought(600, { seed: 16 });
    const [renamed] = before;
    const later = crowd.week(people, { gone: 0, moved: 0, born: 0.01 });
    service.options.people = later.map((human) =>
      personKey(human) === personKey(renamed as Human) ? { ...human, name: "zz somebody" } : human,
    );
    const fresh = service.matching({ department: "Sales" }).length - before.length;
    const { stderr } = await me.ran(asTyped`refresh sales.ndjson --max-credits ${fresh + 10}`);
    expectFiles(me, before, service.matching({ department: "Sales" }));
    expect(keysIn(me, "sales.changed.ndjson")).toContain(personKey(renamed as Human));
    expect(stderr).toMatch(/; \d+ of those bought (was|were) yours already/);
  });

  const doors = {
    "the command": (credits: number) => asTyped`refresh sales.ndjson --max-credits ${credits}`,
    "a job": (credits: number, me: User) => {
      const sales = {
        command: "refresh",
        list: "sales.ndjson",
        max_credits: credits,
        schedule: "@weekly",
      };
      writeFileSync(
        me.file("jobs.json"),
        JSON.stringify({ budget: "900/month", log: "log.ndjson", jobs: { sales } }),
      );
      return ["jobs", "run", "--file", "jobs.json"];
    },
  } satisfies Readonly<Record<string, (credits: number, me: User) => string[]>>;

  test.for(Object.entries(doors))(
    "more with another name than are new, for what was quoted: %s",
    async ([, door]) => {
      const { crowd, service, me, before, people } = await bought(2_000, { seed: 17 });
      const renamed = new Set(before.slice(0, 4));
      service.options.people = [
        ...people.map((human) =>
          renamed.has(human) ? { ...human, name: `zz ${human.name}` } : human,
        ),
        ...[1, 2].map(() => crowd.born({ department: "Sales" })),
      ];
      const quote = await me.run(["refresh", "sales.ndjson", "--dry-run", "--json"]);
      const { credits_at_most: most } = JSON.parse(quote.stdout);
      expect(most).toBeLessThanOrEqual(5);
      const sold = service.rowsSold();
      await me.ran(door(most, me));
      expect(service.rowsSold() - sold).toBeLessThanOrEqual(most);
      expectFiles(me, before, service.matching({ department: "Sales" }));
    },
  );

  long("who changed is named, and bought again only if that is asked for", async () => {
    const { crowd, service, me, before, people } = await bought(1_200, { seed: 2 });
    service.options.people = crowd.week(people, { gone: 0, moved: 0, born: 0 }).map((human, at) => {
      if (!inSales(human) || at % 40 !== 0) return human;
      return {
        ...human,
        title: at % 80 === 0 ? "chief of something new" : null,
        company_network_url: "people.example/company/new",
      };
    });
    const now = new Map(service.options.people.map((human) => [personKey(human), human]));
    const moved = before.filter((human) => {
      const later = now.get(personKey(human));
      return (
        (human.title !== null && later?.title !== human.title) ||
        (human.company_network_url !== null &&
          later?.company_network_url !== human.company_network_url)
      );
    });
    expect(moved.length).toBeGreaterThan(5);
    const paid = service.rowsSold();
    await me.ends(
      0,
      ["refresh", "sales.ndjson"],
      "0 removed, changes not looked for (--verify-fields);",
    );
    const found = await me.ran(asTyped`refresh sales.ndjson --verify-fields title,company --json`);
    expect(keysIn(me, "sales.changed.ndjson")).toEqual(keysOf(moved));
    expect(JSON.parse(found.stdout)).toMatchObject({
      added: 0,
      removed: 0,
      changed: moved.length,
      credits: 0,
    });
    expect(JSON.parse(found.stdout)).toMatchObject({ verified: ["title", "company"] });
    expect(found.stderr).toContain(
      `--buy-changed --max-credits ${moved.length} buys what is there now`,
    );
    expect(service.rowsSold()).toBe(paid);
    const argv = asTyped`
      refresh sales.ndjson --verify-fields title,company --buy-changed --max-credits 100
      --json
    `;
    await me.ran(argv);
    expect(service.rowsSold() - paid).toBe(moved.length);
    const rows = new Map(rowsIn(me, "sales.ndjson").map((human) => [personKey(human), human]));
    for (const human of moved)
      expect(rows.get(personKey(human))).toEqual(now.get(personKey(human)));
    const third = await me.run(argv);
    expect(JSON.parse(third.stdout)).toMatchObject({ changed: 0, credits: 0 });
  });

  test("what could not be compared is not said to be unchanged, and who changed costs more calls than the quote has", async () => {
    const { service, me, before, people } = await bought(300, { seed: 2 });
    service.options.people = people.map((human) => ({ ...human, title: null }));
    const verified = ["refresh", "sales.ndjson", "--verify-fields"];
    const dry = await me.run([...verified, "title", "--dry-run"]);
    expect(dry.stdout).toMatch(/about \d+.*, and more the more people changed/);
    const titled = before.filter(({ title }) => title !== null).length;
    const { stderr } = await me.run([...verified, "title"]);
    const left = before.length - titled;
    expect(stderr).toContain(
      `${titled} changed${left === 0 ? "" : ` of what could be compared (${left}`}`,
    );
    service.options.people = people;
    const bare = await bought(60, { seed: 3, unemployed: true });
    const none = await bare.me.run([...verified, "company"]);
    expect(none.stderr).toContain(
      `0 changed of what could be compared (${bare.before.length} values could not)`,
    );
  });

  test("what somebody else bought of the segment meanwhile is added at 0 credits", async () => {
    const { crowd, service, me, before, people } = await bought(800, { seed: 3 });
    service.options.people = crowd.week(people, { gone: 0, moved: 0, born: 0.05 });
    await me.ran(["search", "--all", "--yes", "-o", "all.ndjson"]);
    const paid = service.rowsSold();
    await me.ran(["refresh", "sales.ndjson"]);
    expectFiles(me, before, service.matching({ department: "Sales" }));
    expect(service.rowsSold()).toBe(paid);
  });

  test("a quote counts the segment and who is owned of it, and nothing finer; a declined one buys nothing", async () => {
    const { crowd, service, me, people } = await bought(800, { seed: 5 });
    service.options.people = crowd.week(people, WEEK);
    const paid = service.rowsSold();
    const from = service.asked.length;
    expect(await me.json(["refresh", "sales.ndjson", "--dry-run", "--json"])).toMatchObject({
      count: service.matching({ department: "Sales" }).length,
    });
    const declined = await me.run(["refresh", "sales.ndjson"], { tty: true, answers: ["n"] });
    expect(declined.code).toBe(10);
    await me.ends(2, ["refresh", "sales.ndjson"], "there is no terminal to ask at");
    for (const { filters } of service.asked.slice(from)) {
      expect(Object.keys(filters).filter((key) => key !== "network_url")).toEqual(["department"]);
    }
    expect(service.rowsSold()).toBe(paid);
  });

  test("a list that begins names values that match nobody, and the calls for it are told", async () => {
    const { me, service } = await bought(300, { seed: 7 });
    const some = asTyped`refresh --department Sales --country germany --country Atlantis`;
    const from = service.asked.length;
    const dry = await me.run([...some, "--dry-run"]);
    expect(dry.stderr).toContain("Atlantis");
    await me.ends(0, [...some, "--max-credits", "300", "-o", "some.csv", "--json"], "Atlantis");
    const again = await me.ran(["refresh", "some.csv", "--max-credits", "5"]);
    // It had somebody when it began.
    expect(again.stderr).not.toContain("Atlantis");
    expect(service.asked.length).toBeGreaterThan(from);
  });

  long(
    "more credits or calls than allowed: nothing is bought, and both ways are offered",
    async () => {
      const { crowd, service, me, people } = await bought(1_500, { seed: 6 });
      service.options.people = crowd.week(people, { gone: 0.02, moved: 0.01, born: 0.05 });
      const now = service.matching({ department: "Sales" }).length;
      const paid = service.rowsSold();
      for (const cap of [
        ["--max-credits", "3"],
        ["--max-credits", "500", "--max-calls", "50"],
      ]) {
        await me.ends(
          4,
          ["refresh", "sales.ndjson", ...cap],
          "nothing was spent",
          `buys the whole segment again for ${now} credits`,
          /--max-(credits|calls) \d+ brings the list up to date/,
        );
      }
      expect(service.rowsSold()).toBe(paid);
      await me.ran(asTyped`refresh sales.ndjson --again --max-credits ${now}`);
      expect(service.rowsSold() - paid).toBe(now);
    },
  );
});

describe("a service whose counts cannot be relied on", () => {
  test("rough counts are noticed, and nothing is bought", async () => {
    const { crowd, service, me, people, before } = await bought(1_500, { seed: 7 });
    service.options.people = crowd.week(people, WEEK);
    service.options.rough = (count, call) => Math.round(count * (1 + ((call % 5) - 2) / 200));
    const paid = service.rowsSold();
    const { code, stderr } = await me.run(
      asTyped`refresh sales.ndjson --max-credits 2000 --max-calls 100000`,
    );
    expect([5, 8], stderr).toContain(code);
    expect(stderr).toMatch(/the list stays as it was/);
    expect(service.rowsSold()).toBe(paid);
    expect(keysIn(me, "sales.ndjson")).toEqual(keysOf(before));
  });

  long(
    "wherever the people move, with counts that are cached: never exit 0 with a wrong list, and the next refresh is right",
    async () => {
      const { crowd, service, me, people } = await bought(500, {
        seed: 8,
        maxValues: 50,
        maxPerPage: 25,
      });
      const argv = ["refresh", "sales.ndjson", "--max-credits", "400", "--max-calls", "20000"];
      let current: readonly Human[] = people;
      for (const at of [1, 2, 4, 7, 15, 30, 60, 90, 140]) {
        current = crowd.week(current, { gone: 0.02, moved: 0.02, born: 0.02 });
        service.options.people = current;
        service.options.cacheMs = at % 2 === 0 ? 0 : 300_000;
        service.options.now = () => Date.now() + at * 1_000_000;
        const begun = service.asked.length;
        service.options.before = () => {
          if (service.asked.length - begun !== at) return;
          current = crowd.week(current, { gone: 0.01, moved: 0.01, born: 0.01 });
          service.options.people = current;
        };
        const { code, stderr } = await me.run(argv);
        service.options.before = () => undefined;
        if (code === 0)
          expect(keysIn(me, "sales.ndjson")).toEqual(
            keysOf(service.matching({ department: "Sales" })),
          );
        else expect([5, 8], stderr).toContain(code);
        service.options.now = () => Date.now() + at * 1_000_000 + 400_000;
        await me.ran(argv);
        expect(keysIn(me, "sales.ndjson")).toEqual(
          keysOf(service.matching({ department: "Sales" })),
        );
      }
    },
    60_000,
  );

  test("the dataset's version moves: it stops and says so", async () => {
    const { crowd, service, me, people } = await bought(800, { seed: 9, version: "v1" });
    service.options.people = crowd.week(people, WEEK);
    service.options.version = "v2";
    let calls = 0;
    service.options.before = () => {
      if (++calls === 12) service.options.version = "v3";
    };
    const paid = service.rowsSold();
    await me.ends(
      5,
      ["refresh", "sales.ndjson", "--max-credits", "100"],
      "changed its dataset from v2 to v3",
    );
    expect(service.rowsSold()).toBe(paid);
    await me.ran(["refresh", "sales.ndjson", "--max-credits", "100"]);
  });
});

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
      "list.ndjson exists",
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
