// A process that opens a dataset and counts what it is told, so that its peak memory can be read: node open-dataset.mjs DIR FILTERS
import { join } from "node:path";
import { ROOT } from "./harness.mjs";

const { openDataset } = await import(join(ROOT, "dist/dataset/open.js"));
const { checkFilters } = await import(join(ROOT, "dist/contract/filters.js"));
const [folder, filters] = process.argv.slice(2);
const engine = await openDataset(folder);
for (const each of JSON.parse(filters)) {
  const check = checkFilters(each);
  if (!check.ok) throw new Error(`unusable filters: ${JSON.stringify(each)}`);
  await engine.count(check.canonical);
}
await engine.close();
