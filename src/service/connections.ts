import type { Server } from "node:http";
import { Server as TlsServer } from "node:https";
import type { Socket } from "node:net";

/** Where all are taken, the connection that is longest without a request makes room; where all are at work, the new one is closed. */
export class Connections {
  readonly #most: number;
  /** In the order in which they became idle. */
  readonly #idle = new Set<Socket>();
  /** Requests that wait for their answer: a client may send several without waiting. */
  readonly #requests = new WeakMap<Socket, number>();
  #open = 0;

  constructor(most: number) {
    this.#most = most;
  }

  watch(server: Server): void {
    server.on("connection", (socket: Socket) => {
      this.#open += 1;
      socket.once("close", () => {
        this.#open -= 1;
      });
      if (this.#open > this.#most) {
        const [longest = socket] = this.#idle;
        longest.destroy();
      }
    });
    // With TLS the socket of a request is another than the connection's, and there once hands are shaken.
    server.on(server instanceof TlsServer ? "secureConnection" : "connection", (socket: Socket) => {
      socket.once("close", () => this.#idle.delete(socket));
      this.#idle.add(socket);
    });
  }

  begin(socket: Socket): void {
    this.#idle.delete(socket);
    this.#requests.set(socket, (this.#requests.get(socket) ?? 0) + 1);
  }

  end(socket: Socket): void {
    const left = (this.#requests.get(socket) ?? 1) - 1;
    this.#requests.set(socket, left);
    if (left === 0 && !socket.destroyed) this.#idle.add(socket);
  }
}
