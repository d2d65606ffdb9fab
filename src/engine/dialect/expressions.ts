// Tested by test/unit/engine/dialect/expressions.test.ts.

import { canonicalAddress } from "../../shared/contract/naming/address.ts";
import { slugOf } from "../../shared/contract/naming/slug.ts";
import { aside, nearest } from "../../shared/contract/suggest.ts";
import { echo } from "../../shared/contract/text.ts";
import type { Filters } from "../../shared/contract/vocabulary.ts";
import { type Filling, filled } from "../../shared/dialect/holes.ts";
import {
  type DialectFile,
  type DialectFilter,
  spellingsOf,
  type Words,
} from "../../shared/dialect/shape.ts";
import { type CliError, usageError } from "../../shared/errors.ts";

type Value = string | number;

/**
 * Filters of the contract as a vendor is asked for them, one expression each; all of them hold.
 * @throws CliError exit 2 for what the file cannot say, before anything is sent
 */
export function expressionsOf(file: DialectFile, filters: Filters): unknown[] {
  const left = new Map(Object.entries(filters).map(([key, value]) => [key, listOf(value)]));
  const alone = new Map<string, string>();
  const expressions: unknown[] = [];

  const add = (key: string, filter: DialectFilter, values: readonly Value[]): void => {
    const other = filter.alone === undefined ? undefined : alone.get(filter.alone);
    if (other !== undefined) throw sharedField(file, other, key);
    if (filter.alone !== undefined) alone.set(filter.alone, key);
    expressions.push(expressionOf(file, key, filter, values));
  };

  for (const group of byMostKeys(file.together)) {
    if (!group.of.every((key) => left.has(key))) continue;
    add(group.of.join(" and "), group, madeTogether(file, group, left));
    for (const key of group.of) left.delete(key);
  }

  for (const [key, values] of left) {
    const filter = file.filters[key];
    if (filter === undefined) throw unsaid(file, key);
    add(key, filter, spelled(file, key, filter, values));
  }

  return expressions;
}

const NOBODY = "zz headcount canary 7f3a";

/** A filter by a value that nobody has; undefined where the file has none for the key alone. */
export function nobodyBy(file: DialectFile, key: string): unknown {
  const filter = file.filters[key];
  if (filter === undefined) return undefined;
  const { words: _, wider: __, ...plain } = filter;
  if (key.endsWith("_max")) return expressionOf(file, key, plain, [-1]);
  if (key.endsWith("_min")) return expressionOf(file, key, plain, [1_000_000_000]);
  return expressionOf(file, key, plain, spelled(file, key, plain, [NOBODY]));
}

/** Each word that a filter can be asked by for itself, and exactly: none of an open list. */
export const wordsIn = ({ filters, words = {} }: DialectFile) =>
  Object.entries(filters).flatMap(([key, { words: table = "", wider: isLoose }]) => {
    const list = words[table] ?? {};
    if (list.open === true || isLoose) return [];
    return entriesOf(list).flatMap(([word, theirs]) =>
      theirs === null || isWider(theirs) ? [] : [{ key, word }],
    );
  });

const listOf = (value: Filters[keyof Filters]): readonly Value[] =>
  value === undefined ? [] : ([value].flat() as readonly Value[]);

type Together = NonNullable<DialectFile["together"]>[number];

const byMostKeys = (groups: readonly Together[] = []): readonly Together[] =>
  [...groups].sort((a, b) => b.of.length - a.of.length);

/** One text of several keys ("California, United States"): each of one with each of another. */
function madeTogether(
  file: DialectFile,
  { as, of, ...filter }: Together,
  values: ReadonlyMap<string, readonly Value[]>,
): readonly Value[] {
  const combined = of.reduce<readonly Filling[]>(
    (all, key) =>
      all.flatMap((one) => (values.get(key) ?? []).map((value) => ({ ...one, [key]: value }))),
    [{}],
  );
  // A word for a key alone, as in {country:country}, before the words of the whole.
  const worded = (one: Filling): Filling =>
    Object.fromEntries(
      Object.entries(one).map(([key, value]) => {
        const table = new RegExp(`\\{${key}:([a-z_]+)\\}`).exec(as)?.[1];
        const text = String(value);
        if (table === undefined) return [key, inCase(text, filter.case)];
        const [word = text] = theirWords(file, key, { ...filter, words: table }, text);
        return [key, word];
      }),
    );
  const texts = combined.map((one) => String(filled(as, worded(one))));
  const { words } = filter;
  const name = of.join(" and ");
  return words === undefined
    ? texts
    : texts.flatMap((text) => theirWords(file, name, { words }, text));
}

/** Values in the vendor's spelling: its word for each, or our own in its case and form. */
function spelled(
  file: DialectFile,
  key: string,
  filter: DialectFilter,
  values: readonly Value[],
): readonly Value[] {
  const { as, case: how, words } = filter;
  return values.flatMap((value): readonly Value[] => {
    if (typeof value === "number") return [value];
    if (words !== undefined) return theirWords(file, key, filter, value);
    if (as === undefined) return [inCase(value, how)];
    const slug = slugOf(canonicalAddress(value) ?? value);
    return [String(filled(as, { value: inCase(value, how), slug: inCase(slug, how) }))];
  });
}

const SMALL_WORDS = /^(and|of|the|de|da|do|du|la)$/;

function inCase(text: string, how: DialectFilter["case"]): string {
  if (how === undefined) return text;
  const lower = text.toLowerCase();
  if (how === "lower") return lower;
  if (how === "upper") return text.toUpperCase();
  return lower.replace(/\p{L}[\p{L}\p{M}'’]*/gu, (word, at: number) =>
    at > 0 && SMALL_WORDS.test(word) ? word : `${word[0]?.toUpperCase()}${word.slice(1)}`,
  );
}

/**
 * Its word for ours; of an open list what is not in it, in the case of all others.
 * @throws CliError exit 2 for a word that the vendor has not, or has only in a wider sense
 */
function theirWords(
  file: DialectFile,
  key: string,
  { words: table = "", case: how }: Pick<DialectFilter, "case" | "words">,
  value: string,
): readonly string[] {
  const words = file.words?.[table] ?? {};
  const own = entriesOf(words).find(([word]) => word.toLowerCase() === value.toLowerCase());
  if (own === undefined && words.open === true) return [inCase(value, how)];
  const theirs = own?.[1] ?? null;
  if (theirs === null) throw unknownWord(file, key, value, words);
  if (isWider(theirs)) throw wider(file, `${key} "${echo(value)}"`);
  return spellingsOf(theirs);
}

const isWider = (theirs: Words[string]): boolean | undefined =>
  typeof theirs === "object" && theirs !== null && "say" in theirs && theirs.wider;

const entriesOf = (words: Words) =>
  Object.entries(words).filter(([, theirs]) => typeof theirs !== "boolean");

/** One filter with its values; several of them by what takes a list, else each by itself. */
function expressionOf(
  file: DialectFile,
  key: string,
  filter: DialectFilter,
  values: readonly Value[],
): unknown {
  const { any, one } = filter;
  if (filter.wider) throw wider(file, key);
  if (any !== undefined) return filled(any, { values });

  const each = values.map((value) => filled(one, { value }));
  if (each.length === 1) return each[0];
  if (file.or !== undefined) return filled(file.or, { each });
  throw usageError(
    `${file.name} takes one value of ${key} in a search, not ${values.length}`,
    "search once for each of them",
    "one_value",
  );
}

const unsaid = ({ filters, name }: DialectFile, key: string): CliError =>
  usageError(
    `${name} cannot be asked by ${key}`,
    `it can be asked by: ${Object.keys(filters).join(", ")}`,
    "no_such_filter",
  );

const sharedField = ({ name }: DialectFile, key: string, other: string): CliError =>
  usageError(
    `${name} has one field for ${key} and ${other}, and would take either of them for both`,
    `ask by one of the two`,
    "one_field",
  );

const wider = ({ name }: DialectFile, what: string): CliError =>
  usageError(
    `${name} can be asked by ${what} only loosely: people who are not meant would be paid for`,
    "leave that filter out, and pick among the rows",
    "wider_filter",
  );

function unknownWord({ name }: DialectFile, key: string, value: string, words: Words): CliError {
  const known = entriesOf(words).flatMap(([word, theirs]) => (theirs === null ? [] : [word]));
  return usageError(
    `${name} has no word for ${key} "${echo(value)}"${aside(nearest(value, known), '"')}`,
    `it has: ${known.join(", ")}`,
    "no_word",
  );
}
