import {
  closeSync,
  copyFileSync,
  createWriteStream,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { TLSSocket } from "node:tls";
import { DatabaseSync } from "@photostructure/sqlite";
import { describe, expect, test } from "vitest";
import { main } from "../../src/cli/main.ts";
import { openStore } from "../../src/service/admin/data-folder.ts";
import { createKey } from "../../src/service/admin/keys.ts";
import { CERTIFICATE, CERTIFICATE_KEY } from "../support/certificate.ts";
import { tempDir, testContext } from "../support/client.ts";
import { folder, foundedFolder, headcount } from "../support/serve-command.ts";
import { generatedDataset } from "../support/service.ts";
import { ACCOUNT, answer, c, fund, held, temporaryLedger } from "../support/store.ts";

/** A command whose output goes to a disk that is full. */
async function toFullDisk(...argv: string[]): Promise<{ code: number; err: string }> {
  const { context, stderr } = testContext({ argv });
  const code = await main(argv, { ...context, stdout: createWriteStream("/dev/full") });
  return { code, err: stderr() };
}

describe("a folder that is mistyped", () => {
  test.each([
    ["service", "credits", "show"],
    ["service", "credits", "add", "5"],
    ["service", "keys", "list"],
    ["service", "keys", "create"],
    ["service", "plan", "set", "per-day=5"],
    ["service", "verify"],
  ])("%s %s %s makes nothing", async (...argv) => {
    const parent = tempDir();
    const typo = join(parent, "typo");
    for (const place of [
      ["--data", typo],
      ["--data", parent, "--store", join(parent, "typo.db")],
    ]) {
      const { code, err, out } = await headcount(...argv, ...place);
      expect([code, out], err).toEqual([2, ""]);
      expect(err).toContain("there are no accounts in");
      // `import` takes no --store: only `serve` begins accounts in one.
      const begun = place.length > 2 ? [` --store ${place[3]} begins one`] : [];
      expect(err.match(/ --store .*? begins one/g) ?? []).toEqual(begun);
      expect(readdirSync(parent)).toEqual([]);
    }
  });

  test("what the hint says begins accounts after an import", async () => {
    const data = folder();
    await headcount("service", "generate", "--people", "50", "--data", data);
    const { code, err } = await headcount("service", "accounts", "list", "--data", data);
    expect(code).toBe(2);
    const [, made = ""] = /headcount (service keys create .*?) where people/.exec(err) ?? [];
    expect((await headcount(...made.split(" "))).code).toBe(0);
    expect((await headcount("service", "accounts", "list", "--data", data)).code).toBe(0);
  });

  test("one with a dataset and no accounts yet gets them", async () => {
    const data = folder();
    const made = await headcount(
      "service",
      "generate",
      "--people",
      "50",
      "--data",
      data,
      "--quiet",
    );
    expect(made.code, made.err).toBe(0);
    const verified = await headcount("service", "verify", "--data", data);
    expect([verified.code, verified.out]).toEqual([0, "ledger\tnone\ndataset\tsound\n"]);
    expect(verified.err).toContain("there are no accounts in");
    const before = readdirSync(data);
    for (const list of ["keys list", "credits show", "entries", "usage", "audit", "sessions"]) {
      const listed = await headcount("service", ...list.split(" "), "--data", data);
      expect([list, listed.code, listed.out]).toEqual([list, 2, ""]);
      expect(listed.err).toContain("there are no accounts in");
    }
    expect(readdirSync(data)).toEqual(before);
    expect((await headcount("service", "keys", "create", "--data", data)).code).toBe(0);
    expect((await headcount("service", "credits", "--data", data)).out).toContain(
      "balance\t10000\n",
    );
    const typo = await headcount(
      "service",
      "credits",
      "--data",
      data,
      "--store",
      join(data, "typo.db"),
    );
    expect([typo.code, typo.out, existsSync(join(data, "typo.db"))]).toEqual([2, "", false]);
  });
});

test.each([
  ["PRAGMA user_version = 1", "was ever released: move it away"],
  ["PRAGMA user_version = 99", "Upgrade headcount"],
  ["PRAGMA application_id = 7", "a database of another program"],
])("a ledger that this version cannot keep (%s) is no bug in headcount", async (sql, says) => {
  const data = await foundedFolder();
  const database = new DatabaseSync(join(data, "ledger.db"));
  database.exec(sql);
  database.close();
  // Whoever makes such a ledger seals it too.
  rmSync(join(data, "ledger.db-seal"));
  for (const argv of [["credits"], ["verify"]]) {
    const { code, err, out } = await headcount("service", ...argv, "--data", data);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toContain(says);
    expect(err).not.toContain("bug");
  }
});

describe("a key that nobody was shown", () => {
  test.skipIf(!existsSync("/dev/full"))(
    "does not work: the disk is full, or the reader is gone",
    async () => {
      const data = await foundedFolder();
      const create = ["service", "keys", "create", "--data", data];
      const full = await toFullDisk(...create, "--name", "lost");
      expect(full.code).toBe(5);
      expect(full.err).toMatch(/disk is full.*so it was revoked/s);
      expect(full.err).not.toContain("keep it now");
      const json = await toFullDisk(...create, "--json");
      expect(json.code).toBe(5);
      const listed = await headcount("service", "keys", "list", "--data", data);
      expect(listed.out.match(/,revoked,/g)).toHaveLength(2);
      expect(listed.out).not.toContain(",active,");
    },
  );
});

test.skipIf(!existsSync("/dev/full"))(
  "a first key that serve could not print does not work either",
  async () => {
    const data = await foundedFolder();
    const dataset = await generatedDataset(300);
    const argv = ["serve", "--port", "0", "--data", data, "--dataset", dataset];
    const { code } = await toFullDisk(...argv);
    expect(code).toBe(5);
    expect((await headcount("service", "keys", "--data", data)).out).toMatch(
      /,first,live,.*,revoked,.*\n$/,
    );
  },
);

describe("names", () => {
  test.each(["a\tb", "a\nb", "a\u001b[31mb", "a\u202eb"])(
    "%j is no name of a key or a plan",
    async (name) => {
      const data = await foundedFolder();
      for (const argv of [
        ["keys", "create", "--name", name],
        ["plan", "set", `name=${name}`],
      ]) {
        const { code, err, out } = await headcount("service", ...argv, "--data", data);
        expect([code, out]).toEqual([2, ""]);
        expect(err).toContain("name takes no tabs, line breaks or control characters");
        expect(err).not.toContain("\u001b");
      }
    },
  );

  test("that were made otherwise are harmless in the list", async () => {
    const data = await foundedFolder();
    const store = await openStore(data);
    await createKey(store, { name: "x\nk_0\tlive\u001b[31m\u009b", mode: "live", now: Date.now });
    await store.close();
    const { out } = await headcount("service", "keys", "--data", data);
    expect(out.trim().split("\n")).toHaveLength(2);
    expect(out).not.toMatch(/[\u001b\u009b]/);
  });
});

describe("options and defaults", () => {
  test("--data before the subcommand is the same as after it, and what only shows is the default", async () => {
    const data = await foundedFolder();
    await headcount("service", "keys", "create", "--data", data);
    for (const argv of [
      ["verify"],
      ["credits"],
      ["credits", "show"],
      ["plan"],
      ["keys"],
      ["keys", "list"],
    ]) {
      const after = await headcount("service", ...argv, "--data", data);
      const before = await headcount("service", "--data", data, ...argv);
      expect(after.code, after.err).toBe(0);
      expect(before).toEqual(after);
    }
  });

  test("an account that is not there is said to be none, and where the others are", async () => {
    const data = await foundedFolder();
    const { code, err } = await headcount(
      "service",
      "credits",
      "--account",
      "poor",
      "--data",
      data,
    );
    expect(code).toBe(6);
    expect(err).toContain('there is no account "poor"');
    expect(err).toContain(`headcount service accounts list --data ${data}`);
  });

  test.each([
    ["person_serch=1", "hint: did you mean person_search?\n"],
    ["person-search=1,5", "hint: did you mean person_search?\n"],
    ["person_search=2.000", "hint: write it as 2 or 2000\n"],
    ["enrich=2", "NAME is one of"],
    ["small-counts=0", 'not "0"\n'],
    ["small-counts=1,000", "hint: small-counts=1000\n"],
    ["person_search=1,000", "hint: write it as 1000\n"],
    ["person_search=abc", "credits of 0 or more"],
    ["person_search=-1", 'not "-1"\n'],
    ["person_search=1000001", "cannot exceed 1,000,000 credits"],
    ["person_search=9223372036854.775807", "cannot exceed 1,000,000 credits"],
  ])("--cost %s: %s", async (cost, says) => {
    const { code, err } = await headcount(
      "service",
      "plan",
      "set",
      cost,
      "--data",
      await foundedFolder(),
    );
    expect(code).toBe(2);
    expect(err).toContain(says);
  });

  test("two changes of a plan at the same moment are both kept", async () => {
    const data = await foundedFolder();
    const [one, two] = [await openStore(data), await openStore(data)];
    for (let round = 1; round <= 20; round += 1) {
      await Promise.all([
        one.setPlan("default", { perMinute: round }),
        two.setPlan("default", { costs: { person_search: c(round) } }),
      ]);
      const plan = (await one.account("default"))?.plan;
      expect([plan?.perMinute, plan?.costs.person_search, plan?.costs.company_enrich]).toEqual([
        round,
        c(round),
        c(1),
      ]);
    }
    await one.close();
    await two.close();
  });
});

describe("--store", () => {
  test.each([
    ["postgres:u:SECRET@h", "takes a SQLite file or postgres://"],
    ["postgresql:u:SECRET@h/db", "takes a SQLite file or postgres://"],
    ["mysql://u:PG/SECRET@h", "takes a SQLite file or postgres://"],
    ["sqlite:ledger.db", "takes a SQLite file or postgres://"],
    ["postgres://u:SEC#RET@h/db", "write / as %2F, # as %23"],
    ["postgres://u:SECRET/RET@h/db", "write / as %2F, # as %23"],
    ["postgres://u:12#SECRET@h/db", "write / as %2F, # as %23"],
    ["postgres://u:12/SECRET@h/db", "write / as %2F, # as %23"],
  ])("%s: refused, the password in no message, and nothing made", async (place, says) => {
    const cwd = tempDir();
    for (const argv of [
      ["service", "credits"],
      ["serve", "--port", "0"],
    ]) {
      const words = [...argv, "--data", join(cwd, "d"), "--store", place];
      const { context, stderr, stdout } = testContext({ argv: words, cwd });
      const [code, out, err] = [await main(words, context), stdout(), stderr()];
      expect([code, out], err).toEqual([2, ""]);
      expect(err).toContain(says);
      expect(err).not.toMatch(/SECRET|RET@/);
    }
    expect(readdirSync(cwd)).toEqual([]);
  });

  test("a host that does not exist: exit 8, and the address is what to look at", async () => {
    const data = await foundedFolder();
    const place = "postgres://u:SECRET@nowhere.invalid/db";
    const { code, err } = await headcount("service", "credits", "--data", data, "--store", place);
    expect(code, err).toBe(8);
    expect(err).toMatch(/nowhere\.invalid.*(check|address)/s);
    expect(err).not.toMatch(/SECRET|path exists/);
  });

  test("a database whose certificate is not trusted: exit 2, as no other try mends it", async () => {
    const server = createServer((socket) =>
      socket.once("data", () => {
        socket.write("S");
        const proof = { isServer: true, key: CERTIFICATE_KEY, cert: CERTIFICATE };
        new TLSSocket(socket, proof).on("error", () => undefined);
      }),
    );
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    const { port } = server.address() as AddressInfo;
    const place = `postgres://u@127.0.0.1:${port}/db?sslmode=verify-full`;
    const data = tempDir();
    const { code, err } = await headcount("service", "credits", "--data", data, "--store", place);
    server.close();
    expect(err).toMatch(/self-signed certificate/);
    expect(code, err).toBe(2);
  });

  test.each([
    ["its first page", 100],
    ["its name", 0],
  ])("a ledger of which %s is damaged: exit 1, and a backup is what to restore", async (_, at) => {
    const data = await foundedFolder();
    const file = openSync(join(data, "ledger.db"), "r+");
    writeSync(file, "garbage", at);
    closeSync(file);
    for (const argv of [
      ["service", "credits"],
      ["serve", "--port", "0"],
    ]) {
      const { code, err } = await headcount(...argv, "--data", data, "--json");
      const { error } = JSON.parse(err.trim().split("\n").at(-1) ?? "");
      expect([code, error.code], err).toEqual([1, "ledger_damaged"]);
      expect(error.hint).toContain("headcount service restore BACKUP");
    }
  });
});

describe("verify", () => {
  /** Everything in a folder, as it is. */
  const stateOf = (dir: string) =>
    readdirSync(dir).map((name) => {
      const path = join(dir, name);
      const { ino, mtimeMs, size } = statSync(path);
      return [
        name,
        ino,
        mtimeMs,
        size,
        statSync(path).isFile() ? readFileSync(path, "latin1") : "",
      ];
    });

  test("writes nothing, neither into the ledger nor beside it", async () => {
    const data = await foundedFolder();
    for (const name of ["ledger.db-wal", "ledger.db-shm"])
      rmSync(join(data, name), { force: true });
    const before = stateOf(data);
    expect((await headcount("service", "verify", "--data", data)).out).toMatch(
      /^ledger\tsound\ndataset\tnone\nhead\t[\w-]{43}\n$/,
    );
    expect(stateOf(data)).toEqual(before);
  });

  test("a copy with its log is verified with all that is in the log", async () => {
    const ledger = await temporaryLedger({ live: 100 });
    await ledger.store.settle({
      holdId: await held(ledger.store, c(7)),
      amount: c(7),
      reply: answer(),
    });
    const data = folder();
    mkdirSync(data);
    for (const end of ["", "-wal"]) copyFileSync(ledger.path + end, join(data, `ledger.db${end}`));
    expect(statSync(join(data, "ledger.db-wal")).size).toBeGreaterThan(0);
    const before = stateOf(data);
    expect((await headcount("service", "verify", "--data", data)).code).toBe(0);
    expect(stateOf(data)).toEqual(before);
    await ledger.close();
  });

  test("a copy of the file alone, made while a service was at work, is said to be one", async () => {
    const ledger = await temporaryLedger({ live: 100 });
    await ledger.store.settle({
      holdId: await held(ledger.store, c(7)),
      amount: c(7),
      reply: answer(),
    });
    const other = new DatabaseSync(ledger.path);
    other.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    other.close();
    await ledger.store.settle({
      holdId: await held(ledger.store, c(9)),
      amount: c(9),
      reply: answer(),
    });
    const data = folder();
    mkdirSync(data);
    copyFileSync(ledger.path, join(data, "ledger.db"));
    const { code, err, out } = await headcount("service", "verify", "--data", data);
    expect(out).toMatch(/^ledger\tsound\ndataset\tnone\nhead\t/);
    expect(code).toBe(0);
    expect(err).toContain("notice: this is a copy that was made while a service was at work");
    const json = JSON.parse(
      (await headcount("service", "verify", "--data", data, "--json")).out,
    ) as {
      notes: string[];
    };
    expect(json.notes).toHaveLength(1);
    await ledger.close();
  });

  test("a service may run meanwhile", async () => {
    const ledger = await temporaryLedger();
    await fund(ledger.store, 0).catch(() => undefined);
    await ledger.store.grant(ACCOUNT, "live", c(1_000), "more");
    let over = false;
    const charging = (async () => {
      while (!over)
        await ledger.store.settle({
          holdId: await held(ledger.store, c(1)),
          amount: c(0),
          reply: answer(),
        });
    })();
    const { verifySqliteFile } = await import("../../src/service/ledger/sqlite-file.ts");
    for (let round = 0; round < 10; round += 1)
      expect((await verifySqliteFile(ledger.path)).breaches).toEqual([]);
    over = true;
    await charging;
    await ledger.close();
  });
});
