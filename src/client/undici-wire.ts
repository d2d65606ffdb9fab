import { createRequire } from "node:module";
import { setFlagsFromString } from "node:v8";
import type { Dispatcher } from "undici";
import type { ProxySettings } from "./proxy.ts";
import type { Timeouts, Wire } from "./transport.ts";

type DispatcherConstructor = new (...args: unknown[]) => Dispatcher;

interface UndiciParts {
  readonly Pool: DispatcherConstructor;
  readonly EnvHttpProxyAgent: DispatcherConstructor;
}

const require = createRequire(import.meta.url);

/**
 * undici's pool by itself: the whole package costs three times as much to load. It is a file of the package, not of its
 * documented interface, hence the way back to the front door.
 */
function loadPool(): DispatcherConstructor {
  try {
    return require("undici/lib/dispatcher/pool.js") as DispatcherConstructor;
  } catch {
    return (require("undici") as UndiciParts).Pool;
  }
}

function openDispatcher(origin: URL, proxy: ProxySettings | undefined, timeouts: Timeouts): Dispatcher {
  const settings = {
    connections: 16,
    pipelining: 1,
    connect: { timeout: timeouts.connect },
    headersTimeout: timeouts.headers,
    bodyTimeout: timeouts.bodyIdle,
  };
  if (proxy === undefined) {
    const Pool = loadPool();
    return new Pool(origin.origin, settings);
  }
  const { EnvHttpProxyAgent } = require("undici") as UndiciParts;
  return new EnvHttpProxyAgent({ ...settings, ...proxy });
}

let parserKept = false;

/**
 * V8 would compile undici's WASM parser a second time, optimised, and the process waits for that at its end (~75 ms). Called as
 * late as can be, before the first request: with changed flags V8 no longer takes Node's own modules from their code cache.
 */
function keepParserAsItIs(): void {
  if (parserKept) return;
  parserKept = true;
  setFlagsFromString("--wasm-tiering-budget=1000000000");
}

/** Requests over undici: a pool of connections to one origin, or a proxy's tunnels. */
export function undiciWire(origin: URL, proxy: ProxySettings | undefined, timeouts: Timeouts): Wire {
  const dispatcher = openDispatcher(origin, proxy, timeouts);
  return {
    send(request, receiver) {
      keepParserAsItIs();
      let controller: Dispatcher.DispatchController | undefined;
      let cut: Error | undefined;
      dispatcher.dispatch(
        {
          origin: origin.origin,
          path: request.path,
          method: request.method,
          headers: request.headers,
          body: request.body ?? null,
          // Only the caller decides what is sent again: undici must not repeat a request on its own.
          idempotent: false,
        },
        {
          onRequestStart(started) {
            controller = started;
            // Called right before the first byte goes onto an open connection.
            if (cut) started.abort(cut);
            else receiver.sending();
          },
          onResponseStart(_, status, headers) {
            if (status >= 200) receiver.headers(status, headers);
          },
          onResponseData(_, chunk) {
            receiver.data(chunk);
          },
          onResponseEnd() {
            receiver.end();
          },
          onResponseError(_, error) {
            receiver.failed(error);
          },
        },
      );
      return (reason) => {
        cut = reason;
        controller?.abort(reason);
      };
    },
    close: () => dispatcher.destroy(),
  };
}
