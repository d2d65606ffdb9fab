import { type CliError, failed, usageError } from "../../shared/errors.ts";
import { baseUrlText, parseBaseUrl } from "../client/addresses.ts";
import { DEFAULT_DIALECT, type Dialect, pagingOf } from "../client/dialect.ts";
import { type Connection, existingConnection, type Heeded, readConfig } from "./config.ts";
import type { KeychainOptions } from "./keychain.ts";
import { findFolder, type Surroundings } from "./paths.ts";

export type KeySource = "environment" | "keychain" | "file" | "sample";

export interface Destination {
  /** {@link FROM_ENVIRONMENT} where address and key come from variables alone. */
  readonly name: string;
  readonly baseUrl: string;
  readonly dialect: Dialect;
  readonly apiKey: string;
  readonly keySource: KeySource;
  /** {@link Connection.vendor} */
  readonly vendor?: string | undefined;
  readonly heeded?: Heeded | undefined;
  /** Set where `--base-url` sends a stored key to another origin than it was stored for. */
  readonly movedFrom?: string;
}

export interface ConnectionChoice {
  readonly connection?: string | undefined;
  readonly baseUrl?: string | undefined;
  readonly paging?: string | undefined;
}

/** Flags, else the environment. An empty variable says nothing. */
export function selectionOf(flags: ConnectionChoice, { env }: Surroundings): ConnectionChoice {
  return {
    connection: flags.connection || env.HEADCOUNT_CONNECTION || undefined,
    baseUrl: flags.baseUrl || env.HEADCOUNT_BASE_URL?.trim() || undefined,
    paging: flags.paging || env.HEADCOUNT_PAGING?.trim() || undefined,
  };
}

export const FROM_ENVIRONMENT = "environment";

function keyFromEnvironment({ env }: Surroundings): string | undefined {
  const text = env.HEADCOUNT_API_KEY?.trim();
  if (text === undefined || text === "") return undefined;
  return checkKey(text, "HEADCOUNT_API_KEY");
}

/** One word of visible ASCII. @throws CliError (exit 3) that never shows the key */
export function checkKey(text: string, from: string): string {
  const key = text.trim();
  if (/^[\x21-\x7e]{8,8192}$/.test(key)) return key;

  let why = "has characters that no key has";
  if (key === "") why = "is empty";
  else if (/\s/.test(key)) why = "has spaces or line breaks in it";
  else if (key.length < 8) why = "is too short: a key has 8 characters at least";
  else if (key.length > 8_192) why = "is too long: a header carries 8192 characters at most";

  throw failed.auth(
    `the key from ${from} ${why}`,
    "give the whole key and nothing else, as it was shown once when it was made",
    "bad_key",
  );
}

export function keyModeOf(key: string): "live" | "test" | undefined {
  const mode = /^[a-z0-9]+_(live|test)_/i.exec(key)?.[1]?.toLowerCase();
  return mode === "live" || mode === "test" ? mode : undefined;
}

/** Its kind and its first letters, as the service shows it. Of a short one nothing but its kind. */
export function keyPrefix(key: string): string {
  const kind = /^[a-z0-9]+_(?:live|test)_/i.exec(key)?.[0] ?? "";
  return key.length - kind.length < 16
    ? `${kind}…`
    : `${key.slice(0, kind.length + 4)}…${key.slice(-4)}`;
}

/**
 * Which connection flags, environment and config mean, whatever its key, and its address; none
 * where the environment names all that is needed.
 * @throws CliError exit 2 for one that there is not
 */
export function connectionMeant(flags: ConnectionChoice, surroundings: Surroundings) {
  const { connection, baseUrl: url } = selectionOf(flags, surroundings);
  const dir = findFolder("config", surroundings);
  const override = url === undefined ? undefined : baseUrlText(parseBaseUrl(url));
  const isWhole = override !== undefined && surroundings.env.HEADCOUNT_API_KEY?.trim();
  const name = connection ?? (isWhole ? FROM_ENVIRONMENT : readConfig(dir).default);
  const isOther = name === undefined || name === FROM_ENVIRONMENT;
  const entry = isOther ? undefined : existingConnection(readConfig(dir), name, dir);
  const stored = entry && baseUrlText(parseBaseUrl(entry.baseUrl));
  return { dir, name, entry, stored, baseUrl: override ?? stored };
}

/**
 * Flags, then environment, then the config.
 * @throws CliError exit 2, or exit 3 for what is wrong with the key
 */
export async function resolveTarget(
  flags: ConnectionChoice,
  surroundings: KeychainOptions,
): Promise<Destination> {
  const { paging } = selectionOf(flags, surroundings);
  const apiKey = keyFromEnvironment(surroundings);
  const { name, entry, dir, baseUrl, stored = "" } = connectionMeant(flags, surroundings);
  const said = paging === undefined ? undefined : pagingOf(paging);
  if (name === FROM_ENVIRONMENT) return fromEnvironment(apiKey, baseUrl, { dir, said });
  if (name === undefined || entry === undefined || baseUrl === undefined)
    throw apiKey === undefined ? noKey(undefined) : noAddress();

  const dialect = { ...DEFAULT_DIALECT, ...entry.dialect, ...said };

  const place = { name, baseUrl, dialect, heeded: entry.heeded, vendor: entry.vendor };
  if (apiKey !== undefined) return { ...place, apiKey, keySource: "environment" };

  const moved = new URL(baseUrl).origin !== new URL(stored).origin;
  if (moved && !flags.baseUrl) throw storedForAnother(name, stored, baseUrl);

  const key = await storedKey(name, entry, dir, surroundings);
  return { ...place, ...key, ...(moved ? { movedFrom: stored } : {}) };
}

/** @throws CliError exit 2 or 3 where the environment has one of the two alone */
function fromEnvironment(
  apiKey: string | undefined,
  baseUrl: string | undefined,
  { dir, said }: { readonly dir: string | undefined; readonly said: Dialect | undefined },
): Destination {
  if (apiKey === undefined) throw noKey(undefined, "HEADCOUNT_API_KEY is not set");
  if (baseUrl === undefined) throw noAddress();
  const dialect = { ...dialectFor(dir, baseUrl), ...said };
  return { name: FROM_ENVIRONMENT, baseUrl, dialect, apiKey, keySource: "environment" };
}

async function storedKey(
  name: string,
  { keyStore }: Connection,
  dir: string | undefined,
  surroundings: KeychainOptions,
): Promise<Pick<Destination, "apiKey" | "keySource">> {
  if (keyStore === "file" && dir !== undefined) {
    const { readKeyFile } = await import("./key-file.ts");
    const key = readKeyFile(dir, name, surroundings.platform);
    if (key === undefined) throw noKey(name);
    return { apiKey: checkKey(key, "the credentials file"), keySource: "file" };
  }
  if (keyStore !== "keychain") throw noKey(name);

  const { openKeychain } = await import("./keychain.ts");
  const key = await openKeychain(surroundings).get(name);
  if (key === undefined) throw noKey(name, "the keychain has no entry for it any more");

  return { apiKey: checkKey(key, "the keychain"), keySource: "keychain" };
}

// What doctor found out holds for whoever talks to a service, also where the environment names it.
function dialectFor(dir: string | undefined, baseUrl: string): Dialect {
  try {
    const same = Object.values(readConfig(dir).connections).find(
      (connection) => connection.baseUrl === baseUrl,
    );
    return same?.dialect ?? DEFAULT_DIALECT;
  } catch {
    return DEFAULT_DIALECT;
  }
}

const storedForAnother = (name: string, stored: string, other: string): CliError =>
  failed.auth(
    `the key of "${name}" is stored for ${stored} and is not sent ` +
      `to ${other}, which HEADCOUNT_BASE_URL names`,
    "set HEADCOUNT_API_KEY for that address, or make a connection of its own: " +
      `headcount login NAME --base-url ${other}; ` +
      "--base-url on the command line sends the stored key",
    "key_for_another_address",
  );

const noAddress = (): CliError =>
  usageError(
    "HEADCOUNT_API_KEY is set, but no address to use it at",
    "set HEADCOUNT_BASE_URL, give --base-url, or make a connection: headcount login",
    "no_base_url",
  );

function noKey(name: string | undefined, why?: string): CliError {
  const whose =
    name === undefined ? "there is no key to use" : `the connection "${name}" has no key`;
  return failed.auth(
    why === undefined ? whose : `${whose}: ${why}`,
    `run headcount login${name === undefined ? "" : ` ${name}`}, or set HEADCOUNT_API_KEY ` +
      "(with HEADCOUNT_BASE_URL), or try it without an account: add -c sample",
    "no_key",
  );
}
