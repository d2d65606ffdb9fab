import { cp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { DatasetDamagedError } from "../../src/dataset/damaged.ts";
import { openDataset } from "../../src/dataset/embedded/open.ts";
import { readPointer } from "../../src/dataset/layout.ts";
import { placeOfBlock } from "../support/blocks.ts";
import { serving } from "../support/serve-command.ts";
import { generatedDataset, startTestService, temporaryFolder } from "../support/service.ts";

async function copied() {
  const datasetDir = join(temporaryFolder(), "dataset");
  await cp(await generatedDataset(400), datasetDir, { recursive: true });
  const folder = join(datasetDir, (await readPointer(datasetDir))?.folder ?? "");
  return { datasetDir, records: join(folder, "records.bin") };
}

test("a record that is not what was written is never sold: a 500, nothing charged or held, and the log names the block", async () => {
  const { datasetDir, records } = await copied();
  const file = await readFile(records);
  const { at, bytes } = placeOfBlock(records, "people", 2);
  file[at + (bytes >> 1)] = (file[at + (bytes >> 1)] ?? 0) ^ 1;
  await writeFile(records, file);
  let log = "";
  const engine = await openDataset(datasetDir);
  const service = await startTestService({ engine, log: { write: (text) => (log += text) } });
  const page = (number: number) =>
    service.call("/v1/person/search", {
      method: "POST",
      body: { filters: {}, page: number, per_page: 32 },
    });
  const before = await service.store.balance("default", "live");
  expect(await page(3)).toMatchObject({
    status: 500,
    json: { status: false, detail: ["internal error; nothing was charged"], credits_used: 0 },
  });
  expect(await service.store.balance("default", "live")).toEqual(before);
  // The blocks beside it are sold.
  expect((await page(2)).json.credits_used).toBe(32);
  expect(await service.store.verify()).toEqual([]);
  const ready = await service.call("/readyz");
  expect(ready).toMatchObject({ status: 503, json: { status: "the dataset is damaged" } });
  await service.close();
  await engine.close();
  expect(log).toContain(`${records} is damaged (block 2 of people`);
});

test.each([
  ["without a length", (bytes: Buffer) => bytes.fill(0, bytes.length - 12, bytes.length - 8)],
  [
    "longer than the file",
    (bytes: Buffer) => bytes.fill(0xff, bytes.length - 12, bytes.length - 8),
  ],
  ["of another file", (bytes: Buffer) => bytes.fill("hcother1", bytes.length - 8)],
  ["of nothing", () => Buffer.alloc(0)],
  ["that is gone", () => undefined],
])("a header of records %s is a damaged dataset", async (_, hurt) => {
  const { datasetDir, records } = await copied();
  const bytes = hurt(await readFile(records));
  if (bytes === undefined) await rm(records);
  else await writeFile(records, bytes);
  await expect(openDataset(datasetDir)).rejects.toBeInstanceOf(DatasetDamagedError);
});

test("a block that is damaged is told of by the pass, and once by the call that meets it", async () => {
  const { datasetDir, records } = await copied();
  const bytes = await readFile(records);
  const { at } = placeOfBlock(records, "people", 2);
  bytes[at + 9] = (bytes[at + 9] ?? 0) ^ 1;
  const index = placeOfBlock(records, "address", 1);
  bytes[index.at + 9] = (bytes[index.at + 9] ?? 0) ^ 1;
  await writeFile(records, bytes);
  const blocks = ["block 2 of people: people 64 to 95 in public order", "block 1 of address"];
  const damage = blocks.map((block) => expect.stringContaining(`damaged (${block});`));

  const told: (string | undefined)[] = [];
  const passed = await openDataset(datasetDir, { onChecked: (found) => told.push(found) });
  await vi.waitUntil(() => told.includes(undefined), { timeout: 20_000 });
  expect(told).toEqual([...damage, undefined]);
  expect(passed.damage).toEqual(damage);

  const met = await openDataset(datasetDir);
  const read = () =>
    met.people({ exact: {}, prefix: {}, range: {} }, { offset: 64, limit: 1 }).catch(String);
  expect(await read()).toContain("block 2 of people");
  expect(await read()).toContain("block 2 of people");
  expect(met.damage).toEqual(damage.slice(0, 1));
  for (const engine of [passed, met]) await engine.close();
});

test("columns that are damaged are told of by the pass over them, in the log and at /readyz, and the service runs", async () => {
  const data = temporaryFolder();
  const datasetDir = join(data, "dataset");
  await cp(await generatedDataset(400), datasetDir, { recursive: true });
  const columns = join(datasetDir, (await readPointer(datasetDir))?.folder ?? "", "columns.bin");
  const whole = await readFile(columns);
  const argv = ["serve", "--port", "0", "--json", "--log", "--data", data];

  const visit = async (status: number, line: string): Promise<string> => {
    const { url } = JSON.parse(line) as { url: string };
    for (;;) {
      const ready = await fetch(`${url}/readyz`);
      if (ready.status === status) return ready.text();
      await new Promise((wake) => setTimeout(wake, 20));
    }
  };

  await writeFile(
    columns,
    whole.map((byte, at) => (at === 5_000 ? byte ^ 8 : byte)),
  );
  let said = "";
  const hurt = await serving(argv, async (line) => {
    said = await visit(503, line);
  });
  expect(hurt.code).toBe(0);
  expect(JSON.parse(said)).toMatchObject({ status: "the dataset is damaged" });
  const lines = hurt.err.trim().split("\n");
  expect(lines.map((line) => JSON.parse(line) as object)).toContainEqual(
    expect.objectContaining({ level: 40, msg: expect.stringContaining(`${columns} is damaged (`) }),
  );

  await writeFile(columns, whole);
  const sound = await serving(argv, async (line) => {
    await visit(200, line);
    await new Promise((wake) => setTimeout(wake, 1_500));
  });
  expect(sound.err).toContain("The whole dataset was held against its sums.");
  expect(sound.err).not.toContain("damaged");
});
