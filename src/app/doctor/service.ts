import type { ProbeReport } from "../../engine/client/probe.ts";
import { DEFAULT_DIALECT, type Dialect, pagingName } from "../../engine/client/types.ts";
import {
  existingConnection,
  findConnection,
  readConfig,
  SAMPLE,
  updateConfig,
  withConnection,
} from "../../engine/connections/config.ts";
import { findFolder } from "../../engine/connections/paths.ts";
import {
  type Destination,
  FROM_ENVIRONMENT,
  type KeySource,
  keyModeOf,
  keyPrefix,
  resolveTarget,
  selectionOf,
} from "../../engine/connections/resolve.ts";
import type { Context } from "../../shared/context.ts";
import { formatCreditsGrouped } from "../../shared/contract/money.ts";
import { grouped } from "../../shared/contract/text.ts";
import { CliError } from "../../shared/errors.ts";
import { mapError } from "../failures.ts";
import { type Check, check, type DoctorOptions, failed } from "./machine.ts";

/** The key, the way to the service, and how the service speaks. Free calls alone. */
export async function checkService(
  context: Context,
  options: DoctorOptions,
  add: (check: Check) => void,
): Promise<void> {
  if (selectionOf(options, context).connection === SAMPLE) {
    const say = (text: string): void => void (options.quiet || context.stderr.write(`${text}\n`));
    const sample = await context.startSample(context, say).catch((error: unknown) => {
      add(failed("service", "Sample", error));
    });
    if (sample === undefined) return;
    add(check("key", "Key", "ok", `the sample's own, in ${sample.dir}`));
    try {
      await probe(
        { name: SAMPLE, baseUrl: sample.url, apiKey: sample.key, dialect: DEFAULT_DIALECT, keySource: "sample" },
        context,
        add,
      );
    } finally {
      await sample.close();
    }
    return;
  }
  let target: Destination;
  try {
    target = await resolveTarget(options, context);
  } catch (error) {
    add(failed("key", "Key", error));
    add(check("service", "Service", "skip", "not tried without a key"));
    return;
  }
  const places = { environment: "HEADCOUNT_API_KEY", keychain: "the system's keychain", file: "the credentials file" };
  const kind = keyModeOf(target.apiKey) ?? "unknown kind of";
  add(check("key", "Key", "ok", `${kind} key ${keyPrefix(target.apiKey)} from ${places[target.keySource]}`));
  await probe(target, context, add);
}

async function probe(
  target: Pick<Destination, "name" | "baseUrl" | "apiKey" | "dialect"> & { readonly keySource: KeySource | "sample" },
  context: Context,
  add: (check: Check) => void,
): Promise<void> {
  const { probeService } = await import("../../engine/client/probe.ts");
  const { now, env, interrupted: signal } = context;
  let report: ProbeReport;
  try {
    report = await probeService({ baseUrl: target.baseUrl, apiKey: target.apiKey, now, env, signal });
  } catch (error) {
    const mapped = mapError(error, {
      connectionName: target.name,
      baseUrl: target.baseUrl,
      key: { shown: keyPrefix(target.apiKey), source: target.keySource },
    });
    if (!(mapped instanceof CliError)) throw mapped;
    add(failed(mapped.category === "auth" ? "key" : "service", "Service", mapped));
    return;
  }
  add(check("service", "Service", "ok", `${target.baseUrl} answered in ${Math.round(report.elapsedMs)} ms`));
  add(clockCheck(report));
  add(accountCheck(report));
  for (const found of dialectChecks(report, target)) add(found);
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
    account.perMinute === undefined ? undefined : `${grouped(account.perMinute)} calls a minute`,
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

function dialectChecks(report: ProbeReport, { name, dialect }: Pick<Destination, "name" | "dialect">): Check[] {
  const { countShape, charged } = report;
  const count =
    countShape === undefined
      ? check("service", "Count", "fail", "the answer to a count holds no count", "is this the API? see --base-url")
      : check("service", "Count", "ok", countShape === "bare number" ? "a bare number" : `under "${countShape}"`);
  if (charged !== undefined) {
    const fix = "compare headcount account with before; tell the service's operator";
    return [count, check("service", "Paging", "fail", charged, fix)];
  }
  return [count, pagingCheck(report, name, dialect), pageSizeCheck(report)];
}

const WORDS = {
  page: "by page, counting from 1",
  page0: "by page, counting from 0",
  offset: "by offset",
  cursor: "by cursor",
};

/** How pages are asked for. Nothing is ok that the service did not show. */
function pagingCheck(report: ProbeReport, name: string, used: Dialect): Check {
  const { paging, firstPage, refusesUnknownFilters } = report;
  const how = [FROM_ENVIRONMENT, SAMPLE].includes(name)
    ? "set HEADCOUNT_PAGING="
    : `headcount connections set ${name} paging=`;
  const found =
    paging === undefined || (paging === "page" && firstPage === undefined)
      ? undefined
      : pagingName({ paging, firstPage: firstPage ?? 1 });
  const using = pagingName(used);
  if (found !== undefined) {
    if (found === using) return check("service", "Paging", "ok", WORDS[found]);
    const saved = [FROM_ENVIRONMENT, SAMPLE].includes(name)
      ? "; nothing keeps it, as no connection has this address"
      : "";
    return check("service", "Paging", saved === "" ? "ok" : "warn", `${WORDS[found]}${saved}`, `${how}${found}`);
  }
  const why = refusesUnknownFilters
    ? ""
    : ": the service does not refuse unknown filters, so no search could be tried for free";
  const half = paging === "page" ? "by page; whether the first is 0 or 1 was not told" : `not told${why}`;
  return check(
    "service",
    "Paging",
    "warn",
    `${half}; ${WORDS[using]}, is used`,
    `${how}offset (or page0, cursor) where that is wrong`,
  );
}

const pageSizeCheck = ({ perPageMax }: ProbeReport): Check =>
  perPageMax === undefined
    ? check("service", "Largest page", "warn", "not told; learned from the first refusal")
    : check("service", "Largest page", "ok", `${perPageMax} profiles`);

/** Keeps what was learned with the connection, where there is one. */
async function saveDialect(name: string, report: ProbeReport, context: Context): Promise<Check | undefined> {
  const dir = findFolder("config", context);
  const before = dir === undefined || name === SAMPLE ? undefined : findConnection(readConfig(dir), name);
  if (dir === undefined || before === undefined || report.charged !== undefined) return undefined;
  const perPageMax = report.perPageMax ?? before.dialect?.perPageMax;
  const dialect: Dialect = {
    paging: report.paging ?? before.dialect?.paging ?? "page",
    firstPage: report.firstPage ?? before.dialect?.firstPage ?? 1,
    ...(perPageMax === undefined ? {} : { perPageMax }),
  };
  if (JSON.stringify(dialect) === JSON.stringify(before.dialect))
    return check("machine", "Saved", "ok", `"${name}" was up to date`);
  try {
    await updateConfig(dir, (config) => withConnection(config, name, { ...existingConnection(config, name), dialect }));
    return check("machine", "Saved", "ok", `to the connection "${name}"`);
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    return check("machine", "Saved", "warn", error.message, error.hint);
  }
}
