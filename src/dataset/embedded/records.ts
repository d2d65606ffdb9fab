import { COMPANY_FIELDS, PERSON_FIELDS } from "../../shared/contract/records.ts";

/**
 * Between values, and between records: JSON has neither.
 * Without field names a record is half the size.
 */
const SEPARATOR = 0x1f;
export const RECORD_SEPARATOR = "\x1e";
const END = 0x1e;
/** The lowest bit tells the two separators apart: in all four bytes of a word. */
const LOWEST = 0x01010101;
const SEPARATORS = 0x1f1f1f1f;
const HIGHEST = 0x80808080;

/** What is most often the other values of a record put together: then nothing is stored. */
const DERIVED: Readonly<Record<string, { readonly from: readonly string[]; readonly by: string }>> =
  {
    name: { from: ["first_name", "last_name"], by: " " },
    location: { from: ["city", "state", "country"], by: ", " },
  };

const derivationOf = (field: string, fields: readonly string[]) => {
  const derived = DERIVED[field];
  return derived?.from.every((part) => fields.includes(part)) ? derived : undefined;
};

const WORD = 4;

const viewOf = ({ buffer, byteLength, byteOffset }: Buffer): DataView =>
  new DataView(buffer, byteOffset, byteLength);

export interface Block {
  readonly bytes: DataView;
  /** The last record once more, with room behind it to read four bytes at a time. */
  readonly last: DataView;
  readonly starts: readonly number[];
}

export function blockOf(data: Buffer): Block {
  const starts = [0];
  for (let at = data.indexOf(END); at >= 0; at = data.indexOf(END, at + 1)) starts.push(at + 1);
  const last = data.subarray(starts.at(-1));
  starts.push(data.length + 1);
  return {
    bytes: viewOf(data),
    last: viewOf(Buffer.concat([last, Buffer.alloc(WORD, END)])),
    starts,
  };
}

export interface Stored {
  readonly block: Block;
  readonly place: number;
}

const QUOTE = 0x22;
const BRACE = 0x7d;

interface Derivation {
  readonly from: readonly number[];
  readonly by: DataView;
}

const DESK_BYTES = 2 ** 18;
/**
 * Where records are put together: what was handed out is
 * never written again, and a full desk is left to it.
 */
let desk = viewOf(Buffer.allocUnsafeSlow(DESK_BYTES));
let top = 0;

class RecordForm {
  readonly #fields: number;
  /** What stands before each value, in rows of as many words: its length, its words, and these. */
  readonly #openings: DataView;
  readonly #row: number;
  readonly #around: number;
  /** By place: of which values the one that lies there is made where it is empty. */
  readonly #derived: readonly (Derivation | undefined)[];
  readonly #begins: Int32Array;
  readonly #ends: Int32Array;

  constructor(fields: readonly string[]) {
    this.#fields = fields.length;
    const openings = fields.map((field, index) =>
      Buffer.from(`${index === 0 ? "{" : ","}${JSON.stringify(field)}:`),
    );
    const words = openings.map(({ length }) => Math.ceil(length / WORD));

    this.#row = (2 + Math.max(...words)) * WORD;

    const table = Buffer.alloc(this.#row * openings.length);
    for (const [index, opening] of openings.entries()) {
      table.writeInt32LE(opening.length, index * this.#row);
      table.writeInt32LE(words[index] ?? 0, index * this.#row + WORD);
      opening.copy(table, index * this.#row + 2 * WORD);
    }

    this.#openings = viewOf(table);
    this.#around = openings.reduce((sum, { length }) => sum + length, 1);
    this.#derived = fields.map((field) => {
      const derived = derivationOf(field, fields);
      return (
        derived && {
          from: derived.from.map((part) => fields.indexOf(part)),
          by: viewOf(Buffer.from(derived.by)),
        }
      );
    });
    this.#begins = new Int32Array(fields.length);
    this.#ends = new Int32Array(fields.length);
  }

  /**
   * Records as JSON text in UTF-8, fields in published order.
   * @throws Error where one is damaged
   */
  json(records: readonly Stored[]): Buffer[] {
    this.#makeRoom(records);
    return records.map((record) => {
      const start = top;
      top = this.#join(record, start);
      return Buffer.from(desk.buffer, start, top - start);
    });
  }

  #makeRoom(records: readonly Stored[]): void {
    // Derived values are other values once more; what is written too much is less than an opening.
    let most = this.#row;
    for (const { block, place } of records) {
      most += 2 * ((block.starts[place + 1] ?? 0) - (block.starts[place] ?? 0)) + this.#around;
    }
    if (top + most <= desk.byteLength) return;
    desk = viewOf(Buffer.allocUnsafeSlow(Math.max(DESK_BYTES, most)));
    top = 0;
  }

  /**
   * Four bytes a step: what is written too much is written over by what comes next.
   * @returns where it ends
   */
  #join({ block, place }: Stored, start: number): number {
    const isInside = place + 2 < block.starts.length;
    const bytes = isInside ? block.bytes : block.last;
    let from = isInside ? (block.starts[place] ?? 0) : 0;
    const openings = this.#openings;
    const to = desk;
    let at = start;
    for (let field = 0; field < this.#fields; field++) {
      const row = field * this.#row;
      const words = openings.getInt32(row + WORD, true);
      for (let word = 0; word < words; word++) {
        to.setInt32(at + word * WORD, openings.getInt32(row + (2 + word) * WORD, true), true);
      }

      at += openings.getInt32(row, true);
      this.#begins[field] = at - start;

      let hits = 0;
      while (hits === 0) {
        const word = bytes.getInt32(from, true);
        to.setInt32(at, word, true);
        const others = (word | LOWEST) ^ SEPARATORS;
        // The lowest bit that is set is of the first byte that is a separator.
        hits = (others - LOWEST) & ~others & HIGHEST;
        const length = hits === 0 ? WORD : (31 - Math.clz32(hits & -hits)) >> 3;
        from += length;
        at += length;
      }

      const isLast = field === this.#fields - 1;
      if (bytes.getUint8(from++) !== (isLast ? END : SEPARATOR)) throw damaged(this.#fields);

      const derived = this.#derived[field];
      if (derived !== undefined && at === start + (this.#begins[field] ?? 0)) {
        at = this.#derive(derived, field, bytes, from, start);
      }

      this.#ends[field] = at - start;
    }

    to.setUint8(at, BRACE);
    return at + 1;
  }

  #derive(
    { by, from: parts }: Derivation,
    field: number,
    bytes: DataView,
    from: number,
    start: number,
  ): number {
    let at = start + (this.#begins[field] ?? 0);
    let next = field + 1;
    let ahead = from;

    desk.setUint8(at++, QUOTE);

    for (let index = 0; index < parts.length; index++) {
      if (index > 0) at = copied(by, 0, by.byteLength, at);

      const part = parts[index] ?? 0;
      if (part < field)
        at = copied(
          desk,
          start + (this.#begins[part] ?? 0) + 1,
          start + (this.#ends[part] ?? 0) - 1,
          at,
        );
      else {
        for (; next < part; next++) ahead = endOf(bytes, ahead) + 1;
        at = copied(bytes, ahead + 1, endOf(bytes, ahead) - 1, at);
      }
    }

    desk.setUint8(at++, QUOTE);
    return at;
  }
}

function copied(source: DataView, begin: number, end: number, start: number): number {
  let at = start;
  for (let index = begin; index < end; index++) desk.setUint8(at++, source.getUint8(index));
  return at;
}

function endOf(bytes: DataView, from: number): number {
  let at = from;
  while (bytes.getUint8(at) !== SEPARATOR) at++;
  return at;
}

const damaged = (values: number): Error =>
  new Error(`a stored record does not have ${values} values`);

export const RECORD_FORMS = {
  people: new RecordForm(PERSON_FIELDS),
  companies: new RecordForm(COMPANY_FIELDS),
} as const;

export function packedSql(fields: readonly string[]): string {
  const values = fields.map((field) => {
    const value = `coalesce(to_json(${field})::VARCHAR, 'null')`;
    const derived = derivationOf(field, fields);
    if (!derived) return value;
    const whole = derived.from.join(` || '${derived.by}' || `);
    return `CASE WHEN ${field} = ${whole} THEN '' ELSE ${value} END`;
  });
  return `concat(${values.join(", chr(31), ")})`;
}

/** The same of one record. */
export function packer(
  fields: readonly string[],
): (record: Readonly<Record<string, unknown>>) => string {
  const values = fields.map((field) => {
    const { by = "", from } = derivationOf(field, fields) ?? {};
    return (record: Readonly<Record<string, unknown>>): string => {
      const value = record[field];
      const isDerived =
        from?.every((part) => record[part] !== null) &&
        value === from.map((part) => record[part]).join(by);
      return isDerived
        ? ""
        : typeof value === "number"
          ? String(value)
          : JSON.stringify(value ?? null);
    };
  });

  const separator = String.fromCharCode(SEPARATOR);
  return (record) => values.map((packed) => packed(record)).join(separator);
}
