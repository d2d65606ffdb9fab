import { type Dispatcher, Pool, ProxyAgent } from "undici";
import type { Wire } from "./wire.ts";

/** Tunnels: the proxy sees the origin's name and nothing else. */
export function tunnelWire(origin: URL, proxy: URL): Wire {
  // The bytes that the escapes stand for, whatever they spell: also of a name without a password.
  const user = unescape(`${proxy.username}:${proxy.password}`);
  // Limits of time are the exchange's: it sees the proxy's silence too.
  const agent = new ProxyAgent({
    uri: proxy.href,
    ...(user !== ":" && { token: `Basic ${Buffer.from(user, "latin1").toString("base64")}` }),
    clientFactory: (url, options) => new Tunnels(url, options),
    pipelining: 1,
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  return dispatcherWire(origin, agent);
}

const CLOSED = "the proxy closed the connection: it made no tunnel";

/** What closes before it answers undici asks again at once, thousands of times: an end to it. */
class Tunnels extends Pool {
  override connect(options: Dispatcher.ConnectOptions): Promise<Dispatcher.ConnectData> {
    return super.connect(options).catch((error: NodeJS.ErrnoException) => {
      throw error.code === "UND_ERR_SOCKET" ? new Error(CLOSED) : error;
    });
  }
}

export function dispatcherWire(origin: URL, dispatcher: Dispatcher): Wire {
  return {
    send({ method, path, headers, body }, receiver) {
      let controller: Dispatcher.DispatchController | undefined;
      let cut: Error | undefined;
      dispatcher.dispatch(
        // undici must not repeat a request on its own.
        { origin: origin.origin, path, method, headers, body: body ?? null, idempotent: false },
        {
          onRequestStart(started) {
            controller = started;
            if (cut) started.abort(cut);
            else receiver.sending();
          },

          onResponseStart(_, status, replyHeaders) {
            if (status >= 200) receiver.headers(status, replyHeaders);
          },

          onResponseData(_, chunk) {
            receiver.data(chunk);
          },

          onResponseEnd() {
            receiver.end();
          },

          onResponseError(_, error) {
            const [text, code] = namesOf(error);
            receiver.failed(text, code);
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

const CODES: Readonly<Record<string, string>> = {
  UND_ERR_SOCKET: "CLOSED",
  UND_ERR_CONNECT_TIMEOUT: "CONNECT_TIMEOUT",
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: "WRONG_LENGTH",
  UND_ERR_INVALID_ARG: "UNSENDABLE",
  UND_ERR_HEADERS_OVERFLOW: "HEADERS_TOO_LONG",
};

function namesOf(error: NodeJS.ErrnoException): readonly [Error, string | undefined] {
  const refused = /Proxy response \((\d+)\)/.exec(error.message)?.[1];
  if (refused !== undefined) {
    const why = refused === "407" ? "it wants another user name and password" : "it made no tunnel";
    return [
      new Error(`the proxy answered ${refused}: ${why}`),
      refused < "500" ? "PROXY_REFUSED" : "PROXY_FAILED",
    ];
  }

  if (error.message === CLOSED) return [error, "PROXY_FAILED"];

  const { code = "" } = error;
  return [
    error,
    /^HPE_|^HTTPParserError$/.test(`${code}${error.name}`) ? "BROKEN_HTTP" : CODES[code],
  ];
}
