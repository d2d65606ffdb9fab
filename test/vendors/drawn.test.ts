import { describe, expect, test } from "vitest";
import { type JsonValue, stringifyExact } from "../../src/shared/rows/values.ts";
import { cases } from "../support/campaign.ts";
import { long } from "../support/long.ts";
import { type Answered, ask } from "../support/vendors/ask.ts";
import {
  type Draw,
  drawnBy,
  type Parameter,
  type Price,
  startDrawnVendor,
} from "../support/vendors/drawn.ts";
import { creditsOf, millionthsOf } from "../support/vendors/shared.ts";

type Vendor = Awaited<ReturnType<typeof startDrawnVendor>>;
type Clauses = readonly (readonly [string, readonly string[]])[];

/** What stands at a place of a reply, numbers in all their digits. */
function at({ body, headers, text }: Answered, where: string): unknown {
  if (where.startsWith("header:")) return headers.get(where.slice(7));
  if (where === "") return text === "" ? undefined : JSON.parse(exact(text));
  return where
    .split(".")
    .reduce((of, name) => of?.[name], typeof body === "string" ? {} : JSON.parse(exact(text)));
}

/** The same JSON with whole numbers of 17 digits and more as text. */
const exact = (text: string): string => text.replaceAll(/(?<=[:[,])\d{17,}(?=[,\]}])/g, '"$&"');

/** A hand that does what a draw says, and no more. */
class Hand {
  readonly #draw: Draw;
  readonly #vendor: Vendor;

  constructor(draw: Draw, vendor: Vendor) {
    this.#draw = draw;
    this.#vendor = vendor;
  }

  #post(path: string, body: unknown, query = ""): Promise<Answered> {
    const { form, header } = this.#draw.key;
    const headers = { [header]: form.replace("{key}", this.#vendor.key) };
    return ask(this.#vendor.url, `POST ${path}${query}`, headers, body);
  }

  #filters(clauses: Clauses): unknown {
    switch (this.#draw.filterForm) {
      case "plain":
        return Object.fromEntries(clauses);
      case "include":
        return Object.fromEntries(clauses.map(([name, include]) => [name, { include }]));
      case "terms":
        return clauses.map(([name, list]) => ({ terms: { [name]: list } }));
      case "condition":
        return clauses.map(([field, value]) => ({ field, type: "in", value }));
    }
  }

  #body(clauses: Clauses): Record<string, unknown> {
    return this.#draw.filtersAt
      .split(".")
      .reduceRight<unknown>((inner, name) => ({ [name]: inner }), this.#filters(clauses)) as Record<
      string,
      unknown
    >;
  }

  search(clauses: Clauses, size: number, start?: string | number): Promise<Answered> {
    const { search } = this.#draw;
    const body = this.#body(clauses);
    const query = new URLSearchParams();
    const set = (parameter: Parameter, value: string | number): void => {
      if (parameter.in === "query") query.set(parameter.name, String(value));
      else body[parameter.name] = value;
    };
    set(search.size, size);
    if (start !== undefined) set(search.start, start);
    return this.#post(search.path, body, `?${query}`);
  }

  count(clauses: Clauses): Promise<Answered> {
    return this.#post(this.#draw.count?.path ?? "", this.#body(clauses));
  }

  account(): Promise<Answered> {
    return this.#post(this.#draw.account?.path ?? "", {});
  }

  read(ids: readonly string[]): Promise<Answered> {
    const { read } = this.#draw;
    if (read?.most === 1) return this.#post(read.path.replace("{id}", ids[0] ?? ""), {});
    const sent = this.#draw.idAs === "number" ? ids.map(BigInt) : ids;
    const body = (read?.ids ?? "")
      .split(".")
      .reduceRight<JsonValue>((inner, name) => ({ [name]: inner }), sent);
    return this.#post(read?.path ?? "", stringifyExact(body));
  }
}

function costOf(price: Price, rows: number): bigint {
  if (rows === 0) return 0n;
  const units = { row: rows, request: 1 };
  const many = price.per === "started" ? Math.ceil(rows / price.rows) : units[price.per];
  return millionthsOf(price.credits) * BigInt(many);
}

/** All rows of a search, page by page, and what that costs by the draw. */
async function fetched(draw: Draw, hand: Hand, clauses: Clauses, most: number) {
  const { by, depth, first, next, price, sizes } = draw.search;
  const size = sizes[1];
  const rows: unknown[] = [];
  let cost = 0n;
  let start: string | number | undefined;
  for (let page = 0; rows.length < Math.min(most, depth ?? most); page += 1) {
    if (by !== "cursor") start = by === "page" ? page + first : page * size;
    const reply = await hand.search(clauses, size, start);
    expect(reply.status, reply.text).toBe(200);
    const list = at(reply, draw.search.rows) as unknown[];
    rows.push(...list);
    cost += costOf(price, list.length);
    if (draw.search.total !== null) expect(Number(at(reply, draw.search.total))).toBe(most);
    if (draw.charged !== null)
      expect(Number(at(reply, draw.charged))).toBe(Number(creditsOf(costOf(price, list.length))));
    if (next !== null) start = at(reply, next) as string;
  }
  return { rows, cost };
}

async function isAsDrawn(seed: number): Promise<void> {
  const draw = drawnBy(seed);
  expect(JSON.parse(JSON.stringify(draw))).toEqual(draw);
  const vendor = await startDrawnVendor(draw, { credits: "5000" });
  const hand = new Hand(draw, vendor);
  const { means, read, search } = draw;
  const { case: letters = "", name = "" } = draw.filters.country ?? {};
  const country = (value: string): Clauses => [
    [name, [letters === "lower" ? value.toLowerCase() : value]],
  ];

  const american = vendor.people.filter((person) => person.country?.code === "US");
  const reached = Math.min(american.length, search.depth ?? american.length);
  const all = await fetched(draw, hand, country("United States"), american.length);
  const ids = american.slice(0, reached).map((person) => vendor.id(person));
  let cost = all.cost;
  if (read === null) {
    expect(exact(JSON.stringify(all.rows))).toBe(
      exact(
        JSON.stringify(
          american.slice(0, reached).map((one) => JSON.parse(asSent(vendor.record(one)))),
        ),
      ),
    );
  } else {
    expect(all.rows.map(String)).toEqual(ids);
    const some = ids.slice(0, read.most);
    const reply = await hand.read(some);
    const told = [at(reply, read.rows)].flat();
    expect(told).toHaveLength(some.length);
    cost += costOf(read.price, some.length);
  }
  expect(vendor.book.charged()).toBe(creditsOf(cost));
  if (draw.account !== null)
    expect(at(await hand.account(), draw.account.balance)).toBe(Number(vendor.book.balance()));
  if (draw.count !== null)
    expect(Number(at(await hand.count(country("United States")), draw.count.total))).toBe(
      american.length,
    );

  const none = await hand.search(country("zz headcount"), search.sizes[1]);
  expect([none.status, none.status === 200 ? null : none.body.code]).toEqual([
    means.none.status,
    means.none.code,
  ]);
  const wrong = await hand.search([["zz", ["x"]]], search.sizes[1]);
  expect(wrong.status).toBe(
    { refused: means.refused.status, none: means.none.status, swallowed: 200 }[draw.wrongName],
  );
  if (search.depth !== null) {
    const behind =
      search.by === "page" ? search.first + search.depth / search.sizes[1] : search.depth;
    const reply = await hand.search(country("United States"), search.sizes[1], behind);
    expect(reply.body.code).toBe(means.refused.code);
  }
  const large = await hand.search(country("Germany"), search.sizes[1] + 1);
  expect(large.body.code).toBe(means.refused.code);
  await vendor.stop();
}

/** A record as JSON, its long numbers as text. */
const asSent = (record: unknown): string =>
  JSON.stringify(record, (_, value: unknown) =>
    typeof value === "bigint" ? (String(value).length > 16 ? String(value) : Number(value)) : value,
  );

describe("a vendor from a draw is as its draw says", () => {
  test.each(Array.from({ length: 16 }, (_, at) => at + 1))("seed %i", (seed) => isAsDrawn(seed));

  long(
    "more of them",
    async () => {
      for (let seed = 1_000; seed < 1_000 + cases(16, 200); seed += 1) await isAsDrawn(seed);
    },
    3_600_000,
  );

  test("of three hundred draws each kind is one", () => {
    const draws = Array.from({ length: 300 }, (_, seed) => drawnBy(seed));
    const kinds = (of: (draw: Draw) => unknown): number => new Set(draws.map(of)).size;
    expect(kinds(({ search }) => search.by)).toBe(3);
    expect(kinds(({ search }) => search.price.per)).toBe(3);
    expect(kinds(({ search }) => search.end)).toBe(3);
    expect(kinds(({ filterForm }) => filterForm)).toBe(4);
    expect(kinds(({ wrongName }) => wrongName)).toBe(3);
    expect(kinds(({ means }) => means.none.status)).toBe(3);
    expect(kinds(({ means }) => means.credits.status)).toBe(3);
    for (const perhaps of [
      (draw: Draw) => draw.read === null,
      (draw: Draw) => draw.count === null,
      (draw: Draw) => draw.charged === null,
      (draw: Draw) => draw.search.rows === "",
      (draw: Draw) => draw.search.oneSize,
      (draw: Draw) => draw.search.depth === null,
      (draw: Draw) => draw.search.sizes[0] === draw.search.sizes[1],
    ])
      expect(kinds(perhaps)).toBe(2);
  });

  test.each([
    ["one stage", 0],
    ["two stages", 1],
  ])(
    "no credits are told by its own status and code, a wrong key is a 401: %s",
    async (_, stages) => {
      const draws = Array.from({ length: 99 }, (_, seed) => drawnBy(seed));
      const draw = draws.find(({ read }) => (read === null ? 0 : 1) === stages) ?? drawnBy(1);
      const vendor = await startDrawnVendor(draw, { credits: "0" });
      const hand = new Hand(draw, vendor);
      const reply =
        draw.read === null
          ? await hand.search([], draw.search.sizes[1])
          : await hand.read(vendor.people.slice(0, 1).map((one) => vendor.id(one)));
      expect([reply.status, reply.body.code]).toEqual([
        draw.means.credits.status,
        draw.means.credits.code,
      ]);
      expect((await ask(vendor.url, `POST ${draw.search.path}`, {}, {})).status).toBe(401);
      expect(vendor.book.charges).toEqual([]);
      await vendor.stop();
    },
  );
});
