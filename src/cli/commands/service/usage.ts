import type { UsageGroup, UsageRow } from "../../../service/ledger/ledger.ts";
import type { Context } from "../../../shared/context.ts";
import { echo } from "../../../shared/contract/text.ts";
import { usageError } from "../../../shared/errors.ts";
import { sinceMs } from "../../arguments/since.ts";
import { type Command, Option, offering } from "../../options.ts";
import { type AccountOptions, addMode, atDesk, type Desk, printList } from "./folder.ts";
import { requireUsedKey } from "./keys.ts";
import { countColumn, creditsColumn, type Listed } from "./list.ts";

interface UsageOptions extends AccountOptions {
  readonly mode: "live" | "test";
  readonly by: string;
  readonly key?: string;
  readonly since: string;
}

const GROUPS: readonly UsageGroup[] = ["day", "key", "call"];

export function register(service: Command, context: Context): void {
  addMode(service.command("usage"))
    .summary("add up what was charged, by day, key and call")
    .description(
      "Add up what an account was charged: calls, rows and credits, by UTC day, key or call, or by several of them. Free calls are not in it. A pipe gets CSV.",
    )
    .addOption(
      offering(new Option("--by <what>", "one line for each: day, key, call (commas between)").default("day"), {
        kind: "commas",
        values: GROUPS,
      }),
    )
    .option("--key <key-id>", "only one key")
    .option("--since <when>", "how far back, whole UTC days: 30d, 8w, a date such as 2026-01-31, or all", "30d")
    .examples(`
  $ headcount service usage
  $ headcount service usage --by key --since all
  $ headcount service usage --by day,call --json`)
    .does(atDesk(context, usage));
}

async function usage(desk: Desk<UsageOptions>): Promise<void> {
  const { context, options, store } = desk;
  const { account, key, mode } = options;
  const by = groupsOf(options.by);
  const since = new Date(sinceMs(options.since, context.now())).toISOString().slice(0, 10);
  if (key !== undefined) await requireUsedKey(store, key, options);
  const query = { accountId: account, mode, by, since, ...(key === undefined ? {} : { keyId: key }) };
  const columns = [...by.map((group) => GROUP_COLUMNS[group]), ...SUMS];
  await printList(desk, columns, await store.usage(query), "Nothing was charged.");
}

function groupsOf(text: string): readonly UsageGroup[] {
  const given = text.split(",").map((word) => word.trim());
  const unknown = given.find((word) => !GROUPS.includes(word as UsageGroup));
  if (unknown === undefined) return GROUPS.filter((group) => given.includes(group));
  throw usageError(
    `--by takes day, key and call, with commas between, not "${echo(unknown)}"`,
    "for example --by day,key",
  );
}

const GROUP_COLUMNS: Readonly<Record<UsageGroup, Listed<UsageRow>>> = {
  day: { name: "day", title: "day (UTC)", value: ({ day }) => day },
  key: { name: "key", title: "key", value: ({ keyId }) => keyId },
  call: { name: "call", title: "call", value: ({ call }) => call },
};

const SUMS: readonly Listed<UsageRow>[] = [
  countColumn("calls", ({ calls }) => calls),
  countColumn("rows", ({ rows }) => rows),
  creditsColumn("charged", "charged", ({ charged }) => charged),
  creditsColumn("refunded", "refunded", ({ refunded }) => refunded),
];
