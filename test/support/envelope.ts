import { expect } from "vitest";

export interface AnyAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
}

export interface Envelope {
  readonly status: boolean;
  readonly detail: readonly string[];
  readonly result: unknown;
  readonly credits_used: number;
  readonly credits_remaining: number;
}

/**
 * Holds an answer against what docs/reference/contract.md (Envelope, Limits) promises of every one
 * of them.
 */
export function expectEnvelope(answer: AnyAnswer, name: string): Envelope {
  const { body, headers, status } = answer;
  expect(headers["content-type"], name).toBe("application/json; charset=utf-8");
  const envelope = JSON.parse(body) as Envelope;
  expect(Object.keys(envelope), name).toEqual([
    "status",
    "detail",
    "result",
    "credits_used",
    "credits_remaining",
  ]);
  expect(envelope.status, name).toBe(status === 200);
  expect(Array.isArray(envelope.detail), name).toBe(true);
  for (const line of envelope.detail) {
    expect(typeof line, name).toBe("string");
    expect(line, name).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
  }
  if (status !== 200) {
    expect(envelope.detail.length, name).toBeGreaterThan(0);
    expect(envelope.result, name).toBeNull();
    expect(envelope.credits_used, name).toBe(0);
    expect(body.length, name).toBeLessThan(16_384);
  }
  for (const header of ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"]) {
    expect(headers[header], `${name}: ${header}`).toMatch(/^\d+$/);
  }
  expect(headers["x-ratelimit-window"], name).toMatch(/^(minute|day)$/);
  expect(headers["x-request-id"], name).toMatch(/^[A-Za-z0-9._:-]{1,128}$/);
  expect(headers["cache-control"], name).toBe("no-store");
  if (status === 429) expect(Number(headers["retry-after"]), name).toBeGreaterThanOrEqual(1);
  return envelope;
}
