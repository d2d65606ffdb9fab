import { copyFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { backup, DatabaseSync } from "@photostructure/sqlite";
import { expect, test } from "vitest";
import { smallDatasetFolder } from "../support/dataset.ts";
import { long } from "../support/long.ts";
import { folder, headcount, serving } from "../support/serve-command.ts";

const DATASET = smallDatasetFolder();

async function serve(data: string, ...more: readonly string[]) {
  const line = [
    "serve",
    "--data",
    data,
    "--dataset",
    await DATASET,
    "--port",
    "0",
    "--console",
    "off",
    ...more,
  ];
  return serving(line, async () => undefined);
}

const headsIn = (text: string): { head: string; signature: string }[] =>
  text
    .split("\n")
    .filter((line) => line.includes('"msg":"head"'))
    .map((line) => JSON.parse(line));

long("an old copy of the ledger that is put back is not served, unless that is said", async () => {
  const data = folder();
  const first = await serve(data, "--log");
  expect([first.code, headsIn(first.err).length]).toEqual([0, 2]);
  const ledger = join(data, "ledger.db");
  copyFileSync(ledger, `${data}.old`);
  expect((await headcount("service", "credits", "add", "5", "--data", data)).code).toBe(0);
  // A ledger that went on is no older one.
  expect((await serve(data)).code).toBe(0);
  for (const suffix of ["-wal", "-shm", "-seal", ".seal"])
    rmSync(`${ledger}${suffix}`, { force: true });
  copyFileSync(`${data}.old`, ledger);
  const refused = await serve(data, "--json");
  expect([refused.code, JSON.parse(refused.err.trim()).error.code]).toEqual([2, "ledger_older"]);
  expect(refused.err).toContain("--force");
  expect((await serve(data, "--force")).code).toBe(0);
  expect((await serve(data)).code).toBe(0);
});

long("a ledger that is gone, and a witness that was written anew, are seen", async () => {
  const data = folder();
  await serve(data);
  const witness = join(data, "head.json");
  const text = readFileSync(witness, "utf8");
  writeFileSync(witness, text.replace(/"head":"./, '"head":"!'));
  expect((await serve(data)).err).toContain("is not what was signed with");
  writeFileSync(witness, "{");
  expect((await serve(data)).err).toContain("it is no JSON");
  writeFileSync(witness, text);
  rmSync(join(data, "ledger.db"));
  expect((await serve(data)).err).toContain("it holds nothing, and so nothing of the head");
});

long(
  "a backup is restored on purpose: into a new folder, or under a witness elsewhere with the flag",
  async () => {
    const data = folder();
    const witness = ["--witness", `${data}-head.json`];
    await serve(data, ...witness);
    const backup = `${data}-backup`;
    expect((await headcount("service", "backup", backup, "--data", data)).code).toBe(0);
    await headcount("service", "credits", "add", "5", "--data", data);
    await serve(data, ...witness);
    const restored = `${data}-restored`;
    expect((await headcount("service", "restore", backup, "--data", restored)).code).toBe(0);
    expect((await serve(restored, ...witness)).code).toBe(2);
    expect((await serve(restored)).code).toBe(0);
    expect((await serve(restored, ...witness, "--force")).code).toBe(0);
  },
);

test("verify finds an old copy beside the head that was signed last, in the folder itself", async () => {
  const data = folder();
  await serve(data);
  copyFileSync(join(data, "ledger.db"), `${data}.old`);
  await headcount("service", "credits", "add", "5", "--data", data);
  await serve(data);
  const verify = () => headcount("service", "verify", "--data", data);
  expect((await verify()).code).toBe(0);
  for (const suffix of ["-wal", "-shm", "-seal"])
    rmSync(join(data, `ledger.db${suffix}`), { force: true });
  copyFileSync(`${data}.old`, join(data, "ledger.db"));
  const { code, err } = await verify();
  expect([code, err]).toEqual([
    1,
    expect.stringContaining("is older than the one that was served until"),
  ]);
});

test("verify says of a head of another ledger that it says nothing, and finds another ledger put in the place of its own", async () => {
  const [data, other] = [folder(), folder()];
  await serve(data);
  await serve(other);
  await headcount("service", "credits", "add", "5", "--data", data);
  const ledger = join(data, "ledger.db");
  const verify = (...more: string[]) => headcount("service", "verify", "--data", other, ...more);
  const { code, err } = await verify("--store", ledger);
  expect([code, err]).toEqual([0, expect.stringContaining("is the head of another ledger")]);
  for (const suffix of ["-wal", "-shm", "-seal"])
    rmSync(join(other, `ledger.db${suffix}`), { force: true });
  copyFileSync(ledger, join(other, "ledger.db"));
  expect((await verify()).code).toBe(1);
});

test("verify holds the head against the one that was told last", async () => {
  const data = folder();
  const { head } = headsIn((await serve(data, "--log")).err).at(-1) ?? { head: "" };
  const verify = () => headcount("service", "verify", "--data", data, "--against", head);
  expect((await verify()).code).toBe(0);
  await headcount("service", "credits", "add", "5", "--data", data);
  const { code, err } = await verify();
  expect([code, err.includes(`and not with ${head}`)]).toEqual([1, true]);
  expect((await headcount("service", "verify", "--data", data, "--against", "x")).code).toBe(2);
});

/** Puts what `from` holds into a ledger that is open elsewhere, as a fail-over to an older copy does. */
async function putBack(from: string, ledger: string): Promise<void> {
  const old = new DatabaseSync(from, { readOnly: true });
  await backup(old, ledger, { rate: -1 });
  old.close();
}

const sold = async (url: string, key: string): Promise<number> => {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const body = JSON.stringify({ filters: {}, per_page: 1 });
  return (await fetch(`${url}/v1/person/search`, { method: "POST", headers, body })).status;
};

/** Asks until the answer is `wanted`; what it was last where that never comes. */
async function until<Value>(wanted: Value, ask: () => Promise<Value>): Promise<Value> {
  for (let left = 100; ; left -= 1) {
    const is = await ask();
    if (is === wanted || left === 0) return is;
    await new Promise((wake) => setTimeout(wake, 50));
  }
}

long(
  "an older copy beneath a running service: nothing is sold or signed, until the ledger is back",
  async () => {
    const data = folder();
    const ledger = join(data, "ledger.db");
    const line = ["serve", "--data", data, "--dataset", await DATASET, "--port", "0", "--json"];
    const { code, err } = await serving(line, async (said) => {
      const { key, url } = JSON.parse(said) as { key: string; url: string };
      await headcount("service", "backup", `${data}-old`, "--data", data);
      expect(await sold(url, key)).toBe(200);
      // A look that finds what is newer, before the copy comes.
      await new Promise((wake) => setTimeout(wake, 1_100));
      await headcount("service", "backup", `${data}-new`, "--data", data);
      await putBack(join(`${data}-old`, "ledger.db"), ledger);
      expect(await until(503, () => sold(url, key))).toBe(503);
      const ready = await fetch(`${url}/readyz`);
      expect(ready.status).toBe(503);

      await putBack(join(`${data}-new`, "ledger.db"), ledger);
      expect(await until(200, () => sold(url, key))).toBe(200);
      await new Promise((wake) => setTimeout(wake, 1_100));
      await putBack(join(`${data}-old`, "ledger.db"), ledger);
      expect(await until(503, () => sold(url, key))).toBe(503);
    });

    expect(code, err).toBe(0);
    expect(err).toMatch(
      /lacks entry \d+; calls are answered with 503[\s\S]*answered again[\s\S]*lacks/,
    );
    expect(err).toContain("no head was signed");
    expect(JSON.parse((await serve(data, "--json")).err.trim()).error.code).toBe("ledger_older");
  },
);
