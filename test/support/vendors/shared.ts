import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { parseExact } from "../../../src/shared/rows/values.ts";
import { type Company, type Person, type World, worldOf } from "./people.ts";

// What all vendors of this folder do alike: a server on loopback, people, limits, pages, charges
// and the book of them. A vendor's own file says how it is asked and what it answers.

/** What a service does other than its pages say; each is off unless it is asked for. */
export interface Habits {
  /** How many there are. */
  people: number;
  seed: number;
  /** The balance at the beginning, in decimal text; of each meter, where a vendor has several. */
  credits: string;
  /** What is charged, of what its pages say: 2, 0.5. What it tells of a charge is what it charged. */
  chargeFactor: number;
  /** Which paid replies, from 1, are lost after they were charged. */
  loseReply: readonly number[];
  /** Lost in the middle of the body, or before its first byte. */
  lostAs: "cut" | "drop";
  /** Which paid replies, from 1, never come after they were charged: whoever asked waits for ever. */
  holdReply: readonly number[];
  /** Once so much was charged, each further answer comes so late, and is charged no sooner; undefined: none. */
  delayFrom: { readonly charges: number; readonly ms: number } | undefined;
  /** Names of filters, as the vendor writes them, that are ignored: everybody is found. */
  swallow: readonly string[];
  /** A field of its records that has another name than its pages say, at any depth. */
  misspell: string | undefined;
  limitPerMinute: number;
  /** Whose minutes they are, in ms since 1970. */
  now: () => number;
  /** How long such a minute lasts, in ms. */
  windowMs: number;
  /** So many people more are told in the total of each further page. */
  moves: number;
  /** So many rows of the page before stand on each further page again, in place of new ones. */
  repeatIds: number;
  /** A plan that tells of some fields only whether there is a value. */
  emptyPlan: boolean;
  /** In ms, before each answer. */
  delay: number;
  /** Nothing is told of charges and balances beside what was asked for. */
  silent: boolean;
  /** Where the balance is less than what was asked for costs, it gives as many rows as it pays for. */
  partly: boolean;
}

const HABITS: Habits = {
  people: 400,
  seed: 7,
  credits: "1000",
  chargeFactor: 1,
  loseReply: [],
  lostAs: "cut",
  holdReply: [],
  delayFrom: undefined,
  swallow: [],
  misspell: undefined,
  limitPerMinute: 6_000,
  now: Date.now,
  windowMs: 60_000,
  moves: 0,
  repeatIds: 0,
  emptyPlan: false,
  delay: 0,
  silent: false,
  partly: false,
};

const MILLION = 1_000_000n;

/** Decimal text of credits to whole millionths; throws where it is none. */
export function millionthsOf(text: string): bigint {
  const [, whole = "", part = ""] = /^(\d+)(?:\.(\d{1,6}))?$/.exec(text) ?? [];
  if (whole === "") throw new Error(`no amount: ${text}`);
  return BigInt(whole) * MILLION + BigInt(part.padEnd(6, "0"));
}

/** Whole millionths as decimal text, without zeros behind: "0.03". */
export function creditsOf(millionths: bigint): string {
  const [sign, size] = millionths < 0n ? ["-", -millionths] : ["", millionths];
  const part = String(size % MILLION)
    .padStart(6, "0")
    .replace(/0+$/, "");
  return `${sign}${size / MILLION}${part === "" ? "" : `.${part}`}`;
}

export interface Charge {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** What was bought: "search", "collect". */
  readonly call: string;
  /** The balance that it came from. */
  readonly meter: string;
  readonly units: number;
  readonly millionths: bigint;
  /** The same in decimal text. */
  readonly credits: string;
  /** Ids of those who were sold, as the vendor writes them. */
  readonly ids: readonly string[];
  /** Whether its reply went out whole. */
  readonly arrived: boolean;
}

/** Every charge, exactly: what a client says that it spent is held against this. */
export class Book {
  readonly charges: Charge[] = [];
  /** Every call, the refused ones too. */
  readonly calls: {
    readonly at: number;
    readonly method: string;
    readonly path: string;
    readonly status: number;
  }[] = [];
  readonly #start: bigint;

  constructor(start: string) {
    this.#start = millionthsOf(start);
  }

  /** Charged so far, in decimal text; of one meter, or in all. */
  charged(meter?: string): string {
    return creditsOf(this.#sum(meter));
  }

  /** What is left of a meter, in decimal text; without one: of all, as if they were one. */
  balance(meter?: string): string {
    return creditsOf(this.left(meter));
  }

  left(meter?: string): bigint {
    return this.#start - this.#sum(meter);
  }

  /** Ids of those who were sold, once for each time. */
  sold(): string[] {
    return this.charges.flatMap(({ ids }) => ids);
  }

  #sum(meter?: string): bigint {
    return this.charges
      .filter((charge) => meter === undefined || charge.meter === meter)
      .reduce((sum, { millionths }) => sum + millionths, 0n);
  }
}

export interface Call {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  /** The body as JSON; undefined: none, or none that can be read. */
  readonly body: unknown;
}

/** A text is sent as it is, anything else as JSON; a bigint is written in all its digits. */
export interface Reply {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Window {
  readonly most: number;
  readonly left: number;
  /** Until it begins anew. */
  readonly seconds: number;
}

interface Sale {
  readonly call: string;
  /** Of one unit, in decimal text. */
  readonly price: string;
  readonly units: number;
  readonly ids?: readonly string[];
  readonly meter?: string;
}

/** What a vendor's routes work with. */
export class Desk<Own> {
  readonly options: Habits & Own;
  readonly people: readonly Person[];
  readonly companies: readonly Company[];
  readonly book: Book;
  /** What a vendor remembers of earlier calls. */
  readonly seen = new Set<string>();

  constructor(options: Habits & Own, world: World) {
    this.options = options;
    this.people = world.people;
    this.companies = world.companies;
    this.book = new Book(options.credits);
  }

  /** Whether a filter of this name is heeded. */
  heeds(name: string): boolean {
    return !this.options.swallow.includes(name);
  }

  /** Those of a page. */
  page<T>(list: readonly T[], offset: number, size: number): T[] {
    const before = Math.ceil(offset / Math.max(1, size));
    const start = Math.max(0, offset - before * this.options.repeatIds);
    return list.slice(start, start + size);
  }

  /** How many it says that there are, on a page so far from the beginning. */
  total(list: readonly unknown[], offset: number, size: number): number {
    return list.length + this.options.moves * Math.ceil(offset / Math.max(1, size));
  }

  /** What so many units cost here. */
  cost(price: string, units: number): bigint {
    const factor = BigInt(Math.round(this.options.chargeFactor * 1_000));
    return (millionthsOf(price) * BigInt(units) * factor) / 1_000n;
  }

  /** Charges, and says so; false: the balance is less than that, and nothing was charged. */
  sell({ call, price, units, ids = [], meter = "credits" }: Sale): boolean {
    const millionths = this.cost(price, units);
    if (millionths > this.book.left(meter)) return false;
    if (millionths > 0n || ids.length > 0) {
      this.book.charges.push({
        at: Date.now(),
        call,
        meter,
        units,
        millionths,
        credits: creditsOf(millionths),
        ids,
        arrived: true,
      });
    }
    return true;
  }

  /** Of rows that cost something each: those that the balance pays for, where it gives a part. */
  affordable<T>(rows: readonly T[], price: string, meter = "credits"): readonly T[] {
    if (!this.options.partly || rows.length === 0) return rows;
    const one = this.cost(price, 1);
    const most = one === 0n ? rows.length : Number(this.book.left(meter) / one);
    return most === 0 ? rows : rows.slice(0, most);
  }

  /** A record as it is sent: with the one field that has another name than its pages say. */
  record<T>(value: T): T {
    const { misspell } = this.options;
    return misspell === undefined ? value : (renamed(value, misspell) as T);
  }
}

function renamed(value: unknown, name: string): unknown {
  if (Array.isArray(value)) return value.map((one) => renamed(one, name));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key === name ? `${key}_new` : key,
      renamed(member, name),
    ]),
  );
}

export interface Vendor<Own> {
  readonly key: string;
  /** Its own habits, where its pages leave them open. */
  readonly own: Own;
  /** A person as it sends one who was paid for. */
  record(person: Person, desk: Desk<Own>): unknown;
  /** How it writes a person's id. */
  id(person: Person): string;
  /** What it answers to a key that is not this one; undefined: the key is good. */
  refuses(call: Call, key: string): Reply | undefined;
  /** What it answers to one call too many. */
  limited(window: Window): Reply;
  /** What an answer with this status tells of limits. */
  limits(window: Window, status: number): Readonly<Record<string, string>>;
  answer(call: Call, desk: Desk<Own>): Reply;
}

export interface RunningVendor<Own> {
  /** Without a path: "http://127.0.0.1:4711". */
  readonly url: string;
  readonly key: string;
  readonly book: Book;
  readonly people: readonly Person[];
  readonly companies: readonly Company[];
  /** May be changed while it runs, all but people, seed and credits. */
  readonly options: Habits & Own;
  /** A person as the vendor sends one who was paid for. */
  record(person: Person): unknown;
  id(person: Person): string;
  /** Calls that came and are not looked at yet. */
  waiting(): number;
  stop(): Promise<void>;
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const isTextList = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((one) => typeof one === "string");

/** JSON in which a bigint is a number of all its digits. */
function jsonOf(value: unknown): string {
  const marked = JSON.stringify(value, (_, member: unknown) =>
    typeof member === "bigint" ? `\u0001${member}` : member,
  );
  return marked.replaceAll(/"\\u0001(-?\d+)"/g, "$1");
}

function bodyOf(text: string): unknown {
  try {
    return parseExact(text);
  } catch {
    return undefined;
  }
}

/** Calls of a window; it begins with the first of them. */
class Meter {
  #began = 0;
  #calls = 0;

  take({ limitPerMinute, now: clock, windowMs }: Habits): Window & { readonly isOver: boolean } {
    const now = clock();
    if (now - this.#began >= windowMs) {
      this.#began = now;
      this.#calls = 0;
    }
    const isOver = this.#calls >= limitPerMinute;
    if (!isOver) this.#calls += 1;

    return {
      isOver,
      most: limitPerMinute,
      left: limitPerMinute - this.#calls,
      seconds: Math.ceil((this.#began + windowMs - now) / 1_000),
    };
  }
}

/** Writes a reply, or loses it: its length is told, but not all of it comes. */
function send(
  response: ServerResponse,
  reply: Reply,
  lost: "cut" | "drop" | "hold" | undefined,
): void {
  if (lost === "hold") return;
  if (lost === "drop") {
    response.destroy();
    return;
  }
  const isText = typeof reply.body === "string";
  const bytes = Buffer.from(isText ? (reply.body as string) : jsonOf(reply.body));
  response.writeHead(reply.status, {
    "content-type": isText ? "text/plain; charset=utf-8" : "application/json",
    "content-length": bytes.length,
    ...reply.headers,
  });
  if (lost === undefined) {
    response.end(bytes);
    return;
  }
  response.write(bytes.subarray(0, bytes.length / 2), () => response.destroy());
}

/** Runs a vendor on a port of loopback until `stop`. */
export async function runVendor<Own extends object>(
  vendor: Vendor<Own>,
  change: Partial<Habits & Own> = {},
): Promise<RunningVendor<Own>> {
  const options: Habits & Own = { ...HABITS, ...vendor.own, ...change };
  const desk = new Desk(options, worldOf(options.people, options.seed));
  const meter = new Meter();
  let waiting = 0;

  const answer = (call: Call): Reply => {
    const refusal = vendor.refuses(call, vendor.key);
    if (refusal !== undefined) return refusal;

    const window = meter.take(options);
    const reply = window.isOver ? vendor.limited(window) : vendor.answer(call, desk);
    return { ...reply, headers: { ...vendor.limits(window, reply.status), ...reply.headers } };
  };

  /** A fault of ours is an answer too, so that a test shows it. */
  const safely = (call: Call): Reply => {
    try {
      return answer(call);
    } catch (error) {
      return { status: 500, body: { fault: String(error) } };
    }
  };

  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { charges: from = Number.POSITIVE_INFINITY, ms = 0 } = options.delayFrom ?? {};
    const delay = desk.book.charges.length >= from ? ms : options.delay;
    waiting += 1;
    if (delay > 0) await new Promise((done) => void setTimeout(done, delay).unref());
    waiting -= 1;
    const url = new URL(request.url ?? "/", "http://vendor");
    const method = request.method ?? "GET";

    // From here on nothing waits: a charge and its reply belong together.
    const { charges, calls } = desk.book;
    const before = charges.length;
    const reply = safely({
      method,
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
      body: bodyOf(Buffer.concat(chunks).toString()),
    });
    calls.push({ at: options.now(), method, path: url.pathname, status: reply.status });

    const charge = charges[before];
    const isHeld = charge !== undefined && options.holdReply.includes(charges.length);
    const isLost = charge !== undefined && options.loseReply.includes(charges.length);
    if (isLost || isHeld) charges[before] = { ...charge, arrived: false };
    send(response, reply, isHeld ? "hold" : isLost ? options.lostAs : undefined);
  });

  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    key: vendor.key,
    book: desk.book,
    people: desk.people,
    companies: desk.companies,
    options,
    record: (person) => vendor.record(person, desk),
    id: (person) => vendor.id(person),
    waiting: () => waiting,
    stop: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}
