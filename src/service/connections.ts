import type { Server } from "node:http";
import { Server as TlsServer } from "node:https";
import type { Socket } from "node:net";
import { networkOf } from "./address.ts";

/** The open connections of one address. */
interface Holder {
  open: number;
  /** Those without a request, in the order in which they became idle. */
  readonly idle: Set<Socket>;
}

/**
 * Where all are taken, of the addresses that have connections without a request the one that holds most gives up its longest idle. Whoever holds
 * more than that one gets none: the new connection is closed. A call at work is never cut.
 */
export class Connections {
  readonly #most: number;
  readonly #holders = new Map<string, Holder>();
  readonly #holderOf = new WeakMap<Socket, Holder>();
  /** Requests that wait for their answer: a client may send several without waiting. */
  readonly #requests = new WeakMap<Socket, number>();
  #open = 0;

  constructor(most: number) {
    this.#most = most;
  }

  watch(server: Server): void {
    server.on("connection", (socket: Socket) => this.#add(socket));
    // With TLS the socket of a request is another than the connection's, and there once hands are shaken.
    server.on(server instanceof TlsServer ? "secureConnection" : "connection", (socket: Socket) => this.#rest(socket));
  }

  begin(socket: Socket): void {
    this.#holderOf.get(socket)?.idle.delete(socket);
    this.#requests.set(socket, (this.#requests.get(socket) ?? 0) + 1);
  }

  end(socket: Socket): void {
    const left = (this.#requests.get(socket) ?? 1) - 1;
    this.#requests.set(socket, left);
    if (left === 0 && !socket.destroyed) this.#holderOf.get(socket)?.idle.add(socket);
  }

  #add(socket: Socket): void {
    const address = networkOf(socket);
    const holder = this.#holders.get(address) ?? { open: 0, idle: new Set() };
    this.#holders.set(address, holder);
    this.#open += 1;
    holder.open += 1;
    socket.once("close", () => {
      this.#open -= 1;
      holder.open -= 1;
      if (holder.open === 0) this.#holders.delete(address);
    });
    if (this.#open > this.#most) (this.#toGiveUp(holder.open) ?? socket).destroy();
  }

  #rest(socket: Socket): void {
    const holder = this.#holders.get(networkOf(socket));
    if (holder === undefined || socket.destroyed) return;
    this.#holderOf.set(socket, holder);
    holder.idle.add(socket);
    socket.once("close", () => holder.idle.delete(socket));
  }

  /** @param held how many the address of the new one holds, with it */
  #toGiveUp(held: number): Socket | undefined {
    let most: Holder | undefined;
    for (const holder of this.#holders.values()) {
      if (holder.idle.size > 0 && holder.open > (most?.open ?? 0)) most = holder;
    }
    const [longest] = most?.idle ?? [];
    return most !== undefined && most.open >= held ? longest : undefined;
  }
}
