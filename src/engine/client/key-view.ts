import { type Credits, parseCredits } from "../../shared/contract/money.ts";
import { harmlessLine, isObject } from "../../shared/contract/text.ts";
import type { KeyView, ReplyMeta } from "./types.ts";

type Fields = Readonly<Record<string, unknown>>;

const fieldsOf = (value: unknown): Fields => (isObject(value) ? value : {});

const text = (value: unknown): string | null => (typeof value === "string" ? harmlessLine(value) : null);

const money = (value: unknown): Credits | undefined => (typeof value === "number" ? parseCredits(value) : undefined);

/** `result` of `GET /key` (docs/contract.md, Keys); undefined where that is something else. */
export function keyView(result: unknown, meta: ReplyMeta): KeyView | undefined {
  const { account, cap, key } = fieldsOf(result);
  const { created_at, expires_at, id, last_used_at, name, prefix, scopes } = fieldsOf(key);
  if (typeof id !== "string" || !("cap" in fieldsOf(result))) return undefined;
  const { held, left, max_credits, spent } = fieldsOf(cap);
  const amounts = [max_credits, spent, held, left].map(money);
  const [most, used, kept, free] = amounts;
  return {
    id: harmlessLine(id),
    name: text(name),
    prefix: text(prefix),
    createdAt: text(created_at),
    expiresAt: text(expires_at),
    lastUsedAt: text(last_used_at),
    scopes: Array.isArray(scopes) ? scopes.map((scope) => harmlessLine(String(scope))) : null,
    cap:
      most === undefined || used === undefined || kept === undefined || free === undefined
        ? null
        : { maxCredits: most, spent: used, held: kept, left: free },
    accountId: text(fieldsOf(account).id),
    accountName: text(fieldsOf(account).name),
    meta,
  };
}
