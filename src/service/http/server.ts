import type { AddressInfo } from "node:net";
import { type Duplex, duplexPair } from "node:stream";
import type { FastifyInstance } from "fastify";
import { serveDatasets } from "../admin/datasets.ts";
import { isConsoleBuilt } from "../console/assets.ts";
import type { serveConsole as ServeConsole, ServedConsole } from "../console/console.ts";
import { admissionBy } from "./admission.ts";
import { HttpApp } from "./app.ts";
import { addressOf, Connections } from "./connections.ts";
import { RateLimiter, SmallCounts } from "./limits.ts";
import { SERVER_TIMEOUTS, type ServiceOptions } from "./options.ts";
import { addPublicPages } from "./public-pages.ts";
import { addRoutes } from "./routes.ts";
import { people, sketch } from "./sketch.ts";
import { openLog, openMetrics, SILENT } from "./telemetry.ts";
import { followTls, readTls } from "./tls.ts";
import { Turns } from "./turns.ts";

const FLUSH_MS = 1_000;
const STILL_TAKEN_MS = 250;

export type RunningService = ReturnType<typeof running>;

/** Starts the API, after giving back what a crash left on hold. @throws what `listen` throws */
export async function startService(options: ServiceOptions): Promise<RunningService> {
  const { fastify } = await import("fastify");
  const { engine, store, host = "127.0.0.1" } = options;
  const { sleep, ...clocks } = clocksOf(options);
  const served = await serveDatasets(engine, options.testEngine, clocks, options.leftOut);
  const tls = options.tls && (await readTls(options.tls, clocks.now()));
  const scheme = tls === undefined ? "http" : "https";

  await store.recover(0);
  const watchers = await openWatchers(options);
  const gates = await gatesOf(options, clocks, watchers);
  const { connections, limiter, smallCounts } = gates;
  const app = new HttpApp({ fastify, ...gates, ...watchers, tls, monotonic: clocks.monotonic });
  options.onApp?.(app.http);

  const { maxDepth, publicUrl, sketches = true, within } = options;
  const parts = { ...clocks, ...gates, store, dataset: served.dataset, maxDepth, sleep };

  addRoutes(app.http, parts, sketches ? { sketch, people } : {});
  addPublicPages(app.http, {
    engine,
    publicUrl,
    store,
    notFound: (request, reply) => app.answerUnrouted(request, reply),
  });

  const browser = await consoleOf(app, options, {
    ...parts,
    engine,
    host,
    scheme,
    publicUrl,
    onFault: (id, error) => watchers.log.fault(id, error),
  });

  connections.watch(app.http.server);

  await openTo(app, options, watchers);

  const url = within === undefined ? addressOf(host, portOf(app), scheme) : "http://localhost";
  return running(app, url, {
    ...watchers,
    limiter,
    smallCounts,
    browser,
    unfollow:
      options.tls === undefined
        ? undefined
        : followTls(app.http.server, options.tls, clocks.now, watchers.log),
    drainMs: gates.timeouts.drain,
    keepsCalls: within?.keepsCalls ?? (() => true),
    // Also while nobody asks: a version that was replaced because of somebody in it is let go of.
    look: served.look,
  });
}

async function openTo(
  { http }: HttpApp,
  { host = "127.0.0.1", port = 0, within }: ServiceOptions,
  { metrics }: Watchers,
): Promise<void> {
  try {
    if (within === undefined) await http.listen({ host, port });
    else await http.ready();
  } catch (error) {
    await metrics?.close();
    await http.close();
    throw error;
  }
}

const clocksOf = ({ now, monotonic, sleep }: ServiceOptions) => ({
  now: now ?? Date.now,
  monotonic: monotonic ?? (() => performance.now()),
  sleep: sleep ?? ((ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))),
});

type Watchers = Awaited<ReturnType<typeof openWatchers>>;

/** What a call passes before it is worked on: who may, how often, how many at a time. */
async function gatesOf(
  { store, maxConnections = 4_096, timeouts: given, turns: lanes = {} }: ServiceOptions,
  clocks: { readonly now: () => number; readonly monotonic: () => number },
  { metrics }: Watchers,
) {
  const timeouts = { ...SERVER_TIMEOUTS, ...given };
  const limiter = new RateLimiter({ ...clocks, store });
  await limiter.load();
  const smallCounts = new SmallCounts({ ...clocks, store, onAsked: metrics?.smallCount });
  await smallCounts.load();

  const turns = new Turns(lanes, timeouts, clocks.monotonic);
  const connections = new Connections(maxConnections);
  metrics?.watch(() => ({ ...turns.load, connections: connections.open }));

  const admission = admissionBy(store, limiter);
  return { admission, limiter, smallCounts, turns, connections, timeouts };
}

/** Loaded where it is served alone. */
async function consoleOf(
  app: HttpApp,
  { console: wanted }: ServiceOptions,
  parts: Omit<Parameters<typeof ServeConsole>[1], "wholeFile">,
): Promise<ServedConsole | undefined> {
  if (wanted === undefined || !(await isConsoleBuilt())) return undefined;
  const { serveConsole } = await import("../console/console.ts");
  return serveConsole(app.http, { ...parts, wholeFile: wanted.wholeFile });
}

const openWatchers = async ({ log, metricsHost, metricsPort }: ServiceOptions) => ({
  log: log === undefined ? SILENT : await openLog(log),
  metrics:
    metricsPort === undefined
      ? undefined
      : await openMetrics(metricsHost ?? "127.0.0.1", metricsPort),
});

interface Closing extends Watchers {
  readonly limiter: RateLimiter;
  readonly smallCounts: SmallCounts;
  readonly browser: ServedConsole | undefined;
  readonly unfollow: (() => void) | undefined;
  readonly drainMs: number;
  readonly keepsCalls: () => boolean;
  readonly look: () => void;
}

const portOf = (app: HttpApp): number =>
  (app.http.server.address() as AddressInfo | null)?.port ?? 0;

function running(app: HttpApp, url: string, parts: Closing) {
  const { browser, log, look, metrics } = parts;
  const flushing = setInterval(() => {
    flushAll(parts).catch((error: unknown) => log.fault("flush", error));
    look();
  }, FLUSH_MS);
  flushing.unref();
  log.event("listening", { url });

  let closed: Promise<void> | undefined;
  return {
    url,
    port: portOf(app),

    connect(): Duplex {
      const [near, far] = duplexPair();
      app.http.server.emit("connection", far);
      return near;
    },

    consoleUrl: browser && `${browser.origin()}/console`,
    metricsUrl: metrics && `${addressOf(metrics.host, metrics.port)}/metrics`,
    inject: app.http.inject.bind(app.http) as FastifyInstance["inject"],
    flush: () => flushAll(parts),

    close(): Promise<void> {
      clearInterval(flushing);
      closed ??= drain(app, parts);
      return closed;
    },
  };
}

const flushAll = async ({
  keepsCalls,
  limiter,
  smallCounts,
}: Pick<Closing, "keepsCalls" | "limiter" | "smallCounts">): Promise<void> => {
  if (keepsCalls()) await Promise.all([limiter.flush(), smallCounts.flush()]);
};

async function drain({ http, lifecycle }: HttpApp, closing: Closing): Promise<void> {
  const { browser, drainMs, log, metrics, unfollow } = closing;
  log.event("draining");
  unfollow?.();
  lifecycle.draining = true;
  await takeWhatCame(http.server);

  // A connection becomes idle when its call is answered,
  // which Node does not look at again by itself.
  const idle = setInterval(() => http.server.closeIdleConnections(), 50);
  const cut = setTimeout(() => http.server.closeAllConnections(), drainMs);

  try {
    // The listener goes at once, also where the console still has something to end.
    await Promise.all([http.close(), browser?.close()]);
  } finally {
    clearInterval(idle);
    clearTimeout(cut);
    // Where the counters cannot be written the rest is
    // closed all the same, and the caller learns of it.
    await flushAll(closing).finally(() => metrics?.close());
    log.event("stopped");
  }
}

/**
 * What came before the signal may still be in the kernel:
 * a turn takes one connection, the next its request.
 * Under load something comes at every turn: not for that long.
 */
async function takeWhatCame(server: FastifyInstance["server"]): Promise<void> {
  let arrived = 0;
  const count = (): void => {
    arrived += 1;
  };

  server.on("connection", count);

  const until = performance.now() + STILL_TAKEN_MS;
  for (let quiet = 0; quiet < 3 && performance.now() < until; ) {
    const before = arrived;
    await new Promise(setImmediate);
    quiet = arrived === before ? quiet + 1 : 0;
  }

  server.off("connection", count);
}
