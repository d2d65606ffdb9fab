// Tested by test/cli/vendors.test.ts.
import { hash, randomUUID } from "node:crypto";
import { readdirSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Seen } from "../engine/client/dialect.ts";
import type { ClientOptions } from "../engine/client/http-client.ts";
import {
  COPY_DIGITS,
  findConnection,
  type Heeded,
  readConfig,
  serviceIdOf,
  updateConnection,
} from "../engine/connections/config.ts";
import { configDir, stateDir } from "../engine/connections/paths.ts";
import { keyModeOf } from "../engine/connections/resolve.ts";
import { Disk, errorCode } from "../engine/runs/disk.ts";
import { NO_SPENDING } from "../engine/runs/journal.ts";
import { putSpend } from "../engine/runs/spend.ts";
import type { Context } from "../shared/context.ts";
import { type Credits, ZERO } from "../shared/contract/money.ts";
import { readDialect } from "../shared/dialect/read.ts";
import type { DialectFile } from "../shared/dialect/shape.ts";
import { failed } from "../shared/errors.ts";
import { makeFolder } from "../shared/folder.ts";
import { ofPackage, textOfPackage } from "../shared/paths.ts";

/** A file of a vendor that was read, and its text as it stands. */
export interface Vendor {
  readonly file: DialectFile;
  readonly text: string;
  /** Of the text, SHA-256. */
  readonly digest: string;
}

/** Names of the files that come with headcount. @throws CliError exit 1 where they are not there */
export const shippedNames = (): string[] =>
  ofPackage("dialects/", (folder) => readdirSync(folder))
    .filter((name) => name.endsWith(".json"))
    .map((name) => name.slice(0, -5))
    .sort();

export const vendorOf = async (text: string, name: string): Promise<Vendor> => ({
  file: await readDialect(text, name),
  text,
  digest: hash("sha256", text),
});

export const shippedVendor = (name: string): Promise<Vendor> =>
  vendorOf(textOfPackage(`dialects/${name}.json`), `${name}.json`);

const ownPath = (name: string, context: Context): string =>
  join(configDir(context), "dialects", `${name}.json`);

/**
 * The copy that a connection speaks by: what is edited elsewhere changes nothing of it.
 * @returns its name, which is another one where its text is
 */
export async function keepVendor(
  { digest, file, text }: Vendor,
  context: Context,
): Promise<string> {
  const name = `${file.name.slice(0, 48)}-${digest.slice(0, COPY_DIGITS)}`;
  const path = ownPath(name, context);
  makeFolder(dirname(path));
  await new Disk().replaceFile(path, text, "dialect");
  return name;
}

/** Takes a copy away that no connection speaks by. */
export async function dropVendor(name: string, context: Context): Promise<void> {
  const { connections } = readConfig(configDir(context));
  if (Object.values(connections).some(({ vendor }) => vendor === name)) return;
  await rm(ownPath(name, context), { force: true });
}

/** What was seen so long ago is seen again. */
const SEEN_MS = 30 * 86_400_000;

/** Filters that the vendor of a file was lately seen not to pass over. */
export const heededBy = (
  heeded: Heeded | undefined,
  file: string,
  now: number,
): readonly string[] =>
  heeded?.file === file && now - Date.parse(heeded.at) < SEEN_MS ? heeded.keys : [];

/** Keeps with the connection what a client saw of filters, for the processes after it. */
export async function keepHeeded(
  { keys, isHeeded }: Seen,
  { name, file }: { readonly name: string; readonly file: string },
  context: Context,
): Promise<void> {
  const dir = configDir(context);
  if (findConnection(readConfig(dir), name)?.vendor !== file) return;
  const at = new Date(context.now()).toISOString();
  await updateConnection(dir, name, (was) => {
    const before = heededBy(was.heeded, file, context.now());
    const others = before.filter((key) => !keys.includes(key));
    const kept = isHeeded ? [...others, ...keys].sort() : others;
    // The oldest of them tells when all are looked at again.
    const since = others.length > 0 ? (was.heeded?.at ?? at) : at;
    return { ...was, heeded: { file, at: since, keys: kept } };
  });
}

interface Named {
  readonly name: string;
  /** Of the vendor's file. */
  readonly copy?: string;
}

/** Books what a call took that should be free: it is of no run, and `spend` tells it. */
export function keepCharged(
  amount: Credits,
  { name, copy, baseUrl, apiKey }: Pick<ClientOptions, "apiKey" | "baseUrl"> & Named,
  context: Context,
): Promise<void> {
  const at = context.now();

  return putSpend(new Disk(), join(stateDir(context), "runs"), {
    run: `call-${randomUUID()}`,
    connection: name,
    base_url: serviceIdOf({ baseUrl, vendor: copy }),
    account_id: null,
    key_mode: keyModeOf(apiKey) ?? null,
    command: "search",
    job: null,
    budgets: [],
    pending: ZERO,
    days: [{ ...NO_SPENDING, from: at, to: at, rows: 0, settled: amount, told: amount }],
  });
}

/** @throws CliError exit 2 where it is not there any more, or was broken since */
export async function ownFile(name: string, context: Context): Promise<Vendor> {
  const path = ownPath(name, context);
  try {
    return await vendorOf(await readFile(path, "utf8"), path);
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    throw failed.usage(
      `the file of the vendor cannot be read: ${(error as Error).message}`,
      "headcount connections add NAME --dialect NAME|FILE keeps it anew",
      "dialect_missing",
      error,
    );
  }
}
