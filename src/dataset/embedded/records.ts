import { COMPANY_FIELDS, PERSON_FIELDS } from "../../contract/records.ts";

/** Between the values of a stored record, and between records. JSON contains neither; without field names a record is half the size. */
export const SEPARATOR = "\x1f";
export const RECORD_SEPARATOR = "\x1e";

/** What is most often the other values of a record put together: then nothing is stored. */
const DERIVED: Readonly<Record<string, { readonly from: readonly string[]; readonly by: string }>> = {
  name: { from: ["first_name", "last_name"], by: " " },
  location: { from: ["city", "state", "country"], by: ", " },
};

const derivationOf = (field: string, fields: readonly string[]) => {
  const derived = DERIVED[field];
  return derived?.from.every((part) => fields.includes(part)) ? derived : undefined;
};

/** The form of the records of one kind. */
export class RecordForm {
  readonly #openings: readonly string[];
  readonly #places: ReadonlyMap<string, number>;
  /** By place: of which values the one that lies there is made where it is empty. */
  readonly #derived: readonly ({ readonly from: readonly number[]; readonly by: string } | undefined)[];

  constructor(fields: readonly string[]) {
    this.#openings = fields.map((field, index) => `${index === 0 ? "{" : ","}${JSON.stringify(field)}:`);
    this.#places = new Map(fields.map((field, place) => [field, place]));
    this.#derived = fields.map((field) => {
      const derived = derivationOf(field, fields);
      return derived && { from: derived.from.map((part) => fields.indexOf(part)), by: derived.by };
    });
  }

  /** The values of a stored record, each as JSON text. @throws Error where it is damaged */
  values(stored: string): string[] {
    const values = stored.split(SEPARATOR);
    const wanted = this.#openings.length;
    if (values.length !== wanted) throw new Error(`a stored record has ${values.length} values, not ${wanted}`);
    for (const [place, derived] of this.#derived.entries()) {
      if (derived && values[place] === "") {
        values[place] = `"${derived.from.map((part) => values[part]?.slice(1, -1)).join(derived.by)}"`;
      }
    }
    return values;
  }

  /** The record as JSON text, fields in published order. */
  json(stored: string): string {
    const values = this.values(stored);
    let text = "";
    for (let index = 0; index < values.length; index++) text += `${this.#openings[index]}${values[index]}`;
    return `${text}}`;
  }

  /** The value of a field among the values of a record; null where it has none. */
  field(values: readonly string[], field: string): unknown {
    return JSON.parse(values[this.#places.get(field) ?? -1] ?? "null");
  }
}

export const PEOPLE = new RecordForm(PERSON_FIELDS);
export const COMPANIES = new RecordForm(COMPANY_FIELDS);

/** A record as it is stored, of columns in SQL. */
export function packedSql(fields: readonly string[], column: (field: string) => string = (field) => field): string {
  const values = fields.map((field) => {
    const value = `coalesce(to_json(${column(field)})::VARCHAR, 'null')`;
    const derived = derivationOf(field, fields);
    if (!derived) return value;
    const whole = derived.from.map(column).join(` || '${derived.by}' || `);
    return `CASE WHEN ${column(field)} = ${whole} THEN '' ELSE ${value} END`;
  });
  return `concat(${values.join(", chr(31), ")})`;
}
