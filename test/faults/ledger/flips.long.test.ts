import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { generateDataset } from "../../../src/dataset/build/sample.ts";
import { FILES } from "../../../src/dataset/layout.ts";
import { MANIFEST_FILE } from "../../../src/dataset/manifest.ts";
import { openDataFolder } from "../../../src/service/admin/data-folder.ts";
import { createKey } from "../../../src/service/admin/keys.ts";
import { openSqliteStore } from "../../../src/service/ledger/sqlite.ts";
import { verifySqliteFile } from "../../../src/service/ledger/sqlite-file.ts";
import { cases, LONG } from "../../support/campaign.ts";
import { tempDir } from "../../support/client.ts";
import { SMALL, sleep } from "../../support/dataset.ts";
import { seededRandom } from "../../support/exactness.ts";
import { folder, headcount, serving } from "../../support/serve-command.ts";
import { ACCOUNT, answer, c, fund, held } from "../../support/store.ts";
import { report } from "./rig.ts";

const FLIPS = cases(48, 1_000);

const filesIn = (dir: string): readonly string[] =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name, parentPath }) => join(parentPath, name))
    .sort();

function flip(path: string, bit: number): () => void {
  const sound = readFileSync(path);
  const hurt = Buffer.from(sound);
  hurt[bit >> 3] = (hurt[bit >> 3] ?? 0) ^ (1 << (bit & 7));
  writeFileSync(path, hurt);
  return () => writeFileSync(path, sound);
}

interface Verified {
  readonly sound: boolean;
  readonly ledger: readonly string[];
  readonly dataset: readonly string[];
}

async function verify(data: string): Promise<Verified & { readonly code: number }> {
  const { code, err, out } = await headcount("service", "verify", "--data", data, "--json");
  return {
    code,
    ...(JSON.parse(out || `{"ledger":[${JSON.stringify(err)}],"dataset":[]}`) as Verified),
  };
}

/** A data folder with a bit of everything: charges with stored replies, people taken out, a version that is kept, the dataset of test keys. */
async function everything(): Promise<{ data: string; key: string; gone: string }> {
  const data = folder();
  const datasetDir = join(data, "dataset");
  const generate = (more: { readonly suppression?: string } = {}) =>
    generateDataset(
      { people: 400, seed: 1 },
      { datasetDir, now: Date.now, sleep, resources: SMALL, ...more },
    );
  await generate();
  const opened = await openDataFolder(data);
  const [first] = (
    await opened.engine.people({ exact: {}, prefix: {}, range: {} }, { offset: 0, limit: 1 })
  ).records;
  const gone = (JSON.parse(String(first)) as { id: string }).id;
  await opened.testEngine();
  const { key } = await createKey(opened.store, { name: "k", mode: "live", now: Date.now });
  await fund(opened.store, 100);
  for (const name of ["a", "b"]) {
    const holdId = await held(opened.store, c(4), { idempotency: { key: name, requestHash: "h" } });
    await opened.store.settle({
      holdId,
      amount: c(3),
      reply: answer(),
      sold: { price: c(1), rows: 3 },
    });
  }
  await opened.close();
  expect(
    (await headcount("service", "suppress", "add", gone, "nobody-else", "--data", data)).code,
  ).toBe(0);
  // Built without the list: the service itself has to look.
  await generate({ suppression: tempDir() });
  return { data, key, gone };
}

describe("a bit that flips in a data folder", () => {
  let data = "";
  let key = "";
  let gone = "";
  beforeAll(async () => {
    ({ data, gone, key } = await everything());
    expect(await verify(data)).toMatchObject({ code: 0, sound: true, ledger: [], dataset: [] });
  }, 120_000);

  test(`is found by verify, each of ${FLIPS} in every file of it, and the file is named`, {
    timeout: 3_600_000,
  }, async () => {
    const files = filesIn(data);
    const names = files.map((path) => relative(data, path).replaceAll(/v-[^/]+/g, "VERSION"));
    const version = [...Object.values(FILES), MANIFEST_FILE];
    const ofOne = (dataset: string): readonly string[] =>
      version.map((name) => `${dataset}/VERSION/${name}`);
    const others = [
      "CURRENT",
      "left-out.json",
      "lock.db",
      "suppression/key",
      "suppression/list.ndjson",
    ];
    // What a data folder has. A new kind of file belongs here, and under a checksum.
    expect(new Set(names)).toEqual(
      new Set([
        ...[
          "ledger.db",
          "ledger.db-seal",
          ...others.map((name) => `dataset/${name}`),
          ...ofOne("dataset"),
        ],
        ...[
          "test-dataset/CURRENT",
          "test-dataset/left-out.json",
          "test-dataset/lock.db",
          ...ofOne("test-dataset"),
        ],
      ]),
    );
    const filled = files.filter((path) => statSync(path).size > 0);
    // Locks, held on the file and not by what is in it.
    expect(
      files.filter((path) => !filled.includes(path)).map((path) => path.split("/").at(-1)),
    ).toEqual(expect.arrayContaining(["lock.db"]));
    const random = seededRandom(17);
    const passed: string[] = [];
    for (let trial = 0; trial < FLIPS; trial += 1) {
      const path = filled[trial % filled.length] ?? "";
      const bit = Math.floor(random() * statSync(path).size * 8);
      const restore = flip(path, bit);
      const { code, dataset, ledger } = await verify(data);
      const told = [...(ledger ?? []), ...(dataset ?? [])].join("\n");
      const named = /ledger\.db$/.test(path)
        ? /file: page \d+|file: |ledger\.db/
        : /CURRENT$/.test(path)
          ? /./
          : undefined;
      const folderOf = relative(data, path).startsWith("dataset/suppression")
        ? join(data, "dataset/suppression")
        : path;
      if (code === 0 || !(named?.test(told) ?? told.includes(folderOf)))
        passed.push(`bit ${bit} of ${relative(data, path)}: ${told}`);
      restore();
    }
    report("flips in a data folder", { flips: FLIPS, files: filled.length, passed: passed.length });
    expect(passed).toEqual([]);
    expect(await verify(data)).toMatchObject({ code: 0, sound: true });
  });

  test("in a file that is cut, longer, gone or in the place of another is found by verify too", {
    timeout: 3_600_000,
  }, async () => {
    const { folder } = JSON.parse(readFileSync(join(data, "dataset/CURRENT"), "utf8")) as {
      folder: string;
    };
    const all = filesIn(data).filter((path) => statSync(path).size > 0);
    // The short form leaves out the version that is kept and the dataset of test keys: the same files once more.
    const files = LONG
      ? all
      : all.filter((path) => !/test-dataset|\/v-/.test(path) || path.includes(`/${folder}/`));
    // A seal or a note that is gone says no more than one that was never made, and test data is made again.
    const optional = /ledger\.db-seal$|left-out\.json$|test-dataset\/CURRENT$/;
    const random = seededRandom(20);
    const passed: string[] = [];
    let trials = 0;
    const look = async (what: string): Promise<void> => {
      trials += 1;
      if ((await verify(data)).code === 0) passed.push(what);
    };
    for (const path of files) {
      const sound = readFileSync(path);
      const name = relative(data, path);
      const cuts = Array.from({ length: cases(0, 8) }, () => Math.floor(random() * sound.length));
      for (const size of new Set([0, ...(LONG ? [sound.length - 1, ...cuts] : [])])) {
        writeFileSync(path, sound.subarray(0, size));
        await look(`${name} cut to ${size} of ${sound.length} bytes`);
      }
      for (const more of LONG ? [Buffer.alloc(1), Buffer.alloc(4_096), sound] : [sound]) {
        writeFileSync(path, Buffer.concat([sound, more]));
        await look(`${name} longer by ${more.length} bytes`);
      }
      rmSync(path);
      if (!optional.test(path)) await look(`${name} gone`);
      writeFileSync(path, sound, { mode: 0o600 });
    }
    const pairs = files.flatMap((one, n) =>
      files.slice(n + 1).map((other) => [one, other] as const),
    );
    for (const [one, other] of pairs.filter((_, n) => LONG || n % 7 === 0)) {
      const [first, second] = [readFileSync(one), readFileSync(other)];
      if (first.equals(second)) continue;
      // Each note is whole, and names a version: one of another is none, and every page is looked through.
      if (/left-out\.json$/.test(one) && /left-out\.json$/.test(other)) continue;
      writeFileSync(one, second);
      writeFileSync(other, first);
      await look(`${relative(data, one)} and ${relative(data, other)} in the place of each other`);
      writeFileSync(one, first);
      writeFileSync(other, second);
    }
    report("cut, longer, gone and exchanged files", {
      trials,
      files: files.length,
      passed: passed.length,
    });
    expect(passed).toEqual([]);
    expect(await verify(data)).toMatchObject({ code: 0, sound: true });
  });

  test("or a file that is gone lets no service start on something else in its place", async () => {
    const ledger = join(data, "ledger.db");
    for (const [path, hurt, told] of [
      [
        join(data, "dataset/CURRENT"),
        () => rmSync(join(data, "dataset/CURRENT")),
        /CURRENT is gone and v-/,
      ],
      [
        ledger,
        () => rmSync(ledger),
        /ledger\.db is gone and its seal .* is there: put the ledger back/,
      ],
      [ledger, () => writeFileSync(ledger, ""), /ledger\.db is empty and its seal .* is there/],
    ] as const) {
      const sound = readFileSync(path);
      hurt();
      const { code, err } = await headcount("serve", "--data", data, "--port", "0");
      expect(err).toMatch(told);
      expect(code).not.toBe(0);
      writeFileSync(path, sound);
      expect(await verify(data)).toMatchObject({ code: 0, sound: true });
    }
  });

  test("brings nobody back who was taken out: pages are refused and cost nothing, or are looked through", {
    timeout: 600_000,
  }, async () => {
    const random = seededRandom(18);
    const list = join(data, "dataset/suppression/list.ndjson");
    const places = [
      list,
      join(data, "dataset/suppression/key"),
      join(data, "dataset/left-out.json"),
    ];
    const trials = cases(6, 30) + places.length;
    for (let trial = 0; trial < trials; trial += 1) {
      const path = places[trial % places.length] ?? "";
      const sound = readFileSync(path);
      // The last round without the file.
      if (trial >= trials - places.length) rmSync(path);
      else flip(path, Math.floor(random() * sound.length * 8));
      const { code, err } = await serving(
        ["serve", "--data", data, "--port", "0", "--json"],
        async (line) => {
          const { url } = JSON.parse(line) as { url: string };
          const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
          const credits = async (): Promise<number> => {
            const { result } = (await (await fetch(`${url}/v1/account`, { headers })).json()) as {
              result: { credits: { remaining: number } };
            };
            return result.credits.remaining;
          };
          const before = await credits();
          const body = JSON.stringify({ filters: {}, per_page: 400 });
          const page = await fetch(`${url}/v1/person/search`, { method: "POST", headers, body });
          const text = await page.text();
          expect(text).not.toContain(gone);
          expect(page.status, relative(data, path)).toBe(
            path.endsWith("left-out.json") ? 200 : 500,
          );
          if (page.status === 500) expect(await credits()).toBe(before);
        },
      );
      expect(code, err).toBe(0);
      writeFileSync(path, sound, { mode: 0o600 });
    }
  });
});

test("a bit that flips in the index of a killed service's log is scratch: what comes up is all that was acknowledged", async () => {
  const place = tempDir();
  const store = await openSqliteStore({ path: join(place, "ledger.db"), now: Date.now });
  await fund(store, 100);
  for (let n = 0; n < 9; n += 1)
    await store.settle({ holdId: await held(store, c(4)), amount: c(3), reply: answer() });
  const kept = ["", "-wal", "-shm"].map(
    (end) => [end, readFileSync(join(place, `ledger.db${end}`))] as const,
  );
  const random = seededRandom(19);
  const dir = tempDir();
  for (let trial = 0; trial < cases(20, 200); trial += 1) {
    const path = join(dir, `${trial}.db`);
    for (const [end, bytes] of kept) writeFileSync(path + end, bytes);
    // The first hundred bytes say how far the log goes, the next where its pages are.
    flip(`${path}-shm`, Math.floor(random() * (trial % 2 === 0 ? 136 : 2_048) * 8));
    expect(
      (await verifySqliteFile(path)).breaches.filter(
        (breach) => !breach.includes("-wal is damaged"),
      ),
    ).toEqual([]);
    const again = await openSqliteStore({ path, now: Date.now });
    expect((await again.balance(ACCOUNT, "live")).balance).toBe(c(73));
    expect(await again.verify()).toEqual([]);
    await again.close();
  }
  await store.close();
}, 300_000);
