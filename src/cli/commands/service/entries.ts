import type {
  AuditRow,
  EntryKind,
  EntryQuery,
  LedgerEntry,
  UsageGroup,
  UsageRow,
} from "../../../service/ledger/ledger.ts";
import type { Context } from "../../../shared/context.ts";
import { creditsOrNull } from "../../../shared/contract/money.ts";
import { present, whenGiven } from "../../../shared/contract/text.ts";
import { wordsGiven } from "../../arguments/settings.ts";
import { type Command, Option, offering, sinceMs } from "../../options.ts";
import {
  type ColumnOf,
  countColumn,
  creditsColumn,
  printList,
  printPages,
  timeColumn,
} from "../../terminal/list.ts";
import {
  type AccountOptions,
  addFolderOptions,
  addMode,
  atStore,
  type FolderOptions,
  LEDGER,
  type StoreDesk,
} from "./folder.ts";
import { usedKey } from "./keys.ts";

interface EntriesOptions extends AccountOptions, Times {
  readonly mode: "live" | "test";
  readonly kind?: EntryKind;
  readonly key?: string;
}

export function register(service: Command, context: Context): void {
  const command = addMode(service.command("entries"))
    .description(
      "List the entries of the ledger, the newest first: who, which call, rows, price, " +
        "and the balance after it. All of them in a pipe (CSV), " +
        "the last thirty on a terminal.",
    )
    .oneOf("--kind <kind>", "only these", ["grant", "charge", "refund", "correction"])
    .option("--key <key>", "only what one key was charged, or got back");

  addTimes(command)
    .examples(`
  $ headcount service entries
  $ headcount service entries --kind charge --since 7d > charges.csv
  $ headcount service entries --since 2026-01-31T10:00Z --until 2026-01-31T10:06Z
  $ headcount service entries --account default --limit 5 --json`)
    .does(LEDGER, atStore(context, entries));
}

async function entries({ context, options, printer, store }: StoreDesk<EntriesOptions>) {
  const { account, key, kind, mode } = options;
  const query: Omit<EntryQuery, "limit"> = {
    accountId: account,
    mode,
    ...timesOf(options, context.now()),
    ...present({ kind }),
    ...(await usedKey(store, key, options)),
  };

  await printPages(COLUMNS, { limit: options.limit, printer }, (limit, last) =>
    store.entries({ ...query, limit, ...present({ before: last?.id }) }),
  );
}

interface Times {
  readonly since: string;
  readonly until?: string;
  readonly limit?: number;
}

const addTimes = (command: Command): Command =>
  command
    .option(
      "--since <when>",
      "from when on: 2m (minutes), 12h, 30d ago, 2026-01-31, 2026-01-31T10:03Z, or all",
      "all",
    )
    .option("--until <when>", "and before when, said as --since")
    .number("--limit <n>", "so many at most", [1, 1e9]);

const timesOf = ({ since, until }: Times, now: number) => ({
  since: sinceMs(since, now),
  ...present({ until: whenGiven(until, (text) => sinceMs(text, now, "--until")) }),
});

const COLUMNS: readonly ColumnOf<LedgerEntry>[] = [
  { name: "id", title: "entry", align: "right", value: ({ id }) => Number(id) },
  timeColumn("at", "when (UTC)", ({ at }) => at),
  { name: "kind" },
  creditsColumn("credits", "credits", ({ amount: by }) => by),
  creditsColumn("balance_after", "balance", ({ balanceAfter }) => balanceAfter),
  { name: "actor", title: "by" },
  { name: "call" },
  countColumn("rows"),
  { name: "price", title: null, value: ({ price }) => creditsOrNull(price) },
  { name: "key", title: null, value: ({ keyId }) => keyId },
  { name: "request_id", title: null, value: ({ requestId }) => requestId },
  {
    name: "refund_of",
    title: null,
    value: ({ refundOf }) => (refundOf === null ? null : Number(refundOf)),
  },
  { name: "reference", title: null },
  {
    name: "note",
    long: true,
    show: ({ kind, note, reference }) =>
      kind === "charge" ? "" : [note, reference].filter(Boolean).join(" · "),
  },
];

interface UsageOptions extends AccountOptions {
  readonly mode: "live" | "test";
  readonly by: string;
  readonly key?: string;
  readonly since: string;
}

const GROUPS: readonly UsageGroup[] = ["day", "key", "call"];

export function registerUsage(service: Command, context: Context): void {
  addMode(service.command("usage"))
    .description(
      "Add up what an account was charged: calls, rows and credits, by UTC day, " +
        "key or call, or by several of them. Free calls are not in it. A pipe gets CSV.",
    )
    .addOption(
      offering(
        new Option("--by <what>", "one line for each: day, key, call (commas between)").default(
          "day",
        ),
        {
          kind: "commas",
          values: GROUPS,
        },
      ),
    )
    .option("--key <key>", "only one key")
    .option(
      "--since <when>",
      "how far back, whole UTC days: 30d, 8w, a date such as 2026-01-31, or all",
      "30d",
    )
    .examples(`
  $ headcount service usage
  $ headcount service usage --by key --since all
  $ headcount service usage --by day,call --json`)
    .does(LEDGER, atStore(context, usage));
}

async function usage({ context, options, printer, store }: StoreDesk<UsageOptions>) {
  const { account, key, mode } = options;
  const by = wordsGiven("--by", options.by, GROUPS);
  const since = new Date(sinceMs(options.since, context.now())).toISOString().slice(0, 10);
  const query = {
    accountId: account,
    mode,
    by,
    since,
    ...(await usedKey(store, key, options)),
  };
  const names = new Map((await store.listKeys(account)).map(({ id, name }) => [id, name]));
  const columns = by.flatMap((group) => GROUP_COLUMNS[group]);
  const rows = (await store.usage(query)).map((row) => ({
    ...row,
    name: names.get(row.keyId ?? "") ?? null,
  }));
  await printList([...columns, ...SUMS], rows, printer, "Nothing was charged.");
}

type NamedUsage = UsageRow & { readonly name: string | null };

const GROUP_COLUMNS: Readonly<Record<UsageGroup, readonly ColumnOf<NamedUsage>[]>> = {
  day: [{ name: "day", title: "day (UTC)" }],
  key: [
    { name: "key", value: ({ keyId }) => keyId },
    { name: "name", long: true },
  ],
  call: [{ name: "call" }],
};

const SUMS: readonly ColumnOf<UsageRow>[] = [
  countColumn("calls"),
  countColumn("rows"),
  creditsColumn("charged"),
  creditsColumn("refunded"),
];

type AuditOptions = FolderOptions & Times & { readonly account?: string };

export function registerAudit(service: Command, context: Context): void {
  const command = addFolderOptions(service.command("audit"))
    .description(
      "List every act on accounts, keys, plans, credits and sessions, each forget and restore, " +
        "the newest first; who, when and what, never a key or a record. " +
        "Imports, backups and suppressions are not in it. " +
        "All of them in a pipe (CSV), the last thirty on a terminal.",
    )
    .option("--account <id>", "only what concerns one account");
  addTimes(command)
    .examples("\n  $ headcount service audit\n  $ headcount service audit --since 30d --json")
    .does(LEDGER, atStore(context, audit));
}

async function audit({ context, options, printer, store }: StoreDesk<AuditOptions>) {
  const times = timesOf(options, context.now());
  const whose = present({ accountId: options.account });
  await printPages(AUDIT_COLUMNS, { limit: options.limit, printer }, (limit, last) =>
    store.audit({ ...times, limit, ...whose, ...present({ before: last?.id }) }),
  );
}

const AUDIT_COLUMNS: readonly ColumnOf<AuditRow>[] = [
  { name: "id", title: null, value: ({ id }) => Number(id) },
  timeColumn("at", "when (UTC)", ({ at }) => at),
  { name: "actor", title: "who" },
  { name: "action", title: "did" },
  { name: "account", value: ({ accountId }) => accountId },
  { name: "target", title: "to" },
  {
    name: "detail",
    title: "what",
    long: true,
    value: ({ detail }) => JSON.stringify(detail),
    json: ({ detail }) => detail,
    show: ({ detail }) =>
      Object.entries(detail)
        .filter(([, value]) => value !== null && value !== "")
        .map(
          ([name, value]) =>
            `${name} ${typeof value === "object" ? JSON.stringify(value) : String(value)}`,
        )
        .join(", "),
  },
];
