import type { AuditRow } from "../../../service/ledger/ledger.ts";
import type { Context } from "../../../shared/context.ts";
import { sinceMs } from "../../arguments/since.ts";
import { type Command, wholeNumber } from "../../options.ts";
import { addFolderOptions, atDesk, type Desk, type FolderOptions, printPages } from "./folder.ts";
import { type Listed, timeColumn } from "./list.ts";

interface AuditOptions extends FolderOptions {
  readonly account?: string;
  readonly since: string;
  readonly limit?: number;
}

export function register(service: Command, context: Context): void {
  addFolderOptions(service.command("audit"))
    .summary("list who administered what, and when")
    .description(
      "List every act of administration, the newest first: accounts, keys, plans and credits; who, when and what, never a key or a record. All of them in a pipe (CSV), the last thirty on a terminal.",
    )
    .option("--account <id>", "only what concerns one account")
    .option("--since <when>", "how far back: 12h, 30d, 8w, a date such as 2026-01-31, or all", "all")
    .option("--limit <n>", "so many at most", wholeNumber("--limit", 1, 1e9))
    .examples("\n  $ headcount service audit\n  $ headcount service audit --since 30d --json")
    .does(atDesk(context, audit));
}

async function audit(desk: Desk<AuditOptions>): Promise<void> {
  const { context, options, store } = desk;
  const since = sinceMs(options.since, context.now());
  const whose = options.account === undefined ? {} : { accountId: options.account };
  await printPages(desk, COLUMNS, (limit, last) =>
    store.audit({ since, limit, ...whose, ...(last === undefined ? {} : { before: last.id }) }),
  );
}

const COLUMNS: readonly Listed<AuditRow>[] = [
  { name: "id", value: ({ id }) => Number(id) },
  timeColumn("at", "when (UTC)", ({ at }) => at),
  { name: "actor", title: "who", value: ({ actor }) => actor },
  { name: "action", title: "did", value: ({ action }) => action },
  { name: "account", title: "account", value: ({ accountId }) => accountId },
  { name: "target", title: "to", value: ({ target }) => target },
  {
    name: "detail",
    title: "what",
    long: true,
    value: ({ detail }) => JSON.stringify(detail),
    json: ({ detail }) => detail,
    show: ({ detail }) =>
      Object.entries(detail)
        .filter(([, value]) => value !== null && value !== "")
        .map(([name, value]) => `${name} ${typeof value === "object" ? JSON.stringify(value) : String(value)}`)
        .join(", "),
  },
];
