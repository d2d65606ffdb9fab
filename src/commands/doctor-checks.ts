import { createRequire } from "node:module";
import { versions } from "node:process";
import type { ProbeReport } from "../client/probe.ts";
import type { Dialect } from "../client/types.ts";
import { type Config, configFile, findConnection, readConfig, SAMPLE, writeConfig } from "../connections/config.ts";
import { findFolder } from "../connections/paths.ts";
import { selectionOf, type Target } from "../connections/resolve.ts";
import type { Context } from "../context.ts";
import { formatCreditsGrouped } from "../contract/money.ts";
import { CliError } from "../errors.ts";
import type { GlobalOptions } from "../program.ts";
import { safeText } from "../terminal/safe.ts";
import { mapError } from "./map-error.ts";

/** One thing that was looked at, as `doctor --json` shows it. */
export interface Check {
  readonly name: string;
  readonly area: "machine" | "key" | "service";
  /** `skip`: could not be looked at, because of something that failed before. */
  readonly status: "ok" | "warn" | "fail" | "skip";
  readonly message: string;
  readonly fix?: string;
}

const check = (area: Check["area"], name: string, status: Check["status"], message: string, fix?: string): Check => ({
  name,
  area,
  status,
  message: safeText(message),
  ...(fix === undefined ? {} : { fix: safeText(fix) }),
});

/** Optional packages and what is missing without them. */
const OPTIONAL = [
  ["@napi-rs/keyring", "keys in the system's keychain"],
  ["fastify", "serve, and the sample connection"],
  ["@photostructure/sqlite", "serve, and the sample connection"],
  ["@duckdb/node-api", "serve, the sample connection, Parquet"],
] as const;

type Options = Pick<GlobalOptions, "connection" | "baseUrl" | "quiet">;

/** What can be looked at without a call: Node, optional parts, folders, config, proxy. */
export async function checkMachine(context: Context, options: Options): Promise<Check[]> {
  const checks = [nodeCheck(), optionalCheck(), configCheck(context, options), stateCheck(context)];
  const { proxyFor } = await import("../client/proxy.ts");
  try {
    const proxy = proxyFor(new URL("https://api.example.com"), context.env);
    const what =
      proxy === undefined
        ? "none set"
        : `${withoutUser(proxy.httpsProxy)}${proxy.noProxy === "" ? "" : `, not for ${proxy.noProxy}`}`;
    checks.push(check("machine", "Proxy", "ok", what));
  } catch (error) {
    checks.push(failed("machine", "Proxy", error));
  }
  return checks;
}

function nodeCheck(): Check {
  // The entry point has refused versions that are too old already.
  return check("machine", "Node", "ok", versions.node);
}

function optionalCheck(): Check {
  const missing: string[] = [];
  const { resolve } = createRequire(import.meta.url);
  for (const [name, use] of OPTIONAL) {
    try {
      resolve(name);
    } catch {
      missing.push(`${name} (${use})`);
    }
  }
  if (missing.length === 0) return check("machine", "Optional parts", "ok", "all installed");
  return check(
    "machine",
    "Optional parts",
    "warn",
    `not installed: ${missing.join(", ")}`,
    "npm install -g headcount --include=optional",
  );
}

function configCheck(context: Context, options: Options): Check {
  const dir = findFolder("config", context);
  if (dir === undefined) {
    return check(
      "machine",
      "Config",
      "warn",
      "no folder: no home is set",
      "set HEADCOUNT_CONFIG_DIR, or give all by HEADCOUNT_API_KEY and HEADCOUNT_BASE_URL",
    );
  }
  try {
    const config = readConfig(dir);
    const names = Object.keys(config.connections);
    const origin = originOf(context, options, config);
    const count = names.length === 0 ? "no connections" : `connections: ${names.join(", ")}`;
    return check("machine", "Config", "ok", `${configFile(dir)}; ${count}; used: ${origin}`);
  } catch (error) {
    return failed("machine", "Config", error);
  }
}

/** Which connection is used, and who says so. */
function originOf(context: Context, options: Options, config: Config): string {
  const { env } = context;
  const { connection, baseUrl } = selectionOf(options, context);
  const from = (value: string, variable: string, flag: string): string => (value === env[variable] ? variable : flag);
  if (connection !== undefined) return `${connection} (${from(connection, "HEADCOUNT_CONNECTION", "-c")})`;
  if (baseUrl !== undefined && env.HEADCOUNT_API_KEY) {
    return `${baseUrl} (${from(baseUrl, "HEADCOUNT_BASE_URL", "--base-url")}), without a connection`;
  }
  return config.default === undefined ? "none" : `${config.default} (the config's default)`;
}

function stateCheck(context: Context): Check {
  const dir = findFolder("state", context);
  return dir === undefined
    ? check("machine", "State folder", "warn", "none: no home is set; exports need one", "set HEADCOUNT_STATE_DIR")
    : check("machine", "State folder", "ok", dir);
}

/** The key, the way to the service, and how the service speaks. Free calls alone. */
export async function checkService(context: Context, options: Options, add: (check: Check) => void): Promise<void> {
  const { keyModeOf, resolveTarget } = await import("../connections/resolve.ts");
  if (selectionOf(options, context).connection === SAMPLE) {
    const { startSample } = await import("./sample.ts");
    const sample = await startSample(context, (text) => options.quiet || context.stderr.write(`${text}\n`)).catch(
      (error: unknown) => {
        add(failed("service", "Sample", error));
        return undefined;
      },
    );
    if (sample === undefined) return;
    add(check("key", "Key", "ok", `the sample's own, in ${sample.dir}`));
    try {
      await probe({ name: SAMPLE, baseUrl: sample.url, apiKey: sample.key }, context, add);
    } finally {
      await sample.close();
    }
    return;
  }
  let target: Target;
  try {
    target = await resolveTarget(options, context);
  } catch (error) {
    add(failed("key", "Key", error));
    add(check("service", "Service", "skip", "not tried without a key"));
    return;
  }
  const places = { environment: "HEADCOUNT_API_KEY", keychain: "the system's keychain", file: "the credentials file" };
  add(
    check("key", "Key", "ok", `${keyModeOf(target.apiKey) ?? "unknown kind of"} key from ${places[target.keySource]}`),
  );
  await probe(target, context, add);
}

async function probe(
  target: Pick<Target, "name" | "baseUrl" | "apiKey">,
  context: Context,
  add: (check: Check) => void,
): Promise<void> {
  const { probeService } = await import("../client/probe.ts");
  const { now, env, interrupted: signal } = context;
  let report: ProbeReport;
  try {
    report = await probeService({ baseUrl: target.baseUrl, apiKey: target.apiKey, now, env, signal });
  } catch (error) {
    const mapped = mapError(error, { connectionName: target.name, baseUrl: target.baseUrl });
    if (!(mapped instanceof CliError)) throw mapped;
    add(failed(mapped.category === "auth" ? "key" : "service", "Service", mapped));
    return;
  }
  add(check("service", "Service", "ok", `${target.baseUrl} answered in ${Math.round(report.elapsedMs)} ms`));
  add(clockCheck(report));
  add(accountCheck(report));
  for (const found of dialectChecks(report)) add(found);
  const saved = await saveDialect(target.name, report, context);
  if (saved !== undefined) add(saved);
}

function clockCheck({ skewMs }: ProbeReport): Check {
  if (skewMs === undefined) return check("service", "Clock", "warn", "the service does not tell its time");
  const seconds = Math.round(skewMs / 1000);
  if (Math.abs(seconds) <= 5) return check("service", "Clock", "ok", "within 5 s of the service's");
  const side = seconds > 0 ? "behind" : "ahead of";
  return check(
    "service",
    "Clock",
    "warn",
    `this machine's clock is ${Math.abs(seconds)} s ${side} the service's`,
    "set it by NTP; waits for rate limits are reckoned with it",
  );
}

function accountCheck({ account, rateLimitHeaders }: ProbeReport): Check {
  const parts = [
    account.accountName ?? account.accountId,
    account.plan === undefined ? undefined : `plan ${account.plan}`,
    account.balance === undefined ? "balance unknown" : `balance ${formatCreditsGrouped(account.balance)}`,
    account.perMinute === undefined ? undefined : `${account.perMinute} calls a minute`,
  ].filter((part) => part !== undefined);
  const unknown =
    account.unknownCosts.length === 0 ? "" : `; no price for ${account.unknownCosts.join(", ")}: 1 is assumed`;
  const headers = rateLimitHeaders ? "" : "; no rate-limit headers";
  return check(
    "service",
    "Account",
    unknown + headers === "" ? "ok" : "warn",
    `${parts.join(", ")}${unknown}${headers}`,
  );
}

function dialectChecks(report: ProbeReport): Check[] {
  const { countShape, refusesUnknownFilters, paging, perPageMax, charged, firstPage } = report;
  const checks = [
    countShape === undefined
      ? check("service", "Count", "fail", "the answer to a count holds no count", "is this the API? see --base-url")
      : check("service", "Count", "ok", countShape === "bare number" ? "a bare number" : `under "${countShape}"`),
  ];
  if (charged !== undefined) {
    return [
      ...checks,
      check("service", "Paging", "fail", charged, "compare headcount account with before; tell the service's operator"),
    ];
  }
  if (!refusesUnknownFilters) {
    const message = "not probed: the service does not refuse unknown filters, so a search could not be tried for free";
    return [...checks, check("service", "Paging", "warn", message)];
  }
  const from = paging === "page" ? `, counting from ${firstPage ?? 1}` : "";
  checks.push(
    paging === undefined
      ? check("service", "Paging", "warn", "not told; page, counting from 1, is assumed")
      : check("service", "Paging", "ok", `by ${paging}${from}`),
    perPageMax === undefined
      ? check("service", "Largest page", "warn", "not told; learned from the first refusal")
      : check("service", "Largest page", "ok", `${perPageMax} profiles`),
  );
  return checks;
}

/** Keeps what was learned with the connection, where there is one. */
async function saveDialect(name: string, report: ProbeReport, context: Context): Promise<Check | undefined> {
  const dir = findFolder("config", context);
  if (dir === undefined || name === SAMPLE) return undefined;
  const config = readConfig(dir);
  const connection = findConnection(config, name);
  if (connection === undefined || report.charged !== undefined) return undefined;
  const before = connection.dialect;
  const perPageMax = report.perPageMax ?? before?.perPageMax;
  const dialect: Dialect = {
    paging: report.paging ?? before?.paging ?? "page",
    firstPage: report.firstPage ?? before?.firstPage ?? 1,
    ...(perPageMax === undefined ? {} : { perPageMax }),
  };
  if (JSON.stringify(dialect) === JSON.stringify(before))
    return check("machine", "Saved", "ok", `"${name}" was up to date`);
  try {
    await writeConfig(dir, { ...config, connections: { ...config.connections, [name]: { ...connection, dialect } } });
    return check("machine", "Saved", "ok", `to the connection "${name}"`);
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    return check("machine", "Saved", "warn", error.message, error.hint);
  }
}

const withoutUser = (url: string): string => url.replace(/\/\/[^/]*@/, "//");

function failed(area: Check["area"], name: string, error: unknown): Check {
  if (!(error instanceof CliError)) throw error;
  return check(area, name, "fail", [error.message, ...error.details].join("; "), error.hint);
}
