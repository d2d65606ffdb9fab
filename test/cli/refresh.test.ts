import { writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { asTyped } from "../support/as-typed.ts";
import type { User } from "../support/export.ts";
import {
  bought,
  expectFiles,
  inSales,
  keysIn,
  keysOf,
  rowsIn,
  without,
} from "../support/kept-list.ts";
import { long } from "../support/long.ts";
import { type Human, personKey } from "../support/people-service.ts";

const WEEK = { gone: 0.01, moved: 0.01, born: 0.01 };

describe("headcount refresh", () => {
  test("a list, or a file beside it, that somebody changed stays, and nothing is spent", async () => {
    const { crowd, service, me, people } = await bought(150);
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
