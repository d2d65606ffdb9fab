import { versions } from "node:process";
import { type Config, configFile, readConfig } from "../../engine/connections/config.ts";
import { findFolder } from "../../engine/connections/paths.ts";
import { selectionOf } from "../../engine/connections/resolve.ts";
import type { Context } from "../../shared/context.ts";
import { harmless, withoutPassword } from "../../shared/contract/text.ts";
import { CliError } from "../../shared/errors.ts";
import { installCommand, packagePath } from "../../shared/packages.ts";

export interface Check {
  readonly name: string;
  readonly area: "machine" | "key" | "service";
  readonly status: "ok" | "warn" | "fail" | "skip";
  readonly message: string;
  readonly fix?: string;
}

export const check = (
  area: Check["area"],
  name: string,
  status: Check["status"],
  message: string,
  fix?: string,
): Check => ({
  name,
  area,
  status,
  message: harmless(message),
  ...(fix === undefined ? {} : { fix: harmless(fix) }),
});

const OPTIONAL = [
  ["@napi-rs/keyring", "keys in the system's keychain"],
  ["@photostructure/sqlite", "serve, the sample connection, what is owned"],
  ["@duckdb/node-api", "service import, the sample connection, Parquet, DuckDB tables, sql"],
  ["jq-wasm", "--jq"],
] as const;

export interface DoctorOptions {
  readonly connection?: string;
  readonly baseUrl?: string;
  readonly quiet?: boolean;
}

export async function checkMachine(context: Context, options: DoctorOptions): Promise<Check[]> {
  const checks = [
    nodeCheck(),
    optionalCheck(),
    configCheck(context, options),
    stateCheck(context),
    await keychainCheck(context),
  ];
  const { proxyFor } = await import("../../engine/client/proxy.ts");
  try {
    const proxy = proxyFor(new URL("https://api.example.com"), context.env);
    const noProxy = context.env.no_proxy || context.env.NO_PROXY || "";
    const what =
      proxy === undefined
        ? "none set"
        : `${withoutPassword(proxy.href)}${noProxy === "" ? "" : `, not for ${noProxy}`}`;
    checks.push(check("machine", "Proxy", "ok", what));
  } catch (error) {
    checks.push(failed("machine", "Proxy", error));
  }
  return checks;
}

function nodeCheck(): Check {
  return check("machine", "Node", "ok", versions.node);
}

function optionalCheck(): Check {
  const missing: string[] = [];
  for (const [name, use] of OPTIONAL) {
    try {
      packagePath(name);
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
    [...new Set(missing.map((text) => installCommand(text.split(" ", 1)[0] ?? "")))].join("; "),
  );
}

function configCheck(context: Context, options: DoctorOptions): Check {
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

function originOf(context: Context, options: DoctorOptions, config: Config): string {
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

/** Asks for an entry that nobody made: whether the keychain answers, without writing to it. */
async function keychainCheck(context: Context): Promise<Check> {
  const { openKeychain } = await import("../../engine/connections/keychain.ts");
  try {
    await openKeychain(context).get("doctor");
    return check("machine", "Keychain", "ok", "answers");
  } catch (error) {
    // Where a connection keeps its key there, the key's own check fails.
    if (!(error instanceof CliError)) throw error;
    return check("machine", "Keychain", "warn", error.message, error.hint);
  }
}

export function failed(area: Check["area"], name: string, error: unknown): Check {
  if (!(error instanceof CliError)) throw error;
  return check(area, name, "fail", [error.message, ...error.details].join("; "), error.hint);
}
