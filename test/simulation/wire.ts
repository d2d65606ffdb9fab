import { Agent, type Server } from "node:http";
import { Duplex } from "node:stream";

/** One end of a connection that is in this process alone: what is written to it is read at the other, in turns of the event loop and no later. */
class End extends Duplex {
  #other: End | undefined;
  #saidAll = false;

  static pair(): readonly [End, End] {
    const [one, other] = [new End(), new End()];
    one.#other = other;
    other.#other = one;
    return [one, other];
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    if (this.#other?.destroyed === false) this.#other.push(chunk);
    done();
  }

  override _final(done: () => void): void {
    this.#sayAll();
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#sayAll();
    done(error);
  }

  #sayAll(): void {
    if (!this.#saidAll && this.#other?.destroyed === false) this.#other.push(null);
    this.#saidAll = true;
  }

  // What a client asks of a socket of the system.
  readonly setKeepAlive = (): this => this;
  readonly setNoDelay = (): this => this;
  readonly setTimeout = (): this => this;
  readonly ref = (): this => this;
  readonly unref = (): this => this;
}

const servers = new Map<number, Server>();
const connect = Reflect.get(Agent.prototype, "createConnection") as (
  ...values: unknown[]
) => Duplex;

/** A connection of the system takes threads and the kernel, whose order no seed decides: these ports are reached within the process. */
function reach(
  this: Agent,
  options: { readonly port?: number | string },
  ...more: unknown[]
): Duplex {
  const server = servers.get(Number(options.port));
  if (server === undefined) return connect.call(this, options, ...more);
  const [near, far] = End.pair();
  setImmediate(() => {
    if (near.destroyed) return;
    server.emit("connection", far);
    near.emit("connect");
  });
  return near;
}

/** @returns the address under which clients of this process reach the server, which listens nowhere */
export function inProcess(server: Server, port: number): string {
  Reflect.set(Agent.prototype, "createConnection", reach);
  servers.set(port, server);
  return `http://127.0.0.1:${port}`;
}
