// A load generator that costs little, so that the server is what is measured: plain sockets, requests made beforehand, answers
// read only as far as their status and length. Closed loop: each connection waits for its answer before it asks again.
import { connect } from "node:net";

/** The bytes of a request over a connection that stays open. */
export function requestBytes({ method, path, key, body, headers = {} }) {
  const lines = [`${method} ${path} HTTP/1.1`, "Host: 127.0.0.1", `Authorization: Bearer ${key}`];
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
  if (body !== undefined)
    lines.push("Content-Type: application/json", `Content-Length: ${Buffer.byteLength(body)}`);
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n${body ?? ""}`);
}

/**
 * Keeps `connections` requests in flight for `durationMs`, then lets the last ones finish.
 * @param next gives the bytes of the next request
 * @returns answers by status, milliseconds, and the latencies' median and 99th percentile in ms
 */
export async function load({ url, connections, durationMs, next }) {
  const { hostname, port } = new URL(url);
  const statuses = {};
  const latencies = [];
  const start = performance.now();
  const end = start + durationMs;
  const client = () =>
    new Promise((resolve, reject) => {
      const socket = connect({ host: hostname, port: Number(port), noDelay: true });
      let pending = [];
      let size = 0;
      let needed = -1;
      let sent = 0;
      const send = () => {
        sent = performance.now();
        if (sent >= end) socket.end();
        else socket.write(next());
      };
      socket.on("connect", send);
      socket.on("data", (chunk) => {
        pending.push(chunk);
        size += chunk.length;
        if (needed < 0) {
          const bytes = pending.length === 1 ? chunk : Buffer.concat(pending);
          pending = [bytes];
          const headEnd = bytes.indexOf("\r\n\r\n");
          if (headEnd < 0) return;
          const head = bytes.latin1Slice(0, headEnd);
          const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
          if (length === undefined)
            return void socket.destroy(new Error(`an answer without a length:\n${head}`));
          needed = headEnd + 4 + Number(length);
          const status = head.slice(9, 12);
          statuses[status] = (statuses[status] ?? 0) + 1;
        }
        if (size < needed) return;
        if (size > needed)
          return void socket.destroy(new Error("more bytes than the answer's length"));
        latencies.push(performance.now() - sent);
        pending = [];
        size = 0;
        needed = -1;
        send();
      });
      socket.on("error", reject);
      socket.on("close", resolve);
    });
  await Promise.all(Array.from({ length: connections }, client));
  latencies.sort((a, b) => a - b);
  return {
    answers: latencies.length,
    statuses,
    ms: performance.now() - start,
    p50: latencies[latencies.length >> 1],
    p99: latencies[Math.floor(latencies.length * 0.99)],
  };
}

/** One connection that stays open, for calls one after the other: its cost is a small part of a millisecond. */
export async function openConnection(url) {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  await new Promise((resolve, reject) => socket.once("connect", resolve).once("error", reject));
  let waiting;
  let pending = Buffer.alloc(0);
  socket.on("data", (chunk) => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
    const headEnd = pending.indexOf("\r\n\r\n");
    if (headEnd < 0) return;
    const head = pending.latin1Slice(0, headEnd);
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1]);
    if (pending.length < headEnd + 4 + length) return;
    const body = pending.subarray(headEnd + 4);
    pending = Buffer.alloc(0);
    waiting.resolve({
      ms: performance.now() - waiting.start,
      status: Number(head.slice(9, 12)),
      body,
    });
  });
  socket.on("error", (error) => waiting?.reject(error));
  socket.on("close", () => waiting?.reject(new Error("the connection was closed")));
  return {
    /** Sends the request and waits for the whole answer. */
    ask: (bytes) =>
      new Promise((resolve, reject) => {
        waiting = { start: performance.now(), resolve, reject };
        socket.write(bytes);
      }),
    close: () => socket.destroy(),
  };
}
