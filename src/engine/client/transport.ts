import { proxyFor } from "./proxy.ts";
import { exchange, type RawReply, type RawRequest, TIMEOUTS, type Timeouts, type Wire } from "./wire.ts";

export interface Transport {
  send(request: RawRequest): Promise<RawReply>;
  close(): Promise<void>;
}

export interface TransportOptions {
  readonly origin: URL;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly now: () => number;
  readonly timeouts?: Partial<Timeouts> | undefined;
}

/** `node:http` loads in a third of the time of undici, which is there for proxies. */
export function openTransport({ origin, env, now, timeouts }: TransportOptions): Transport {
  const proxy = proxyFor(origin, env);
  const name = `${origin.origin}${proxy === undefined ? "" : ` through the proxy ${proxy.host}`}`;
  const options = { name, timeouts: { ...TIMEOUTS, ...timeouts }, now };
  let wire: Promise<Wire> | undefined;
  const open = async (): Promise<Wire> =>
    proxy === undefined
      ? (await import("./direct.ts")).directWire(origin)
      : (await import("./tunnel.ts")).tunnelWire(origin, proxy);
  return {
    async send(request) {
      wire ??= open();
      return exchange(await wire, request, options);
    },
    async close() {
      await (await wire)?.close();
    },
  };
}
