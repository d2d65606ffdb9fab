import { createReadStream } from "node:fs";
import { open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import type { LoadServers } from "./servers.ts";

const CHUNK = 16 << 20;
const NEWLINE = 0x0a;

async function* wholeLines(path: string): AsyncGenerator<Buffer> {
  const file = await open(path);
  try {
    let rest: Buffer = Buffer.alloc(0);
    for (;;) {
      const chunk = Buffer.allocUnsafe(CHUNK);
      const { bytesRead } = await file.read(chunk, 0, CHUNK);
      const data = Buffer.concat([rest, chunk.subarray(0, bytesRead)]);
      const end = bytesRead === 0 ? data.length : data.lastIndexOf(NEWLINE) + 1;
      if (end > 0) yield data.subarray(0, end);
      rest = data.subarray(end);
      if (bytesRead === 0) return;
    }
  } finally {
    await file.close();
  }
}

async function* piecesOf(folder: string): AsyncGenerator<Readable> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    if (path.endsWith(".parquet")) yield createReadStream(path);
    else for await (const lines of wholeLines(path)) yield Readable.from([lines], { objectMode: false });
  }
}

export async function sendRows(servers: LoadServers, table: string, columns: readonly string[], folder: string) {
  const pieces = piecesOf(folder);
  const streams = servers.streams.map(async (client) => {
    for (;;) {
      // A generator that is asked by several gives each piece to one of them.
      const { value, done } = await pieces.next();
      if (done) return;
      await servers.send(table, columns, value, client);
    }
  });
  const ends = await Promise.allSettled(streams);
  await pieces.return(undefined);
  for (const end of ends) if (end.status === "rejected") throw end.reason;
}
