import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { startTestService } from "../support/service.ts";
import { testService } from "../support/serving.ts";

// What plain clients do that ours does not: write everything before they read, or send in the moment of a shutdown.

const service = testService({ people: 500 });

async function open(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  return socket;
}

/** All that comes until the other side closes, or until it is `enough`. An error of the socket is a rejection. */
function read(socket: Socket, enough: (text: string) => boolean = () => false): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      if (enough(text)) resolve(text);
    });
    socket.on("end", () => resolve(text));
    socket.on("error", reject);
    socket.resume();
  });
}

const statusOf = (text: string): number => Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1]);
const whole = (text: string): boolean => text.trimEnd().endsWith("}");

describe("a client that reads only when all is sent", () => {
  test.each([2, 8])(
    "gets its 413 for a body of %i MiB, and may go on with the same connection",
    async (mebibytes) => {
      const body = Buffer.alloc(mebibytes * 1_048_576, "a");
      for (let round = 0; round < 3; round++) {
        const socket = await open(service.port);
        const failed = new Promise<never>((_, reject) => socket.on("error", reject));
        socket.pause();
        const head = `POST /v1/person/search HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
        socket.write(head);
        await Promise.race([new Promise<void>((done) => socket.write(body, () => done())), failed]);
        const text = await read(socket, whole);
        expect(statusOf(text)).toBe(413);
        expect(text).toContain("larger than 1048576 bytes");
        const next = read(socket, whole);
        socket.write(
          `GET /v1/account HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.key}\r\n\r\n`,
        );
        expect(statusOf(await next)).toBe(200);
        socket.destroy();
      }
    },
  );
});

test("what was sent before the service is told to stop is answered", async () => {
  const stopping = await startTestService({ people: 500 });
  const sockets = await Promise.all(Array.from({ length: 20 }, () => open(stopping.port)));
  const answers = sockets.map((socket) => read(socket));
  for (const socket of sockets) {
    socket.write(
      `GET /v1/account HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${stopping.key}\r\n\r\n`,
    );
  }
  // In the same turn: the requests are in the kernel, and nobody has read them.
  const closed = stopping.close();
  expect((await Promise.all(answers)).map(statusOf)).toEqual(sockets.map(() => 200));
  await closed;
});

test("`Link` leads on from where the page ended, also after a cursor between two pages", async () => {
  const body = { filters: {}, per_page: 3 };
  const first = await service.call("/v1/person/search", { body });
  expect(first.headers.get("link")).toContain('page="2"; per_page="3"');
  const cursor = first.headers.get("x-next-cursor");
  const second = await service.call("/v1/person/search", {
    body: { filters: {}, per_page: 7, cursor },
  });
  expect(second.headers.get("link")).toContain(
    `cursor="${second.headers.get("x-next-cursor")}"; per_page="7"`,
  );
});
