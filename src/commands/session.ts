import type { ServiceError } from "../client/errors.ts";
import type { RequestLog } from "../client/http-client.ts";
import type { Pacer } from "../client/pacing.ts";
import type { patience, Wait } from "../client/retry.ts";
import {
  DEFAULT_DIALECT,
  type PageReply,
  type PaidCallOptions,
  type RateLimit,
  type ReplyMeta,
  type ServiceClient,
} from "../client/types.ts";
import type { KeySource, Target } from "../connections/resolve.ts";
import type { Context } from "../context.ts";
import type { GlobalOptions } from "../options.ts";
import type { CallSite } from "./failures.ts";

/** A connection that is ready to be used: what a command works with. */
export interface Session {
  /**
   * Free calls (`account`, `count`) are retried, wait for rate limits up to `--max-wait` and take their turn by themselves. Paid
   * calls are single attempts: whoever makes them keeps the books and takes a turn from {@link pacer} first; a rate limit that
   * holds one up for longer than `--max-wait` over all its attempts is a WaitTooLongError. Every reply's headers go to the pacer.
   */
  readonly client: ServiceClient;
  readonly connectionName: string;
  /** Names the service for good: its base URL, or `sample:<folder>` for the built-in one, whose port differs each time. */
  readonly serviceId: string;
  /** Names service and key without telling the key. */
  readonly keyFingerprint: string;
  readonly keyMode: "live" | "test" | undefined;
  readonly keySource: KeySource | "sample";
  readonly pacer: Pacer;
  /** `--max-wait` in milliseconds. */
  readonly maxWaitMs: number;
  /** For messages; see `mapError`. */
  readonly site: CallSite;
  /** A line for a person on stderr; nothing with `--quiet`. */
  notice(text: string): void;
  /** Closes sockets and, for the sample, the service. */
  close(): Promise<void>;
}

type SessionGlobals = Pick<GlobalOptions, "connection" | "baseUrl" | "quiet" | "verbose" | "maxWait">;

interface Opened extends Omit<Target, "keySource"> {
  readonly keySource: KeySource | "sample";
  readonly serviceId: string;
  readonly sampleDir?: string;
  readonly close?: () => Promise<void>;
}

/**
 * Opens the connection that flags, environment and config name.
 * @throws CliError exit 3 without a key, exit 2 for a wrong name or address
 */
export async function openSession(context: Context, globals: SessionGlobals): Promise<Session> {
  const notice = (text: string): void => {
    if (!globals.quiet) context.stderr.write(`${text}\n`);
  };
  // Loaded while the connection is looked up.
  const parts = loadParts();
  const target = await openTarget(context, globals, notice);
  try {
    return sessionFor(target, context, globals, notice, await parts);
  } catch (error) {
    await target.close?.();
    throw error;
  }
}

/** Opens a session, runs with it, closes it whatever happens, and turns errors of calls into {@link CliError}s. */
export async function withSession<T>(
  context: Context,
  globals: SessionGlobals,
  run: (session: Session) => Promise<T>,
): Promise<T> {
  const session = await openSession(context, globals);
  try {
    return await run(session);
  } catch (error) {
    const { mapError } = await import("./failures.ts");
    throw mapError(error, session.site);
  } finally {
    await session.close();
  }
}

async function openTarget(context: Context, globals: SessionGlobals, notice: (text: string) => void): Promise<Opened> {
  const { resolveTarget, selectionOf } = await import("../connections/resolve.ts");
  if (selectionOf(globals, context).connection === "sample") {
    const { startSample } = await import("./sample.ts");
    const sample = await startSample(context, notice);
    return {
      name: "sample",
      baseUrl: sample.url,
      dialect: DEFAULT_DIALECT,
      apiKey: sample.key,
      keySource: "sample",
      serviceId: `sample:${sample.dir}`,
      sampleDir: sample.dir,
      close: sample.close,
    };
  }
  const target = await resolveTarget(globals, context);
  if (target.movedFrom !== undefined) {
    notice(
      `notice: the key stored for ${target.movedFrom} is sent to ${target.baseUrl}, as --base-url or HEADCOUNT_BASE_URL says`,
    );
  }
  return { ...target, serviceId: target.baseUrl };
}

/** Shorter waits are over before they are read. */
const SAID_FROM_MS = 2_000;

type Parts = Awaited<ReturnType<typeof loadParts>>;

async function loadParts() {
  const [client, pacing, retry, paths, resolve] = await Promise.all([
    import("../client/http-client.ts"),
    import("../client/pacing.ts"),
    import("../client/retry.ts"),
    import("../connections/paths.ts"),
    import("../connections/resolve.ts"),
  ]);
  return { ...client, ...pacing, ...retry, ...paths, ...resolve };
}

function sessionFor(
  target: Opened,
  context: Context,
  globals: SessionGlobals,
  notice: (text: string) => void,
  { createClient, openPacer, keyFingerprint, patience, retrying, findFolder, keyModeOf }: Parts,
): Session {
  const { now, env, sleep, random } = context;
  const maxWaitMs = globals.maxWait * 1000;
  const keyMode = keyModeOf(target.apiKey);
  if (keyMode === "test") notice("TEST key: synthetic people and simulated credits");
  const pacer = openPacer({
    stateDir: findFolder("state", context),
    baseUrl: target.serviceId,
    apiKey: target.apiKey,
    now,
  });
  const client = createClient({
    baseUrl: target.baseUrl,
    apiKey: target.apiKey,
    dialect: target.dialect,
    now,
    env,
    log: globals.verbose ? (entry) => context.stderr.write(`${logLine(entry)}\n`) : undefined,
  });
  const limit = patience({ maxWaitMs, now });
  const observed = observing(client, pacer, limit, globals.verbose === true, notice, async (ms, signal) => {
    // What is too long is left to the service: it may know better, and its refusal says until when.
    if (ms > maxWaitMs) return;
    if (ms >= SAID_FROM_MS) notice(`near the rate limit: waiting ${Math.ceil(ms / 1000)} s`);
    await sleep(ms, signal);
  });
  return {
    client: retrying(observed, {
      now,
      sleep,
      random,
      maxWaitMs,
      signal: context.interrupted,
      onWait: (wait) => notice(waitLine(wait)),
    }),
    connectionName: target.name,
    serviceId: target.serviceId,
    get keyFingerprint() {
      return keyFingerprint(target.serviceId, target.apiKey);
    },
    keyMode,
    keySource: target.keySource,
    pacer,
    maxWaitMs,
    site: { connectionName: target.name, baseUrl: target.baseUrl, sampleDir: target.sampleDir },
    notice,
    close: async () => {
      await client.close();
      await target.close?.();
    },
  };
}

/** The client with every reply's rate limit told to the pacer, free calls taking turns, and deprecations said once. */
function observing(
  client: ServiceClient,
  pacer: Pacer,
  limit: ReturnType<typeof patience>,
  verbose: boolean,
  notice: (text: string) => void,
  pause: (ms: number, signal: AbortSignal | undefined) => Promise<void>,
): ServiceClient {
  const said = new Set<string>();
  const once = (text: string): void => {
    if (said.has(text)) return;
    said.add(text);
    notice(text);
  };
  async function watch<T extends { readonly meta: ReplyMeta }>(call: Promise<T>): Promise<T> {
    try {
      const reply = await call;
      pacer.observe(reply.meta.rateLimit);
      if (reply.meta.deprecation !== undefined) once(`warning: this part of the API is ${reply.meta.deprecation}`);
      if (verbose) for (const text of reply.meta.notices) once(`notice from the service: ${text}`);
      return reply;
    } catch (error) {
      pacer.observe((error as { readonly rateLimit?: RateLimit | undefined } & ServiceError).rateLimit);
      throw error;
    }
  }
  async function paid(call: Promise<PageReply>, { idempotencyKey }: PaidCallOptions): Promise<PageReply> {
    try {
      const reply = await watch(call);
      limit.answered(idempotencyKey);
      return reply;
    } catch (error) {
      limit.refused(idempotencyKey, error);
      throw error;
    }
  }
  async function turn(signal: AbortSignal | undefined): Promise<void> {
    const next = pacer.take();
    if (next.kind === "go" && next.waitMs > 0) await pause(next.waitMs, signal);
  }
  return {
    baseUrl: client.baseUrl,
    dialect: client.dialect,
    async account(signal) {
      await turn(signal);
      return watch(client.account(signal));
    },
    async count(filters, signal) {
      await turn(signal);
      return watch(client.count(filters, signal));
    },
    searchPage: (filters, position, call) => paid(client.searchPage(filters, position, call), call),
    employeesPage: (company, position, call) => paid(client.employeesPage(company, position, call), call),
    enrich: (company, call) => paid(client.enrich(company, call), call),
    close: () => client.close(),
  };
}

/** `--verbose`: method, path, status, time, credits, request id. Never a key or a filter value. */
export function logLine({ method, path, outcome, elapsedMs, creditsUsed, requestId }: RequestLog): string {
  const cost = creditsUsed === undefined ? "" : ` ${creditsUsed} credits`;
  return `${method} ${path} ${outcome} ${Math.round(elapsedMs)} ms${cost}${requestId === undefined ? "" : ` ${requestId}`}`;
}

function waitLine({ ms, reason, error }: Wait): string {
  const seconds = ms < 10_000 ? (ms / 1000).toFixed(1) : String(Math.ceil(ms / 1000));
  return reason === "rate_limit"
    ? `rate limit reached: waiting ${seconds} s`
    : `${error.message}: trying again in ${seconds} s`;
}
