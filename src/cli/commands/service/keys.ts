import type { KeyDetail, Store } from "../../../service/ledger/ledger.ts";
import { type Context, written } from "../../../shared/context.ts";
import { creditsOrNull } from "../../../shared/contract/money.ts";
import { echo } from "../../../shared/contract/text.ts";
import { CliError, systemFailure, usageError } from "../../../shared/errors.ts";
import { ago } from "../../../shared/numbers.ts";
import { type Command, Option } from "../../options.ts";
import { Printer } from "../../terminal/printer.ts";
import { addBoundOptions, type BoundOptions, boundsOf, overlapOf } from "./bounds.ts";
import { type AccountOptions, addAccountOptions, nameOf, placeFlags, requireAccount, withStore } from "./folder.ts";
import { creditsColumn, iso, List, type Listed, timeColumn } from "./list.ts";

interface CreateOptions extends AccountOptions, BoundOptions {
  readonly name: string;
  readonly mode: "live" | "test";
}

type SetOptions = AccountOptions & BoundOptions & { readonly name?: string };
type RotateOptions = AccountOptions & { readonly overlap: string };

const KEY_ID = ["<key-id>", "as `service keys list` shows it"] as const;

export function register(service: Command, context: Context): void {
  const keys = service
    .command("keys")
    .summary("make, bound, rotate, list and revoke API keys")
    .description(
      "Make, bound, rotate, list and revoke the API keys of an account. A key is shown once, when it is made.",
    );
  registerMaking(keys, context);
  addAccountOptions(keys.command("list", { isDefault: true }))
    .summary("list the keys of an account")
    .description(
      "List the keys of an account, revoked ones too: what they may do, spent, and when each was last used. Secrets are not kept, so they cannot be shown. A pipe gets CSV.",
    )
    .examples("\n  $ headcount service keys\n  $ headcount service keys list --json")
    .does((options: AccountOptions) => list(options, context));
  addBoundOptions(addAccountOptions(keys.command("set").argument(...KEY_ID)))
    .summary("change what a key may do")
    .description(
      "Change the name, end, cap or scopes of a key; what is not given stays. A cap counts all that the key was ever charged, and cannot be below what it spent and holds.",
    )
    .option("--name <name>", "what the key is for")
    .examples(
      "\n  $ headcount service keys set k_0a1b2c3d4e5f --max-credits 1000\n  $ headcount service keys set k_0a1b2c3d4e5f --expires never --scope all",
    )
    .does((options: SetOptions, id: string) => set(id, options, context));
  addAccountOptions(keys.command("revoke").argument(...KEY_ID))
    .summary("revoke a key")
    .description(
      "Revoke a key; it cannot be brought back. Calls with it are refused from then on; by services on PostgreSQL within 10 seconds, or 60 where the database does not answer, and nothing is sold to it from then on.",
    )
    .examples("\n  $ headcount service keys revoke k_0a1b2c3d4e5f")
    .does((options: AccountOptions, id: string) => revoke(id, options, context));
}

function registerMaking(keys: Command, context: Context): void {
  addBoundOptions(addAccountOptions(keys.command("create")))
    .summary("make a key and show it once")
    .description(
      "Make a key. It is printed once and stored only as a SHA-256; one that could not be printed is revoked at once. A cap, an end and scopes bound what it can do in the hands of a script, an agent or somebody else.",
    )
    .option("--name <name>", "what the key is for", "unnamed")
    .addOption(
      new Option("--mode <mode>", "test keys see a synthetic dataset and spend simulated credits")
        .choices(["live", "test"])
        .default("live"),
    )
    .examples(`
  $ headcount service keys create --name nightly
  $ headcount service keys create --name agent --max-credits 500 --expires 7d --scope count,search
  $ headcount service keys create --mode test --json`)
    .does((options: CreateOptions) => create(options, context));
  addAccountOptions(keys.command("rotate").argument(...KEY_ID))
    .summary("make the key that follows another, and end that one later")
    .description(
      "Make a key with the name, end, scopes and mode of another and show it once. Both work until the overlap is over; then the old one ends. They share one cap.",
    )
    .option("--overlap <time>", "how long the old key goes on: 0, 12h, 7d, 4w", "24h")
    .examples(
      "\n  $ headcount service keys rotate k_0a1b2c3d4e5f\n  $ headcount service keys rotate k_0a1b2c3d4e5f --overlap 7d --json",
    )
    .does((options: RotateOptions, id: string) => rotate(id, options, context));
}

async function create(options: CreateOptions, context: Context): Promise<void> {
  const { account: accountId, mode } = options;
  const name = nameOf(options.name);
  const { now } = context;
  const bounds = boundsOf(options, now());
  const printer = new Printer(context, options);
  await withStore(options, context, async (store) => {
    await requireAccount(store, accountId, options);
    const { createKey } = await import("../../../service/admin/data-folder.ts");
    const made = await createKey(store, { ...bounds, accountId, name, mode, now });
    await show(made, made, { store, printer, context });
    if (!printer.json) printer.note(`Key ${made.id} (${mode}). It is shown this once: keep it now.`);
  });
}

interface Showing {
  readonly store: Store;
  readonly printer: Printer;
  readonly context: Context;
}

/** Prints a new key. One that nobody saw is of no use to anybody, and is revoked. */
async function show(
  made: { readonly id: string; readonly key: string },
  document: object,
  { context, printer, store }: Showing,
): Promise<void> {
  try {
    if (printer.json) printer.document(document);
    else printer.text(`${made.key}\n`);
    await written(context.stdout);
  } catch (error) {
    await store.revokeKey(made.id);
    throw systemFailure(error)?.with({ hint: `nobody saw key ${made.id}, so it was revoked; make another` }) ?? error;
  }
}

async function rotate(id: string, options: RotateOptions, context: Context): Promise<void> {
  const overlap = overlapOf(options.overlap);
  const printer = new Printer(context, options);
  const { now } = context;
  await withStore(options, context, async (store) => {
    const old = await requireKey(store, id, options);
    const { accountId, expiresAt, mode, name, scopes } = old;
    if (old.revokedAt !== null || (expiresAt !== null && expiresAt <= now())) {
      const is = old.revokedAt === null ? "has expired" : "is revoked";
      throw usageError(
        `key ${id} ${is}: there is nothing to rotate`,
        `headcount service keys create${forAccount(options)}${placeFlags(options)}`,
      );
    }
    const { createKey } = await import("../../../service/admin/data-folder.ts");
    const made = await createKey(store, { accountId, name, mode, now, expiresAt, scopes, rotatedFrom: id });
    const end = Math.min(expiresAt ?? Number.POSITIVE_INFINITY, now() + overlap);
    // The old one ends last: whatever breaks off on the way, somebody has a key that works.
    await show(made, { ...made, rotated_from: id, old_expires_at: iso(end) }, { store, printer, context });
    await store.updateKey(id, { expiresAt: end });
    if (!printer.json) {
      printer.note(
        `Key ${made.id} (${mode}) follows ${id}, which works until ${iso(end)}. It is shown this once: keep it now.`,
      );
    }
  });
}

async function set(id: string, options: SetOptions, context: Context): Promise<void> {
  const { name } = options;
  const changes = { ...boundsOf(options, context.now()), ...(name === undefined ? {} : { name: nameOf(name) }) };
  if (Object.keys(changes).length === 0) {
    throw usageError("nothing to set", "give --max-credits, --expires, --scope or --name");
  }
  const printer = new Printer(context, options);
  await withStore(options, context, async (store) => {
    await requireKey(store, id, options);
    await store.updateKey(id, changes);
    await new List(columns(context.now()), printer).print([await requireKey(store, id, options)], context, "");
  });
}

async function list(options: AccountOptions, context: Context): Promise<void> {
  const printer = new Printer(context, options);
  await withStore(options, context, async (store) => {
    await requireAccount(store, options.account, options);
    const keys = await store.listKeys(options.account);
    await new List(columns(context.now()), printer).print(
      keys,
      context,
      `No keys yet: headcount service keys create${forAccount(options)}${placeFlags(options)} makes one.`,
    );
  });
}

async function revoke(id: string, options: AccountOptions, context: Context): Promise<void> {
  const printer = new Printer(context, options);
  await withStore(options, context, async (store) => {
    const key = await requireKey(store, id, options);
    const revoked = key.revokedAt === null && (await store.revokeKey(id));
    if (printer.json) printer.document({ id, revoked: true });
    else printer.note(revoked ? `Revoked ${id}.` : `Key ${id} was revoked before.`);
  });
}

const forAccount = ({ account }: AccountOptions): string => (account === "default" ? "" : ` --account ${account}`);

/** A key that lists are to be of: what was charged may name one that is no key of its own. @throws CliError exit 6 for a mistyped one */
export async function requireUsedKey(store: Store, id: string, options: AccountOptions): Promise<void> {
  const [used] = await store.entries({ accountId: options.account, keyId: id, limit: 1 });
  if (used === undefined) await requireKey(store, id, options);
}

async function requireKey(store: Store, id: string, options: AccountOptions): Promise<KeyDetail> {
  const key = await store.key(id);
  if (key !== undefined && key.accountId === options.account) return key;
  throw new CliError({
    code: "unknown_key",
    category: "not_found",
    message: `account "${echo(options.account)}" has no key ${echo(id)}`,
    hint: `headcount service keys list${forAccount(options)}${placeFlags(options)}`,
  });
}

function columns(now: number): readonly Listed<KeyDetail>[] {
  const state = ({ expiresAt, revokedAt }: KeyDetail): string =>
    revokedAt !== null ? "revoked" : expiresAt !== null && expiresAt <= now ? "expired" : "active";
  const left = ({ budget }: KeyDetail) =>
    budget && creditsOrNull((budget.cap - budget.spent - budget.held) as typeof budget.cap);
  return [
    { name: "id", title: "key", value: ({ id }) => id },
    { name: "name", title: "name", long: true, value: ({ name }) => name },
    { name: "mode", title: "mode", value: ({ mode }) => mode },
    { name: "prefix", value: ({ prefix }) => prefix },
    { name: "state", title: "state", value: state },
    {
      name: "scopes",
      title: "scopes",
      long: true,
      value: ({ scopes }) => scopes?.join(",") ?? "all",
      json: ({ scopes }) => scopes ?? ["all"],
    },
    creditsColumn("spent", "spent", ({ spent }) => spent),
    { name: "max_credits", value: ({ budget }) => budget && creditsOrNull(budget.cap) },
    { name: "left", title: "left of cap", align: "right", value: left },
    {
      name: "last_used_at",
      title: "used",
      value: ({ lastUsedAt }) => iso(lastUsedAt),
      show: ({ lastUsedAt }) => (lastUsedAt === null ? "never" : ago(now - lastUsedAt, lastUsedAt)),
    },
    timeColumn("expires_at", "expires", ({ expiresAt }) => expiresAt),
    { name: "created_at", value: ({ createdAt }) => iso(createdAt) },
    { name: "revoked_at", value: ({ revokedAt }) => iso(revokedAt) },
    { name: "rotated_from", value: ({ id, origin }) => (origin === id ? null : origin) },
  ];
}
