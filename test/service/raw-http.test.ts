import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cases } from "../support/campaign.ts";
import { expectEnvelope } from "../support/envelope.ts";
import { long } from "../support/long.ts";
import { watchResponses } from "../support/openapi.ts";
import { exchange, parseAnswers } from "../support/raw-http.ts";
import { onResponse, startTestService, type TestService } from "../support/service.ts";

watchResponses(onResponse);

let service: TestService;
let KEY = "";
const FILTERS = '{"filters":{}}';

beforeAll(async () => {
  service = await startTestService({
    people: 500,
    plan: { perMinute: 1_000_000, perDay: 1_000_000 },
    timeouts: { headers: 400, request: 800, check: 100, idle: 5_000 },
  });
  KEY = `Host: x\r\nAuthorization: Bearer ${service.key}\r\n`;
});
afterAll(() => service.close());

const post = (head: string, body: string): string =>
  `POST /v1/person/count HTTP/1.1\r\n${KEY}Content-Type: application/json\r\n${head}\r\n${body}`;

/** As a disk that does not answer, or a process that is stopped. */
const holdUp = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 700);

/** Bytes that are no request, or one that two servers would read differently. */
const MALFORMED: readonly (readonly [string, number, () => string])[] = [
  [
    "Content-Length beside Transfer-Encoding",
    400,
    () => post("Content-Length: 14\r\nTransfer-Encoding: chunked\r\n", `0\r\n\r\n${FILTERS}`),
  ],
  ["two Content-Lengths", 400, () => post("Content-Length: 14\r\nContent-Length: 15\r\n", FILTERS)],
  ["a list as Content-Length", 400, () => post("Content-Length: 14, 14\r\n", FILTERS)],
  ["a negative Content-Length", 400, () => post("Content-Length: -1\r\n", FILTERS)],
  ["Content-Length with a sign", 400, () => post("Content-Length: +14\r\n", FILTERS)],
  ["hexadecimal Content-Length", 400, () => post("Content-Length: 0xe\r\n", FILTERS)],
  ["huge Content-Length", 400, () => post("Content-Length: 99999999999999999999999\r\n", FILTERS)],
  [
    "chunked body of 2 MiB",
    413,
    () => post("Transfer-Encoding: chunked\r\n", `200000\r\n${" ".repeat(0x200000)}\r\n0\r\n\r\n`),
  ],
  ["Content-Length of 1 TB", 413, () => post("Content-Length: 1000000000000\r\n", FILTERS)],
  [
    "Transfer-Encoding not ending in chunked",
    400,
    () => post("Transfer-Encoding: chunked, identity\r\n", FILTERS),
  ],
  [
    "Transfer-Encoding twice",
    400,
    () =>
      post(
        "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n",
        "0\r\n\r\n",
      ),
  ],
  ["blank before the colon", 400, () => post("Content-Length : 14\r\n", FILTERS)],
  [
    "chunk size that is none",
    400,
    () => post("Transfer-Encoding: chunked\r\n", "zz\r\nabc\r\n0\r\n\r\n"),
  ],
  [
    "chunk longer than told",
    400,
    () => post("Transfer-Encoding: chunked\r\n", "1\r\nabcdef\r\n0\r\n\r\n"),
  ],
  ["chunk with bare LF", 400, () => post("Transfer-Encoding: chunked\r\n", "3\nabc\n0\n\n")],
  ["bare LF as line end", 400, () => `GET /v1/account HTTP/1.1\n${KEY}\n`],
  ["bare CR in a header", 400, () => `GET /v1/account HTTP/1.1\r\n${KEY}X: a\rb\r\n\r\n`],
  ["NUL in a header", 400, () => `GET /v1/account HTTP/1.1\r\n${KEY}X: a\u0000b\r\n\r\n`],
  [
    "control character in a header",
    400,
    () => `GET /v1/account HTTP/1.1\r\n${KEY}X: a\u0001b\r\n\r\n`,
  ],
  ["header name with a blank", 400, () => `GET /v1/account HTTP/1.1\r\n${KEY}X Y: a\r\n\r\n`],
  ["header without a colon", 400, () => `GET /v1/account HTTP/1.1\r\n${KEY}nonsense\r\n\r\n`],
  ["header without a name", 400, () => `GET /v1/account HTTP/1.1\r\n${KEY}: a\r\n\r\n`],
  ["folded header", 400, () => `GET /v1/account HTTP/1.1\r\n${KEY}X: a\r\n b\r\n\r\n`],
  ["first header folded", 400, () => `GET /v1/account HTTP/1.1\r\n X: a\r\n${KEY}\r\n`],
  [
    "headers of 20 KB",
    431,
    () => `GET /v1/account HTTP/1.1\r\n${KEY}X: ${"a".repeat(20_480)}\r\n\r\n`,
  ],
  ["a path of 20 KB", 431, () => `GET /v1/${"a".repeat(20_480)} HTTP/1.1\r\n${KEY}\r\n`],
  [
    "no Host",
    400,
    () => `GET /v1/account HTTP/1.1\r\nAuthorization: Bearer ${service.key}\r\n\r\n`,
  ],
  ["two Hosts", 400, () => `GET /v1/account HTTP/1.1\r\nHost: a\r\n${KEY}\r\n`],
  [
    "two keys",
    401,
    () => `GET /v1/account HTTP/1.1\r\n${KEY}Authorization: Bearer ${service.key}\r\n\r\n`,
  ],
  ["unknown method", 400, () => `FETCH /v1/account HTTP/1.1\r\n${KEY}\r\n`],
  ["method in lower case", 400, () => `get /v1/account HTTP/1.1\r\n${KEY}\r\n`],
  ["a method that others know", 405, () => `PROPFIND /v1/account HTTP/1.1\r\n${KEY}\r\n`],
  ["CONNECT", 405, () => `CONNECT example.com:443 HTTP/1.1\r\n${KEY}\r\n`],
  ["no version", 400, () => `GET /v1/account\r\n${KEY}\r\n`],
  ["HTTP/3.0", 400, () => `GET /v1/account HTTP/3.0\r\n${KEY}\r\n`],
  ["HTTP/2 preface", 400, () => "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
  ["TLS hello", 400, () => "\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003"],
  ["SSH hello", 400, () => "SSH-2.0-OpenSSH_9.6\r\n"],
  ["blank in the path", 400, () => `GET /v1/acc ount HTTP/1.1\r\n${KEY}\r\n`],
  ["path without a slash", 400, () => `GET v1/account HTTP/1.1\r\n${KEY}\r\n`],
  ["dots in the path", 404, () => `GET /v1/../v1/account HTTP/1.1\r\n${KEY}\r\n`],
  ["encoded traversal", 404, () => `GET /v1/..%2f..%2fetc%2fpasswd HTTP/1.1\r\n${KEY}\r\n`],
  ["dots below /docs", 404, () => `GET /docs/../openapi.json HTTP/1.1\r\n${KEY}\r\n`],
  ["broken percent-encoding in the path", 404, () => `GET /v1/%zz HTTP/1.1\r\n${KEY}\r\n`],
  ["broken percent-encoding, no key", 401, () => "GET /v1/%zz HTTP/1.1\r\nHost: x\r\n\r\n"],
  ["asterisk", 404, () => `OPTIONS * HTTP/1.1\r\n${KEY}\r\n`],
  ["absolute form", 200, () => `GET http://elsewhere.example/v1/account HTTP/1.1\r\n${KEY}\r\n`],
  [
    "HTTP/1.0 without Host",
    200,
    () => `GET /v1/account HTTP/1.0\r\nAuthorization: Bearer ${service.key}\r\n\r\n`,
  ],
  [
    "upgrade to a web socket",
    200,
    () => `GET /v1/account HTTP/1.1\r\n${KEY}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
  ],
  ["unknown expectation", 200, () => `GET /v1/account HTTP/1.1\r\n${KEY}Expect: miracles\r\n\r\n`],
  ["100-continue", 200, () => post("Expect: 100-continue\r\nContent-Length: 14\r\n", FILTERS)],
  [
    "chunked body",
    200,
    () => post("Transfer-Encoding: chunked\r\n", `e\r\n${FILTERS}\r\n0\r\n\r\n`),
  ],
  [
    "chunked body with a trailer",
    200,
    () =>
      post("Transfer-Encoding: chunked\r\n", `e\r\n${FILTERS}\r\n0\r\nAuthorization: x\r\n\r\n`),
  ],
  ["lines before the request", 200, () => `\r\n\r\nGET /v1/account HTTP/1.1\r\n${KEY}\r\n`],
  ["a body on a GET", 200, () => `GET /v1/account HTTP/1.1\r\n${KEY}Content-Length: 3\r\n\r\nabc`],
];

describe("bytes on the wire", () => {
  test.each(MALFORMED)("%s: %i", async (name, status, bytes) => {
    const { answers } = await exchange(service.port, [bytes()], { answers: 1 });
    const [answer] = answers;
    if (answer === undefined) throw new Error(`${name}: no answer`);
    expect(answer.status, answer.body).toBe(status);
    expectEnvelope(answer, name);
    if (status === 405) expect(answer.headers.allow).toBeDefined();
  });

  test("what follows a refused request on the same connection is not answered", async () => {
    const smuggled = `GET /v1/account HTTP/1.1\r\n${KEY}\r\n`;
    const bytes = post(
      "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n",
      `0\r\n\r\n${smuggled}`,
    );
    const { answers, closed } = await exchange(service.port, [bytes]);
    expect(answers.map(({ status }) => status)).toEqual([400]);
    expect(closed).toBe(true);
  });

  test("pipelined requests are answered in order", async () => {
    const one = `GET /v1/account HTTP/1.1\r\n${KEY}X-Request-Id: one\r\n\r\n`;
    const two = post("X-Request-Id: two\r\nContent-Length: 14\r\n", FILTERS);
    const { answers } = await exchange(service.port, [one + two + one], { answers: 3 });
    expect(answers.map(({ headers, status }) => [status, headers["x-request-id"]])).toEqual([
      [200, "one"],
      [200, "two"],
      [200, "one"],
    ]);
  });
});

describe("slow sockets are cut", () => {
  describe("a service that was held up itself does not blame the client for what lay in the kernel", () => {
    let service: TestService;
    beforeAll(async () => {
      service = await startTestService({
        people: 300,
        timeouts: { headers: 300, request: 500, check: 20 },
        wrapEngine: (engine) =>
          new Proxy(engine, {
            get: (target, name) => {
              const member = Reflect.get(target, name) as unknown;
              if (typeof member !== "function") return member;
              if (name !== "count") return member.bind(target);
              return async (...given: unknown[]) => {
                await new Promise((wake) => setTimeout(wake, 100));
                return member.apply(target, given) as unknown;
              };
            },
          }),
      });
    });
    afterAll(() => service.close());

    /** Sends the parts with a pause between them on four connections, is held up once, right after one of the parts was sent. */
    async function statuses(parts: readonly string[], heldUpAfter: number): Promise<unknown[]> {
      const sockets = Array.from({ length: 4 }, () => connect(service.port, "127.0.0.1"));
      const ends = sockets.map(
        (socket) =>
          new Promise((done) => {
            let text = "";
            socket.on("data", (bytes) => {
              text += bytes.toString();
            });
            socket.once("close", () =>
              done(
                parseAnswers(text)
                  .map(({ status }) => status)
                  .join(" "),
              ),
            );
          }),
      );
      for (const [at, part] of parts.entries()) {
        if (at > 0) await new Promise((wake) => setTimeout(wake, 60));
        // After an immediate the loop looks at its timers before it reads, so the late are found before what they sent.
        if (at > 0) await new Promise(setImmediate);
        for (const socket of sockets) socket.write(part);
        // Connections are accepted in this turn, and what they sent would be read in the next.
        if (at === 0) await new Promise(setImmediate);
        if (at === heldUpAfter) holdUp();
      }
      return Promise.all(ends);
    }
    const four = (status: string): string[] => [status, status, status, status];
    const head = (request: string): string =>
      `${request} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer ${service.key}\r\n`;
    const account = (): string => `${head("GET /v1/account")}\r\n`;
    const count = (): string =>
      `${head("POST /v1/person/count")}Content-Type: application/json\r\nContent-Length: 14\r\n\r\n`;

    long("whole requests on new connections", async () => {
      expect(await statuses([account()], 0)).toEqual(four("200"));
    });

    long("the first halves of heads on new connections", async () => {
      expect(await statuses([account().slice(0, 30), account().slice(30)], 0)).toEqual(four("200"));
    });

    long(
      "a body whose head was read before: where the answer takes a while, and where it is there at once",
      async () => {
        expect(await statuses([count(), FILTERS], 1)).toEqual(four("200"));
        expect(await statuses([count(), FILTERS], 1)).toEqual(four("200"));
      },
    );

    long("and the connection goes on when the answer is out by then", async () => {
      const open = count().replace("Connection: close", "Connection: keep-alive");
      expect(await statuses([open, FILTERS, account()], 1)).toEqual(four("200 200"));
    });

    long("but a body that was not sent is missing all the same", async () => {
      expect(await statuses([count(), FILTERS.slice(0, 5)], 1)).toEqual(four("408"));
    });
  });

  long(
    "a connection without a request is closed, a second after what its last answer said",
    async () => {
      const other = await startTestService({ people: 500, timeouts: { idle: 2_000 } });
      const head = `Host: x\r\nAuthorization: Bearer ${other.key}\r\n`;
      const ask = (more = "") => `GET /v1/account HTTP/1.1\r\n${head}${more}\r\n`;
      const kept = await exchange(other.port, [ask(), ask()]);
      expect(kept.closed).toBe(true);
      expect(
        kept.answers.map(({ headers, status }) => [
          status,
          headers.connection,
          headers["keep-alive"],
        ]),
      ).toEqual(Array(2).fill([200, "keep-alive", "timeout=1, max=10000"]));
      const ended = await exchange(other.port, [ask("Connection: close\r\n")]);
      expect(
        ended.answers.map(({ headers }) => [headers.connection, headers["keep-alive"]]),
      ).toEqual([["close", undefined]]);
      await other.close();
    },
  );

  test("a head that never ends: 408 in the envelope, and closed", async () => {
    const parts = [..."GET /v1/account HTTP/1.1\r\nHost: x\r\nX: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"];
    const { answers, closed } = await exchange(service.port, parts, { pauseMs: 20 });
    expect(closed).toBe(true);
    expect(answers.map(({ status }) => status)).toEqual([408]);
    if (answers[0]) expectEnvelope(answers[0], "slow head");
  });

  long("a body that never ends", async () => {
    const { answers, closed } = await exchange(
      service.port,
      [post("Content-Length: 100000\r\n", "{"), ..." ".repeat(200)],
      { pauseMs: 20 },
    );
    expect(closed).toBe(true);
    expect(answers.map(({ status }) => status)).toEqual([408]);
  });

  const SLOW = cases(200, 1_000);
  test(`${SLOW} of them at once do not keep others from being served`, async () => {
    const slow = Array.from({ length: SLOW }, () =>
      exchange(service.port, ["GET /v1/acc"], { deadlineMs: 10_000 }),
    );
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect((await service.call("/v1/account")).status).toBe(200);
    const ends = await Promise.all(slow);
    expect(ends.filter(({ closed }) => !closed)).toEqual([]);
  });

  long("a request that comes a byte at a time, in time, is answered", async () => {
    // With the limits of a real service: those of this file are so short that a busy machine alone exceeds them.
    const patient = await startTestService();
    const request = post("Content-Length: 14\r\n", FILTERS).replaceAll(service.key, patient.key);
    const { answers } = await exchange(patient.port, [...request], { pauseMs: 0, answers: 1 });
    expect(answers[0]?.status).toBe(200);
    await patient.close();
  });

  test("a connection that closes in the middle of a body charges nothing and hurts nobody", async () => {
    const before = (await service.store.balance("default", "live")).balance;
    for (let at = 1; at < 40; at += 3) {
      const whole = post("Content-Length: 14\r\n", FILTERS).replace(
        "person/count",
        "person/search",
      );
      await exchange(service.port, [whole.slice(0, whole.length - at)], {
        end: true,
        deadlineMs: 2_000,
      });
    }
    expect((await service.store.balance("default", "live")).balance).toBe(before);
    expect((await service.call("/v1/account")).status).toBe(200);
  });
});
