import type { MadeKey } from "../../../service/admin/keys.ts";
import type { KeyChanges, KeyDetail, Scope, Store } from "../../../service/ledger/ledger.ts";
import { type Context, written } from "../../../shared/context.ts";
import { creditsOrNull } from "../../../shared/contract/money.ts";
import { echo, present, spanMs, whenGiven } from "../../../shared/contract/text.ts";
import { failed, shellWord, systemFailure, usageError } from "../../../shared/errors.ts";
import { ago } from "../../../shared/numbers.ts";
import { creditAmount, wordsGiven } from "../../arguments/settings.ts";
import { type Command, momentGiven } from "../../options.ts";
import type { Documents } from "../../schemas/all.ts";
import { type ColumnOf, creditsColumn, iso, printList, timeColumn } from "../../terminal/list.ts";
import type { Printer } from "../../terminal/printer.ts";
import {
  type AccountOptions,
  addAccountOptions,
  atStore,
  LEDGER,
  nameOf,
  placeFlags,
  type StoreDesk,
} from "./folder.ts";

interface CreateOptions extends AccountOptions, BoundOptions {
  readonly name: string;
  readonly mode: "live" | "test";
}

type SetOptions = AccountOptions & BoundOptions & { readonly name?: string };

const KEY = ["<key>", "its id, or its name where no other key has it"] as const;

export function register(service: Command, context: Context): void {
  const keys = service
    .command("keys")
    .description(
      "Make, bound, rotate, list and revoke the API keys of an account. " +
        "A key is shown once, when it is made.",
    );
  registerMaking(keys, context);
  addAccountOptions(keys.command("list", { isDefault: true }))
    .description(
      "List the keys of an account, revoked ones too: what they may do, spent, " +
        "and when each was last used. Secrets are not kept, " +
        "so they cannot be shown. A pipe gets CSV.",
    )
    .examples("\n  $ headcount service keys\n  $ headcount service keys list --json")
    .does(LEDGER, atStore(context, list));

  addBoundOptions(addAccountOptions(keys.command("set").argument(...KEY)))
    .description(
      "Change the name, end, cap or scopes of a key; what is not given stays. " +
        "A cap counts all that the key was ever charged, " +
        "and cannot be below what it spent and holds.",
    )
    .option("--name <name>", "what the key is for")
    .examples(
      "\n  $ headcount service keys set k_0a1b2c3d4e5f --max-credits 1000\n  $ headcount " +
        "service keys set k_0a1b2c3d4e5f --expires never --scope all",
    )
    .does(LEDGER, atStore(context, set));

  addAccountOptions(keys.command("revoke").argument(...KEY))
    .description("Revoke a key; it cannot be brought back. Calls with it are refused from then on.")
    .examples("\n  $ headcount service keys revoke k_0a1b2c3d4e5f")
    .does(LEDGER, atStore(context, revoke));
}

function registerMaking(keys: Command, context: Context): void {
  addBoundOptions(addAccountOptions(keys.command("create")))
    .description(
      "Make a key. It is printed once and stored only as a SHA-256; one that could not " +
        "be printed is revoked at once. A cap, an end and scopes bound what it can " +
        "do in the hands of a script, an agent or somebody else.",
    )
    .option("--name <name>", "what the key is for", "unnamed")
    .oneOf(
      "--mode <mode>",
      "test keys see a synthetic dataset and spend simulated credits",
      ["live", "test"],
      "live",
    )
    .examples(`
  $ headcount service keys create --name nightly
  $ headcount service keys create --name agent --max-credits 500 --expires 7d --scope count,search
  $ headcount service keys create --mode test --json`)
    .does(LEDGER, atStore(context, create, true));

  addAccountOptions(keys.command("rotate").argument(...KEY))
    .argument("[overlap]", "how long the old key goes on: 0, 12h, 7d, 4w", "24h")
    .description(
      "Make a key with the name, end, scopes and mode of another and show it once. " +
        "Both work until the overlap is over; then the old one ends. They share one cap.",
    )
    .examples(
      "\n  $ headcount service keys rotate k_0a1b2c3d4e5f\n  $ headcount " +
        "service keys rotate k_0a1b2c3d4e5f 7d --json",
    )
    .does(LEDGER, atStore(context, rotate));
}

async function create({ context, options, printer, store }: StoreDesk<CreateOptions>) {
  const { account: accountId, mode } = options;
  const { now } = context;
  const init = { ...keyBoundsOf(options, now()), accountId, name: nameOf(options.name), mode, now };
  const { shownKey } = await import("../../../service/admin/keys.ts");
  const { id } = await shownKey(store, init, (key) => show(key, key, printer, context));
  if (!printer.json) printer.note(`Key ${id} (${mode}). It is shown this once: keep it now.`);
}

async function show(
  { id, key }: MadeKey,
  document: Documents["service keys create" | "service keys rotate"],
  printer: Printer,
  context: Context,
) {
  try {
    if (printer.json) printer.document<"service keys create" | "service keys rotate">(document);
    else printer.text(`${key}\n`);
    await written(context.stdout);
  } catch (error) {
    throw (
      systemFailure(error)?.with({
        hint: `nobody saw key ${id}, so it was revoked; make another`,
      }) ?? error
    );
  }
}

async function rotate(
  { context, options, printer, store }: StoreDesk,
  word: string,
  overlap: string,
) {
  const overlapMs = overlapOf(overlap);
  const old = await requireKey(store, word, options);
  const { rotateKey } = await import("../../../service/admin/keys.ts");

  const tell = async (key: MadeKey, ends: number): Promise<void> => {
    await show(
      key,
      { ...key, rotated_from: old.id, old_expires_at: new Date(ends).toISOString() },
      printer,
      context,
    );
    if (printer.json) return;

    const follows = `Key ${key.id} (${old.mode}) follows ${old.id}`;
    printer.note(`${follows}, which works until ${iso(ends)}. It is shown this once: keep it now.`);
  };

  await rotateKey(store, old, { now: context.now, overlapMs }, tell).catch((error: Error) => {
    if (error.name !== "StoreConflictError") throw error;
    throw usageError(
      error.message,
      `headcount service keys create${forAccount(options)}${placeFlags(options)}`,
    );
  });
}

async function set({ context, options, printer, store }: StoreDesk<SetOptions>, word: string) {
  const { name } = options;
  const changes = {
    ...keyBoundsOf(options, context.now()),
    ...present({ name: whenGiven(name, nameOf) }),
  };
  if (Object.keys(changes).length === 0) {
    throw usageError("nothing to set", "give --max-credits, --expires, --scope or --name");
  }

  const { id } = await requireKey(store, word, options);
  await store.updateKey(id, changes);
  await printList(columns(context.now()), [await requireKey(store, id, options)], printer, "");
}

async function list({ context, options, printer, store }: StoreDesk) {
  const none =
    "No keys yet: headcount service keys " +
    `create${forAccount(options)}${placeFlags(options)} makes one.`;
  await printList(columns(context.now()), await store.listKeys(options.account), printer, none);
}

async function revoke({ options, printer, store }: StoreDesk, word: string) {
  const { id, revokedAt } = await requireKey(store, word, options);
  const revoked = revokedAt === null && (await store.revokeKey(id));
  if (printer.json) printer.document<"service keys revoke">({ id, revoked: true });
  else printer.note(revoked ? `Revoked ${id}.` : `Key ${id} was revoked before.`);
}

const forAccount = ({ account }: AccountOptions): string =>
  account === "default" ? "" : ` --account ${account}`;

/** What `--key` bounds. */
export const usedKey = async (store: Store, word: string | undefined, options: AccountOptions) =>
  word === undefined ? {} : { keyId: (await requireKey(store, word, options)).id };

/** @param word an id; else the name that one key has of those that were not revoked */
async function requireKey(store: Store, word: string, options: AccountOptions): Promise<KeyDetail> {
  const { account } = options;
  const key = await store.key(word);
  if (key?.accountId === account) return key;

  const keys = await store.listKeys(account);
  const [named, ...others] = keys.filter((one) => one.name === word && one.revokedAt === null);
  if (named !== undefined && others.length === 0) return named;

  const ids = [named, ...others].map((one) => one?.id).join(", ");
  throw failed.not_found(
    `account "${echo(account)}" has ${ids === "" ? "no key" : `several keys (${ids}) called`} ` +
      echo(word),
    key === undefined
      ? `headcount service keys list${forAccount(options)}${placeFlags(options)}`
      : `it is a key of another account: add --account ${shellWord(key.accountId)}`,
    "unknown_key",
  );
}

function columns(now: number): readonly ColumnOf<KeyDetail>[] {
  const state = ({ expiresAt, revokedAt }: KeyDetail): string =>
    revokedAt !== null ? "revoked" : expiresAt !== null && expiresAt <= now ? "expired" : "active";
  const rest = ({ budget }: KeyDetail) =>
    budget && creditsOrNull((budget.cap - budget.spent - budget.held) as typeof budget.cap);

  return [
    { name: "id", title: "key" },
    { name: "name", long: true },
    { name: "mode" },
    { name: "prefix", title: null },
    { name: "state", value: state },
    {
      name: "scopes",
      long: true,
      value: ({ scopes }) => scopes?.join(",") ?? "all",
      json: ({ scopes }) => scopes ?? ["all"],
    },
    creditsColumn("spent"),
    {
      name: "max_credits",
      title: null,
      value: ({ budget }) => budget && creditsOrNull(budget.cap),
    },
    { name: "left", title: "left of cap", align: "right", value: rest },
    {
      name: "last_used_at",
      title: "used",
      value: ({ lastUsedAt }) => iso(lastUsedAt),
      show: ({ lastUsedAt }) => (lastUsedAt === null ? "never" : ago(now - lastUsedAt, lastUsedAt)),
    },
    timeColumn("expires_at", "expires", ({ expiresAt }) => expiresAt),
    { name: "created_at", title: null, value: ({ createdAt }) => iso(createdAt) },
    { name: "revoked_at", title: null, value: ({ revokedAt }) => iso(revokedAt) },
    {
      name: "rotated_from",
      title: null,
      value: ({ id, origin }) => (origin === id ? null : origin),
    },
  ];
}

interface BoundOptions {
  readonly maxCredits?: string;
  readonly expires?: string;
  readonly scope?: string;
}

/**
 * The calls of the API (docs/reference/contract-keys.md, Keys). The
 * service has them too, and is loaded only when it runs.
 */
const SCOPES: readonly Scope[] = ["account", "count", "search", "employees", "enrich"];

const addBoundOptions = (command: Command): Command =>
  command
    .option(
      "--max-credits <n>",
      "the most that it may ever be charged, kept by the service; or none",
    )
    .option(
      "--expires <when>",
      "until when it works: 2m (minutes), 12h, 7d from now, a UTC date as 2027-01-31, or never",
    )
    .offers("--scope <calls>", `what it may call: ${SCOPES.join(", ")} (commas between); or all`, {
      kind: "commas",
      values: SCOPES,
    });

function keyBoundsOf({ expires, maxCredits, scope }: BoundOptions, now: number): KeyChanges {
  return present({
    maxCredits: maxCredits === "none" ? null : whenGiven(maxCredits, creditAmount),
    expiresAt: whenGiven(expires, (text) => endGiven(text, now)),
    scopes: whenGiven(scope, scopesOf),
  });
}

function endGiven(text: string, now: number): number | null {
  if (text === "never") return null;
  const at = momentGiven("--expires", text, now, 1);
  if (at > now) return at;

  throw usageError(
    `--expires ${echo(text)} lies in the past`,
    "headcount service keys revoke KEY ends a key now",
  );
}

function overlapOf(text: string): number {
  const span = text === "0" ? 0 : spanMs(text);
  if (span !== undefined) return span;
  throw usageError(`an overlap is 0, 12h, 7d or 4w, not "${echo(text)}"`, "for example 24h");
}

function scopesOf(text: string): readonly Scope[] | null {
  if (text === "all") return null;
  const scopes = wordsGiven("--scope", text, SCOPES);
  return scopes.includes("account") ? scopes : ["account", ...scopes];
}
