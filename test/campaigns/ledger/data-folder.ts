import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { generateDataset } from "../../../src/dataset/build/sample.ts";
import { openDataFolder } from "../../../src/service/admin/data-folder.ts";
import { createKey } from "../../../src/service/admin/keys.ts";
import { tempDir } from "../../support/client.ts";
import { SMALL, sleep } from "../../support/dataset.ts";
import { folder, headcount, serving } from "../../support/serve-command.ts";
import { answer, c, fund, held } from "../../support/store.ts";

export const filesIn = (dir: string): readonly string[] =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name, parentPath }) => join(parentPath, name))
    .sort();

/** Flips one bit of a file. @returns what puts it back */
export function flip(path: string, bit: number): () => void {
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

/** What `service verify` says of a data folder. */
export async function verify(data: string): Promise<Verified & { readonly code: number }> {
  const { code, err, out } = await headcount("service", "verify", "--data", data, "--json");
  return {
    code,
    ...(JSON.parse(out || `{"ledger":[${JSON.stringify(err)}],"dataset":[]}`) as Verified),
  };
}

export interface DataFolder {
  readonly data: string;
  readonly key: string;
  /** The id of somebody who was taken out. */
  readonly gone: string;
}

/** A data folder with a bit of everything: charges with stored replies, people taken out, a version that is kept, the dataset of test keys. */
export async function everything(hasTestData = true): Promise<DataFolder> {
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
  if (hasTestData) await opened.testEngine();
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

/** Serves a data folder of which `path` was hurt: whoever was taken out is in no page, and a page that is refused costs nothing. */
export async function serveHurt({ data, gone, key }: DataFolder, path: string): Promise<void> {
  const argv = ["serve", "--data", data, "--port", "0", "--json"];
  const { code, err } = await serving(argv, async (line) => {
    const { url } = JSON.parse(line) as { url: string };
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const credits = async (): Promise<number> => {
      const account = await fetch(`${url}/v1/account`, { headers });
      const { result } = (await account.json()) as { result: { credits: { remaining: number } } };
      return result.credits.remaining;
    };
    const before = await credits();
    const body = JSON.stringify({ filters: {}, per_page: 400 });
    const page = await fetch(`${url}/v1/person/search`, { method: "POST", headers, body });
    expect(await page.text()).not.toContain(gone);
    expect(page.status, path).toBe(path.endsWith("left-out.json") ? 200 : 500);
    if (page.status === 500) expect(await credits()).toBe(before);
  });
  expect(code, err).toBe(0);
}

/** The files that say who was taken out. */
export const suppressionFiles = (data: string): readonly string[] =>
  ["suppression/list.ndjson", "suppression/key", "left-out.json"].map((name) =>
    join(data, "dataset", name),
  );
