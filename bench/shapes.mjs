// C6, C7: the filters that are slowest to count and to begin a page of, and long lists of addresses. Values come from the dataset itself;
// every sample asks for others, so that nothing is answered from memory of an earlier one.
import { join } from "node:path";
import { median, percentile } from "./arithmetic.mjs";
import { canonicaliser, generated, importedFolder } from "./datasets.mjs";
import { note, ROOT, valueRow } from "./harness.mjs";

const FIRST_PAGE = { offset: 0, limit: 25 };
const EVERYBODY = {};
/** Samples of a shape before it is timed: a service has long compiled what it answers with. */
const WARM_UP = 20;

export async function measure({ quick, people }) {
  const sizes = people ?? (quick ? [1_000_000] : [1_000_000, 10_000_000]);
  const rows = [];
  for (const size of sizes) {
    rows.push(...(await measureShapes(await generated(size), size, "", quick)));
    // Dirty people take long to make: of the larger sizes there are those of the sample only, unless asked for.
    if (size > 1_000_000 && !people) continue;
    rows.push(...(await measureShapes(await importedFolder(size, "dirty"), size, "dirty ", quick)));
  }
  return { rows };
}

/** @param kind stands before "people" */
export async function measureShapes({ folder }, size, kind, quick) {
  const whom = `${size.toLocaleString("en")} ${kind}people`;
  const { openDataset } = await import(join(ROOT, "dist/dataset/embedded/open.js"));
  const canonical = await canonicaliser();
  const engine = await openDataset(join(folder, "dataset"));
  const random = seeded(1);
  const pool = await samplePeople(engine, canonical, random);
  const rows = [];
  const limit = size > 1_000_000 ? 25 : 5;
  for (const [part, ask] of Object.entries({
    counts: (filters) => engine.count(filters),
    "first pages": (filters) => engine.people(filters, FIRST_PAGE),
  })) {
    note(`C6: ${part} of the slow shapes, ${whom}`);
    const shapes = [];
    for (const [name, make] of Object.entries(SHAPES)) {
      const samples = await sample(ask, () => canonical(make(pool, random)), quick ? 30 : 100);
      shapes.push({ name, ...samples });
    }
    shapes.sort((a, b) => b.p99 - a.p99);
    rows.push(
      valueRow({
        id: "C6",
        part: `${part}, ${whom}`,
        work: `the slowest of ${shapes.length} shapes, p99, in the engine`,
        target: { atMost: limit },
        unit: "ms",
        value: shapes[0].p99,
        ours: shapes[0].times,
        remark: `p50/p99 ms (CPU): ${shapes.map((shape) => `${shape.name} ${figures(shape)}`).join("; ")}`,
      }),
    );
  }
  for (const [part, make] of Object.entries(ADDRESS_LISTS)) {
    const count = (filters) => engine.count(filters);
    const samples = await sample(count, () => canonical(make(pool, random)), quick ? 30 : 100);
    rows.push(
      valueRow({
        id: "C6",
        part: `${part}, ${whom}`,
        work: `count of ${part}, in the engine`,
        target: { atMost: size > 1_000_000 ? 20 : 15 },
        unit: "ms",
        value: samples.p50,
        ours: samples.times,
        remark: `p50/p99 ms (CPU): ${figures(samples)}`,
      }),
    );
  }
  const facets = await facetRow(engine, canonical, pool, random, quick ? 30 : 100);
  await engine.close();
  return [...rows, { ...facets, part: whom }];
}

/** Facets of all keys in segments of each kind: no filter, few-valued keys, a range, a beginning. */
async function facetRow(engine, canonical, pool, random, count) {
  note("C7: facets of every key");
  const { FACET_KEYS } = await import(join(ROOT, "dist/shared/contract/vocabulary.js"));
  const segments = {
    everybody: () => ({}),
    "country, department": () => ({
      country: values(pool, random, "country", 1),
      department: values(pool, random, "department", 1),
    }),
    "seniority, industries": () => ({
      seniority: values(pool, random, "seniority", 1),
      industry: values(pool, random, "industry", 3),
    }),
    "headline_prefix(2), followers": () => ({
      headline_prefix: beginning(pool, random, "headline", 2),
      followers_min: Math.floor(random() * 500),
    }),
  };
  const all = [];
  const told = [];
  for (const [name, make] of Object.entries(segments)) {
    let next = 0;
    const ask = (filters) => {
      const question = {
        key: FACET_KEYS[next++ % FACET_KEYS.length],
        prefix: "",
        limit: 20,
        least: 3,
      };
      return engine.facet(filters, question, 60_000);
    };
    const samples = await sample(ask, () => canonical(make()), count);
    all.push(samples);
    told.push(`${name} ${figures(samples)}`);
  }
  const slowest = all.toSorted((a, b) => b.p50 - a.p50)[0];
  const { people } = engine.info();
  return valueRow({
    id: "C7",
    work: `facets of all keys in the slowest of ${all.length} kinds of segments, median, in the engine, ${people.toLocaleString("en")} people`,
    target: { atMost: people > 1_000_000 ? 150 : 50 },
    unit: "ms",
    value: slowest.p50,
    ours: slowest.times,
    remark: `p50/p99 ms (CPU): ${told.join("; ")}`,
  });
}

const SHAPES = {
  "headline_prefix(2), seniorities": (pool, random) => ({
    headline_prefix: beginning(pool, random, "headline", 2),
    seniority: values(pool, random, "seniority", 3),
  }),
  "headline_prefix(12), seniority": (pool, random) => ({
    headline_prefix: beginning(pool, random, "headline", 12),
    seniority: values(pool, random, "seniority", 1),
  }),
  "headline_prefix(2), industries": (pool, random) => ({
    headline_prefix: beginning(pool, random, "headline", 2),
    industry: values(pool, random, "industry", 5),
  }),
  "headline_prefix(12), department": (pool, random) => ({
    headline_prefix: beginning(pool, random, "headline", 12),
    department: values(pool, random, "department", 2),
  }),
  "name_prefix(1), levels": (pool, random) => ({
    name_prefix: beginning(pool, random, "name", 1),
    seniority_level: values(pool, random, "seniority_level", 3),
  }),
  "name_prefix(2), levels": (pool, random) => ({
    name_prefix: beginning(pool, random, "name", 2),
    seniority_level: values(pool, random, "seniority_level", 3),
  }),
  "name_prefix(2), industries": (pool, random) => ({
    name_prefix: beginning(pool, random, "name", 2),
    industry: values(pool, random, "industry", 5),
  }),
  "200 cities, last names, titles": (pool, random) => ({
    city: values(pool, random, "city", 200),
    last_name: values(pool, random, "last_name", 200),
    title: values(pool, random, "title", 200),
  }),
  "states, areas, seniorities": (pool, random) => ({
    state: values(pool, random, "state", 5),
    functional_area: values(pool, random, "functional_area", 5),
    seniority: values(pool, random, "seniority", 3),
  }),
  "200 titles, seniority": (pool, random) => ({
    title: values(pool, random, "title", 200),
    seniority: values(pool, random, "seniority", 1),
  }),
  "200 names, country": (pool, random) => ({
    name: values(pool, random, "name", 200),
    country: values(pool, random, "country", 1),
  }),
};

const slug = (address) =>
  address
    .replace(/\/?(\?.*)?$/, "")
    .split("/")
    .at(-1);
const addresses = (pool, random, count) => values(pool, random, "network_url", count);
const ADDRESS_LISTS = {
  "1,000 addresses": (pool, random) => ({ network_url: addresses(pool, random, 1_000) }),
  "1,000 addresses, title": (pool, random) => ({
    network_url: addresses(pool, random, 1_000),
    title: values(pool, random, "title", 5),
  }),
  "1,000 addresses with a bare slug, three keys": (pool, random) => ({
    network_url: [...addresses(pool, random, 999), slug(addresses(pool, random, 1)[0])],
    country: values(pool, random, "country", 3),
    seniority_level: values(pool, random, "seniority_level", 2),
    headline_prefix: beginning(pool, random, "headline", 2),
  }),
  "1,000 bare slugs": (pool, random) => ({ network_url: addresses(pool, random, 1_000).map(slug) }),
};

/** Some thousand people from all over the dataset. */
export async function samplePeople(engine, canonical, random) {
  const { people } = engine.info();
  const pool = [];
  while (pool.length < 20_000) {
    const offset = Math.floor(random() * people);
    const { records } = await engine.people(canonical(EVERYBODY), { offset, limit: 25 });
    for (const record of records) pool.push(JSON.parse(record));
  }
  return pool;
}

/** Different values of a key, as many as there are up to `count`. */
export function values(pool, random, key, count) {
  const found = new Set();
  for (let tries = 0; found.size < count && tries < 20 * count; tries++) {
    const value = pool[Math.floor(random() * pool.length)][key];
    if (value !== null) found.add(value);
  }
  return [...found];
}

export const beginning = (pool, random, key, length) =>
  [...values(pool, random, key, 1)[0]].slice(0, length).join("").trim() || "a";

/** Times and the CPU time of all threads, which holds on a busy machine. */
async function sample(ask, make, count) {
  const times = [];
  const cpus = [];
  for (let index = -WARM_UP; index < count; index++) {
    const filters = make();
    const before = process.cpuUsage();
    const start = performance.now();
    await ask(filters);
    const ms = performance.now() - start;
    const { user, system } = process.cpuUsage(before);
    if (index < 0) continue;
    times.push(ms);
    cpus.push((user + system) / 1_000);
  }
  const cpu = { p50: median(cpus), p99: percentile(cpus, 0.99) };
  return { times, cpu, p50: median(times), p99: percentile(times, 0.99) };
}

/** On a busy machine CPU tells more than the clock. */
const figures = ({ p50, p99, cpu }) =>
  `${p50.toFixed(1)}/${p99.toFixed(1)} (${cpu.p50.toFixed(1)}/${cpu.p99.toFixed(1)})`;

/** Numbers in [0, 1), the same on every run (mulberry32). */
export function seeded(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let x = state;
    x = Math.imul(x ^ (x >>> 15), x | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return ((x ^ (x >>> 14)) >>> 0) / 4_294_967_296;
  };
}
