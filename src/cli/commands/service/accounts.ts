import type { AccountSummary } from "../../../service/ledger/ledger.ts";
import type { ConsoleSession } from "../../../service/ledger/records.ts";
import type { Context } from "../../../shared/context.ts";
import { creditsOrNull } from "../../../shared/contract/money.ts";
import { echo, isLinkName, LINK_NAME } from "../../../shared/contract/text.ts";
import { usageError } from "../../../shared/errors.ts";
import { Argument, type Command, publicOrigin } from "../../options.ts";
import {
  type ColumnOf,
  countColumn,
  creditsColumn,
  iso,
  printList,
  timeColumn,
} from "../../terminal/list.ts";
import {
  type AccountOptions,
  actor,
  addAccountOptions,
  addFolderOptions,
  atStore,
  type FolderOptions,
  LEDGER,
  nameOf,
  placeFlags,
  requireAccount,
  type StoreDesk,
} from "./folder.ts";

type CreateOptions = FolderOptions & { readonly name?: string };

export function register(service: Command, context: Context): void {
  const accounts = service
    .command("accounts")
    .description(
      "Make, list, suspend and resume accounts. Each has its own balance, " +
        "plan and keys; the other commands name one with --account.",
    );

  addFolderOptions(
    accounts
      .command("create")
      .argument("<id>", "letters, digits, dots and dashes; it never changes"),
  )
    .description(
      "Make an account with the standard plan, no live credits, " +
        "and 10,000 simulated ones for test keys.",
    )
    .option("--name <name>", "what it is called (default: its id)")
    .examples(`
  $ headcount service accounts create acme --name "Acme Ltd"
  $ headcount service credits add 5000 --account acme
  $ headcount service keys create --account acme --name first`)
    .does(LEDGER, atStore(context, create, true));

  addFolderOptions(accounts.command("list", { isDefault: true }))
    .description("List the accounts with their balances and keys. A pipe gets CSV.")
    .examples("\n  $ headcount service accounts\n  $ headcount service accounts list --json")
    .does(LEDGER, atStore(context, list));

  for (const [verb, suspended, what] of [
    [
      "suspend",
      true,
      "Refuse all keys of an account until it is resumed. Nothing is lost: balance, keys and " +
        "holds stay.",
    ],
    ["resume", false, "Let the keys of a suspended account work again."],
  ] as const) {
    addFolderOptions(accounts.command(verb).argument("<id>", "as `service accounts list` shows it"))
      .description(what)
      .examples(`\n  $ headcount service accounts ${verb} acme`)
      .does(
        LEDGER,
        atStore(context, (desk: StoreDesk<FolderOptions>, id: string) =>
          suspend(desk, id, suspended),
        ),
      );
  }
}

async function create({ options, printer, store }: StoreDesk<CreateOptions>, id: string) {
  const { ACCOUNT_ID, ACCOUNT_ID_RULE, newAccount } = await import(
    "../../../service/admin/keys.ts"
  );
  if (!ACCOUNT_ID.test(id))
    throw usageError(
      `${ACCOUNT_ID_RULE}, not "${echo(id)}"`,
      "for example acme; --name takes any name",
    );

  const name = options.name === undefined ? id : nameOf(options.name);
  await newAccount(store, id, name);
  if (printer.json) return printer.document<"service accounts create">({ id, name });

  const next = `headcount service keys create --account ${id}${placeFlags(options)} makes a key`;
  printer.note(`Account ${id} is made, with no credits yet. ${next}.`);
}

const list = async ({ printer, store }: StoreDesk<FolderOptions>): Promise<void> =>
  printList(COLUMNS, await store.listAccounts(), printer, "No accounts yet.");

async function suspend(
  { options, printer, store }: StoreDesk<FolderOptions>,
  id: string,
  suspended: boolean,
) {
  await requireAccount(store, id, options);
  const changed = await store.suspendAccount(id, suspended);
  const state = suspended ? "suspended" : "active";
  if (printer.json) printer.document<"service accounts suspend">({ id, state });
  else
    printer.note(changed ? `Account ${id} is ${state} now.` : `Account ${id} was ${state} before.`);
}

const COLUMNS: readonly ColumnOf<AccountSummary>[] = [
  { name: "id", title: "account" },
  { name: "name", long: true },
  {
    name: "state",
    value: ({ suspendedAt }) => (suspendedAt === null ? "active" : "suspended"),
  },
  { name: "plan", long: true, value: ({ plan }) => plan.name },
  creditsColumn("balance", "balance", ({ live }) => live.balance),
  creditsColumn("held", "held", ({ live }) => live.held),
  { name: "test_balance", title: null, value: ({ test }) => creditsOrNull(test.balance) },
  countColumn("keys"),
  timeColumn("created_at", "made", ({ createdAt }) => createdAt),
  { name: "suspended_at", title: null, value: ({ suspendedAt }) => iso(suspendedAt) },
];

const ROLES = ["owner", "viewer"] as const;

type LinkOptions = AccountOptions & { readonly name?: string; readonly publicUrl?: string };

export function registerLink(service: Command, context: Context): void {
  addAccountOptions(service.command("link"))
    .description(
      "Print a link that signs in to the console of `headcount serve`: " +
        "once, and within ten minutes. An owner may do everything of the account, " +
        "a viewer looks at it and spends nothing.",
    )
    .addArgument(new Argument("[role]", "what it allows").choices(ROLES).default("owner"))
    .option("--name <word>", "whom it is for: stands before the session's id, in its charges too")
    .option(
      "--public-url <url>",
      "address that browsers reach the service by (default: where it was last started)",
    )
    .examples(`
  $ headcount service link
  $ headcount service link --account acme --name ada-growth
  $ headcount service link viewer --public-url https://people.example`)
    .does(LEDGER, atStore(context, printLink));
}

async function printLink(
  { context, options, store }: StoreDesk<LinkOptions>,
  role: (typeof ROLES)[number],
) {
  const { account, name = "", publicUrl: url } = options;
  if (name !== "" && !isLinkName(name))
    throw usageError(`--name takes ${LINK_NAME}, not "${echo(name)}"`);
  const origin = url === undefined ? await store.console.lastServed() : publicOrigin(url);
  if (origin === undefined)
    throw usageError(
      "no service was started on this folder yet, so nobody knows its address",
      `headcount serve${placeFlags(options)} prints a link, or name it with --public-url`,
    );

  const { makeLink } = await import("../../../service/console/sessions.ts");
  const entry = { accountId: account, role, name, createdAt: context.now() };
  const link = `${origin}/console/enter#t=${await makeLink(store, entry, "service link")}`;
  context.stdout.write(options.json ? `${JSON.stringify({ link, account, role })}\n` : `${link}\n`);
}

export function registerSessions(service: Command, context: Context): void {
  const sessions = addFolderOptions(service.command("sessions"))
    .description(
      "List who is signed in to the console, the newest first; `end` signs one of them out.",
    )
    .examples("\n  $ headcount service sessions\n  $ headcount service sessions end 1f2e3d4c5b6a")
    .does(LEDGER, atStore(context, listSessions));
  addFolderOptions(sessions.command("end"))
    .description("Sign a session out.")
    .argument("<id>", "as the list names it")
    .does(LEDGER, atStore(context, endSession));
}

const listSessions = async ({ printer, store }: StoreDesk<FolderOptions>): Promise<void> =>
  printList(SESSION_COLUMNS, await store.console.sessions(), printer, "Nobody is signed in.");

async function endSession({ context, printer, store }: StoreDesk<FolderOptions>, id: string) {
  const ended = await store.console.endSession(id, actor(context));
  if (!ended) throw usageError(`no session ${id} goes on`, "headcount service sessions lists them");
  if (printer.json) printer.document<"service sessions end">({ id, ended: true });
  else printer.note(`Session ${id} is over.`);
}

const SESSION_COLUMNS: readonly ColumnOf<ConsoleSession>[] = [
  { name: "id" },
  { name: "account", value: ({ accountId }) => accountId },
  { name: "role" },
  timeColumn("made", "made (UTC)", ({ createdAt }) => createdAt),
  timeColumn("seen", "seen (UTC)", ({ seenAt }) => seenAt),
  { name: "expires", title: null, value: ({ expiresAt }) => iso(expiresAt) },
];
