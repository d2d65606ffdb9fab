import type { EntryKind, EntryQuery, LedgerEntry } from "../../../service/ledger/ledger.ts";
import type { Context } from "../../../shared/context.ts";
import { creditsOrNull } from "../../../shared/contract/money.ts";
import { COSTED_CALLS, type CostedCall } from "../../../shared/contract/records.ts";
import { sinceMs } from "../../arguments/since.ts";
import { type Command, Option, wholeNumber } from "../../options.ts";
import { type AccountOptions, addMode, atDesk, type Desk, printPages } from "./folder.ts";
import { requireUsedKey } from "./keys.ts";
import { countColumn, creditsColumn, type Listed, timeColumn } from "./list.ts";

interface EntriesOptions extends AccountOptions {
  readonly mode: "live" | "test";
  readonly kind?: EntryKind;
  readonly key?: string;
  readonly call?: CostedCall;
  readonly since: string;
  readonly before?: number;
  readonly limit?: number;
}

export function register(service: Command, context: Context): void {
  addMode(service.command("entries"))
    .summary("list what moved the balance: grants, charges, refunds, corrections")
    .description(
      "List the entries of the ledger, the newest first: who, which call, rows, price, and the balance after it. All of them in a pipe (CSV), the last thirty on a terminal.",
    )
    .addOption(new Option("--kind <kind>", "only these").choices(["grant", "charge", "refund", "correction"]))
    .option("--key <key-id>", "only what one key was charged, or got back")
    .addOption(new Option("--call <call>", "only one call").choices(COSTED_CALLS.slice(2)))
    .option("--since <when>", "how far back: 12h, 30d, 8w, a date such as 2026-01-31, or all", "all")
    .option(
      "--before <entry-id>",
      "only older ones than this entry",
      wholeNumber("--before", 1, Number.MAX_SAFE_INTEGER),
    )
    .option("--limit <n>", "so many at most", wholeNumber("--limit", 1, 1e9))
    .examples(`
  $ headcount service entries
  $ headcount service entries --kind charge --since 7d > charges.csv
  $ headcount service entries --account default --limit 5 --json`)
    .does(atDesk(context, entries));
}

async function entries(desk: Desk<EntriesOptions>): Promise<void> {
  const { context, options, store } = desk;
  const { account, before, call, key, kind, mode } = options;
  const query: Omit<EntryQuery, "limit"> = {
    ...{ accountId: account, mode, since: sinceMs(options.since, context.now()) },
    ...(kind === undefined ? {} : { kind }),
    ...(key === undefined ? {} : { keyId: key }),
    ...(call === undefined ? {} : { call }),
  };
  if (key !== undefined) await requireUsedKey(store, key, options);
  await printPages(desk, COLUMNS, (limit, last) => {
    const from = last?.id ?? (before === undefined ? undefined : BigInt(before));
    return store.entries({ ...query, limit, ...(from === undefined ? {} : { before: from }) });
  });
}

const COLUMNS: readonly Listed<LedgerEntry>[] = [
  { name: "id", title: "entry", align: "right", value: ({ id }) => Number(id) },
  timeColumn("at", "when (UTC)", ({ at }) => at),
  { name: "kind", title: "kind", value: ({ kind }) => kind },
  creditsColumn("credits", "credits", ({ amount: by }) => by),
  creditsColumn("balance_after", "balance", ({ balanceAfter }) => balanceAfter),
  { name: "actor", title: "by", value: ({ actor }) => actor },
  { name: "call", title: "call", value: ({ call }) => call },
  countColumn("rows", ({ rows }) => rows),
  { name: "price", value: ({ price }) => creditsOrNull(price) },
  { name: "key", value: ({ keyId }) => keyId },
  { name: "request_id", value: ({ requestId }) => requestId },
  { name: "refund_of", value: ({ refundOf }) => (refundOf === null ? null : Number(refundOf)) },
  { name: "reference", value: ({ reference }) => reference },
  {
    name: "note",
    title: "note",
    long: true,
    value: ({ note }) => note,
    show: ({ kind, note, reference }) => (kind === "charge" ? "" : [note, reference].filter(Boolean).join(" · ")),
  },
];
