// A process that opens a dataset and counts what it is told, so that its peak memory can be read: node open-dataset.mjs DIR FILTERS
import { join } from "node:path";
import { canonicaliser } from "./datasets.mjs";
import { ROOT } from "./harness.mjs";

const { openDataset } = await import(join(ROOT, "dist/dataset/embedded/open.js"));
const canonical = await canonicaliser();
const [folder, filters] = process.argv.slice(2);
const engine = await openDataset(folder);
for (const each of JSON.parse(filters)) await engine.count(canonical(each));
await engine.close();
