import { connect, createServer, type Server, type Socket } from "node:net";

/** A way to the database that can be cut; `cutAtCommit` lets a COMMIT through and cuts before its answer comes back. */
export class LossyProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  cutAtCommit: () => boolean = () => false;
  cuts = 0;
  closesAfterCut = false;
  /** No way through at all. */
  closed = false;
  port = 0;

  constructor(target: number) {
    this.#server = createServer((client) => {
      if (this.closed) {
        client.on("error", () => undefined);
        client.destroy();
        return;
      }
      const upstream = connect(target, "127.0.0.1");
      let silenced = false;
      for (const socket of [client, upstream]) {
        this.#sockets.add(socket);
        socket.on("error", () => undefined);
        socket.on("close", () => {
          this.#sockets.delete(socket);
          client.destroy();
          upstream.destroy();
        });
      }
      client.on("data", (chunk: Buffer) => {
        if (chunk.includes("COMMIT\0") && this.cutAtCommit()) {
          silenced = true;
          this.cuts += 1;
        }
        upstream.write(chunk);
      });
      upstream.on("data", (chunk: Buffer) => {
        // The database has answered, so the commit stands; the client never learns it.
        if (silenced) {
          this.closed = this.closesAfterCut;
          client.destroy();
        } else client.write(chunk);
      });
    });
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    const address = this.#server.address();
    if (address !== null && typeof address === "object") this.port = address.port;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
