import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseStrictJson } from "../../shared/contract/strict-json.ts";
import {
  echo,
  isObject,
  type Members,
  present,
  spanMs,
  withoutSecrets,
} from "../../shared/contract/text.ts";
import { type CliError, failed, usageError } from "../../shared/errors.ts";
import { makeFolder } from "../../shared/folder.ts";
import type { Dialect } from "../client/dialect.ts";
import { locked } from "../client/lock-file.ts";

export interface Heeded {
  /** Its copy. */
  readonly file: string;
  /** ISO 8601. */
  readonly at: string;
  readonly keys: readonly string[];
}

/** Never a key. */
export interface Connection {
  readonly baseUrl: string;
  readonly dialect?: Dialect;
  /** The file of a vendor, in `dialects` beside the config, that says how it is asked. */
  readonly vendor?: string;
  /** Filters that the vendor of that file was seen not to pass over, and when it last was. */
  readonly heeded?: Heeded;
  readonly keyStore?: "keychain" | "file";
  readonly accountId?: string;
}

export interface Config {
  readonly default?: string;
  /** Spans such as `90d`. */
  readonly retention?: { readonly runs?: string };
  readonly connections: Readonly<Record<string, Connection>>;
}

const EMPTY: Config = { connections: {} };

export const configFile = (dir: string): string => join(dir, "config.json");

export const SAMPLE = "sample";

/** Of its text, in the name of a copy, behind the name of the file. */
export const COPY_DIGITS = 12;

interface Site {
  readonly baseUrl: string;
  readonly vendor?: string | undefined;
}

/** Who sells, as runs and libraries name it: people of two at one address are not the same. */
export const serviceIdOf = ({ baseUrl, vendor }: Site): string =>
  vendor === undefined ? baseUrl : `${baseUrl}#${vendor.slice(0, -1 - COPY_DIGITS)}`;

const WORD = /^[a-z0-9][a-z0-9_-]{0,63}$/;

/** It is also a file's. @param what it names @throws CliError (exit 2) */
export function checkWord(name: string, what: "connection" | "segment", example: string): string {
  if (WORD.test(name)) return name;

  const suggestion = withoutSecrets(name)
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, "-")
    .replace(/^[-_]+|-+$/g, "")
    .slice(0, 64);

  throw usageError(
    `"${echo(name)}" is no name for a ${what}: lower-case letters, digits, ` +
      '"-" and "_", beginning with a letter or digit, at most 64',
    `for example: ${suggestion === "" ? example : suggestion}`,
    `bad_${what}_name`,
  );
}

export const checkName = (name: string): string => checkWord(name, "connection", "work");

/**
 * Plain JSON: it is on the way of every command. Nothing there is an empty one.
 * @throws CliError (exit 2)
 */
export function readConfig(dir: string | undefined): Config {
  if (dir === undefined) return EMPTY;

  const file = configFile(dir);
  const parsed = objectIn(file);
  const connections: Record<string, Connection> = {};
  // What was passed over here would be lost by the next change of the file.
  for (const [name, value] of Object.entries<unknown>(Object(parsed.connections))) {
    if (!isObject(value) || typeof value.baseUrl !== "string" || !/^[a-z0-9]/.test(name))
      throw unreadable(file, `has a connection "${echo(name)}" without a name or a "baseUrl"`);
    connections[name] = connection(value);
  }

  const runs = isObject(parsed.retention) ? parsed.retention.runs : undefined;
  if (runs !== undefined && (typeof runs !== "string" || spanMs(runs) === undefined)) {
    throw unreadable(file, 'has a "retention" whose "runs" is no span such as 90d');
  }

  return {
    ...(typeof parsed.default === "string" ? { default: parsed.default } : {}),
    ...(runs === undefined ? {} : { retention: { runs } }),
    connections,
  };
}

/** Editors put a byte-order mark before it. */
function objectIn(file: string): Members {
  let text: string;
  try {
    text = readFileSync(file, "utf8").replace(/^\ufeff/, "");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return {};
    throw unreadable(file, `cannot be read: ${code}`);
  }

  const read = parseStrictJson(Buffer.from(text), "it", Infinity);
  if (!read.ok) throw unreadable(file, `cannot be read: ${read.message}`);
  if (!isObject(read.value)) throw unreadable(file, "holds no JSON object");
  return read.value;
}

/** Only what the file itself holds: `constructor` is a legal name. */
export const findConnection = (config: Config, name: string): Connection | undefined =>
  Object.hasOwn(config.connections, name) ? config.connections[name] : undefined;

/** @throws CliError (exit 2) with those that there are */
export function existingConnection(config: Config, name: string, dir?: string): Connection {
  const connection = findConnection(config, checkName(name));
  if (connection !== undefined) return connection;
  if (name === SAMPLE)
    throw usageError(
      '"sample" is built in: it speaks the contract, by no file, and has nothing to be set',
      "headcount connections lists the others",
      "reserved_name",
    );
  const names = [SAMPLE, ...Object.keys(config.connections)].join(", ");
  throw usageError(
    `there is no connection "${name}"${dir === undefined ? "" : ` in ${configFile(dir)}`}; ` +
      `there is: ${names}`,
    `headcount login ${name}, or one of those`,
    "unknown_connection",
  );
}

/** What it holds by then, written whole, one process after the other. @throws CliError (exit 2) */
export async function updateConfig(
  dir: string,
  change: (config: Config) => Config,
): Promise<Config> {
  const { default: Conf } = await import("conf");
  try {
    makeFolder(dir);
    const written = locked(`${configFile(dir)}.lock`, LOCK_MS, () => {
      const next = change(readConfig(dir));
      const { default: _, retention: __, ...others } = objectIn(configFile(dir));
      const store = new Conf<Members>({
        cwd: dir,
        configName: "config",
        projectName: "headcount",
        configFileMode: 0o600,
        accessPropertiesByDotNotation: false,
        clearInvalidConfig: false,
        // What is there was read above, as strictly as whatever people write.
        deserialize: () => others,
      });

      store.store = { ...others, ...next };
      return next;
    });
    if (written !== undefined) return written;
  } catch (error) {
    if (!(error instanceof Error && "syscall" in error)) throw error;
    throw notWritable(dir, error.message, error);
  }

  throw notWritable(dir, "another headcount is changing it");
}

export const LOCK_MS = 5_000;

const notWritable = (dir: string, why: string, cause?: unknown): CliError =>
  failed.filesystem(
    `the config file ${configFile(dir)} cannot be written: ${why}`,
    "make the folder writable, or set HEADCOUNT_CONFIG_DIR to one that is",
    "config_not_writable",
    cause,
  );

export const withConnection = (config: Config, name: string, connection: Connection): Config => ({
  ...config,
  connections: { ...config.connections, [name]: connection },
});

export const updateConnection = (
  dir: string,
  name: string,
  change: (was: Connection) => Connection,
) =>
  updateConfig(dir, (config) =>
    withConnection(config, name, change(existingConnection(config, name))),
  );

function connection(value: Members): Connection {
  const { keyStore, accountId, vendor } = value;
  const dialect = dialectOf(value.dialect);
  const heeded = heededOf(value.heeded);
  return {
    baseUrl: String(value.baseUrl),
    ...present({ dialect }),
    ...(typeof vendor === "string" && WORD.test(vendor) ? { vendor } : {}),
    ...present({ heeded }),
    ...(keyStore === "keychain" || keyStore === "file" ? { keyStore } : {}),
    ...(typeof accountId === "string" ? { accountId } : {}),
  };
}

function heededOf(value: unknown): Heeded | undefined {
  if (!isObject(value)) return undefined;
  const { file, at, keys } = value;
  if (typeof file !== "string" || typeof at !== "string" || !Array.isArray(keys)) return undefined;
  return { file, at, keys: keys.map(String) };
}

function dialectOf(value: unknown): Dialect | undefined {
  if (!isObject(value)) return undefined;
  const { paging, firstPage, perPageMax, pageRows } = value;
  if (paging !== "page" && paging !== "offset" && paging !== "cursor") return undefined;
  return {
    paging,
    ...(firstPage === 0 || firstPage === 1 ? { firstPage } : {}),
    ...(isSize(perPageMax) ? { perPageMax } : {}),
    ...(isSize(pageRows) ? { pageRows } : {}),
  };
}

const isSize = (value: unknown): value is number => Number.isInteger(value) && Number(value) > 0;

function unreadable(file: string, why: string): CliError {
  return failed.usage(
    `the config file ${file} ${why}`,
    "repair or remove it, then run headcount login again; keys are not in it",
    "bad_config",
  );
}
