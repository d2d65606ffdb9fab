import type { Draw, Parameter } from "./drawn.ts";

const FREE = { per: "request", credits: "0" };

/** Where something is sent: {"a": {"b": value}} for "a.b". */
const nested = (path: string, value: unknown): Readonly<Record<string, unknown>> =>
  path.split(".").reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as Readonly<
    Record<string, unknown>
  >;

/** The file of a vendor that a draw says, as a hand that reads the draw would write it. */
export function fileOf(draw: Draw): Record<string, unknown> {
  const { account, count, filterForm, filters, idAs, means, read, record, search, words } = draw;
  const isList = filterForm === "terms" || filterForm === "condition";
  const asked = nested(draw.filtersAt, isList ? "@filters" : { "*": "@filters" });
  const told = {
    ...(draw.charged === null ? {} : { charged: draw.charged }),
    ...(draw.balance === null ? {} : { balance: draw.balance }),
  };

  const expression = (name: string): unknown =>
    ({
      plain: { [name]: "@values" },
      include: { [name]: { include: "@values" } },
      terms: { terms: { [name]: "@values" } },
      condition: { field: name, type: "in", value: "@values" },
    })[filterForm];
  const parameters = (place: Parameter["in"]): Record<string, unknown> => ({
    ...(search.size.in === place ? { [search.size.name]: "@rows" } : {}),
    ...(search.start.in === place ? { [search.start.name]: `@${search.by}` } : {}),
  });
  const worded: Readonly<Record<string, string>> = {
    seniority_level: "level",
    department: "department",
  };

  return {
    dialect: 1,
    name: "drawn",
    base: "https://drawn.example",
    headers: { [draw.key.header]: draw.key.form },
    words,
    filters: Object.fromEntries(
      Object.entries(filters).map(([key, { name, case: letters, words: list }]) => [
        key,
        {
          any: expression(name),
          ...(letters === "lower" ? { case: "lower" } : {}),
          ...(list === null ? {} : { words: list }),
          ...(key === "company_network_url"
            ? { as: "https://network.example/company/{slug}" }
            : {}),
        },
      ]),
    ),
    calls: {
      search: {
        method: "POST",
        path: search.path,
        query: parameters("query"),
        body: { ...asked, ...parameters("body") },
        ...(read === null ? {} : { gives: "ids" }),
        reply: {
          rows: search.rows,
          ...(search.total === null ? {} : { total: search.total }),
          ...(search.next === null ? {} : { next: search.next }),
          ...told,
        },
        pages: {
          by: search.by,
          first: search.first,
          size: search.sizes,
          ...(search.oneSize ? { one_size: true } : {}),
          ...(search.depth === null ? {} : { depth: search.depth }),
        },
        price: search.price,
      },
      count:
        count === null
          ? { use: "search", rows: search.sizes[0] }
          : {
              method: "POST",
              path: count.path,
              body: asked,
              reply: { total: count.total },
              price: FREE,
            },
      ...(read === null
        ? {}
        : {
            read: {
              method: "POST",
              path: read.path,
              most: read.most,
              body: read.most === 1 ? {} : nested(read.ids, "@ids"),
              reply: { [read.most === 1 ? "row" : "rows"]: read.rows, ...told },
              price: read.price,
            },
          }),
      ...(account === null
        ? {}
        : {
            account: {
              method: "POST",
              path: account.path,
              body: {},
              reply: { balance: account.balance },
            },
          }),
    },
    means: [
      ...(["none", "credits", "refused"] as const).flatMap((is) => {
        const { code, status } = means[is];
        if (status === 200) return [];
        return [{ status, is, ...(code === null ? {} : { at: "code", equals: code }) }];
      }),
      { status: 404, is: "gone" },
      { status: 401, is: "key" },
      { status: 429, is: "limit" },
      // What an earlier one says of a status is all that is said of it.
    ].filter(
      ({ status }, index, all) =>
        !all.slice(0, index).some((each) => each.status === status && !("at" in each)),
    ),
    ...(idAs === "number" ? { ids: { numbers: true } } : {}),
    record: Object.fromEntries(
      Object.entries(record).map(([field, at]) => {
        const list = worded[field];
        return [field, list === undefined ? at : { at, words: list }];
      }),
    ),
  };
}
