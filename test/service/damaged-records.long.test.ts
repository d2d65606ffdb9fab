import { cp } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import { expect, test } from "vitest";
import { openDataset } from "../../src/dataset/embedded/open.ts";
import { readPointer } from "../../src/dataset/layout.ts";
import { generatedDataset, startTestService, temporaryFolder } from "../support/service.ts";

test("a record that is not what was written is never sold: a 500, nothing charged or held, and the log names the block", async () => {
  const folder = temporaryFolder();
  const datasetDir = join(folder, "dataset");
  await cp(await generatedDataset(400), datasetDir, { recursive: true });
  const records = join(datasetDir, (await readPointer(datasetDir))?.folder ?? "", "records.db");
  const db = new DatabaseSync(records);
  const { data } = db.prepare("SELECT data FROM people WHERE block = 2").get();
  data[data.length >> 1] ^= 1;
  db.prepare("UPDATE people SET data = ? WHERE block = 2").run(data);
  db.close();
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
  await service.close();
  await engine.close();
  expect(log).toContain(`${records}: people: block 2 is damaged`);
});
