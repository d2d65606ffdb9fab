import type { Duplex } from "node:stream";
import { echo, shownAddress } from "../../shared/contract/text.ts";
import { usageError } from "../../shared/errors.ts";
import { baseUrlText, isLoopbackHost, parseBaseUrl } from "./addresses.ts";
import { LostReplyError } from "./errors.ts";
import { header } from "./rate-limit.ts";
import {
  exchange,
  type RawReply,
  type RawRequest,
  TIMEOUTS,
  type Timeouts,
  type Wire,
} from "./wire.ts";

type Env = Readonly<Record<string, string | undefined>>;

// An empty variable counts as unset, in either case: `https_proxy=""` must not hide a HTTPS_PROXY.
function variable(
  env: Env,
  name: string,
): { readonly name: string; readonly value: string } | undefined {
  for (const key of [name.toLowerCase(), name]) {
    const value = env[key]?.trim();
    if (value) return { name: key, value };
  }
  return undefined;
}

/** Hosts with commas or spaces between them, as curl has them, or semicolons, as Windows has. */
function goesRound(origin: URL, noProxy: string): boolean {
  const port = origin.port || "443";
  return noProxy.split(/[\s,;]+/).some((entry) => {
    if (entry === "*") return true;
    const [, host = entry, only] = /^([^:]+|\[.+\]):(\d+)$/.exec(entry) ?? [];
    const name = host.toLowerCase().replace(/^\*?\.|\.$/g, "");
    const isNamed = origin.hostname === name || origin.hostname.endsWith(`.${name}`);
    return name !== "" && isNamed && (only === undefined || only === port);
  });
}

const proxyVariable = (env: Env) => variable(env, "HTTPS_PROXY") ?? variable(env, "HTTP_PROXY");

/**
 * By the usual variables; none to this machine.
 * @throws CliError (exit 2) on an address that is no URL
 */
export function proxyFor(origin: URL, env: Env): URL | undefined {
  if (isLoopbackHost(origin.hostname)) return undefined;

  const entry = proxyVariable(env);
  if (entry === undefined || goesRound(origin, variable(env, "NO_PROXY")?.value ?? ""))
    return undefined;

  // "proxy:3128" parses as a URL of scheme "proxy".
  const url =
    /^https?:\/\/[^?#]+$/i.test(entry.value) && URL.canParse(entry.value)
      ? new URL(entry.value)
      : undefined;
  if (url !== undefined && url.hostname !== "" && url.pathname === "/") return url;

  throw usageError(
    `the proxy in ${entry.name} is no http or https URL: "${echo(shownAddress(entry.value))}"`,
    `set it as in ${entry.name}=http://proxy.example:3128 (a "/" or ` +
      '"@" of a password as %2F or %40), or unset it',
    "bad_proxy",
  );
}

export interface TransportOptions {
  readonly origin: URL;
  /** To a service in this process. */
  readonly connect?: (() => Duplex) | undefined;
  readonly env: Env;
  readonly now: () => number;
  /** `free`: what none of them is beyond for a free call, in milliseconds. */
  readonly timeouts?: (Partial<Timeouts> & { readonly free?: number }) | undefined;
}

/** `node:http` loads in a third of the time of undici, which is there for proxies. */
export function openTransport({
  origin,
  connect,
  env,
  now,
  timeouts: { free, ...others } = {},
}: TransportOptions) {
  const proxy = proxyFor(origin, env);
  const name = `${origin.origin}${proxy === undefined ? "" : ` through the proxy ${proxy.host}`}`;
  const paid = { ...TIMEOUTS, ...others };
  const least = Object.entries(paid).map(([limit, ms]) => [limit, Math.min(ms, free ?? ms)]);
  const unpaid = Object.fromEntries(least) as Timeouts;
  let wire: Promise<Wire> | undefined;

  const open = async (): Promise<Wire> =>
    proxy === undefined
      ? (await import("./direct.ts")).directWire(origin, connect)
      : (await import("./tunnel.ts")).tunnelWire(origin, proxy);

  return {
    async send(request: RawRequest): Promise<RawReply> {
      wire ??= open();
      const asked = exchange(await wire, request, {
        name,
        timeouts: request.paid === true ? paid : unpaid,
        now,
      });
      return await asked.catch((error: unknown) => {
        if (proxy !== undefined && error instanceof LostReplyError)
          error.proxy = proxyVariable(env)?.name;
        throw error;
      });
    },

    async close(): Promise<void> {
      await (await wire)?.close();
    },
  };
}

/** In UTF-8. A charset that nobody knows is left as it is. */
function inUtf8(body: Buffer, contentType = ""): Buffer {
  const label = /;\s*charset\s*=\s*"?([\w.:-]+)/i.exec(contentType)?.[1];
  if (label === undefined || /^(utf-?8|us-ascii)$/i.test(label)) return body;
  try {
    return Buffer.from(new TextDecoder(label).decode(body));
  } catch {
    return body;
  }
}

/** What is read of a reply is without the key, which a service or a proxy may send back. */
async function readable(reply: RawReply, paid: boolean, apiKey: string): Promise<RawReply> {
  const packed = reply.body.length > 0 ? header(reply.headers, "content-encoding") : undefined;
  const bytes = packed
    ? await (await import("./decompress.ts")).decompressed(reply, packed, paid)
    : reply.body;
  const plain = bytes.subarray(0, 3).toString() === "\ufeff" ? bytes.subarray(3) : bytes;
  const body = inUtf8(plain, header(reply.headers, "content-type"));
  const clean = (text: string): string => text.replaceAll(apiKey, "...");
  const named = Object.entries(reply.headers).map(([name, value]) => [
    name,
    [value ?? []].flat().map(clean),
  ]);
  const headers = Object.fromEntries(named) as RawReply["headers"];

  return {
    ...reply,
    headers,
    body: body.includes(apiKey) ? Buffer.from(clean(body.toString())) : body,
  };
}

export interface Access extends Omit<TransportOptions, "origin"> {
  readonly baseUrl: string;
  /** Goes to `baseUrl`'s origin and nowhere else. */
  readonly apiKey: string;
  readonly asking?: TellWait | undefined;
  /** In place of `Authorization: Bearer`: how another service is told whose call it is. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** Told what is waited for, when it begins; what it returns is called when that is over. */
export type TellWait = (what: string) => () => void;

export interface ServiceCall extends Pick<RawRequest, "method" | "signal"> {
  /** Below the address of the service. */
  readonly path: string;
  readonly query?: URLSearchParams;
  readonly body?: unknown;
  readonly idempotencyKey?: string;
  /** Of one that carries no key: whether it costs credits, and is waited for as such. */
  readonly paid?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
}

/** In JSON. @throws CliError (exit 2) on a wrong address, also a proxy's */
export function openCalls({ baseUrl, apiKey, asking, headers: told, ...options }: Access) {
  const origin = parseBaseUrl(baseUrl);
  const { send, close } = openTransport({ origin, ...options });
  const prefix = origin.pathname === "/" ? "" : origin.pathname;
  const own = {
    ...(told ?? { authorization: `Bearer ${apiKey}` }),
    accept: "application/json",
    "user-agent": "headcount",
    // On one machine compressing costs more than it saves.
    ...(!isLoopbackHost(origin.hostname) ? { "accept-encoding": "gzip, br" } : {}),
  };

  return {
    baseUrl: baseUrlText(origin),
    close,

    async send({
      method,
      path,
      query,
      body,
      idempotencyKey,
      paid = idempotencyKey !== undefined,
      headers,
      signal,
    }: ServiceCall): Promise<RawReply> {
      // What is paid for has a line of progress.
      const answered = paid ? undefined : asking?.(`${origin.host} (${path})`);
      const reply = await send({
        method,
        signal,
        paid,
        path: `${prefix}${path}${query === undefined ? "" : `?${query}`}`,
        headers: {
          ...own,
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }),
          ...headers,
        },
        ...(body === undefined
          ? {}
          : { body: typeof body === "string" ? body : JSON.stringify(body) }),
      }).finally(answered);
      return readable(reply, paid, apiKey);
    },
  };
}
