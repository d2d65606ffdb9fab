import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { main } from "../../src/cli/main.ts";
import { parseApiKey } from "../../src/service/money/keys.ts";
import { asTyped } from "../support/as-typed.ts";
import { testContext } from "../support/client.ts";
import { shellWords } from "../support/hints.ts";
import { long } from "../support/long.ts";
import { folder, foundedFolder, headcount, serving } from "../support/serve-command.ts";
import { generatedDataset } from "../support/service.ts";

describe("service keys", () => {
  test("create shows the key once, list never, revoke ends it", async () => {
    const data = await foundedFolder();
    const made = await headcount(
      "service",
      "keys",
      "create",
      "--name",
      "nightly",
      "--data",
      data,
      "--json",
    );
    expect([made.code, made.err]).toEqual([0, ""]);
    const { id, key } = JSON.parse(made.out) as { id: string; key: string };
    expect(Object.keys(JSON.parse(made.out) as object)).toEqual(["id", "key"]);
    expect(parseApiKey(key)?.mode).toBe("live");
    const bare = await headcount("service", "keys", "create", "--mode", "test", "--data", data);
    expect(parseApiKey(bare.out.trim())?.mode).toBe("test");
    const listed = await headcount("service", "keys", "list", "--data", data, "--json");
    expect(JSON.parse(listed.out)).toMatchObject([
      { id, name: "nightly", mode: "live", revoked_at: null },
      { mode: "test" },
    ]);
    expect(listed.out).not.toContain(key.slice(20, 40));
    expect(readFileSync(join(data, "ledger.db"), "latin1")).not.toContain(key.slice(20, 40));
    expect(statSync(join(data, "ledger.db")).mode & 0o077).toBe(0);
    expect((await headcount("service", "keys", "revoke", id, "--data", data)).code).toBe(0);
    const again = await headcount("service", "keys", "revoke", id, "--data", data);
    expect([again.code, again.out, again.err]).toEqual([0, "", `Key ${id} was revoked before.\n`]);
    const unknown = await headcount("service", "keys", "revoke", "k_none", "--data", data);
    expect([unknown.code, unknown.err]).toEqual([6, expect.stringContaining("has no key k_none")]);
    // Copied, the hint means the same folder.
    expect(unknown.err).toContain(`headcount service keys list --data ${data}`);
    await headcount("service", "accounts", "create", "acme", "--data", data);
    const other = ["service", "keys", "set", id, "--name", "x", "--account", "acme"];
    const theirs = await headcount(...other, "--data", data);
    expect(theirs.err).toContain("hint: it is a key of another account: add --account default");
    const plan = await headcount("service", "plan", "--account", "acme", "--data", data);
    expect(plan.out).toMatch(/^account\tacme\nplan\t/);
    const [header, ...lines] = (await headcount("service", "keys", "list", "--data", data)).out
      .trim()
      .split("\n");
    expect(header).toBe(
      "id,name,mode,prefix,state,scopes,spent,max_credits,left,last_used_at,expires_at,created_at,revoked_at,rotated_from",
    );
    expect(lines.map((line) => line.split(",")[4])).toEqual(["revoked", "active"]);
  });

  test("a key is meant by its name where one has it", async () => {
    const data = await foundedFolder();
    const keys = (...argv: readonly string[]) =>
      headcount("service", "keys", ...argv, "--data", data);
    const make = async (name: string): Promise<string> =>
      JSON.parse((await keys("create", "--name", name, "--json")).out).id;
    const [agent, first, second] = [await make("agent"), await make("two"), await make("two")];

    const several = await keys("revoke", "two");
    expect([several.code, several.err]).toEqual([6, expect.stringContaining(first)]);
    expect(several.err).toContain(second);
    expect((await keys("set", "agent", "--max-credits", "7")).out).toContain(agent);
    const usage = await headcount("service", "usage", "--key", "two", "--data", data);
    expect(usage.code).toBe(6);

    expect((await keys("revoke", "agent")).err).toBe(`Revoked ${agent}.\n`);
    // Of those that work one is left.
    expect((await keys("revoke", first)).code).toBe(0);
    expect((await keys("revoke", "two")).err).toBe(`Revoked ${second}.\n`);
    expect((await keys("revoke", "two")).code).toBe(6);
  });

  test("a hint that is copied means the same folder, whatever its name", async () => {
    const data = join(folder(), "it's my data");
    const { code, err } = await headcount("service", "keys", "list", "--data", data);
    const [, serves = "", keyed = ""] =
      /serve --data (.*) begins one; .* --name NAME --data (.*) where/.exec(err) ?? [];
    const read = `${shellWords(`${serves} ${keyed}`).join("\n")}\n`;
    expect([code, read]).toEqual([2, `${data}\n${data}\n`]);
  });

  test.each([
    [["--mode", "both"], 2, "both"],
    [["--name", ""], 2, "--name"],
    [["--name", "x".repeat(101)], 2, "--name"],
    [["--account", "nobody"], 6, "nobody"],
  ] as const)("create %j: exit %i", async (more, code, says) => {
    const {
      code: exit,
      err,
      out,
    } = await headcount("service", "keys", "create", "--data", await foundedFolder(), ...more);
    expect([exit, out]).toEqual([code, ""]);
    expect(err).toContain(says);
  });
});

describe("service credits and plan", () => {
  test("a new folder has 10,000 credits; what is added is exact", async () => {
    const data = await foundedFolder();
    const show = async (...more: string[]) =>
      JSON.parse(
        (await headcount("service", "credits", "show", "--data", data, "--json", ...more)).out,
      ) as object;
    expect(await show()).toEqual({
      account: "default",
      mode: "live",
      balance: 10_000,
      held: 0,
      used_today: 0,
    });
    expect((await headcount("service", "credits", "add", "0.1", "--data", data)).out).toBe(
      "balance\t10000.1\nheld\t0\nused today\t0\n",
    );
    await headcount("service", "credits", "add", "0.2", "--data", data);
    expect(await show()).toMatchObject({ balance: 10_000.3 });
    await headcount("service", "credits", "add", "5", "--mode", "test", "--data", data);
    expect(await show("--mode", "test")).toMatchObject({ balance: 10_005 });
    expect(await show()).toMatchObject({ balance: 10_000.3 });
  });

  test.each(["0", "-5", "1e3", "abc", "", "1.0000001", "99999999999999999999", "NaN"])(
    "credits add %j is refused",
    async (amount) => {
      const { code, err, out } = await headcount(
        "service",
        "credits",
        "add",
        "--data",
        await foundedFolder(),
        "--",
        amount,
      );
      expect([code, out]).toEqual([2, ""]);
      expect(err).toContain(amount);
    },
  );

  test("a plan changes only where it is told to", async () => {
    const data = await foundedFolder();
    const plan = async () =>
      JSON.parse(
        (await headcount("service", "plan", "show", "--data", data, "--json")).out,
      ) as object;
    const standard = {
      account: "default",
      name: "standard",
      per_minute: 600,
      per_day: 100_000,
      small_counts: null,
      keep_days: 30,
    };
    const costs = {
      account: 0,
      person_count: 0,
      person_search: 1,
      company_enrich: 1,
      company_employees: 1,
    };
    expect(await plan()).toEqual({ ...standard, costs });
    await headcount(
      "service",
      "plan",
      "set",
      "person_search=0.25",
      "company_enrich=2",
      "--data",
      data,
    );
    await headcount("service", "plan", "set", "per-minute=60", "name=small", "--data", data);
    expect(await plan()).toEqual({
      ...standard,
      name: "small",
      per_minute: 60,
      costs: { ...costs, person_search: 0.25, company_enrich: 2 },
    });
  });

  test.each([
    [["per-minute=0"], "per-minute takes"],
    [["per-day=1.5"], "per-day takes"],
    [["per-day=-1"], "per-day takes"],
    [["person_search"], "person_search"],
    [["person_count=1"], "person_count=1"],
    [["nope=1"], "nope=1"],
    [["person_search=-1"], "credits of 0 or more"],
    [[], "missing required argument"],
  ] as const)("plan set %j is refused", async (more, says) => {
    const { code, err } = await headcount(
      "service",
      "plan",
      "set",
      "--data",
      await foundedFolder(),
      ...more,
    );
    expect([code, err.includes(says)]).toEqual([2, true]);
  });
});

describe("service verify", () => {
  test("a sound folder, one without a ledger, and one whose ledger was tampered with", async () => {
    const data = await foundedFolder();
    await headcount("service", "credits", "add", "5", "--data", data);
    const sound = await headcount("service", "verify", "--data", data);
    expect(sound.out).toMatch(/^ledger\tsound\ndataset\tnone\nhead\t/);
    expect(sound.code).toBe(0);
    const missing = await headcount("service", "verify", "--data", join(data, "nothing"));
    expect([missing.code, missing.out]).toEqual([2, ""]);
    expect(missing.err).toContain("there are no accounts in");
    const { DatabaseSync } = await import("@photostructure/sqlite");
    const database = new DatabaseSync(join(data, "ledger.db"));
    database.exec("UPDATE balances SET balance = balance + 1000000 WHERE mode = 'live'");
    database.close();
    const breach = await headcount("service", "verify", "--data", data, "--json");
    expect(breach.code).toBe(1);
    expect(JSON.parse(breach.out)).toMatchObject({ sound: false, dataset: null });
    expect(JSON.parse(breach.err)).toMatchObject({ error: { code: "breach", exit_code: 1 } });
  });

  test("a ledger that is none: a clear error", async () => {
    const data = folder();
    mkdirSync(data);
    writeFileSync(
      join(data, "ledger.db"),
      "this is not a database, and long enough to look like something else".repeat(40),
    );
    for (const command of [
      ["service", "verify"],
      ["service", "credits", "show"],
    ]) {
      const { code, err, out } = await headcount(...command, "--data", data);
      expect([code, out]).toEqual([1, ""]);
      expect(err).toContain("error: ");
    }
  });
});

describe("serve", () => {
  long(
    "prints address and, the first time, a key that works; the next start makes none",
    async () => {
      const data = folder();
      const dataset = await generatedDataset(300);
      const argv = asTyped`serve --port 0 --json --data ${data} --dataset ${dataset} --max-depth 50`;
      let key = "";
      const first = await serving(argv, async (line) => {
        const said = JSON.parse(line) as { url: string; key: string };
        expect(Object.keys(said)).toEqual(["url", "key"]);
        key = said.key;
        const headers = { authorization: `Bearer ${key}` };
        const account = (await (await fetch(`${said.url}/v1/account`, { headers })).json()) as {
          result: { limits: object; dataset: object };
        };
        expect(account.result.limits).toMatchObject({ max_depth: 50 });
        expect(account.result.dataset).toMatchObject({ people: 300 });
        const search = (body: object) =>
          fetch(`${said.url}/v1/person/search`, {
            method: "POST",
            headers: { ...headers, "content-type": "application/json" },
            body: JSON.stringify({ filters: {}, ...body }),
          });
        expect((await search({ page: 5, per_page: 10 })).status).toBe(200);
        const deep = await search({ page: 6, per_page: 10 });
        expect([deep.status, await deep.text()]).toEqual([
          422,
          expect.stringContaining("row 60; this service goes to row 50"),
        ]);
        // The accounts can be managed while it runs.
        expect(
          (await headcount("service", "plan", "set", "per-minute=1", "--data", data)).code,
        ).toBe(0);
        expect((await fetch(`${said.url}/v1/account`, { headers })).status).toBe(429);
      });
      expect([first.code, first.out.trim().split("\n").length]).toEqual([0, 1]);
      expect(first.err).not.toContain(key);
      const second = await serving(argv, async (line) => {
        expect(Object.keys(JSON.parse(line) as object)).toEqual(["url"]);
      });
      expect(second.code).toBe(0);
      expect((await headcount("service", "verify", "--data", data)).code).toBe(0);
    },
  );

  test("beside --log each line on stderr is JSON, and stdout says what it always does", async () => {
    const dataset = await generatedDataset(300);
    const argv = ["serve", "--port", "0", "--log", "--data", folder(), "--dataset", dataset];
    const { code, err, out } = await serving(argv, async () => undefined);
    expect([code, out]).toEqual([0, expect.stringMatching(/^Serving http/)]);
    const lines = err
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { msg: string });
    expect(lines.map(({ msg }) => msg)).toEqual(
      expect.arrayContaining(["listening", "draining", "stopped"]),
    );
  });

  test("without --json it speaks to a person, and warns where keys would travel in clear", async () => {
    const dataset = await generatedDataset(300);
    const { code, err, out } = await serving(
      ["serve", "--port", "0", "--host", "0.0.0.0", "--data", folder(), "--dataset", dataset],
      async () => undefined,
    );
    expect(code).toBe(0);
    expect(out).toMatch(/^Serving http:\/\/0\.0\.0\.0:\d+\nKey hc_live_\w+ \(shown this once\)\n$/);
    expect(err).toContain("warning: keys and records travel in clear");
  });

  test.each([
    [["--port", "65536"], 2, "--port"],
    [["--port", "-1"], 2, "--port"],
    [["--port", "http"], 2, "--port"],
    [["--max-depth", "0"], 2, "--max-depth takes a whole number from 1"],
    [["--max-depth", "0.5"], 2, "--max-depth takes a whole number from 1"],
    [["--metrics", "192.0.2.1:0"], 8, "no such address"],
    [["--store", "mysql://u:secret@h/x"], 2, "--store"],
    [["--dataset", "ftp://x"], 2, "--dataset"],
    [["--dataset", "/nowhere/at/all"], 2, "no dataset"],
    [["--data", "/dev/null/x"], 2, "/dev/null/x"],
    [["--host", "192.0.2.1", "--port", "0"], 8, "no such address"],
    [["--nope"], 2, "--nope"],
  ] as const)("serve %j: exit %i, nothing on stdout", async (more, code, says) => {
    const dataset = await generatedDataset(300);
    const given = more as readonly string[];
    const argv = [
      "serve",
      "--port",
      "0",
      ...(given.includes("--data") ? [] : ["--data", folder()]),
      ...(given.includes("--dataset") ? [] : ["--dataset", dataset]),
      ...given,
    ];
    const { code: exit, err, out } = await headcount(...argv);
    expect([exit, out], err).toEqual([code, ""]);
    expect(err).toContain(says);
    expect(err).not.toContain("secret");
  });

  test("a port that is taken: exit 8, and the folder is left in order", async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
    const { port } = taken.address() as { port: number };
    const data = folder();
    const { code, err, out } = await headcount(
      "serve",
      "--port",
      String(port),
      "--data",
      data,
      "--dataset",
      await generatedDataset(300),
    );
    expect([code, out]).toEqual([8, ""]);
    expect(err).toContain("the port is in use");
    const dataset = await generatedDataset(300);
    const metrics = ["--port", "0", "--metrics", String(port)];
    const beside = await headcount("serve", ...metrics, "--data", data, "--dataset", dataset);
    expect([beside.code, beside.out]).toEqual([8, ""]);
    expect(beside.err).toContain(`cannot listen on 127.0.0.1 port ${port}: the port is in use`);
    expect(beside.err).toContain("--metrics 0 picks a free one");
    taken.close();
    expect((await headcount("service", "verify", "--data", data)).code).toBe(0);
    // No key was made for a service that never ran.
    expect((await headcount("service", "keys", "list", "--data", data, "--json")).out).toBe("[]\n");
  });
});

test("several processes may set a new folder up at once: one account, endowed once", async () => {
  const data = folder();
  const { openStore } = await import("../../src/service/admin/data-folder.ts");
  const stores = await Promise.all(Array.from({ length: 6 }, () => openStore(data)));
  const { balance } = await (stores[0] ?? (await openStore(data))).balance("default", "live");
  expect(balance).toBe(10_000_000_000n);
  for (const store of stores) await store.close();
});

long("Ctrl-C while the sample is being made ends it; the next start makes it", async () => {
  const data = folder();
  const argv = ["serve", "--port", "0", "--json", "--data", data];
  const { context, interrupt, stderr, stdout } = testContext({ argv });
  const ended = main(argv, context);
  while (!stderr().includes("Making the sample")) await new Promise((wake) => setTimeout(wake, 5));
  interrupt("SIGINT");
  expect([await ended, stdout()]).toEqual([130, ""]);
  const again = await serving(argv, async (line) => {
    expect(JSON.parse(line)).toHaveProperty("key");
  });
  expect(again.code).toBe(0);
});
