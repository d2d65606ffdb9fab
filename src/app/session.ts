import type { DeclaredPace } from "../engine/client/declared-limit.ts";
import { DEFAULT_DIALECT, type ServiceLimits } from "../engine/client/dialect.ts";
import { type ClientOptions, createClient, type RequestLog } from "../engine/client/http-client.ts";
import { keyFingerprint, Pacer } from "../engine/client/pacing.ts";
import { type PacedOptions, paced, patienceOf } from "../engine/client/retry.ts";
import type { TellWait } from "../engine/client/transport.ts";
import type { ServiceClient } from "../engine/client/types.ts";
import {
  type Connection,
  findConnection,
  readConfig,
  serviceIdOf,
  updateConnection,
} from "../engine/connections/config.ts";
import { findFolder, sampleId } from "../engine/connections/paths.ts";
import {
  type ConnectionChoice,
  type Destination,
  type KeySource,
  keyModeOf,
  keyPrefix,
  resolveTarget,
  selectionOf,
} from "../engine/connections/resolve.ts";
import type { Seller } from "../engine/purchase/world.ts";
import type { Context } from "../shared/context.ts";
import type { Credits } from "../shared/contract/money.ts";
import { grouped } from "../shared/contract/text.ts";
import type { CallSite } from "./failures.ts";

/**
 * Free calls are retried and take their turn; whoever
 * makes a paid one takes a turn from the pacer first.
 */
export interface Session extends Seller {
  readonly keyFingerprint: string;
  readonly keyMode: "live" | "test" | undefined;
  readonly keySource: KeySource;
  readonly site: CallSite;
  /** Shows what a free call waits for, where something is at hand that does. */
  readonly pauses: { show?: ((until: number, reason: string) => void) | undefined };
  notice(text: string): void;
  close(): Promise<void>;
}

export interface Connecting extends ConnectionChoice {
  /** How long a service may hold one call up, in seconds: by its rate limit, or by no answer. */
  readonly maxWait: number;
}

export interface SessionEvents {
  readonly notice?: ((text: string) => void) | undefined;
  /** A free call waits, for a moment that is worth a word. */
  readonly pause?: ((until: number, reason: string) => void) | undefined;
  /** What the service says in passing. */
  readonly aside?: ((text: string) => void) | undefined;
  readonly log?: ((entry: RequestLog) => void) | undefined;
  readonly asking?: TellWait | undefined;
}

interface Opened extends Destination, Pick<ClientOptions, "connect"> {
  readonly serviceId: string;
  readonly sampleDir?: string;
  readonly close?: () => Promise<void>;
}

/**
 * Errors of calls come out as {@link CliError}s.
 * @throws CliError exit 3 without a key, exit 2 for a wrong address
 */
export async function inSession<T>(
  context: Context,
  connecting: Connecting,
  events: SessionEvents,
  run: (session: Session) => Promise<T>,
): Promise<T> {
  const target = await openTarget(context, connecting, events);

  try {
    const session = await sessionFor(target, context, connecting, events);
    try {
      return await run(session);
    } catch (error) {
      const { mapError } = await import("./failures.ts");
      throw mapError(error, session.site);
    } finally {
      await session.close();
    }
  } finally {
    await target.close?.();
  }
}

const silent = (): void => undefined;

async function openTarget(
  context: Context,
  connecting: Connecting,
  { notice = silent, asking }: SessionEvents,
): Promise<Opened> {
  if (selectionOf(connecting, context).connection === "sample") {
    const {
      url: baseUrl,
      key: apiKey,
      connect,
      dir,
      close,
    } = await context.startSample(context, notice).finally(asking?.("the sample"));
    const own = {
      name: "sample",
      keySource: "sample",
      serviceId: sampleId(dir),
      sampleDir: dir,
    } as const;
    return { ...own, baseUrl, connect, dialect: DEFAULT_DIALECT, apiKey, close };
  }

  const target = await resolveTarget(connecting, context);
  if (target.movedFrom !== undefined) {
    notice(
      `notice: the key stored for ${target.movedFrom} is sent ` +
        `to ${target.baseUrl}, the base URL given`,
    );
  }

  return { ...target, serviceId: serviceIdOf(target) };
}

/** Shorter waits are over before they are read. */
const SAID_FROM_MS = 2_000;

/** What is learned of the service while it is asked is kept, one after the other: it is a file. */
async function clientFor(
  target: Opened,
  context: Context,
  { notice = silent, log, asking }: SessionEvents,
  pace: DeclaredPace,
) {
  let kept = Promise.resolve();
  const keeping = (work: () => Promise<void>): void => {
    kept = kept.then(work).catch((error: Error) => notice(`warning: not kept: ${error.message}`));
  };

  const { apiKey, baseUrl, connect, dialect, heeded, vendor } = target;
  const { now, env } = context;
  const client = await openClient(
    {
      baseUrl,
      connect,
      apiKey,
      dialect,
      now,
      env,
      log,
      asking,
      onLimits: (limits) => keeping(() => keepLimits(limits, target, context, notice)),
      timeouts: { free: patienceOf(pace.maxWaitMs) },
    },
    context,
    { vendor, heeded, pace, onSeen: (keep) => keeping(() => keep(target.name)) },
  );

  const onCharged = (amount: Credits): void =>
    keeping(async () => (await import("./vendors.ts")).keepCharged(amount, target, context));
  const close = async (): Promise<void> => {
    await kept;
    await client.close();
  };
  return { client, close, onCharged };
}

async function sessionFor(
  target: Opened,
  context: Context,
  { maxWait }: Connecting,
  events: SessionEvents,
): Promise<Session> {
  const { notice = silent } = events;
  const { now, sleep, random, interrupted: signal } = context;
  const { name: connectionName, apiKey, baseUrl, serviceId, sampleDir, keySource } = target;

  const maxWaitMs = maxWait * 1000;
  const keyMode = keyModeOf(apiKey);
  if (keyMode === "test") notice("TEST key: synthetic people and simulated credits");

  const stateDir = findFolder("state", context);
  const pacer = new Pacer({ stateDir, baseUrl: serviceId, apiKey, now });
  const pauses: Session["pauses"] = {};
  const words = wordsOf(events, pauses, now);
  const pace = { now, sleep, maxWaitMs, pacer, onTurn: words.onTurn };
  const { client, close, onCharged } = await clientFor(target, context, events, pace);
  return {
    client: paced(client, { ...pace, random, signal, onCharged, ...words }),
    connectionName,
    serviceId,
    get keyFingerprint() {
      return keyFingerprint(serviceId, apiKey);
    },
    keyMode,
    keySource,
    pacer,
    maxWaitMs,
    site: {
      connectionName,
      baseUrl,
      sampleDir,
      vendor: client.dialect.vendor,
      key: { shown: keyPrefix(apiKey), source: keySource },
    },
    pauses,
    notice,
    close,
  };
}

export interface KeptTerms extends Partial<Pick<Opened, "heeded">> {
  readonly isProbe?: boolean;
  /** Of a session; undefined: one that is this client's alone. */
  readonly pace?: DeclaredPace;
  /** Gets what keeps what a client saw, for the processes after it, with a connection's name. */
  readonly onSeen?: (keep: (name: string) => Promise<void>) => void;
}

/**
 * Speaks the contract, or as the file of a vendor says.
 * @param vendor the file's name; `isProbe`: only the key is looked at
 * @throws CliError exit 2 where that file is none, or is not there
 */
export async function openClient(
  options: ClientOptions,
  context: Context,
  { vendor, ...terms }: Partial<Pick<Opened, "vendor">> & KeptTerms,
): Promise<ServiceClient> {
  if (vendor === undefined) return createClient(options);
  return (await vendorClient(vendor, options, terms, context)).client;
}

/** Of who is asked outside of a session, which is told how long. */
const USUAL_WAIT_MS = 300_000;

/**
 * Speaks as the copy of a vendor's file says, and that file.
 * @throws CliError exit 2 where that file is none, or is not there
 */
export async function vendorClient(
  copy: string,
  options: ClientOptions,
  { heeded, isProbe, onSeen, pace }: KeptTerms,
  context: Context,
) {
  const [{ heededBy, keepCharged, keepHeeded, ownFile }, { DialectClient }] = await Promise.all([
    import("./vendors.ts"),
    import("../engine/dialect/client.ts"),
  ]);
  const own = await ownFile(copy, context);
  const { now, sleep } = context;
  const baseUrl = serviceIdOf({ ...options, vendor: copy });
  const pacer = new Pacer({ ...options, baseUrl, stateDir: findFolder("state", context) });

  const client = new DialectClient(own.file, options, {
    copy,
    isProbe,
    pace: pace ?? { now, sleep, pacer, maxWaitMs: USUAL_WAIT_MS },
    heeded: heededBy(heeded, copy, context.now()),
    onSeen: (seen) => onSeen?.((name) => keepHeeded(seen, { name, file: copy }, context)),
    onCharged: (amount) =>
      onSeen?.((name) => keepCharged(amount, { ...options, name, copy }, context)),
  });
  return { ...own, client };
}

/** With the connection of that address, where there is one. */
async function keepLimits(
  limits: ServiceLimits,
  { name, baseUrl }: Opened,
  context: Context,
  say: Session["notice"],
) {
  const dir = findFolder("config", context);
  if (dir === undefined || findConnection(readConfig(dir), name)?.baseUrl !== baseUrl) return;
  const learned = (was: Connection) => ({
    ...was,
    dialect: { ...(was.dialect ?? DEFAULT_DIALECT), ...limits },
  });
  await updateConnection(dir, name, learned);
  if (limits.pageRows !== undefined)
    say(`quotes count on pages of ${grouped(limits.pageRows)} from now on`);
}

/** What is said of waits and of what replies tell beside their data, each thing once. */
function wordsOf(
  { notice = silent, pause, aside }: SessionEvents,
  pauses: Session["pauses"],
  now: () => number,
): Pick<PacedOptions, "onWait" | "onTurn" | "onReply"> {
  const pausing = (ms: number, reason: string): void => {
    const until = now() + ms;
    if (pauses.show !== undefined) pauses.show(until, reason);
    else if (ms >= SAID_FROM_MS && pause !== undefined) pause(until, reason);
    else notice(`${reason} ${ms < 10_000 ? (ms / 1000).toFixed(1) : Math.ceil(ms / 1000)} s`);
  };

  const said = new Set<string>();
  const once = (text: string): void => {
    if (!said.has(text)) notice(text);
    said.add(text);
  };

  return {
    onWait: ({ ms, reason, error }) =>
      pausing(
        ms,
        reason === "rate_limit"
          ? "rate limit reached: waiting"
          : `${error.message}: trying again in`,
      ),

    onTurn: (ms) => {
      if (ms >= SAID_FROM_MS) pausing(ms, "near the rate limit: waiting");
    },

    onReply: ({ deprecation, notices }) => {
      if (deprecation !== undefined) once(`warning: this part of the API is ${deprecation}`);
      for (const text of aside === undefined ? [] : notices)
        once(`notice from the service: ${text}`);
    },
  };
}
