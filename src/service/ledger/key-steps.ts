import { type Credits, credits, creditsText, formatCredits } from "../../shared/contract/money.ts";
import { present, whenGiven } from "../../shared/contract/text.ts";
import { type Acting, audit } from "./chain/links.ts";
import { change, insert, type Row, type Steps, statementRows, storedFields } from "./database.ts";
import { StoreConflictError, UnknownAccountError } from "./errors.ts";
import type { KeyBudget, KeyChanges, KeyDetail, NewKey, Scope, StoredKey } from "./ledger.ts";

export const KEY_COLUMNS = `SELECT k.id, k.name, k.mode, k.prefix, k.hash, k.account_id,
  k.created_at, k.revoked_at, k.expires_at,
  k.scopes, COALESCE(k.origin, k.id) AS origin, a.name AS account_name FROM keys k
  JOIN accounts a ON a.id = k.account_id`;

const SPENT =
  "(SELECT COALESCE(SUM(u.charged - u.refunded), 0) FROM usage u WHERE u.key_id = k.id)";

export const KEY_DETAILS = KEY_COLUMNS.replace(
  "a.name AS account_name",
  "a.name AS account_name, l.used_at AS last_used_at, g.cap, g.spent AS budget_spent, " +
    `g.held AS budget_held, CAST(${SPENT} AS bigint) AS spent`,
).concat(
  " LEFT JOIN key_uses l ON l.key_id = k.id LEFT JOIN budgets " +
    "g ON g.key_id = COALESCE(k.origin, k.id)",
);

const KEY_NUMBERS = ["createdAt", "revokedAt", "expiresAt", "lastUsedAt"];
type KeyRow<Key extends StoredKey> = Omit<Key, "scopes"> & { readonly scopes: string | null };

const withScopes = <Key extends StoredKey>({ scopes, ...key }: KeyRow<Key>) => ({
  ...key,
  scopes: scopes === null ? null : (scopes.split(",") as Scope[]),
});

export const storedKey = (row: Row): StoredKey =>
  withScopes(storedFields<KeyRow<StoredKey>>(row, KEY_NUMBERS));

export function keyDetail(row: Row): KeyDetail {
  const { budgetHeld, budgetSpent, cap, ...key } = storedFields<
    KeyRow<KeyDetail> & Record<string, unknown>
  >(row, KEY_NUMBERS);
  const budget = cap === null ? null : budgetOf(cap, budgetSpent, budgetHeld);
  return { ...withScopes(key as KeyRow<KeyDetail>), budget };
}

const budgetOf = (...[cap, spent, held]: readonly unknown[]): KeyBudget => ({
  cap: credits(cap as bigint),
  spent: credits(spent as bigint),
  held: credits(held as bigint),
});

/**
 * Live keys of an account at once, and keys that it may
 * make in a day: each is a row of the audit for ever.
 */
const MAX_KEYS = 100;
const DAY_MS = 86_400_000;

export function* createKeyStep(
  key: NewKey,
  lock: string,
  { at, by, repeated }: Acting,
): Steps<void> {
  const { accountId, createdAt, hash, id, mode, name, prefix, rotatedFrom } = key;
  if (
    (yield* statementRows(`SELECT 1 FROM accounts p WHERE p.id = $1${lock}`, accountId)).length ===
    0
  ) {
    throw new UnknownAccountError(accountId);
  }

  const [match] = yield* statementRows(
    "SELECT id, hash FROM keys WHERE id = $1 OR hash = $2",
    id,
    hash,
  );
  if (match !== undefined) {
    if (repeated && match.id === id && match.hash === hash) return;
    throw new StoreConflictError(`a key ${id}, or one with the same secret, exists already`);
  }

  yield* assertRoom(key, at);

  const origin = rotatedFrom === undefined ? null : yield* originOf(rotatedFrom, key);
  const { expiresAt = null, scopes } = key;
  const row = {
    id,
    accountId,
    name,
    mode,
    prefix,
    hash,
    createdAt,
    expiresAt,
    scopes: scopesText(scopes),
    origin,
  };
  yield* insert("keys", row);

  const cap = key.maxCredits ?? null;
  if (cap !== null) {
    if (origin !== null)
      throw new RangeError("a key that is rotated keeps its cap: change it afterwards");
    if (cap < 0n) throw new RangeError("a cap cannot be negative");
    yield* insert("budgets", { keyId: id, cap, spent: 0, held: 0 });
  }

  const detail = {
    mode,
    ...toldOf(key),
    ...present({ rotated_from: rotatedFrom }),
  };
  const action = rotatedFrom === undefined ? "keys.create" : "keys.rotate";
  const changed = [["key", id], ...(cap === null ? [] : ([["cap", id]] as const))] as const;
  yield* audit({ actor: by, action, accountId, target: id, detail, changed }, at);
}

function* assertRoom({ accountId, rotatedFrom }: NewKey, at: number): Steps<void> {
  const sql = `SELECT COUNT(CASE WHEN revoked_at IS NULL
    AND (expires_at IS NULL OR expires_at > $2) THEN 1 END) AS live,
    COUNT(CASE WHEN created_at > $3 THEN 1 END) AS recent FROM keys WHERE account_id = $1`;
  const [row] = yield* statementRows(sql, accountId, at, at - DAY_MS);

  // A rotation is never refused for the number: the old key ends soon.
  if (rotatedFrom === undefined && Number(row?.live) >= MAX_KEYS) {
    throw new StoreConflictError(
      `the account has ${MAX_KEYS} live keys, the most there are: revoke one first`,
    );
  }
  if (Number(row?.recent) < MAX_KEYS) return;

  throw new StoreConflictError(
    `${MAX_KEYS} keys of the account were made in 24 hours, the most there are: wait`,
  );
}

function* originOf(id: string, { accountId, mode }: NewKey): Steps<string> {
  const [row] = yield* statementRows(`${KEY_COLUMNS} WHERE k.id = $1`, id);
  const old = whenGiven(row, storedKey);
  if (old?.accountId === accountId && old.mode === mode && old.revokedAt === null)
    return old.origin;
  throw new StoreConflictError(
    `there is no ${mode} key ${id} of this account to rotate, or it is revoked`,
  );
}

const scopesText = (scopes: readonly Scope[] | null | undefined): string | null =>
  scopes?.join(",") ?? null;

const toldOf = ({
  expiresAt,
  maxCredits,
  name,
  scopes,
}: KeyChanges): Readonly<Record<string, unknown>> =>
  present({
    name,
    expires_at: expiresAt == null ? undefined : new Date(expiresAt).toISOString(),
    max_credits: maxCredits == null ? undefined : formatCredits(maxCredits),
    scopes: scopes ?? undefined,
  });

export function* revokeKey(id: string, { at, by, repeated }: Acting): Steps<boolean> {
  const sql = "UPDATE keys SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL";
  if ((yield* change(sql, at, id)) === 1) {
    const [row] = yield* statementRows("SELECT account_id FROM keys WHERE id = $1", id);
    const accountId = (row?.account_id ?? null) as string | null;
    yield* audit(
      {
        actor: by,
        action: "keys.revoke",
        accountId,
        target: id,
        detail: {},
        changed: [["key", id]],
      },
      at,
    );

    return true;
  }
  if (!repeated) return false;

  return (
    (yield* statementRows("SELECT 1 FROM keys WHERE id = $1 AND revoked_at = $2", id, at))
      .length === 1
  );
}

export function* updateKey(
  id: string,
  changes: KeyChanges,
  lock: string,
  { at, by }: Acting,
): Steps<KeyDetail> {
  yield* statementRows(`SELECT 1 FROM keys p WHERE p.id = $1${lock}`, id);
  const [match] = yield* statementRows(`${KEY_COLUMNS} WHERE k.id = $1`, id);
  if (match === undefined) throw new StoreConflictError(`there is no key ${id}`);

  const key = storedKey(match);
  if (key.revokedAt !== null)
    throw new StoreConflictError(`key ${id} is revoked, and stays so: make another`);

  const { accountId, mode, origin } = key;
  if (changes.maxCredits !== undefined) yield* setCap(key, changes.maxCredits, lock);

  const { name = key.name, expiresAt = key.expiresAt, scopes = key.scopes } = changes;
  yield* change(
    "UPDATE keys SET name = $1, expires_at = $2, scopes = $3 WHERE id = $4",
    name,
    expiresAt,
    scopesText(scopes),
    id,
  );

  const removed = Object.entries(changes).flatMap(([what, value]) =>
    value === null ? [what] : [],
  );
  const detail = { ...toldOf(changes), ...(removed.length === 0 ? {} : { removed }) };
  const act = {
    actor: by,
    action: "keys.set",
    accountId,
    target: id,
    detail: { mode, origin, ...detail },
  };
  const cap = changes.maxCredits === undefined ? [] : ([["cap", origin]] as const);

  yield* audit({ ...act, changed: [["key", id], ...cap] }, at);
  const [row] = yield* statementRows(`${KEY_DETAILS} WHERE k.id = $1`, id);
  return keyDetail(row ?? {});
}

/**
 * A cap counts from the first day of the key: what
 * it spent and holds is read from the ledger itself.
 */
function* setCap(
  { accountId, mode, origin }: StoredKey,
  cap: Credits | null,
  lock: string,
): Steps<void> {
  const locked = `SELECT 1 FROM balances p WHERE p.account_id = $1 AND p.mode = $2${lock}`;
  yield* statementRows(locked, accountId, mode);
  const [row] = yield* statementRows(BUDGET_OF, accountId, mode, origin);
  const { held, spent } = budgetOf(0n, row?.spent ?? 0n, row?.held ?? 0n);

  yield* change("DELETE FROM budgets WHERE key_id = $1", origin);
  if (cap === null) return;

  if (cap < spent + held) {
    const inFlight = held > 0n ? ` and holds ${formatCredits(held)}` : "";
    const least = formatCredits(credits(spent + held));
    throw new RangeError(
      `the key has spent ${creditsText(spent)}${inFlight}: ` +
        `its cap cannot be below ${least}; revoke it to end it now`,
    );
  }

  yield* insert("budgets", { keyId: origin, cap, spent, held });
}

const BUDGET_OF = `SELECT CAST(COALESCE(SUM(c.spent), 0) AS bigint) AS spent,
  CAST(COALESCE(SUM(c.held), 0) AS bigint) AS held FROM (
  SELECT ${SPENT} AS spent,
    (SELECT COALESCE(SUM(h.amount), 0) FROM holds h
      WHERE h.state = 'pending' AND h.key_id = k.id) AS held
  FROM keys k WHERE k.account_id = $1 AND k.mode = $2 AND COALESCE(k.origin, k.id) = $3) AS c`;
