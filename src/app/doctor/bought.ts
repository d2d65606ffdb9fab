// Tested by test/cli/vendor-doctor.test.ts.
import { Writable } from "node:stream";
import { searchTarget } from "../../engine/purchase/joined.ts";
import type { Context } from "../../shared/context.ts";
import { checkFilters } from "../../shared/contract/filters.ts";
import {
  type Credits,
  credits,
  formatCredits,
  parseCredits,
  priceOf,
  ZERO,
} from "../../shared/contract/money.ts";
import { counted } from "../../shared/contract/text.ts";
import { FILTER_KEYS, type FilterKey, type Filters } from "../../shared/contract/vocabulary.ts";
import { inRow } from "../../shared/dialect/holes.ts";
import type { DialectFile } from "../../shared/dialect/shape.ts";
import { usageError } from "../../shared/errors.ts";
import { groupsBy } from "../../shared/groups.ts";
import type { JsonValue } from "../../shared/rows/values.ts";
import { buy } from "../buy/buy.ts";
import { worldOf } from "../buy/order.ts";
import type { Session } from "../session.ts";
import { ownFile } from "../vendors.ts";
import { type Check, countCosts, failedCheck, service } from "./doctor.ts";

interface Trial {
  /** The most that all of it may cost. */
  readonly most: Credits;
  readonly add: (check: Check) => void;
}

interface Tried {
  readonly charged: Credits;
  readonly declared: Credits;
  readonly balance: Credits | undefined;
  readonly rows: readonly Readonly<Record<string, JsonValue>>[];
}

/**
 * What only a paid call shows of the file of a vendor: the price and the record of the fewest
 * people that are sold, then names of filters, where a count costs credits. Each is a run.
 * @returns what was charged, and what lost replies may have been; undefined where one failed
 */
export async function tryPaid(
  session: Session,
  context: Context,
  { most, add }: Trial,
): Promise<Credits | undefined> {
  const { counting, file: copy } = session.client.dialect;
  if (copy === undefined)
    throw usageError("this connection speaks the contract: doctor finds all out for nothing");

  const { file } = await ownFile(copy, context);
  let spent = ZERO;
  const tried = async (filters: Filters, limit: number): Promise<Tried> => {
    const left = credits(most - spent);
    const one = await bought(filters, { limit, most: left }, session, context);
    spent = credits(spent + one.charged);
    return one;
  };

  try {
    const filters = anybody(file);
    const { parcel = 1 } = await session.client.account(context.interrupted);
    const one = await tried(filters, parcel);
    add(priceCheck(one, file, filters));
    if (one.rows.length > 0) add(recordCheck(one, file));
    // Names are tried for what the person leaves: their calls may take minutes.
    if (counting !== undefined)
      await tryNames(file, counting, { most: credits(most - spent), add }, tried);
  } catch (error) {
    add(failedCheck(service, "Bought", error));
    return undefined;
  }
  return spent;
}

/** Names by values that nobody has: none costs anything as long as its name is right. */
async function tryNames(
  file: DialectFile,
  { price, rows }: { readonly price: Credits; readonly rows: number },
  { most, add }: Trial,
  tried: (filters: Filters, limit: number) => Promise<Tried>,
): Promise<void> {
  if (price > most)
    return add(service("Filters", "skip", `not tried: ${countCosts(price)}, beside the person`));

  const keys = FILTER_KEYS.filter((key) => file.filters[key] !== undefined);
  const open = keys.filter((key) => isOpen(file, key));
  // By all of them at once, but for those that may share a field: the client tries each name first,
  // by itself, and nothing is bought.
  for (const together of groupsBy(open, (key) => file.filters[key]?.alone && key).values())
    await tried(Object.assign({}, ...together.map(nobodyOf)), rows);
  const untried = keys.filter((key) => !open.includes(key));
  const rest = untried.length === 0 ? "" : `; not tried: ${untried.join(", ")}`;
  const found = "found nobody by a value that nobody has: none is passed over";
  add(service("Filters", "ok", `${counted(open.length, "name")} ${found}${rest}`));
}

/** Whether it takes a value that nobody has: one of no list of words, and exactly. */
function isOpen({ filters }: DialectFile, key: FilterKey): boolean {
  const { wider, words } = filters[key] ?? { wider: true };
  return words === undefined && wider !== true && !key.endsWith("_max");
}

const NOBODY = "zz-headcount-canary-7f3a";

function nobodyOf(key: FilterKey): Filters {
  const of = key === "network_url" ? "in" : "company";
  if (key.endsWith("_url")) return { [key]: `https://www.linkedin.com/${of}/${NOBODY}` };
  return { [key]: key.endsWith("_min") ? 999_999_999 : NOBODY };
}

/** @throws CliError exit 2 for a file without a list of words */
function anybody({ filters, name, words = {} }: DialectFile): Filters {
  for (const key of FILTER_KEYS) {
    const table = words[filters[key]?.words ?? ""] ?? {};
    const [word] = Object.entries(table).find(([, theirs]) => typeof theirs === "string") ?? [];
    if (word !== undefined) return { [key]: [word] };
  }
  if (filters.country !== undefined) return { country: ["united states"] };
  throw usageError(`the file of ${name} has no filter whose words are known to find somebody`);
}

async function bought(
  filters: Filters,
  { limit, most }: { readonly limit: number; readonly most: Credits },
  session: Session,
  context: Context,
): Promise<Tried> {
  const checked = checkFilters(filters);
  if (!checked.ok) throw usageError(`doctor cannot ask by ${Object.keys(filters).join()}`);

  const lines: string[] = [];
  const rows = new Writable({
    write: (chunk: Buffer, _, done) => {
      lines.push(chunk.toString());
      done();
    },
  });
  const { failure, receipt } = await buy(
    {
      target: searchTarget([checked], []),
      limit,
      maxCredits: most,
      rows,
      fresh: true,
      allowEmpty: true,
      raw: true,
    },
    worldOf(session, context),
    { agree: async () => undefined },
  );
  if (failure !== undefined) throw failure;

  const amount = (value: number | null): Credits => parseCredits(value) ?? ZERO;
  return {
    charged: credits(amount(receipt.credits) + amount(receipt.uncertain_credits)),
    declared: priceOf(receipt.received, amount(receipt.unit_cost), receipt.unit_rows),
    balance: parseCredits(receipt.balance),
    rows: lines
      .join("")
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line)),
  };
}

function priceCheck(
  { balance, charged, declared, rows }: Tried,
  file: DialectFile,
  filters: Filters,
): Check {
  const who = counted(rows.length, "person", "people");
  const left = balance === undefined ? "" : `; balance ${formatCredits(balance)}`;
  const said = `${who}: declared ${formatCredits(declared)}, charged ${formatCredits(charged)}${left}`;

  if (rows.length === 0) {
    const [[key, word] = []] = Object.entries(filters);
    return service("A person", "warn", `${file.name} sold nobody by ${key} "${word}"${left}`);
  }
  if (charged === declared) return service("A person", "ok", said);
  return service("A person", "warn", said, "the plan differs from the file: correct its price");
}

/** Which fields of the file came with a text, and which came as something else. */
function recordCheck({ rows: [row = {}] }: Tried, { record }: DialectFile): Check {
  const fields = Object.keys(record);
  const untold = fields.filter((field) => row[field] == null);

  const hidden = untold.filter((field) => {
    const place = record[field] ?? "";
    const at = typeof place === "string" ? place : place.at;
    return typeof inRow(at, row.vendor ?? null) === "boolean";
  });

  const many = `${fields.length - untold.length} of ${counted(fields.length, "field")} filled`;
  const others = untold.filter((field) => !hidden.includes(field));
  const plan = hidden.length === 0 ? "" : `; not told on this plan: ${hidden.join(", ")}`;
  const rest = others.length === 0 ? "" : `; empty in this row: ${others.join(", ")}`;
  return service("Record", hidden.length === 0 ? "ok" : "warn", `${many}${plan}${rest}`);
}
