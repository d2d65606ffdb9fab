// Tested by test/cli/sync-segments.test.ts.
import { hash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { removeSegments, savedSegments, writeSegment } from "../../segments/segment-store.ts";
import type { KnownSegment, SegmentFact, Syncing } from "./syncing.ts";

type Facts = Map<string, SegmentFact>;
/** By name, as the files of this machine have them. */
type Texts = ReadonlyMap<string, string>;

/**
 * Saved segments of all. Of one that two saved otherwise between two syncs both stay: one under
 * its name, the other with its machine's name behind. Every machine decides it alike.
 */
export async function syncSegments(syncing: Syncing): Promise<void> {
  const { facts, torn } = await readFacts(syncing);
  const here = await textsHere(syncing);
  await giveChanged(here, facts, syncing);
  // What another one took the place of is not missed.
  const replaced = replacedIn(facts);
  for (const name of torn)
    if (!facts.has(name) && !replaced.has(name))
      syncing.synced.unread.set(`segments/${name}`, "not whole");

  await partTwins(facts, syncing);
  await takeInSegments(here, facts, syncing);

  // Nobody needs it any more, and it may name somebody who is forgotten.
  const old = replacedIn(facts);
  for (const file of facts.keys()) if (old.has(file)) await syncing.folder.drop("segments", file);
}

const digestOf = (text: string | null): string | null =>
  text === null ? null : hash("sha256", text);

async function readFacts({ folder }: Syncing): Promise<{ facts: Facts; torn: readonly string[] }> {
  const facts: Facts = new Map();
  const torn: string[] = [];
  for (const name of await folder.names("segments")) {
    const bytes = await folder.read("segments", name);
    if (bytes === undefined) torn.push(name);
    else facts.set(name, JSON.parse(bytes.toString()) as SegmentFact);
  }
  return { facts, torn };
}

const replacedIn = (facts: Facts): ReadonlySet<string> =>
  new Set([...facts.values()].flatMap(({ replaces }) => replaces));

/** By name, those that no other takes the place of. */
function headsOf(facts: Facts): Map<string, string[]> {
  const replaced = replacedIn(facts);
  const heads = new Map<string, string[]>();
  for (const [file, { name }] of facts)
    if (!replaced.has(file)) heads.set(name, [...(heads.get(name) ?? []), file].sort());
  return heads;
}

async function textsHere({ context }: Syncing): Promise<Texts> {
  const saved = await savedSegments(context);
  const texts = saved.map(async ({ name, file }) => [name, await readFile(file, "utf8")] as const);
  return new Map(await Promise.all(texts));
}

async function put(fact: SegmentFact, facts: Facts, { folder }: Syncing): Promise<KnownSegment> {
  const file = await folder.put("segments", "segment", Buffer.from(JSON.stringify(fact)));
  facts.set(file, fact);
  return known(file, fact);
}

const known = (file: string, fact: SegmentFact): KnownSegment => ({
  file,
  fact: { ...fact, text: digestOf(fact.text) },
});

/** What was saved, changed or removed here since the last sync, and what the folder lost. */
async function giveChanged(here: Texts, facts: Facts, syncing: Syncing): Promise<void> {
  const { memory, store } = syncing;
  for (const name of new Set([...here.keys(), ...memory.segments.keys()])) {
    const before = memory.segments.get(name);
    const text = here.get(name) ?? null;
    if (before !== undefined && digestOf(text) === before.fact.text) {
      const isLost = !facts.has(before.file) && !replacedIn(facts).has(before.file);
      if (isLost) await put({ ...before.fact, text }, facts, syncing);
      continue;
    }

    const heads = headsOf(facts).get(name) ?? [];
    if (heads.some((file) => facts.get(file)?.text === text)) continue;
    const replaces = before === undefined ? [] : [before.file, ...before.fact.replaces];
    const fact = { name, text, by: store.machine.name, replaces };
    memory.segments.set(name, await put(fact, facts, syncing));
  }
}

/** Of several states that know nothing of each other the first keeps the name. */
async function partTwins(facts: Facts, syncing: Syncing): Promise<void> {
  for (const [name, heads] of headsOf(facts)) {
    const states = heads.map((file) => facts.get(file) as SegmentFact);
    const [first, ...others] = states.filter(({ text }) => text !== null);
    if (heads.length < 2) continue;

    for (const other of others) {
      if (other.text === first?.text) continue;
      const apart = `${name}-${other.by.toLowerCase().replace(/[^a-z0-9_-]/g, "-")}`.slice(0, 64);
      syncing.synced.twins.add(apart);
      await put({ ...other, name: apart, replaces: [] }, facts, syncing);
    }
    const { text = null, by = "" } = first ?? {};
    const all = new Set([...heads, ...states.flatMap(({ replaces }) => replaces)]);
    await put({ name, text, by, replaces: [...all].sort() }, facts, syncing);
  }
}

async function takeInSegments(here: Texts, facts: Facts, syncing: Syncing): Promise<void> {
  const { context, memory } = syncing;
  for (const [name, [file = ""]] of headsOf(facts)) {
    const fact = facts.get(file) as SegmentFact;
    const { text } = fact;
    if (text !== null && here.get(name) !== text) await writeSegment(context, name, text, true);
    if (text === null && here.has(name)) await removeSegments(context, [name]);
    memory.segments.set(name, known(file, fact));
  }
}
