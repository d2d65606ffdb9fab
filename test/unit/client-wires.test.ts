import { type AddressInfo, createServer, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import fc from "fast-check";
import { Pool } from "undici";
import { afterEach, describe, expect, test } from "vitest";
import { directWire } from "../../src/engine/client/direct.ts";
import { LostReplyError } from "../../src/engine/client/errors.ts";
import { isTransient } from "../../src/engine/client/retry.ts";
import { openTransport } from "../../src/engine/client/transport.ts";
import { dispatcherWire } from "../../src/engine/client/tunnel.ts";
import {
  exchange,
  type RawReply,
  type RawRequest,
  TIMEOUTS,
  type Timeouts,
} from "../../src/engine/client/wire.ts";
import { rawServer } from "../support/client.ts";
import { freePort } from "../support/free-port.ts";
import { long } from "../support/long.ts";

/*
 * Calls go over node:http, through a proxy over undici: whatever a server does, both must tell the same of it.
 */
const open: { close(): unknown }[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((thing) => thing.close()));
});

interface Peer {
  readonly url: URL;
  /** What each connection received, byte for byte. */
  readonly received: string[];
}

/** A server that answers a whole request with whatever bytes the test likes. */
async function peer(answer: (socket: Socket, received: string) => void): Promise<Peer> {
  const received: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    const index = received.push("") - 1;
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("data", (chunk) => {
      const before = received[index] ?? "";
      received[index] = before + chunk.toString("latin1");
      if (wholeRequests(received[index] ?? "") > wholeRequests(before))
        answer(socket, received[index] ?? "");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  open.push({
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  });
  return { url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`), received };
}

function wholeRequests(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; count++) {
    const end = text.indexOf("\r\n\r\n", at);
    if (end < 0) return count;
    const length = Number(/content-length: (\d+)/i.exec(text.slice(at, end))?.[1] ?? 0);
    at = end + 4 + length;
    if (at > text.length) return count;
  }
  return count;
}

type Outcome =
  | { readonly status: number; readonly headers: unknown; readonly body: string }
  | {
      readonly code: string;
      readonly sent: boolean;
      readonly message: string;
      readonly transient: boolean;
    };

async function outcomeOf(call: Promise<RawReply>): Promise<Outcome> {
  try {
    const { status, headers, body } = await call;
    // White space around a value means nothing: whoever reads one trims it (`header`).
    const trimmed = Object.entries(headers).map(([name, value]) => [
      name,
      [value].flat().map((each) => each?.trim()),
    ]);
    return { status, headers: trimmed, body: body.toString("latin1") };
  } catch (error) {
    if (!(error instanceof LostReplyError)) throw error;
    const { code, wasSent: sent, message } = error;
    return { code, sent, message, transient: isTransient(error) };
  }
}

const GET: RawRequest = {
  method: "GET",
  path: "/v1/account?x=%20",
  headers: { accept: "application/json" },
};
const POST: RawRequest = {
  method: "POST",
  path: "/v1/person/count",
  headers: { "content-type": "application/json" },
  body: '{"filters":{"full_name":"Zoë"}}',
};

interface Options {
  readonly request?: RawRequest;
  readonly timeouts?: Partial<Timeouts>;
  readonly now?: () => number;
  readonly calls?: number;
}

const SETTINGS = { pipelining: 1, connect: { timeout: 0 }, headersTimeout: 0, bodyTimeout: 0 };

/** The same calls over each wire, one after the other. */
async function bothOutcomes(
  url: URL,
  { request = GET, timeouts, now = Date.now, calls = 1 }: Options = {},
) {
  const outcomes: Outcome[][] = [];
  const options = { name: url.origin, timeouts: { ...TIMEOUTS, ...timeouts }, now };
  for (const wire of [await directWire(url), dispatcherWire(url, new Pool(url.origin, SETTINGS))]) {
    const got: Outcome[] = [];
    for (let call = 0; call < calls; call++)
      got.push(await outcomeOf(exchange(wire, request, options)));
    await wire.close();
    outcomes.push(got);
  }
  const [http = [], undici = []] = outcomes;
  return { http, undici };
}

/** An answer that breaks the rules of HTTP breaks another rule first for one parser than for the other. */
const named = (outcome: Outcome): unknown =>
  "code" in outcome && /^(BROKEN_HTTP|WRONG_LENGTH)$/.test(outcome.code)
    ? { ...outcome, code: "broken", message: "" }
    : outcome;

// Its code depends on whether reading or writing failed first.
const NO_TLS = {
  sent: false,
  transient: false,
  message: expect.stringContaining("no TLS connection"),
};

const reply = (head: string, body = ""): string => `HTTP/1.1 ${head}\r\n\r\n${body}`;

describe("both wires tell the same", () => {
  test.each<[string, string]>([
    ["a length", reply("200 OK\r\ncontent-length: 2", "{}")],
    [
      "chunks with a trailer",
      reply(
        "200 OK\r\ntransfer-encoding: chunked",
        "2\r\n{}\r\n3;x=y\r\nabc\r\n0\r\nx-t: 1\r\n\r\n",
      ),
    ],
    ["until the end of the connection", reply("200 OK\r\nconnection: close", "{}")],
    ["HTTP/1.0", "HTTP/1.0 200 OK\r\nx: y\r\n\r\n{}"],
    ["no content", reply("204 No Content")],
    [
      "an informational answer first",
      `${reply("103 Early Hints\r\nlink: <x>")}${reply("201 C\r\ncontent-length: 1", "x")}`,
    ],
    ["a redirect", reply("302 Found\r\nlocation: https://elsewhere.example/\r\ncontent-length: 0")],
    [
      "repeated, joined, strange headers",
      reply(
        "429 T\r\nRETRY-After: 3\r\nretry-after: 9\r\nX-A: 1\r\nx-a: 2\r\nx-a: 3\r\nset-cookie: a\r\nage: 1\r\nage: 2\r\nx-l: \xe9\r\n__proto__: z\r\nx-empty:\r\ncontent-length: 0",
      ),
    ],
    [
      "compressed bytes as they came",
      reply("200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 3", "\x1f\x8b\x08"),
    ],
    ["less than its length", reply("200 OK\r\ncontent-length: 9", "{}")],
    ["an end in a chunk", reply("200 OK\r\ntransfer-encoding: chunked", "40\r\n{")],
    ["an end between chunks", reply("200 OK\r\ntransfer-encoding: chunked", "1\r\n{\r\n")],
    ["an end in the headers", "HTTP/1.1 200 OK\r\nx-a: 1\r\n"],
    ["an end in the status line", "HTTP/1.1 20"],
    ["nothing", ""],
    ["another protocol", "SSH-2.0-OpenSSH_9.2\r\n"],
    ["a length that is no number", reply("200 OK\r\ncontent-length: 2x", "{}")],
    ["two lengths", reply("200 OK\r\ncontent-length: 2\r\ncontent-length: 3", "{}")],
    [
      "length and chunks",
      reply("200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked", "0\r\n\r\n"),
    ],
    ["a chunk size that is none", reply("200 OK\r\ntransfer-encoding: chunked", "zz\r\n{}\r\n")],
    [
      "headers without end",
      `HTTP/1.1 200 OK\r\n${"x-a: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n".repeat(500)}`,
    ],
    ["a line break in a header", reply("200 OK\r\nx-a: 1\n 2\r\ncontent-length: 0")],
    ["a control character in a header", reply("200 OK\r\nx-a: \x01\r\ncontent-length: 0")],
    ["a change of protocol", reply("101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x")],
  ])("of %s", async (_, bytes) => {
    const { url } = await peer((socket) => socket.end(Buffer.from(bytes, "latin1")));
    const { http, undici } = await bothOutcomes(url);
    expect(http.map(named)).toEqual(undici.map(named));
    if (!("status" in (http[0] ?? {}))) expect(http[0]).toMatchObject({ sent: true });
  });

  test("of a reset before and in the answer", async () => {
    for (const begun of ["", "HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{"]) {
      const { url } = await peer((socket) => {
        if (begun === "") socket.resetAndDestroy();
        else socket.write(begun, () => setTimeout(() => socket.resetAndDestroy(), 20));
      });
      const { http, undici } = await bothOutcomes(url);
      expect(http).toEqual(undici);
      expect(http[0]).toMatchObject({ sent: true, transient: true });
    }
  });

  long("of silence, of half an answer, of an answer without end", async () => {
    const timeouts = { headers: 200, bodyIdle: 200, total: 1_000 };
    const silent = await peer(() => undefined);
    const headers = await bothOutcomes(silent.url, { timeouts });
    expect(headers.http).toEqual(headers.undici);
    expect(headers.http[0]).toMatchObject({ sent: true, code: "HEADERS_TIMEOUT" });

    const stalled = await peer((socket) =>
      socket.write(reply("200 OK\r\ncontent-length: 500", "{")),
    );
    const idle = await bothOutcomes(stalled.url, { timeouts });
    expect(idle.http).toEqual(idle.undici);
    expect(idle.http[0]).toMatchObject({ sent: true, code: "BODY_TIMEOUT" });

    const trickling = await peer((socket) => {
      socket.write(reply("200 OK\r\ncontent-length: 5000"));
      const timer = setInterval(() => socket.write(" "), 5);
      socket.on("close", () => clearInterval(timer));
    });
    let time = 0;
    // Only the clock that is read decides: a machine that stops for a moment is no silence.
    const slow = await bothOutcomes(trickling.url, {
      timeouts: { ...timeouts, bodyIdle: 30_000 },
      now: () => (time += 100),
    });
    expect(slow.http).toEqual(slow.undici);
    expect(slow.http[0]).toMatchObject({ sent: true, code: "REPLY_TOO_SLOW" });
  });

  long("of a second call on the same connection that is left without an answer", async () => {
    let answered = 0;
    const { url } = await peer((socket) => {
      if (answered++ % 2 === 0) socket.write(reply("200 OK\r\ncontent-length: 0"));
    });
    const { http, undici } = await bothOutcomes(url, {
      calls: 2,
      timeouts: { headers: 300, connect: 5_000 },
    });
    expect(http).toEqual(undici);
    expect(http[1]).toMatchObject({ sent: true, code: "HEADERS_TIMEOUT" });
  });

  long(
    "of a body that takes longer than the limit for standing still, and never stands still for so long",
    async () => {
      const { url } = await peer((socket) => {
        socket.write(reply("200 OK\r\ncontent-length: 12"));
        let left = 12;
        const timer = setInterval(() => {
          if (left-- > 0) socket.write("x");
          else clearInterval(timer);
        }, 120);
        socket.on("close", () => clearInterval(timer));
      });
      const { http, undici } = await bothOutcomes(url, { timeouts: { bodyIdle: 1_000 } });
      expect(http).toEqual(undici);
      expect(http[0]).toMatchObject({ status: 200, body: "x".repeat(12) });
    },
  );

  test("of a host that nobody listens on, and of a peer that speaks no TLS", async () => {
    const refused = await bothOutcomes(new URL(`http://127.0.0.1:${await freePort()}`));
    expect(refused.http).toEqual(refused.undici);
    expect(refused.http[0]).toMatchObject({ sent: false, code: "ECONNREFUSED", transient: true });

    const plain = await rawServer(() => undefined);
    open.push(plain);
    const tls = await bothOutcomes(new URL(plain.url.replace("http:", "https:")));
    for (const outcome of [...tls.http, ...tls.undici]) expect(outcome).toMatchObject(NO_TLS);
  });

  long("of a TLS handshake that never ends: not sent, and given up", async () => {
    const { url } = await peer(() => undefined);
    const { http, undici } = await bothOutcomes(new URL(url.href.replace("http:", "https:")), {
      timeouts: { connect: 1_000 },
    });
    expect(http).toEqual(undici);
    expect(http[0]).toMatchObject({ sent: false, code: "CONNECT_TIMEOUT", transient: true });
  });

  test("of a TLS server without a certificate", async () => {
    const server = createTlsServer({}, () => undefined);
    server.on("tlsClientError", () => undefined);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    open.push({ close: () => server.close() });
    const { http, undici } = await bothOutcomes(
      new URL(`https://127.0.0.1:${(server.address() as AddressInfo).port}`),
    );
    for (const outcome of [...http, ...undici]) expect(outcome).toMatchObject(NO_TLS);
  });

  test("of a path that cannot be sent: nothing goes out", async () => {
    const { url, received } = await peer((socket) => socket.end());
    const { http, undici } = await bothOutcomes(url, {
      request: { ...GET, path: "/v1/a b\u0007" },
    });
    expect(http[0]).toMatchObject({ code: "UNSENDABLE", sent: false, transient: false });
    expect(undici[0]).toMatchObject({ code: "UNSENDABLE", sent: false, transient: false });
    expect(received.join("")).toBe("");
  });

  long("whatever the answer, wherever it is cut and however it is split", async () => {
    const header = fc.tuple(
      fc.constantFrom(
        "x-a",
        "X-A",
        "retry-after",
        "content-type",
        "x-ratelimit-reset",
        "date",
        "age",
        "vary",
      ),
      fc.stringMatching(/^[ -~]{0,12}$/),
    );
    const body = fc.stringMatching(/^[ -~]{0,60}$/);
    const answer = fc
      .record({
        status: fc.constantFrom("200 OK", "201 Created", "404 Nope", "500 E"),
        headers: fc.array(header, { maxLength: 6 }),
        body,
        framing: fc.constantFrom("length", "chunked", "close", "short", "long"),
      })
      .map(({ status, headers, body: text, framing }) => {
        const lengths = {
          length: text.length,
          short: text.length + 3,
          long: Math.max(0, text.length - 3),
        };
        const how =
          framing === "chunked"
            ? "transfer-encoding: chunked"
            : framing === "close"
              ? "connection: close"
              : `content-length: ${lengths[framing]}`;
        const payload =
          framing === "chunked"
            ? `${text === "" ? "" : `${text.length.toString(16)}\r\n${text}\r\n`}0\r\n\r\n`
            : text;
        return reply(
          [status, how, ...headers.map(([name, value]) => `${name}: ${value}`)].join("\r\n"),
          payload,
        );
      });
    const script = fc.record({
      answer,
      cut: fc.option(fc.double({ min: 0, max: 1, noNaN: true })),
      split: fc.nat(40),
    });
    let bytes: Buffer[] = [];
    const { url } = await peer((socket) => {
      // Small writes one after the other, so that the client reads them in pieces.
      const rest = [...bytes];
      const next = (): void => {
        const piece = rest.shift();
        if (piece === undefined) socket.end();
        else socket.write(piece, () => setImmediate(next));
      };
      next();
    });
    await fc.assert(
      fc.asyncProperty(script, async ({ answer: whole, cut, split }) => {
        const all = Buffer.from(whole, "latin1");
        const kept = all.subarray(0, cut === null ? all.length : Math.floor(cut * all.length));
        const at = Math.min(split, kept.length);
        bytes = [kept.subarray(0, at), kept.subarray(at)].filter((part) => part.length > 0);
        const { http, undici } = await bothOutcomes(url);
        // More than was announced: undici may overlook it, node:http never does.
        const strict =
          /content-length: /.test(whole) &&
          "code" in (http[0] ?? {}) &&
          "status" in (undici[0] ?? {});
        if (strict)
          expect(http[0]).toMatchObject({ code: "BROKEN_HTTP", sent: true, transient: true });
        else expect(http.map(named)).toEqual(undici.map(named));
      }),
      { numRuns: 300 },
    );
  });
});

describe("what goes out", () => {
  test.each([
    ["GET", GET],
    ["POST", POST],
  ])("a %s is the same request with the same headers", async (_, request) => {
    const { url, received } = await peer((socket) =>
      socket.end(reply("200 OK\r\ncontent-length: 0")),
    );
    await bothOutcomes(url, { request });
    expect(received).toHaveLength(2);
    const [http, undici] = received.map((text) => {
      const [head = "", body] = text.split("\r\n\r\n");
      const [line, ...headers] = head.split("\r\n");
      return { line, headers: headers.map((each) => each.toLowerCase()).sort(), body };
    });
    expect(http).toEqual(undici);
    expect(http?.line).toBe(`${request.method} ${request.path} HTTP/1.1`);
    if (request.body !== undefined)
      expect(http?.headers).toContain(`content-length: ${Buffer.byteLength(request.body)}`);
  });

  test("one connection is used again, and a second one opened where the first was closed", async () => {
    const kept = await peer((socket) => socket.write(reply("200 OK\r\ncontent-length: 0")));
    const again = await bothOutcomes(kept.url, { calls: 3 });
    expect(again.http).toEqual(again.undici);
    expect(kept.received.map(wholeRequests)).toContain(3);
    const closed = await peer((socket) =>
      socket.end(reply("200 OK\r\nconnection: close\r\ncontent-length: 0")),
    );
    const anew = await bothOutcomes(closed.url, { calls: 3 });
    expect(anew.http).toEqual(anew.undici);
    expect(closed.received).toHaveLength(6);
  });

  test("cut off while it is under way: the connection is closed, and told as cancelled", async () => {
    for (const through of ["node:http", "undici"]) {
      const controller = new AbortController();
      let closed = false;
      const { url } = await peer((socket) => {
        socket.on("close", () => {
          closed = true;
        });
        controller.abort("enough");
      });
      const wire =
        through === "undici" ? dispatcherWire(url, new Pool(url.origin)) : await directWire(url);
      open.push(wire);
      const options = { name: url.origin, timeouts: TIMEOUTS, now: Date.now };
      const outcome = await outcomeOf(
        exchange(wire, { ...GET, signal: controller.signal }, options),
      );
      expect(outcome).toMatchObject({ code: "ABORTED", sent: true });
      await expect.poll(() => closed).toBe(true);
    }
  });
});

test("replies that come at once, piece by piece, are each whole", async () => {
  const { url } = await peer((socket, received) => {
    const letter = /GET \/(\w)/.exec(received)?.[1] ?? "";
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${8 * 70_000}\r\n\r\n`);
    const next = (left: number): void => {
      if (left > 0) socket.write(letter.repeat(70_000), () => setImmediate(next, left - 1));
    };
    next(8);
  });
  const wire = directWire(url);
  open.push(wire);
  const letters = [..."abcd"];
  const replies = await Promise.all(
    letters.map((letter) =>
      exchange(
        wire,
        { method: "GET", path: `/${letter}`, headers: {}, paid: true },
        { name: "it", timeouts: TIMEOUTS, now: Date.now },
      ),
    ),
  );
  const texts = replies.map(({ body }) => body.toString());
  expect(texts.map((text) => [...new Set(text)].join(""))).toEqual(letters);
  expect(texts.map(({ length }) => length)).toEqual(letters.map(() => 8 * 70_000));
});

test("a body in one buffer, whatever pieces it came in", async () => {
  const text = "0123456789".repeat(30_000);
  const { url } = await peer((socket) =>
    socket.end(reply(`200 OK\r\ncontent-length: ${text.length}`, text)),
  );
  const transport = openTransport({ origin: url, env: {}, now: Date.now });
  open.push(transport);
  const { body } = await transport.send(GET);
  expect(body.toString("latin1") === text).toBe(true);
});
