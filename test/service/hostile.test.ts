import { describe, expect, test } from "vitest";
import { expectEnvelope } from "../support/envelope.ts";
import { watchResponses } from "../support/openapi.ts";
import { onResponse } from "../support/service.ts";
import { testService } from "../support/serving.ts";
import { HOSTILE_CASES } from "./hostile-cases.ts";

watchResponses(onResponse);

const service = testService({
  people: 500,
  credits: 1_000_000,
  plan: { perMinute: 1_000_000, perDay: 1_000_000 },
});

test("there are at least 300 cases and no two share a name", () => {
  expect(HOSTILE_CASES.length).toBeGreaterThanOrEqual(300);
  const names = HOSTILE_CASES.map(({ name }) => name);
  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
});

describe("every hostile request gets its status, in the envelope, with the headers, and is not charged for an error", () => {
  test.each(HOSTILE_CASES)(
    "$name: $status",
    async ({ body, headers, method, name, says, status, url }) => {
      const before = (await service.store.balance("default", "live")).balance;
      const sent: Record<string, string> = { authorization: `Bearer ${service.key}` };
      if (body !== undefined) sent["content-type"] = "application/json";
      for (const [header, value] of Object.entries(headers ?? {})) {
        if (value === "") delete sent[header];
        else sent[header] = value;
      }
      const answer = await service.inject({
        method,
        url,
        headers: sent,
        ...(body === undefined ? {} : { payload: body }),
      });
      expect(answer.statusCode, answer.body.slice(0, 300)).toBe(status);
      const found = {
        status,
        headers: answer.headers as Record<string, string>,
        body: answer.body,
      };
      if (method === "HEAD") expect(answer.body).toBe("");
      const envelope = expectEnvelope(
        method === "HEAD" ? { ...found, body: HEAD_BODY } : found,
        name,
      );
      if (says !== undefined) expect(envelope.detail.join("\n")).toContain(says);
      if (status === 405) expect(answer.headers.allow).toMatch(/^(GET|POST)$/);
      const after = (await service.store.balance("default", "live")).balance;
      if (status !== 200) expect(after).toBe(before);
      else expect(before - after).toBe(BigInt(envelope.credits_used) * 1_000_000n);
    },
  );
});

/** HEAD has no body to look at; its headers are held against the rest. */
const HEAD_BODY =
  '{"status":false,"detail":["-"],"result":null,"credits_used":0,"credits_remaining":0}';

test("after all of it the ledger is sound and the service answers", async () => {
  expect(await service.store.verify()).toEqual([]);
  expect((await service.call("/v1/account")).status).toBe(200);
});
