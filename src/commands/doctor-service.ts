import type { ProbeReport } from "../client/probe.ts";
import type { Dialect } from "../client/types.ts";
import {
  existingConnection,
  findConnection,
  readConfig,
  SAMPLE,
  updateConfig,
  withConnection,
} from "../connections/config.ts";
import { findFolder } from "../connections/paths.ts";
import { keyModeOf, resolveTarget, selectionOf, type Target } from "../connections/resolve.ts";
import type { Context } from "../context.ts";
import { formatCreditsGrouped } from "../contract/money.ts";
import { CliError } from "../errors.ts";
import { type Check, check, type DoctorOptions, failed } from "./doctor-machine.ts";
import { mapError } from "./failures.ts";

/** The key, the way to the service, and how the service speaks. Free calls alone. */
export async function checkService(
  context: Context,
  options: DoctorOptions,
  add: (check: Check) => void,
): Promise<void> {
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
