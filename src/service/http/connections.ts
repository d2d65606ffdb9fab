import type { Server } from "node:http";
import { Server as TlsServer } from "node:https";
import type { Socket } from "node:net";
import { networkOf } from "./address.ts";

interface Holder {
  open: number;
  /** Those without a request, in the order in which they became idle. */
  readonly idle: Set<Socket>;
}

interface Use {
  holder: Holder | undefined;
  /** Requests that wait for their answer: a client may send several without waiting. */
  requests: number;
}

/**
 * Where all are taken, of the addresses with idle ones the one that holds most gives up its longest idle. Whoever holds
 * more than that one gets none: the new connection is closed. A call at work is never cut.
 */
export class Connections {
  readonly #most: number;
  readonly #holders = new Map<string, Holder>();
  readonly #uses = new WeakMap<Socket, Use>();
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
    const use = this.#useOf(socket);
    if (use.requests === 0) use.holder?.idle.delete(socket);
    use.requests += 1;
  }

  end(socket: Socket): void {
    const use = this.#useOf(socket);
    use.requests -= 1;
    if (use.requests === 0 && !socket.destroyed) use.holder?.idle.add(socket);
  }

  #useOf(socket: Socket): Use {
    const known = this.#uses.get(socket);
    if (known !== undefined) return known;
    const use = { holder: undefined, requests: 0 };
    this.#uses.set(socket, use);
    return use;
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
    this.#useOf(socket).holder = holder;
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
