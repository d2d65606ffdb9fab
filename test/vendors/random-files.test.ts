import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { expressionsOf } from "../../src/engine/dialect/expressions.ts";
import { summaryOf, termsOf } from "../../src/engine/dialect/terms.ts";
import { readDialect } from "../../src/shared/dialect/read.ts";
import { CliError } from "../../src/shared/errors.ts";
import { cases } from "../support/campaign.ts";
import { tempDir } from "../support/client.ts";
import { long } from "../support/long.ts";
import { userOfVendor } from "../support/vendor-user.ts";
import { drawnBy, startDrawnVendor } from "../support/vendors/drawn.ts";
import { fileOf } from "../support/vendors/drawn-file.ts";
import { drawing } from "../support/vendors/people.ts";
import { creditsOf, millionthsOf } from "../support/vendors/shared.ts";

// Files and services made from the same draw: what can be bought is bought to the millionth of the book that the
// service keeps, what cannot is refused before anything is paid.

const PEOPLE = 11;

async function buysAsDrawn(seed: number): Promise<"bought" | "refused"> {
  const draw = drawnBy(seed);
  const vendor = await startDrawnVendor(draw, { credits: "5000" });
  const path = join(tempDir("headcount-drawn-"), "drawn.json");
  writeFileSync(path, JSON.stringify(fileOf(draw)));
  const user = await userOfVendor(vendor, path);
  const why = (text: string): string => `seed ${seed}: ${text}`;
  expect(user.added.code, why(user.added.stderr)).toBe(0);

  const { price } = draw.read ?? draw.search;
  const [least, largest] = draw.read === null ? draw.search.sizes : [1, draw.read.most];
  const parcel = price.per === "started" ? price.rows : { row: 1, request: largest }[price.per];
  const isRefused =
    least > parcel || parcel > Math.min(largest, 1_000) || (draw.read !== null && parcel > 1);
  const parcels = Math.ceil(PEOPLE / parcel);
  const cap = creditsOf(millionthsOf(price.credits) * BigInt(parcels));
  const line = `search -c v --country United_States -o o.ndjson --yes --max-credits ${cap}`;
  const ran = await user.run(line);
  await vendor.stop();
  if (isRefused) {
    expect(ran.code, why(ran.stderr)).toBe(2);
    expect(vendor.book.charges).toEqual([]);
    return "refused";
  }

  expect(ran.code, why(ran.stderr)).toBe(0);
  const american = vendor.people.filter(({ country }) => country?.code === "US").map(vendor.id);
  const ids = user.rows("o.ndjson").map(({ id }) => id);
  expect(ids.length, why(ran.stderr)).toBe(Math.min(parcels * parcel, american.length));
  expect(new Set(ids).size, why("nobody twice")).toBe(ids.length);
  for (const id of ids) expect(american, why("who was asked for")).toContain(id);
  expect(vendor.book.sold().sort(), why("all of them came")).toEqual(ids.sort());
  const settled = millionthsOf(vendor.book.charged());
  expect(await user.spend(), why(ran.stderr)).toEqual({ settled, uncertain: 0n, foreign: 0n });
  return "bought";
}

test("files by lot buy exactly, or are refused unpaid", async () => {
  const ends = [];
  for (const seed of [2, 4]) ends.push(await buysAsDrawn(seed));
  expect(new Set(ends)).toEqual(new Set(["bought", "refused"]));
});

long(
  "more of them",
  async () => {
    for (let seed = 1_000; seed < 1_000 + cases(12, 200); seed += 1) await buysAsDrawn(seed);
  },
  3_600_000,
);

const JUNK: readonly unknown[] = [
  null,
  "",
  "@values",
  "@nobody",
  "{key}",
  "{",
  "[0]",
  "a..b",
  "header:",
  -1,
  0,
  1.5,
  1e300,
  true,
  [],
  [[]],
  {},
  { "*": "@filters" },
  { __proto__: null, constructor: "x" },
];

/** A file with a value of it replaced, taken away or cut off, by lot. */
function spoilt(seed: number): string {
  const random = drawing(seed);
  const under = (length: number): number => Math.floor(random() * length);
  const file = fileOf(drawnBy(seed));
  for (let times = 1 + under(3); times > 0; times -= 1) {
    let part: Record<string, unknown> = file;
    for (;;) {
      const names = Object.keys(part);
      const name = names[under(names.length)];
      if (name === undefined) break;
      const inner = part[name];
      if (typeof inner === "object" && inner !== null && random() < 0.75) {
        part = inner as Record<string, unknown>;
        continue;
      }
      if (random() < 0.2) delete part[name];
      else part[name] = structuredClone(JUNK[under(JUNK.length)]);
      break;
    }
  }
  const text = JSON.stringify(file, null, 2);
  return random() < 0.1 ? text.slice(0, under(text.length)) : text;
}

/** What is made of a spoilt file: read and looked at, or refused with what is wrong. Never anything else. */
async function isHeldUp(seed: number): Promise<"read" | "refused"> {
  try {
    const file = await readDialect(spoilt(seed), "spoilt.json");
    summaryOf(file);
    termsOf(file);
    expressionsOf(file, { country: ["Germany"], title: ["CTO"] });
    return "read";
  } catch (error) {
    expect(error, `seed ${seed}: ${String((error as Error).stack)}`).toBeInstanceOf(CliError);
    expect((error as CliError).exitCode, `seed ${seed}`).toBe(2);
    return "refused";
  }
}

async function heldUp(seeds: number): Promise<void> {
  const ends = [];
  for (let seed = 1; seed <= seeds; seed += 1) ends.push(await isHeldUp(seed));
  expect(new Set(ends)).toEqual(new Set(["read", "refused"]));
}

test("a spoilt file is read or refused, and nothing else comes of it", () => heldUp(80));

test("a spoilt file that is added sends nothing", async () => {
  const draw = drawnBy(1);
  const vendor = await startDrawnVendor(draw);
  onTestFinished(() => vendor.stop());
  const dir = tempDir("headcount-drawn-");
  for (let seed = 100; seed < 106; seed += 1) {
    const path = join(dir, `${seed}.json`);
    writeFileSync(path, spoilt(seed));
    const user = await userOfVendor(vendor, path);
    expect([0, 2], `seed ${seed}: ${user.added.stderr}`).toContain(user.added.code);
    expect(vendor.book.calls, `seed ${seed}`).toEqual([]);
  }
});

long("more spoilt files", () => heldUp(cases(400, 4_000)), 3_600_000);
