import { isUtf8 } from "node:buffer";
import { COMPANY_FIELDS, PERSON_FIELDS } from "../contract/records.ts";
import { type CliError, failed } from "../errors.ts";
import { type Cells, ESCAPED, readable, type Spans, scanList } from "./scan.ts";
import {
  CLOSE_LIST,
  compact,
  isInteger,
  isJson,
  type Member,
  OPEN_LIST,
  OPEN_OBJECT,
  QUOTE,
  scanObject,
  skipGap,
  skipSpace,
  skipValue,
} from "./tokens.ts";
import {
  fieldValue,
  isNested,
  type JsonRecord,
  type JsonValue,
  parseExact,
  type RecordKind,
  stringifyExact,
  WRAPPERS,
} from "./values.ts";

const LINE_BREAK = 0x0a;
const MARK = Buffer.from("\ufeff");
const NOTHING: Spans = { starts: [], ends: [], broken: [], tight: true, long: false };

let nobody: ReturnType<typeof closedPort> | undefined;

/** What is handed over to it is freed at once. */
function closedPort() {
  const { port1 } = new MessageChannel();
  port1.close();
  return port1;
}

/** What was paid for and is no JSON, as it came. */
export interface BrokenRow {
  /** Its place in the reply, counted from 1. */
  readonly place: number;
  readonly bytes: Buffer;
}

export class Page {
  readonly #bytes: Buffer;
  readonly #spans: Spans;
  readonly #indexes: readonly number[] | undefined;
  /** Why nothing of the reply can be read; it is kept all the same. */
  readonly problem: CliError | undefined;
  #rows: readonly JsonRecord[] | undefined;

  private constructor(
    bytes: Buffer,
    spans: Spans,
    indexes?: readonly number[],
    problem?: CliError,
  ) {
    this.#bytes = bytes;
    this.#spans = spans;
    this.#indexes = indexes;
    this.problem = problem;
  }

  static readonly empty = new Page(Buffer.alloc(0), NOTHING);

  /**
   * Its bytes are gone, and those of the reply that it was read from: nobody may have them still.
   * V8 would free what lived for a while only once 64 MB of it lie there.
   */
  release(): void {
    const { buffer, length } = this.#bytes;
    // What is gone already Node 22 refuses to let go of again.
    if (length === 0 || length !== buffer.byteLength) return;
    nobody ??= closedPort();
    nobody.postMessage(undefined, [buffer as ArrayBuffer]);
  }

  /**
   * Reads the body of a reply, whatever it is: rows that are no object of JSON are `broken`,
   * and none of its rows. A reply that holds nothing of that kind has no rows, and says why
   * (`problem`).
   */
  static read(body: Buffer, kind: RecordKind): Page {
    const text = isUtf8(body) ? body : Buffer.from(body.toString("utf8"));
    const bytes = text.subarray(0, MARK.length).equals(MARK) ? text.subarray(MARK.length) : text;
    const found = findRows(bytes, kind);
    if (!("starts" in found)) return new Page(bytes, NOTHING, undefined, found);

    const { starts } = found;
    const isRecord = (start = 0): boolean => bytes[start] === OPEN_OBJECT;
    if (found.broken.length === 0 && starts.every(isRecord)) return new Page(bytes, found);

    // A text, a number or `null` among them was paid for too.
    const slips = new Set(found.broken);
    const isSound = (row: number): boolean => isRecord(starts[row]) && !slips.has(row);
    const broken = [...starts.keys()].filter((row) => !isSound(row));
    const sound = [...starts.keys()].filter(isSound);
    const problem =
      sound.length === 0 && broken.length > 1
        ? unreadable("none of its rows is a record")
        : undefined;
    return new Page(bytes, { ...found, broken }, sound, problem);
  }

  /** Rows of the reply that are no JSON, whichever rows of it were selected. */
  get broken(): readonly BrokenRow[] {
    const { starts, ends, broken } = this.#spans;
    return broken.map((row) => ({
      place: row + 1,
      bytes: this.#bytes.subarray(starts[row], ends[row]),
    }));
  }

  /** Of those as much as can be read. */
  partlyRead(): readonly JsonRecord[] {
    return this.broken.map(({ bytes }) => readable(bytes).fields as JsonRecord);
  }

  /** It breaks off among its rows, be it between two of them. */
  get isCut(): boolean {
    return this.#spans.end === -1;
  }

  /** Whether all of the reply came, and could be read. */
  get isSound(): boolean {
    return this.problem === undefined && this.#spans.broken.length === 0 && !this.isCut;
  }

  get length(): number {
    return this.#indexes?.length ?? this.#spans.starts.length;
  }

  /** Of its rows, from 0 on. */
  get indexes(): number[] {
    const all: number[] = [];
    for (let index = 0; index < this.length; index++) all.push(index);
    return all;
  }

  select(indexes: readonly number[]): Page {
    const own = this.#indexes;
    const chosen = indexes.map((index) => (own === undefined ? index : (own[index] ?? -1)));
    if (chosen.some((index) => index < 0 || index >= this.#spans.starts.length))
      throw new RangeError("no such row");
    return new Page(this.#bytes, this.#spans, chosen);
  }

  /**
   * Where the values of the rows stand, where that is known: `position` tells a row's place there.
   */
  get cells(): Cells | undefined {
    return this.#spans.cells;
  }

  /** Whether the rows of `cells` are all of its rows. */
  get isWhole(): boolean {
    return this.#indexes === undefined;
  }

  position(index: number): number {
    const at = this.#indexes === undefined ? index : (this.#indexes[index] ?? -1);
    if (at < 0 || at >= this.#spans.starts.length)
      throw new RangeError(`no row ${index} in a page of ${this.length}`);
    return at;
  }

  size(index: number): number {
    const at = this.position(index);
    return (this.#spans.ends[at] ?? 0) - (this.#spans.starts[at] ?? 0);
  }

  text(index: number): string {
    return Buffer.from(this.#line(this.position(index))).toString();
  }

  row(index: number): JsonRecord {
    return this.#rows?.[index] ?? this.#parse(index);
  }

  rows(): readonly JsonRecord[] {
    this.#rows ??= this.indexes.map((index) => this.#parse(index));
    return this.#rows;
  }

  /** The first of these keys that a row has a value for, as text. Parses only where it must. */
  identity(index: number, keys: readonly string[] = ["id", "network_url"]): string | undefined {
    const { cells } = this.#spans;
    if (cells !== undefined) {
      const text = plainText(cells, this.position(index), keys);
      if (text !== undefined) return text;
    }

    const row = this.row(index);
    for (const key of keys) {
      const value = fieldValue(row, key);
      if (value !== undefined && value !== null && value !== "") {
        return typeof value === "object" ? stringifyExact(value) : String(value);
      }
    }

    return undefined;
  }

  /**
   * Whether some row has what a field names, be it
   * null. Parses only rows in which it may be nested.
   */
  has(field: string): boolean {
    const { cells } = this.#spans;
    const keys = cells?.keys ?? [];
    const column = keys.indexOf(field);
    const mayNest = keys.some((key) => field.startsWith(`${key}.`) || WRAPPERS.includes(key));

    for (const index of this.indexes) {
      const at = this.position(index);
      const isKnown = cells?.knows(at) === true;
      if (isKnown && column >= 0 && cells.start(at, column) !== 0) return true;
      if ((!isKnown || mayNest) && fieldValue(this.row(index), field) !== undefined) return true;
    }

    return false;
  }

  /**
   * One compact object a line.
   * @param room gives a buffer: a new one for each page costs five times the copying
   */
  ndjson(room: (size: number) => Buffer = Buffer.allocUnsafe): Buffer {
    const { starts, ends, tight } = this.#spans;
    if (this.length === 0) return Buffer.alloc(0);
    if (tight && this.#indexes === undefined) {
      const first = starts[0] ?? 0;
      const last = ends.at(-1) ?? 0;
      const out = room(last - first + 1).subarray(0, last - first + 1);
      this.#bytes.copy(out, 0, first, last);
      breakLines(out, ends, first);
      return out;
    }

    const lineBreak = Uint8Array.of(LINE_BREAK);
    const parts: Uint8Array[] = [];
    for (const index of this.indexes) parts.push(this.#line(this.position(index)), lineBreak);

    return Buffer.concat(parts);
  }

  #line(at: number): Uint8Array {
    const { starts, ends, tight } = this.#spans;
    const start = starts[at] ?? 0;
    const end = ends[at] ?? 0;
    return tight ? this.#bytes.subarray(start, end) : compact(this.#bytes, start, end);
  }

  /**
   * Row by row, because one character beyond Latin-1 makes
   * every text that holds it twice as wide, and slow.
   */
  #parse(index: number): JsonRecord {
    const at = this.position(index);
    const text = this.#bytes.toString("utf8", this.#spans.starts[at], this.#spans.ends[at]);
    return asRecord(this.#spans.long ? parseExact(text) : (JSON.parse(text) as JsonValue));
  }
}

/** In a tight list exactly one byte, the comma, stands between two rows. */
function breakLines(out: Buffer, ends: readonly number[], first: number) {
  for (let row = 0; row < ends.length; row++) out[(ends[row] as number) - first] = LINE_BREAK;
}

const asRecord = (value: JsonValue): JsonRecord => (isNested(value) ? value : { value });

function plainText(cells: Cells, at: number, wanted: readonly string[]): string | undefined {
  const { bytes, keys } = cells;
  if (!cells.knows(at)) return undefined;

  for (const key of wanted) {
    const column = keys.indexOf(key);
    const start = column < 0 ? 0 : cells.start(at, column);
    if (start === 0) continue;
    const mark = cells.mark(at, column);
    const end = mark >> 2;
    if (bytes[start] === QUOTE && (mark & ESCAPED) === 0 && end - start > 2)
      return bytes.toString("utf8", start + 1, end - 1);
    return isInteger(bytes, start, end) ? bytes.toString("latin1", start, end) : undefined;
  }

  return undefined;
}

const LIST_NAMES = ["profiles", "people", "persons", "results", "items", "data", "employees"];
/** Those that say nothing of what is in them. */
const BARE_NAMES = ["results", "items", "data"];
/** However a service spells it: `firstName` is `first_name`. */
const spelt = (key: string): string => key.replaceAll(/[_-]/g, "").toLowerCase();
/**
 * What only a person has, and of that what one person has and no group, opening or article does.
 */
const OF_PEOPLE = new Set(
  PERSON_FIELDS.filter((field) => !COMPANY_FIELDS.some((other) => other === field)).map(spelt),
);
const OF_ONE_PERSON = ["network_url", "first_name", "last_name"].map(spelt);
/** So many rows are looked at to tell whether they are people: of some much may be missing. */
const LOOKED_AT = 10;
const MATCH_NAMES = ["match", "matched", "found"];
const RECORD_KEYS = ["id", "name", "domain", "network_url", "company_network_url"];

/** The last member of one of these names: of a repeated key `JSON.parse` takes the last, too. */
function memberOf(members: readonly Member[], names: readonly string[]): Member | undefined {
  for (const name of names) {
    const match = members.findLast((member) => member.key === name);
    if (match !== undefined) return match;
  }
  return undefined;
}

/**
 * A paid reply of which nothing can be made: it stays kept, and whoever reads it says so.
 */
const unreadable = (message: string): CliError =>
  failed.incomplete(message, undefined, "unreadable_reply");

/**
 * The rows of a reply (docs/reference/output.md, "Where rows are found"), or why there are none.
 */
function findRows(bytes: Buffer, kind: RecordKind): Spans | CliError {
  const begin = skipSpace(bytes, 0);
  if (bytes[begin] === OPEN_LIST) return unwrapped(bytes, scanList(bytes, begin));
  if (bytes[begin] !== OPEN_OBJECT) return unreadable("the reply is no JSON");

  let list: ReturnType<typeof scanList> | undefined;
  const members = scanObject(bytes, begin, (key, start) => {
    if (key !== "result") return undefined;
    list = bytes[start] === OPEN_LIST ? scanList(bytes, start) : undefined;
    return list?.end;
  });
  if (list !== undefined) return unwrapped(bytes, list);

  const result = memberOf(members, ["result"]);
  if (result === undefined) return unreadable("the reply holds no result");
  if (isNull(bytes, result)) return NOTHING;

  if (bytes[result.start] === OPEN_OBJECT) {
    if (kind === "company") return recordIn(bytes, result);
    const used = memberOf(members, ["credits_used"]);
    const isCharged =
      used !== undefined && Number(bytes.toString("latin1", used.start, used.end)) > 0;
    const found = listIn(bytes, result.start, isCharged);
    return "starts" in found ? unwrapped(bytes, found) : found;
  }

  return unreadable(`the reply holds no ${kind === "company" ? "company" : "list of profiles"}`);
}

const isNull = (bytes: Buffer, { start, end }: Omit<Member, "key">): boolean =>
  bytes.toString("latin1", start, end) === "null";

/** Of texts, numbers and lists alone it is not; what is no JSON, or `null`, may be for a record. */
function isEmptyOrRecords(bytes: Buffer, start: number): boolean {
  if (bytes[start] !== OPEN_LIST) return false;
  const first = skipGap(bytes, start + 1);
  let at = first;
  while (/["[\dtf-]/.test(String.fromCharCode(bytes[at] ?? 0)))
    at = skipGap(bytes, skipValue(bytes, at));
  const next = bytes[at];
  return next !== undefined && (at === first || next !== CLOSE_LIST);
}

/**
 * The list that an object holds: under a usual name,
 * or the only one of records here or one level down.
 */
function listIn(bytes: Buffer, start: number, isCharged: boolean): Spans | CliError {
  const lists = (members: readonly Member[]): Member[] =>
    members.filter((member) => isEmptyOrRecords(bytes, member.start));
  const members = scanObject(bytes, start);
  const direct = lists(members);
  const deeper = members
    .filter((member) => bytes[member.start] === OPEN_OBJECT)
    .flatMap((member) => lists(scanObject(bytes, member.start)));
  const all = [...direct, ...deeper];
  const usual = deeper.filter(({ key }) => LIST_NAMES.includes(key));
  const own =
    memberOf(direct, LIST_NAMES) ??
    (all.length === 1 ? all[0] : direct.length === 0 && usual.length === 1 ? usual[0] : undefined);
  if (own !== undefined && (all.length === 1 || !BARE_NAMES.includes(own.key)))
    return scanList(bytes, own.start);

  const list = listOfPeople(bytes, all, isCharged) ?? own;
  if (list !== undefined) return scanList(bytes, list.start);

  return unreadable(
    all.length === 0
      ? "the reply holds no list of profiles"
      : `the reply holds ${all.length} lists and none by a usual name that can be taken for that ` +
          "of profiles",
  );
}

/**
 * The only list whose rows have the contract's fields of people. An empty one may be a page without
 * people beside a list of others: only of a reply that is charged for is that known not to be so.
 */
function listOfPeople(
  bytes: Buffer,
  lists: readonly Member[],
  isCharged: boolean,
): Member | undefined {
  const isEmpty = ({ start }: Member): boolean => bytes[skipSpace(bytes, start + 1)] === CLOSE_LIST;
  if (!isCharged && lists.some(isEmpty)) return undefined;

  const ofPeople = lists.filter(({ start }) => {
    const { starts } = unwrapped(bytes, scanList(bytes, start));
    const objects = starts.slice(0, LOOKED_AT).filter((row) => bytes[row] === OPEN_OBJECT);
    const keys = new Set(
      objects.flatMap((row) => scanObject(bytes, row).map(({ key }) => spelt(key))),
    );
    return (
      OF_ONE_PERSON.some((key) => keys.has(key)) &&
      [...keys].filter((key) => OF_PEOPLE.has(key)).length >= 2
    );
  });
  return ofPeople.length === 1 ? ofPeople[0] : undefined;
}

/**
 * The one record of a look-up: the object itself, or what
 * it wraps; nothing where that says that there is none.
 */
function recordIn(bytes: Buffer, object: Omit<Member, "key">, depth = 0): Spans {
  const { start, end } = object;
  const record = { starts: [start], ends: [end], tight: false, long: true };
  if (!isJson(bytes, start, end)) return { ...record, broken: [0] };

  const members = scanObject(bytes, object.start);
  const said = memberOf(members, MATCH_NAMES);
  if (
    members.length === 0 ||
    (said !== undefined && bytes.toString("latin1", said.start, said.end) === "false")
  ) {
    return NOTHING;
  }

  if (memberOf(members, RECORD_KEYS) === undefined && depth < 2) {
    const list = members.find(
      (member) => LIST_NAMES.includes(member.key) && isEmptyOrRecords(bytes, member.start),
    );
    if (list !== undefined) return unwrapped(bytes, scanList(bytes, list.start));
    const inner = memberOf(members, [...WRAPPERS, "data"]);
    if (inner !== undefined && isNull(bytes, inner)) return NOTHING;
    if (inner !== undefined && bytes[inner.start] === OPEN_OBJECT)
      return recordIn(bytes, inner, depth + 1);
  }

  return { ...record, broken: [] };
}

/**
 * Rows that hold nothing but the record under a name of its own (`{"profile":{...}}`): the records.
 */
function unwrapped(bytes: Buffer, spans: Spans): Spans {
  const inner = (row: number): Member | undefined => {
    const start = spans.starts[row] ?? 0;
    const [only, ...others] = bytes[start] === OPEN_OBJECT ? scanObject(bytes, start) : [];
    const wraps = only !== undefined && others.length === 0 && WRAPPERS.includes(only.key);
    return wraps && bytes[only.start] === OPEN_OBJECT ? only : undefined;
  };

  const first = spans.starts.findIndex((_, row) => !spans.broken.includes(row));
  if (first < 0 || (spans.cells?.keys.length ?? 1) > 1 || inner(first) === undefined) return spans;

  const records = spans.starts.map(
    (start, row) => inner(row) ?? { start, end: spans.ends[row] ?? start },
  );

  return {
    ...spans,
    starts: records.map(({ start }) => start),
    ends: records.map(({ end }) => end),
    tight: false,
    cells: undefined,
  };
}

export interface View {
  /** The bytes of one page. A buffer is good until the next call, which may use it again. */
  page(page: Page): string | Buffer;
  end(): string | Buffer;
  /**
   * Columns that came too late to be written: a file is
   * then rendered again, with those of `collectColumns`.
   */
  readonly unseen: ReadonlySet<string>;
}
