import fc from "fast-check";
import { expect, test } from "vitest";
import { blockOf, RECORD_FORMS } from "../../src/dataset/embedded/records.ts";
import { COMPANY_FIELDS, PERSON_FIELDS } from "../../src/shared/contract/records.ts";

const [BETWEEN_VALUES, BETWEEN_RECORDS] = ["\x1f", "\x1e"];

type Values = readonly (readonly [field: string, value: unknown])[];

/** A record as an import stores it: what is made of the other values is left empty. */
function storedOf(record: Values): string {
  const text = Object.fromEntries(record) as Readonly<Record<string, unknown>>;
  const made: Readonly<Record<string, string>> = {
    name: [text.first_name, text.last_name].join(" "),
    location: [text.city, text.state, text.country].join(", "),
  };
  return record
    .map(([field, value]) =>
      typeof value === "string" && made[field] === value ? "" : JSON.stringify(value),
    )
    .join(BETWEEN_VALUES);
}

const block = (records: readonly string[]) => blockOf(Buffer.from(records.join(BETWEEN_RECORDS)));
const places = (records: readonly unknown[]): readonly number[] => [...records.keys()];

const text = fc.string({ unit: "grapheme", maxLength: 40 });
const value = fc.oneof(
  text,
  text,
  fc.constantFrom(null, "", 0, 12, -1.5e300, '\u0000\u001e\u001f\\"/', "é", "\u{1f600}"),
);

/** A name or a place as it mostly is, or whatever else. */
const personOf = (values: readonly unknown[], isNamed: boolean, isPlaced: boolean): Values => {
  const person = PERSON_FIELDS.map((field, index) => [field, values[index]] as [string, unknown]);
  const of = (field: string): [string, unknown] =>
    person.find(([name]) => name === field) ?? ["", null];
  const texts = isNamed ? ["first_name", "last_name"] : [];
  if (isPlaced) texts.push("city", "state", "country");
  for (const field of texts) of(field)[1] = String(of(field)[1]);
  if (isNamed) of("name")[1] = `${of("first_name")[1]} ${of("last_name")[1]}`;
  if (isPlaced) of("location")[1] = `${of("city")[1]}, ${of("state")[1]}, ${of("country")[1]}`;
  return person;
};

const person = fc
  .tuple(
    fc.array(value, { minLength: PERSON_FIELDS.length, maxLength: PERSON_FIELDS.length }),
    fc.boolean(),
    fc.boolean(),
  )
  .map(([values, isNamed, isPlaced]) => personOf(values, isNamed, isPlaced));

test("a record comes out as it went in, wherever it lies in its block", () => {
  fc.assert(
    fc.property(fc.array(person, { minLength: 1, maxLength: 5 }), fc.nat(), (people, rotation) => {
      const stored = block(people.map(storedOf));
      const order = places(people).map((place) => (place + rotation) % people.length);
      const wanted = order.map((place) => ({ block: stored, place }));
      const records = RECORD_FORMS.people.json(wanted);
      for (const [index, place] of order.entries()) {
        const record = Object.fromEntries(people[place] ?? []);
        expect(String(records[index])).toBe(JSON.stringify(record));
      }
    }),
  );
});

test("companies, and lists among their values", () => {
  const company = COMPANY_FIELDS.map(
    (field) => [field, field === "specialties" ? ["a", "ö,"] : field] as const,
  );
  const stored = block([company, company].map(storedOf));
  const wanted = JSON.stringify(Object.fromEntries(company));
  expect(
    RECORD_FORMS.companies.json([0, 1].map((place) => ({ block: stored, place }))).map(String),
  ).toEqual([wanted, wanted]);
});

test("what was handed out stays as it is, however many and however large those are that come after it", () => {
  const made = (length: number) =>
    personOf(
      PERSON_FIELDS.map((field) => field + "x".repeat(length)),
      true,
      true,
    );
  const people = [1, 9_000, 2, 20_000, 3].map(made);
  const stored = block(people.map(storedOf));
  const wanted = places(people).map((place) => ({ block: stored, place }));
  const pages = Array.from({ length: 20 }, () => RECORD_FORMS.people.json(wanted));
  const expected = people.map((each) => JSON.stringify(Object.fromEntries(each)));
  for (const page of pages) expect(page.map(String)).toEqual(expected);
});

test("a record with too few or too many values is refused, and so is one without an end", () => {
  const whole = storedOf(personOf(PERSON_FIELDS, true, true));
  const values = whole.split(BETWEEN_VALUES);
  for (const broken of [
    values.slice(1),
    values.slice(0, -1),
    [...values, "1"],
    values.slice(0, 2),
  ]) {
    for (const records of [
      [broken.join(BETWEEN_VALUES), whole],
      [whole, broken.join(BETWEEN_VALUES)],
    ]) {
      const stored = block(records);
      const wanted = [0, 1].map((place) => ({ block: stored, place }));
      expect(() => RECORD_FORMS.people.json(wanted)).toThrow();
      expect(
        RECORD_FORMS.people
          .json(wanted.filter(({ place }) => records[place] === whole))
          .map(String),
      ).toEqual([JSON.stringify(Object.fromEntries(personOf(PERSON_FIELDS, true, true)))]);
    }
  }
});
