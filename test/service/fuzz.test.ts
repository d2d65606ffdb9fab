import { expect, test } from "vitest";
import { parseStrictJson } from "../../src/shared/contract/strict-json.ts";
import { DEPARTMENTS, FILTER_KEYS } from "../../src/shared/contract/vocabulary.ts";
import { asTyped } from "../support/as-typed.ts";
import { cases, LONG } from "../support/campaign.ts";
import { expectEnvelope } from "../support/envelope.ts";
import { long } from "../support/long.ts";
import { watchResponses } from "../support/openapi.ts";
import { exchange } from "../support/raw-http.ts";
import { onResponse } from "../support/service.ts";
import { testService } from "../support/serving.ts";

watchResponses(onResponse);

const BODIES = cases(2_000, 1_000_000);
const MUTATIONS = cases(300, 50_000);
const SEED = Number(process.env.HEADCOUNT_SEED ?? 20_261_121);

/** xorshift32: the same requests for the same seed, on every machine. */
function generator(seed: number) {
  let state = seed | 0 || 1;
  const next = (): number => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 4_294_967_296;
  };
  const below = (n: number): number => Math.floor(next() * n);
  const pick = <Item>(items: readonly Item[]): Item => {
    const item = items[below(items.length)];
    if (item === undefined) throw new Error("nothing to pick from");
    return item;
  };
  return { next, below, pick };
}

type Random = ReturnType<typeof generator>;

const NAMES = [
  ...FILTER_KEYS,
  "filters",
  "per_page",
  "page",
  "cursor",
  "__proto__",
  "constructor",
  "x",
  "",
  "\u202e",
  "😀",
];
const TEXTS = [
  ...DEPARTMENTS,
  "a",
  "",
  " ",
  "%",
  "é",
  "İ",
  "magic-500",
  "https://network.example/in/x",
  "\\",
  "'",
  "\u0000",
  "\ud800",
  "a".repeat(1_100),
];
const NUMBERS = asTyped`0 -0 1 -1 1.5 10 1000 1001 1e3 1e400 9007199254740991 9007199254740993 00`;

function value(random: Random, depth: number): string {
  const kind = random.below(depth > 4 ? 4 : 7);
  if (kind === 0) return random.pick(NUMBERS);
  if (kind === 1) return random.pick(["null", "true", "false"]);
  if (kind <= 3) return JSON.stringify(random.pick(TEXTS));
  if (kind === 4)
    return `[${Array.from({ length: random.below(4) }, () => value(random, depth + 1)).join(",")}]`;
  return object(random, depth + 1);
}

const object = (random: Random, depth: number): string =>
  `{${Array.from({ length: random.below(4) }, () => `${JSON.stringify(random.pick(NAMES))}:${value(random, depth)}`).join(",")}}`;

/** Mostly near a valid body, sometimes with bytes changed, cut, doubled or put in. */
function body(random: Random): Buffer {
  const extra =
    random.below(3) === 0 ? `,${JSON.stringify(random.pick(NAMES))}:${value(random, 1)}` : "";
  const text =
    random.below(5) === 0
      ? value(random, 0)
      : `{"filters":${random.below(4) === 0 ? value(random, 1) : object(random, 1)}${extra}}`;
  return random.below(3) === 0 ? mutate(Buffer.from(text), random) : Buffer.from(text);
}

function mutate(bytes: Buffer, random: Random): Buffer {
  let out = Buffer.from(bytes);
  for (let change = random.below(4); change >= 0 && out.length > 0; change--) {
    const at = random.below(out.length);
    const to = at + random.below(out.length - at);
    const kind = random.below(5);
    if (kind === 0) out[at] = random.below(256);
    else if (kind === 1) out = out.subarray(0, at);
    else if (kind === 2)
      out = Buffer.concat([
        out.subarray(0, at),
        Buffer.from([random.below(256)]),
        out.subarray(at),
      ]);
    else if (kind === 3) out = Buffer.concat([out.subarray(0, at), out.subarray(to)]);
    else out = Buffer.concat([out.subarray(0, to), out.subarray(at)]);
  }
  return out;
}

const service = testService({
  people: 200,
  credits: 900_000_000,
  plan: { perMinute: 100_000_000, perDay: 100_000_000 },
  timeouts: { headers: 1_000, request: 1_000, check: 200 },
});

long(
  `${BODIES} generated bodies: 200, 413, 415 or 422 in the envelope, and the charge is the rows returned`,
  async () => {
    const random = generator(SEED);
    const seen: Record<number, number> = {};
    let charged = 0n;
    const before = (await service.store.balance("default", "live")).balance;
    const one = async (): Promise<void> => {
      const payload = body(random);
      const url = random.below(8) > 0 ? "/v1/person/count" : "/v1/person/search";
      const answer = await service.inject({
        method: "POST",
        url,
        payload,
        headers: { authorization: `Bearer ${service.key}`, "content-type": "application/json" },
      });
      seen[answer.statusCode] = (seen[answer.statusCode] ?? 0) + 1;
      const name = `seed ${SEED}: ${payload.toString("latin1").slice(0, 400)}`;
      expect([200, 413, 415, 422], name).toContain(answer.statusCode);
      const headers = answer.headers as Record<string, string>;
      const envelope = expectEnvelope(
        { status: answer.statusCode, headers, body: answer.body },
        name,
      );
      if (url.endsWith("search") && answer.statusCode === 200)
        expect(envelope.credits_used, name).toBe((envelope.result as unknown[]).length);
      charged += BigInt(envelope.credits_used) * 1_000_000n;
    };
    for (let done = 0; done < BODIES; done += 50)
      await Promise.all(Array.from({ length: 50 }, one));
    expect(before - (await service.store.balance("default", "live")).balance).toBe(charged);
    // The generator must reach what it is for.
    expect(seen[200]).toBeGreaterThan(BODIES / 50);
    expect(seen[422]).toBeGreaterThan(BODIES / 10);
  },
  LONG ? 3_600_000 : 120_000,
);

test(
  `${MUTATIONS} mutated requests over raw sockets: every answer is an envelope, none is a 500, the service lives`,
  async () => {
    const random = generator(SEED + 1);
    const text = '{"filters":{"department":"Sales"},"per_page":1}';
    const requests = [
      `POST /v1/person/search HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.key}\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`,
      `GET /v1/company/enrich?domain=a.example HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.key}\r\n\r\n`,
      `POST /v1/person/count HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.key}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2f\r\n${text}\r\n0\r\n\r\n`,
    ];
    let answered = 0;
    const one = async (): Promise<void> => {
      const bytes = mutate(Buffer.from(random.pick(requests)), random);
      const { answers } = await exchange(service.port, [bytes], { end: true, deadlineMs: 20_000 });
      for (const answer of answers) {
        answered++;
        const name = `seed ${SEED}: ${JSON.stringify(bytes.toString("latin1"))}`;
        expect(answer.status, name).not.toBe(500);
        // A mutated path may name a page outside /v1; a HEAD has no body.
        if (answer.headers["x-ratelimit-limit"] !== undefined && answer.body !== "")
          expectEnvelope(answer, name);
      }
    };
    for (let done = 0; done < MUTATIONS; done += 50)
      await Promise.all(Array.from({ length: 50 }, one));
    expect(answered).toBeGreaterThan(MUTATIONS / 4);
    expect((await service.call("/v1/account")).status).toBe(200);
    expect(await service.store.verify()).toEqual([]);
  },
  LONG ? 3_600_000 : 120_000,
);

test("the strict reader agrees with JSON.parse on everything that it accepts, and refuses nothing else than it says", () => {
  const random = generator(SEED + 2);
  const OWN_RULES =
    /UTF-8|byte order mark|duplicate|NUL|surrogate|out of range|levels deep|keys|empty/;
  let [accepted, stricter] = [0, 0];
  for (let done = 0; done < 20_000; done++) {
    const bytes = body(random);
    const read = parseStrictJson(bytes);
    let parsed: unknown;
    let isJson = true;
    try {
      parsed = JSON.parse(bytes.toString("utf8"));
    } catch {
      isJson = false;
    }
    if (read.ok) accepted++;
    else if (isJson) stricter++;
    if (read.ok) expect([isJson, read.value]).toEqual([true, parsed]);
    else if (isJson) expect(read.message).toMatch(OWN_RULES);
  }
  // What is never drawn is not compared.
  expect(Math.min(accepted, stricter)).toBeGreaterThan(100);
});

test("the strict reader takes linear time on what is built against it", () => {
  // Nothing is timed: each of these ends at once, or the test runner's limit ends the test.
  const deep = 1_000_000;
  for (const text of [
    "[".repeat(deep),
    '{"a":'.repeat(deep / 5),
    '"'.repeat(deep),
    "\\".repeat(deep),
    `"${"\\".repeat(deep)}`,
    `{${'"a\\u0061":1,'.repeat(deep / 12)}`,
    "-".repeat(deep),
    "1e".repeat(deep / 2),
    `[${"{},".repeat(deep / 3)}`,
    `{"a":${'"\\"",'.repeat(deep / 5)}`,
  ]) {
    const read = parseStrictJson(Buffer.from(text));
    expect(read.ok).toBe(false);
    if (!read.ok) expect(read.message.length).toBeLessThan(300);
  }
});
