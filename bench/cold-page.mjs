// node cold-page.mjs DATASET FILTERS: what the first page of 25 takes in a process that has just opened the dataset.
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { cpuUsage } from "node:process";
import { canonicaliser } from "./datasets.mjs";
import { ROOT } from "./harness.mjs";

const { openDataset } = await import(join(ROOT, "dist/dataset/embedded/open.js"));
const canonical = await canonicaliser();
const [folder, filters] = process.argv.slice(2);
const engine = await openDataset(folder);
const cpuBefore = cpuUsage();
const began = performance.now();
const page = await engine.people(canonical(JSON.parse(filters)), { offset: 0, limit: 25 });
const ms = performance.now() - began;
const { user, system } = cpuUsage(cpuBefore);
console.log(JSON.stringify({ ms, cpuMs: (user + system) / 1_000, rows: page.records.length }));
await engine.close();
