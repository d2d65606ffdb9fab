import { once } from "node:events";
import type { DataFolder } from "../../service/admin/data-folder.ts";
import type { ServiceOptions, WholeFile } from "../../service/http/options.ts";
import type { RunningService } from "../../service/http/server.ts";
import type { Store } from "../../service/ledger/ledger.ts";
import { type Context, written } from "../../shared/context.ts";
import { present, whenGiven, withoutPassword } from "../../shared/contract/text.ts";
import { type CliError, failed, usageError } from "../../shared/errors.ts";
import { type Command, publicOrigin, wholeNumber } from "../options.ts";
import { Printer } from "../terminal/printer.ts";
import {
  addFolderOptions,
  type FolderOptions,
  folderOf,
  placeFlags,
  serviceError,
  storeOf,
} from "./service/folder.ts";

interface ServeOptions extends FolderOptions {
  readonly host: string;
  readonly port: number;
  readonly dataset?: string;
  readonly maxDepth?: number;
  readonly metrics?: string;
  readonly console?: "off" | "link" | "insecure";
  readonly publicUrl?: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly log?: boolean;
  readonly witness?: string;
  readonly force?: boolean;
}

const TOUCHES = `reads data
  writes data
  exits 1 8 130`;

export function register(program: Command, context: Context): void {
  addFolderOptions(program.command("serve"))
    .description(
      "Run the API. A new data folder starts with a synthetic sample of " +
        "50,000 people, and its first key is printed once. " +
        "SIGTERM or Ctrl-C lets calls in flight finish and exits 0.",
    )
    .option(
      "--host <address>",
      "address to listen on; beyond loopback keys travel in clear without --tls-cert",
      "127.0.0.1",
    )
    .number("--port <n>", "0 picks a free one", [0, 65_535], 8787)
    .option(
      "--tls-cert <file>",
      "serve HTTPS with this certificate and its chain (PEM); renewed files are taken over",
    )
    .option("--tls-key <file>", "the key of --tls-cert (PEM, without a passphrase)")
    .option(
      "--dataset <place>",
      "a dataset elsewhere: a folder or clickhouse://... (default: in the data folder)",
    )
    .number(
      "--max-depth <n>",
      "the deepest row of a search that is given (default: no bound)",
      [1, 1e12],
    )
    .option(
      "--metrics <port>",
      "serve Prometheus metrics on this port of loopback, or at ADDRESS:PORT",
    )
    .option(
      "--public-url <url>",
      "address that customers and browsers reach the service by, where a proxy stands in front",
    )
    .oneOf(
      "--console <how>",
      "leave the console out; print a link to it also into a pipe; " +
        "serve it without TLS beyond loopback",
      ["off", "link", "insecure"],
    )
    .option("--log", "one JSON line per request on stderr: no key, filter value or record")
    .option(
      "--witness <file>",
      "where the ledger's last signed head is kept (default: head.json in the data folder)",
    )
    .option(
      "--force",
      "serve a ledger that is older than the last signed head: it was restored on purpose",
    )
    .examples(`
  $ headcount serve
  $ headcount serve --port 0 --json                       \
{"url":"http://127.0.0.1:40123","key":"hc_live_..."}
  $ headcount serve --data ./data --metrics 9090 --log
  $ headcount serve --host 0.0.0.0 --public-url https://people.example
  $ headcount serve --host 0.0.0.0 --tls-cert people.pem --tls-key people.key`)
    .does(TOUCHES, (options: ServeOptions) => run(options, context));
}

interface Voice {
  readonly text: (text: string) => void;
  readonly note: (text: string) => void;
  readonly warn: (text: string) => void;
}

/** Beside a log nothing stands on stderr that is not a line of it. */
function voiceOf(options: ServeOptions, context: Context): Voice {
  const printer = new Printer(context, options);
  const line = (level: number) => (msg: string) =>
    void context.stderr.write(
      `${JSON.stringify({ level, time: new Date(context.now()).toISOString(), msg })}\n`,
    );

  const text = (text: string): void => printer.text(text);
  if (options.log) return { text, note: line(30), warn: line(40) };

  return {
    text,
    note: (text) => printer.note(text),
    warn: (text) => printer.say(`warning: ${text}`),
  };
}

async function run(options: ServeOptions, context: Context): Promise<void> {
  const dir = await folderOf(options, context);
  const voice = voiceOf(options, context);
  const { note, warn } = voice;
  const settings = await readSettings(options, context, voice);
  let folder: DataFolder | undefined;
  let service: RunningService | undefined;

  let signLast: (() => Promise<void>) | undefined;
  try {
    const { createFirstKey, openDataFolder } = await import("../../service/admin/data-folder.ts");
    const { startService } = await import("../../service/http/server.ts");
    const store = await storeOf(options, context);
    const keep = await witness(dir, store, options, context);

    folder = await openDataFolder(dir, {
      now: context.now,
      ...present({ store }),
      ...(await datasetOf(options, context)),
      signal: context.interrupted,
      ...wordsOfData(options, voice),
    });

    // Ctrl-C while the sample was made: nobody is waiting for an address any more.
    context.interrupted.throwIfAborted();
    service = await startService({
      ...settings,
      ...folder,
      host: options.host,
      port: options.port,
      now: context.now,
    });
    signLast = await keep(folder.store);

    const first = await createFirstKey(folder.store, context.now);
    try {
      const link = await consoleLink(service, folder.store, options, context);
      announce(service, { key: first?.key, link }, options, voice);
      await written(context.stdout);
    } catch (error) {
      if (first !== undefined) await folder.store.revokeKey(first.id);
      throw error;
    }

    if (!context.interrupted.aborted) await once(context.interrupted, "abort");
    note("Finishing the calls in flight ...");
  } catch (error) {
    throw listenError(error, options) ?? serviceError(error, dir);
  } finally {
    const closing = async (): Promise<void> => {
      await service?.close();
      await signLast?.().catch((error: Error) => warn(`no head was signed: ${error.message}`));
    };
    await closing()
      .finally(() => folder?.close())
      .catch((error: unknown) => {
        throw serviceError(error, dir);
      });
  }
}

/**
 * What signs the head of the ledger.
 * @throws CliError where the ledger is older than what was signed last
 */
async function witness(
  dir: string,
  store: string | undefined,
  options: ServeOptions,
  context: Context,
) {
  const { join, resolve } = await import("node:path");
  const { ledgerFile } = await import("../../service/admin/data-folder.ts");
  const { assertNotOlder, keepWitness, WITNESS } = await import("../../service/admin/witness.ts");
  const file =
    options.witness === undefined ? join(dir, WITNESS) : resolve(context.cwd, options.witness);

  if (options.force !== true) {
    await assertNotOlder(ledgerFile(dir, store), file).catch((error: Error) => {
      if (error.name !== "OlderLedgerError") throw error;
      throw failed.filesystem(
        error.message,
        "serving it would sell what was paid for twice: put the newest ledger back; " +
          "if it was restored on purpose, serve --force once",
        "ledger_older",
        error,
      );
    });
  }

  const { warn } = voiceOf(options, context);
  return (ledger: Store) =>
    keepWitness(ledger, {
      file,
      now: context.now,
      onHead: ({ at, head, signature }) => {
        const line = { level: 30, time: at, head, signature, msg: "head" };
        if (options.log === true) context.stderr.write(`${JSON.stringify(line)}\n`);
      },
      onOlder: (older) =>
        warn(
          older === undefined
            ? "the ledger is the one that was served before: calls are answered again"
            : `${older.message}; calls are answered with 503 and no head is signed until it is ` +
                "back. If it is to be served as it is, stop and serve --force once",
        ),
    });
}

/** What is told of a dataset while it is made, opened, changed and looked through. */
const wordsOfData = ({ log }: ServeOptions, { note, warn }: Voice) => ({
  onSample: () => note("Making the sample dataset of 50,000 people (once, a few seconds) ..."),
  onReload: (version: string) => note(`Serving dataset ${version} now.`),
  onReloadError: (error: Error) =>
    warn(`a new dataset cannot be opened, the old one goes on: ${error.message}`),
  onChecked: (damage: string | undefined) => {
    if (damage !== undefined) warn(damage);
    else if (log) note("The whole dataset was held against its sums.");
  },
});

async function datasetOf({ dataset }: ServeOptions, context: Context) {
  if (dataset === undefined) return {};
  if (dataset.startsWith("clickhouse://")) {
    const password = context.env.HEADCOUNT_CLICKHOUSE_PASSWORD;
    return { dataset, ...present({ clickHousePassword: password }) };
  }
  if (dataset === "" || /^[a-z][a-z0-9+.-]*:\/\//i.test(dataset)) {
    throw usageError(
      `--dataset takes a folder or clickhouse://..., not "${withoutPassword(dataset)}"`,
    );
  }

  const { resolve } = await import("node:path");
  return { dataset: resolve(context.cwd, dataset) };
}

async function readSettings(
  options: ServeOptions,
  context: Context,
  voice: Voice,
): Promise<Partial<ServiceOptions>> {
  const metrics = whenGiven(options.metrics, metricsAt);
  return {
    sleep: (ms) => context.sleep(ms),
    ...(options.log ? { log: context.stderr } : {}),
    ...(await tlsSetting(options, context, voice)),
    ...present({
      maxDepth: options.maxDepth,
      metricsHost: metrics?.host,
      metricsPort: metrics?.port,
    }),
    ...consoleSetting(options, voice),
  };
}

async function tlsSetting(
  options: ServeOptions,
  context: Context,
  voice: Voice,
): Promise<Pick<ServiceOptions, "tls">> {
  const { tlsCert, tlsKey } = options;
  if (tlsCert === undefined && tlsKey === undefined) return {};
  if (!tlsCert || !tlsKey)
    throw usageError("--tls-cert and --tls-key go together: each takes a file");

  const { resolve } = await import("node:path");
  const tls = { cert: resolve(context.cwd, tlsCert), key: resolve(context.cwd, tlsKey) };
  const { readTls } = await import("../../service/http/tls.ts");

  await readTls(tls, context.now()).catch((error: Error) => {
    throw failed.filesystem(
      error.message,
      "--tls-cert takes the certificate followed by its chain, --tls-key its private key, both PEM",
      "tls_files",
      error,
    );
  });

  const complain = (error: Error) =>
    voice.warn(`the renewed certificate cannot be used, the old one goes on: ${error.message}`);

  return { tls: { ...tls, failed: complain } };
}

/**
 * Whether the console is served: not where its cookies
 * would travel in clear, unless that is asked for.
 */
function consoleSetting(
  options: ServeOptions,
  voice: Voice,
): Pick<ServiceOptions, "console" | "publicUrl"> {
  const { publicUrl } = options;
  if (publicUrl !== undefined) publicOrigin(publicUrl);
  if (options.console === "off") return { publicUrl };

  const isSafe =
    isLoopback(options.host) ||
    options.tlsCert !== undefined ||
    publicUrl?.startsWith("https:") === true;
  if (!isSafe && options.console !== "insecure") {
    voice.warn(
      "no console: without TLS its sessions could be read on the way; " +
        "give --tls-cert and --tls-key, or --public-url https://...",
    );
    return { publicUrl };
  }

  return { console: { wholeFile }, publicUrl };
}

/** Spreadsheets and Parquet, by what writes them for a command too. */
const wholeFile: WholeFile = async function* (format, pages) {
  const { wholeBytes } = await import("../../engine/output/whole/bytes.ts");
  yield* wholeBytes(format, "person", pages);
};

/** A link that signs in once. Not for a log, which others may read, unless it is asked for. */
async function consoleLink(
  service: RunningService,
  store: Store,
  options: ServeOptions,
  context: Context,
): Promise<string | undefined> {
  if (service.consoleUrl === undefined) return undefined;
  await store.console.served(new URL(service.consoleUrl).origin);
  if (context.stdout.isTTY !== true && options.console !== "link") return undefined;

  const { makeLink } = await import("../../service/console/sessions.ts");
  const { DEFAULT_ACCOUNT } = await import("../../service/admin/keys.ts");
  const link = {
    accountId: DEFAULT_ACCOUNT,
    role: "owner",
    name: "",
    createdAt: context.now(),
  } as const;
  const token = await makeLink(store, link, "serve");
  return `${service.consoleUrl}/enter#t=${token}`;
}

const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "::1" || /^127\./.test(host);

function announce(
  service: RunningService,
  { key, link }: Readonly<Record<"key" | "link", string | undefined>>,
  options: ServeOptions,
  { text, note, warn }: Voice,
): void {
  if (!isLoopback(options.host) && options.tlsCert === undefined) {
    const fix = "give --tls-cert and --tls-key, or put a proxy with TLS in front";
    warn(`keys and records travel in clear on ${options.host}; ${fix}`);
  }

  if (options.json) {
    const { url } = service;
    const answer = {
      url,
      ...present({ key, console: link }),
    };
    text(`${JSON.stringify(answer)}\n`);
    return;
  }

  text(`Serving ${service.url}\n`);
  if (service.metricsUrl !== undefined) note(`Metrics ${service.metricsUrl}`);

  if (link !== undefined) text(`Console ${link} (signs in once, within ten minutes)\n`);
  else if (service.consoleUrl !== undefined) {
    note(
      `Console ${service.consoleUrl}; a link to sign in: ` +
        `headcount service link${placeFlags(options)}`,
    );
  }

  if (key !== undefined) text(`Key ${key} (shown this once)\n`);
  else note(`Another key: headcount service keys create${placeFlags(options)}`);
}

const NOT_HEARD: Readonly<Record<string, string>> = {
  EADDRINUSE: "the port is in use",
  EACCES: "the port is not allowed to this user",
  EADDRNOTAVAIL: "this machine has no such address",
  ENOTFOUND: "this machine has no such address",
};

function listenError(error: unknown, options: ServeOptions): CliError | undefined {
  const why = NOT_HEARD[(error as NodeJS.ErrnoException).code ?? ""];
  const { address, port, syscall } = error as { address?: string; port?: number; syscall?: string };
  if (why === undefined || syscall === "open") return undefined;

  const metrics = whenGiven(options.metrics, metricsAt);
  const isMetrics = port !== undefined && port === metrics?.port && port !== options.port;

  // Not bad input: another process may be about to end,
  // or the network about to come; a unit tries again.
  return failed.network(
    `cannot listen on ${address ?? options.host} port ${port ?? options.port}: ${why}`,
    isMetrics
      ? "choose another --metrics [ADDRESS:]PORT; --metrics 0 picks a free one"
      : "choose another --host or --port; --port 0 picks a free one",
    "cannot_listen",
    error,
  );
}

/** `9090`, `0.0.0.0:9090` or `[::1]:9090`. */
function metricsAt(text: string): { readonly host: string; readonly port: number } {
  const [, host, port = text] = /^\[?(.*?)\]?:(\d+)$/.exec(text) ?? [];
  return { host: host || "127.0.0.1", port: wholeNumber("--metrics", 0, 65_535)(port) };
}
