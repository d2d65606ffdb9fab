import { change, type Steps } from "./database.ts";
import { digestOf } from "./digest.ts";

export interface Acted {
  readonly actor: string;
  readonly action: string;
  readonly accountId: string | null;
  readonly target: string;
  /** JSON values; never a secret or a record. */
  readonly detail: Readonly<Record<string, unknown>>;
}

/** Who acts, when, and whether an earlier attempt, whose outcome is unknown, came before: what it left is then ours. */
export interface Acting {
  readonly by: string;
  /** Epoch ms. */
  readonly at: number;
  readonly repeated: boolean;
}

/** One act of administration, in the transaction of the act itself. @param at epoch ms */
export function* audit({ accountId, action, actor, detail, target }: Acted, at: number): Steps<void> {
  const text = JSON.stringify(detail);
  const parts = [at, actor, action, accountId, target, text] as const;
  yield* change(
    "INSERT INTO audit (at, actor, action, account_id, target, detail, digest) VALUES ($1, $2, $3, $4, $5, $6, $7)",
    ...[...parts, digestOf(...parts)],
  );
}

const REFERENCE = "reference";

/** The name of an operation that its asker named, within account and mode. */
export const operationNamed = (accountId: string, mode: string, reference: string): string =>
  `${REFERENCE} ${mode} ${accountId} ${reference}`;

/** What the asker named it; null for an operation that was not named. Ids of accounts have no spaces. */
export const referenceOf = (operation: string | null): string | null =>
  /^reference \S+ \S+ (.*)$/s.exec(operation ?? "")?.[1] ?? null;
