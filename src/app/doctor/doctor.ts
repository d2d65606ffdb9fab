import { accessSync, constants, existsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { versions } from "node:process";
import { DEFAULT_DIALECT, type Dialect, pagingName } from "../../engine/client/dialect.ts";
import type { ProbeReport } from "../../engine/client/probe.ts";
import type { Access } from "../../engine/client/transport.ts";
import { untoldCosts } from "../../engine/client/types.ts";
import {
  type Config,
  configFile,
  findConnection,
  readConfig,
  SAMPLE,
  updateConnection,
} from "../../engine/connections/config.ts";
import { findFolder } from "../../engine/connections/paths.ts";
import {
  type ConnectionChoice,
  type Destination,
  FROM_ENVIRONMENT,
  keyModeOf,
  keyPrefix,
  resolveTarget,
  selectionOf,
} from "../../engine/connections/resolve.ts";
import type { Tried } from "../../engine/dialect/names.ts";
import type { Context } from "../../shared/context.ts";
import {
  type Credits,
  creditsText,
  formatCreditsGrouped,
  ZERO,
} from "../../shared/contract/money.ts";
import { counted, harmless, present, shownAddress } from "../../shared/contract/text.ts";
import { CliError, command, type DoorWords, Option, option, say } from "../../shared/errors.ts";
import { duration } from "../../shared/numbers.ts";
import { nativePath, toInstall } from "../../shared/packages.ts";
import { KEY_PLACES, mapError } from "../failures.ts";
import { type KeptTerms, vendorClient } from "../session.ts";

export interface Check {
  readonly name: string;
  readonly area: "machine" | "key" | "service";
  readonly status: "ok" | "warn" | "fail" | "skip";
  readonly message: string;
  readonly fix?: string;
}

const checksOf =
  (area: Check["area"]) =>
  (name: string, status: Check["status"], message: string, fix?: string): Check => ({
    name,
    area,
    status,
    message: harmless(message),
    ...(fix === undefined ? {} : { fix: harmless(fix) }),
  });

const [machine, key] = [checksOf("machine"), checksOf("key")];
export const service = checksOf("service");

/** Whoever runs `doctor` is not told to run it; what a cap is elsewhere is `--buy` here. */
const FROM_HERE: DoorWords = {
  option: ({ name, value }) => `${new Option(name === "max_credits" ? "buy" : name, value)}`,
  command: (command) => (command.name === "doctor" ? undefined : command),
};

export function failedCheck(
  check: typeof machine,
  name: string,
  error: unknown,
  status: Check["status"] = "fail",
): Check {
  if (!(error instanceof CliError)) throw error;
  const { message, details, hint } = error.inWordsOf(FROM_HERE);
  return check(name, status, [message, ...details].join("; "), hint && `${hint}`);
}

const OPTIONAL = {
  "@napi-rs/keyring": "keys in the system's keychain",
  "@photostructure/sqlite": "serve, what is owned",
  "@duckdb/node-api": "service import, Parquet, DuckDB tables, sql",
};

export interface DoctorOptions extends ConnectionChoice, Pick<Access, "asking"> {
  readonly notice?: ((text: string) => void) | undefined;
}

export async function checkMachine(context: Context, options: DoctorOptions): Promise<Check[]> {
  return [
    machine("Node", "ok", versions.node),
    optionalCheck(),
    configCheck(context, options),
    stateCheck(context),
    await keychainCheck(context),
    await proxyCheck(context),
  ];
}

function optionalCheck(): Check {
  const missing = Object.entries(OPTIONAL).filter(([name]) => nativePath(name) === undefined);
  if (missing.length === 0) return machine("Optional parts", "ok", "all installed");
  const parts = missing.map(([name, use]) => `${name} (${use})`).join(", ");
  const fix = [...new Set(missing.map(([name]) => toInstall(name)))].join("; ");
  return machine("Optional parts", "warn", `not installed: ${parts}`, fix);
}

function stateCheck(context: Context): Check {
  const state = findFolder("state", context);
  const fix = "set HEADCOUNT_STATE_DIR to a folder that may be written";

  if (state === undefined)
    return machine("State folder", "warn", "none: no home is set; exports need one", fix);

  let folder = state;
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder);
  try {
    accessSync(folder, constants.W_OK);
    if (statSync(folder).isDirectory()) return machine("State folder", "ok", state);
  } catch {
    // Said below.
  }

  return machine(
    "State folder",
    "fail",
    `${state} cannot be written: nothing that is bought could be kept`,
    fix,
  );
}

function configCheck(context: Context, options: DoctorOptions): Check {
  const dir = findFolder("config", context);
  if (dir === undefined) {
    const fix = "set HEADCOUNT_CONFIG_DIR, or give all by HEADCOUNT_API_KEY and HEADCOUNT_BASE_URL";
    return machine("Config", "warn", "no folder: no home is set", fix);
  }

  try {
    const config = readConfig(dir);
    const names = Object.keys(config.connections);
    const count = names.length === 0 ? "no connections" : `connections: ${names.join(", ")}`;
    return machine(
      "Config",
      "ok",
      `${configFile(dir)}; ${count}; used: ${originOf(context, options, config)}`,
    );
  } catch (error) {
    return failedCheck(machine, "Config", error);
  }
}

function originOf(context: Context, options: DoctorOptions, config: Config): string {
  const { env } = context;
  const { connection, baseUrl } = selectionOf(options, context);
  const from = (value: string, variable: string, flag: string): string =>
    value === env[variable] ? variable : flag;

  if (connection !== undefined)
    return `${connection} (${from(connection, "HEADCOUNT_CONNECTION", "-c")})`;
  if (baseUrl !== undefined && env.HEADCOUNT_API_KEY) {
    return (
      `${shownAddress(baseUrl)} (${from(baseUrl, "HEADCOUNT_BASE_URL", "--base-url")}), ` +
      "without a connection"
    );
  }

  return config.default === undefined ? "none" : `${config.default} (the config's default)`;
}

/** Does what `login`, a command and `logout` do, with an entry of its own. */
async function keychainCheck(context: Context): Promise<Check> {
  const { openKeychain } = await import("../../engine/connections/keychain.ts");
  try {
    const chain = openKeychain({
      ...context,
      otherwise: say`nothing, where ${command("login")} keeps the key in a file
        (${option("insecure_storage")})`,
    });
    const entry = `doctor-${context.pid}`;
    await chain.set(entry, entry);
    const kept = await chain.get(entry);
    await chain.remove(entry);

    if (kept === entry) return machine("Keychain", "ok", "keeps, reads and deletes an entry");
    return machine(
      "Keychain",
      "warn",
      "does not keep what it takes",
      "headcount login NAME --insecure-storage",
    );
  } catch (error) {
    // Where a connection keeps its key there, the key's own check fails.
    return failedCheck(machine, "Keychain", error, "warn");
  }
}

async function proxyCheck({ env }: Context): Promise<Check> {
  const { proxyFor } = await import("../../engine/client/transport.ts");
  try {
    const proxy = proxyFor(new URL("https://api.example.com"), env);
    if (proxy === undefined) return machine("Proxy", "ok", "none set");

    const noProxy = env.no_proxy || env.NO_PROXY;
    return machine(
      "Proxy",
      "ok",
      `${shownAddress(proxy.href)}${noProxy ? `, not for ${noProxy}` : ""}`,
    );
  } catch (error) {
    return failedCheck(machine, "Proxy", error);
  }
}

type Add = (check: Check) => void;

/** The key, the way to the service, and how the service speaks. Free calls alone. */
export async function checkService(
  context: Context,
  options: DoctorOptions,
  add: Add,
): Promise<void> {
  if (selectionOf(options, context).connection === SAMPLE)
    return checkSample(context, options, add);

  let target: Destination;
  try {
    target = await resolveTarget(options, context);
  } catch (error) {
    add(failedCheck(key, "Key", error));
    add(service("Service", "skip", "not tried without a key"));
    return;
  }

  const kind = keyModeOf(target.apiKey) ?? "unknown kind of";
  add(
    key(
      "Key",
      "ok",
      `${kind} key ${keyPrefix(target.apiKey)} from ${KEY_PLACES[target.keySource]}`,
    ),
  );
  await probe({ ...target, asking: options.asking }, context, add);
}

async function checkSample(
  context: Context,
  { notice = () => undefined, asking }: DoctorOptions,
  add: Add,
): Promise<void> {
  const ready = asking?.("the sample");
  const sample = await context
    .startSample(context, notice)
    .catch((error: unknown) => {
      add(failedCheck(service, "Sample", error));
    })
    .finally(ready);
  if (sample === undefined) return;

  const { url: baseUrl, key: apiKey, connect, dir } = sample;
  add(key("Key", "ok", `the sample's own, in ${dir}`));

  try {
    await probe(
      {
        name: SAMPLE,
        baseUrl,
        connect,
        apiKey,
        dialect: DEFAULT_DIALECT,
        keySource: "sample",
        asking,
      },
      context,
      add,
    );
  } finally {
    await sample.close();
  }
}

async function probe(
  target: Destination & Pick<Access, "asking" | "connect">,
  context: Context,
  add: Add,
): Promise<void> {
  if (target.vendor !== undefined) return probeVendor(target, context, add);

  const { name, baseUrl, connect, apiKey, dialect, keySource, asking } = target;
  const { probeService } = await import("../../engine/client/probe.ts");
  const { now, env, interrupted: signal } = context;
  let report: ProbeReport;
  try {
    report = await probeService({ baseUrl, connect, apiKey, now, env, signal, asking });
  } catch (error) {
    const shown = { shown: keyPrefix(apiKey), source: keySource };
    const mapped = mapError(error, { connectionName: name, baseUrl, key: shown });
    if (!(mapped instanceof CliError)) throw mapped;
    add(failedCheck(mapped.category === "auth" ? key : service, "Service", mapped));
    return;
  }

  add(service("Service", "ok", `${baseUrl} answered in ${Math.round(report.elapsedMs)} ms`));
  add(clockCheck(report));
  add(accountCheck(report));
  for (const check of dialectChecks(report, name, dialect)) add(check);

  const saved = await saveDialect(name, report, context);
  if (saved !== undefined) add(saved);
}

/** Of a vendor the file is told, and the key tried; what costs credits, or may, is left alone. */
async function probeVendor(
  target: Parameters<typeof probe>[0],
  context: Context,
  add: Add,
): Promise<void> {
  const { name, baseUrl, apiKey, keySource, vendor = "", asking, dialect, heeded } = target;
  const { now, env } = context;
  const key = { shown: keyPrefix(apiKey), source: keySource };
  try {
    const { heededBy } = await import("../vendors.ts");
    const options = { baseUrl, apiKey, dialect, now, env, asking };
    let kept = Promise.resolve();
    const onSeen: KeptTerms["onSeen"] = (keep) => {
      kept = kept.then(() => keep(name));
    };
    const terms = { isProbe: true, onSeen };
    const { client, digest, file, text } = await vendorClient(vendor, options, terms, context);
    const from = file.from?.length ? "read on public pages" : "of your own";
    add(service("Dialect", "ok", `${file.name}, ${from}, ${copyText(digest, text)}`));
    try {
      const { balance } = await client.account(context.interrupted);
      const left = balance === undefined ? "" : `; balance ${formatCreditsGrouped(balance)}`;
      const { account, key: free } = file.calls;
      const { path } = account ?? free ?? {};
      if (path === undefined) add(service("Service", "skip", "its file has no free call"));
      else add(service("Service", "ok", `${path} took the key, free${left}`));
      const known = heededBy(heeded, vendor, now());
      const price = client.dialect.counting?.price;
      await tryNames(client.names.tryAll(context.interrupted), { known, price }, add);
    } finally {
      await kept;
      await client.close();
    }

    if (typeof file.called === "string") return;
    add(
      service(
        "Price",
        "warn",
        "as declared, and seen by nobody yet: a search stops where its first page differs",
        `headcount doctor -c ${name} --buy N buys the least for N credits at most, and compares`,
      ),
    );
  } catch (error) {
    const mapped = mapError(error, { connectionName: name, baseUrl, key, vendor });
    if (!(mapped instanceof CliError)) throw mapped;
    add(failedCheck(service, "Service", mapped));
  }
}

const copyText = (digest: string, text: string): string =>
  `${counted(Buffer.byteLength(text), "byte")}, SHA-256 ${digest.slice(0, 12)}…`;

/** What of a paid count is said wherever one may be bought. */
export const countCosts = (price: Credits): string => `a count costs ${creditsText(price)} there`;

/** What was looked at, and no more: an index finds nobody by a field that it has not, too. */
async function tryNames(
  trying: Promise<Tried | undefined>,
  { known, price }: { readonly known: readonly string[]; readonly price: Credits | undefined },
  add: Add,
): Promise<void> {
  try {
    const names = await trying;
    if (names === undefined) {
      const tried = known.length === 0 ? "" : `; purchases tried ${known.join(", ")}`;
      const why = price === undefined ? "its file has no free count" : countCosts(price);
      return add(service("Filters", "skip", `not tried: ${why}${tried}`));
    }

    const { nobody, untried, words, unknown } = names;
    const rest = untried.length === 0 ? "" : `; not tried: ${untried.join(", ")}`;
    const found = "found nobody by a value that nobody has, or refused it: none is passed over";
    add(service("Filters", "ok", `${counted(nobody.length, "name")} ${found}${rest}`));

    const many = counted(words, "word");
    if (unknown.length > 0) {
      add(
        service(
          "Words",
          "warn",
          `${unknown.length} of ${many} find nobody: ${unknown.join(", ")}`,
          "the vendor may spell them otherwise than the file",
        ),
      );
    } else if (words > 0) add(service("Words", "ok", `${many} find somebody, each by itself`));
  } catch (error) {
    add(failedCheck(service, "Filters", error));
  }
}

function clockCheck({ skewMs }: ProbeReport): Check {
  if (skewMs === undefined) return service("Clock", "warn", "the service does not tell its time");
  const seconds = Math.round(skewMs / 1000);
  if (Math.abs(seconds) <= 5) return service("Clock", "ok", "within 5 s of the service's");

  return service(
    "Clock",
    "warn",
    `this machine's clock is ${duration(Math.abs(skewMs))} ` +
      `${seconds > 0 ? "behind" : "ahead of"} the service's`,
    "set it by NTP; waits for rate limits are reckoned with it",
  );
}

function accountCheck({ account, balanceFell: fell, rateLimitHeaders }: ProbeReport): Check {
  const { accountName, accountId, plan, balance, perMinute } = account;
  const untold = untoldCosts(account).join(", ");
  const parts = [
    accountName ?? accountId,
    plan === undefined ? undefined : `plan ${plan}`,
    balance === undefined ? "balance unknown" : `balance ${formatCreditsGrouped(balance)}`,
    perMinute === undefined ? undefined : `${counted(perMinute, "call")} a minute`,
  ].filter((part) => part !== undefined);

  const unknown = untold === "" ? "" : `; no price for ${untold}: a purchase assumes 1`;
  const less =
    fell === ZERO
      ? ""
      : `; ${creditsText(fell)} less after these free calls, by them or another purchase`;
  const odd = `${unknown}${rateLimitHeaders ? "" : "; no rate-limit headers"}${less}`;
  return service("Account", odd === "" ? "ok" : "warn", `${parts.join(", ")}${odd}`);
}

function dialectChecks(report: ProbeReport, name: string, dialect: Dialect): Check[] {
  const { countShape, uncounted, charged, perPageMax } = report;
  const count = uncounted
    ? failedCheck(service, "Count", uncounted, "warn")
    : countShape === undefined
      ? service(
          "Count",
          "fail",
          "the answer to a count holds no count",
          "is this the API? see --base-url",
        )
      : service(
          "Count",
          "ok",
          countShape === "bare number" ? "a bare number" : `under "${countShape}"`,
        );

  if (charged !== undefined) {
    const fix = "compare headcount account with before; tell the service's operator";
    return [count, service("Paging", "fail", charged, fix)];
  }

  const largest =
    perPageMax === undefined
      ? service("Largest page", "warn", "not told; learned from the first refusal")
      : service("Largest page", "ok", counted(perPageMax, "profile"));
  return [count, pagingCheck(report, name, dialect), largest];
}

const WORDS = {
  page: "by page, counting from 1",
  page0: "by page, counting from 0",
  offset: "by offset",
  cursor: "by cursor",
};

/** How pages are asked for. Nothing is ok that the service did not show. */
function pagingCheck(report: ProbeReport, name: string, used: Dialect): Check {
  const { paging, firstPage, refusesUnknownFilters, uncounted } = report;
  const isUnsaved = [FROM_ENVIRONMENT, SAMPLE].includes(name);
  const how = isUnsaved ? "set HEADCOUNT_PAGING=" : `headcount connections set ${name} paging=`;
  const using = pagingName(used);

  if (paging !== undefined && (paging !== "page" || firstPage !== undefined)) {
    const name = pagingName({ paging, firstPage });
    if (name === using) return service("Paging", "ok", WORDS[name]);
    const saved = isUnsaved ? "; nothing keeps it, as no connection has this address" : "";
    return service("Paging", isUnsaved ? "warn" : "ok", `${WORDS[name]}${saved}`, `${how}${name}`);
  }

  const why = refusesUnknownFilters
    ? ""
    : `: the service does not ${uncounted ? "count people" : "refuse unknown filters"}, ` +
      "so no search could be tried for free";
  const half =
    paging === "page" ? "by page; whether the first is 0 or 1 was not told" : `not told${why}`;
  const other = using === "offset" ? "page" : "offset";
  const fix = `${how}${other} (or page0, cursor) where that is wrong`;
  return service("Paging", "warn", `${half}; ${WORDS[using]}, is used`, fix);
}

async function saveDialect(
  name: string,
  report: ProbeReport,
  context: Context,
): Promise<Check | undefined> {
  const dir = findFolder("config", context);
  const before =
    dir === undefined || name === SAMPLE ? undefined : findConnection(readConfig(dir), name);
  if (dir === undefined || before === undefined || report.charged !== undefined) return undefined;

  const perPageMax = report.perPageMax ?? before.dialect?.perPageMax;
  const dialect: Dialect = {
    paging: report.paging ?? before.dialect?.paging ?? "page",
    firstPage: report.firstPage ?? before.dialect?.firstPage,
    ...present({ perPageMax }),
  };
  if (JSON.stringify(dialect) === JSON.stringify(before.dialect))
    return machine("Saved", "ok", `"${name}" was up to date`);

  try {
    await updateConnection(dir, name, (was) => ({ ...was, dialect }));
    return machine("Saved", "ok", `to the connection "${name}"`);
  } catch (error) {
    return failedCheck(machine, "Saved", error, "warn");
  }
}
