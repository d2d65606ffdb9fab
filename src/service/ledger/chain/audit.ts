import { change, type Steps, statementRows } from "../database.ts";
import { type DigestPart, digestOf } from "./digest.ts";
import { AUDIT_COLUMNS, auditLink } from "./links.ts";

export interface Acted {
  readonly actor: string;
  readonly action: string;
  readonly accountId: string | null;
  readonly target: string;
  /** JSON values; never a secret or a record. */
  readonly detail: Readonly<Record<string, unknown>>;
  /** What the act has changed, by now written: `[kind, id]` of {@link THINGS}. */
  readonly changed?: readonly (readonly [kind: ThingKind, id: string])[];
}

/** Who acts, when, and whether an earlier attempt, whose outcome is unknown, came before: what it left is then ours. */
export interface Acting {
  readonly by: string;
  readonly at: number;
  readonly repeated: boolean;
}

/** What can only be changed by an act: its rows, `id` first. What they are after it is digested into the chain. */
export const THINGS = {
  account: "SELECT id, name, created_at, suspended_at FROM accounts",
  plan: "SELECT account_id AS id, name, per_minute, per_day, costs, small_counts FROM plans",
  key: `SELECT id, account_id, name, mode, prefix, hash, created_at, revoked_at, expires_at, scopes, origin FROM keys`,
  cap: "SELECT key_id AS id, cap FROM budgets",
  session: `SELECT id, hash, proof_hash, account_id, role, key_hash, created_at, expires_at, ended_at FROM console_sessions`,
} as const;
type ThingKind = keyof typeof THINGS;

export const auditStateOf = (row: Readonly<Record<string, unknown>>): string =>
  digestOf("state", ...(Object.values(row) as DigestPart[]));

/** One act, in the transaction of the act itself, and its last part: acts wait here for each other. @param at ms */
export function* audit(acted: Acted, at: number): Steps<void> {
  const { accountId, action, actor, changed = [], detail, target } = acted;
  const states: Record<string, string | null> = {};
  for (const [kind, id] of changed) {
    const [row] = yield* statementRows(`SELECT * FROM (${THINGS[kind]}) AS t WHERE id = $1`, id);
    states[`${kind} ${id}`] = row === undefined ? null : auditStateOf(row);
  }
  const values = [at, actor, action, accountId, target, JSON.stringify(detail), JSON.stringify(states)];
  // Written before it is read: who comes second waits for the row, and reads what the first has left.
  yield* change("UPDATE chains SET head = head WHERE name = 'audit'");
  const [row] = yield* statementRows("SELECT head FROM chains WHERE name = 'audit'");
  const link = auditLink(row?.head as string, values);
  yield* change(
    `INSERT INTO audit (${AUDIT_COLUMNS.join(", ")}, digest) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    ...[...values, link],
  );
  yield* change("UPDATE chains SET head = $1 WHERE name = 'audit'", link);
}

const REFERENCE = "reference";

/** The name of an operation that its asker named, within account and mode. */
export const operationNamed = (accountId: string, mode: string, reference: string): string =>
  `${REFERENCE} ${mode} ${accountId} ${reference}`;

export const referenceOf = (operation: string | null): string | null =>
  /^reference \S+ \S+ (.*)$/s.exec(operation ?? "")?.[1] ?? null;
