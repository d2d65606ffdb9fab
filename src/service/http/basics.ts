export type KeyMode = "live" | "test";

/** How long the reply of a paid call is kept, and given again for nothing to who asks with its Idempotency-Key. */
export const IDEMPOTENCY_TTL_MS = 24 * 60 * 60 * 1000;

export interface StoredReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text; in UTF-8 where it has never been a text. */
  readonly body: string | Buffer;
}
