import { createHmac, randomBytes } from "node:crypto";
import { readFile, rename, writeFile } from "node:fs/promises";
import { syncPath } from "../../dataset/layout.ts";
import { headOf } from "../ledger/chain/check.ts";
import { type AskBackup, runStatement } from "../ledger/database.ts";
import { readLedger } from "./data-folder.ts";

/*
 * An old copy of a ledger is sound in itself. Outside of it a file says where it ended last: the head, and the last
 * entry and act with their links, signed with a key beside it. A ledger that lacks them is an older one, or another.
 */

const ENDS = {
  entry: "SELECT id, chain AS link FROM entries",
  act: "SELECT id, digest AS link FROM audit",
} as const;

interface End {
  readonly id: string;
  readonly link: string;
}

interface Witnessed extends Readonly<Record<keyof typeof ENDS, End | null>> {
  readonly at: string;
  readonly head: string;
}

export interface SignedHead extends Witnessed {
  readonly signature: string;
}

export interface WitnessPlace {
  readonly ledger: string;
  readonly file: string;
  readonly now: () => number;
}

class OlderLedgerError extends Error {
  override readonly name = "OlderLedgerError";
}

/** Signs where the ledger ends now, and keeps it: whole or not at all. Nothing of it is secret but the key. */
export async function signHead({ file, ledger, now }: WitnessPlace): Promise<SignedHead> {
  const told = await readLedger(ledger, async (ask): Promise<Witnessed> => {
    const head = await runStatement(headOf(), async (statement) => ask(statement));
    const at = new Date(now()).toISOString();
    return { at, head, entry: await endOf(ask, "entry"), act: await endOf(ask, "act") };
  });
  const signed = { ...told, signature: signatureOf(told, await keyOf(file, true)) };
  const draft = `${file}.${process.pid}.part`;
  await writeFile(draft, `${JSON.stringify(signed)}\n`, { mode: 0o600 });
  await syncPath(draft);
  await rename(draft, file);
  return signed;
}

export async function assertNotOlder({ file, ledger }: Omit<WitnessPlace, "now">): Promise<void> {
  const text = await readFile(file, "utf8").catch(ifMissing);
  if (text === undefined) return;
  const { signature, ...told } = await parsed(file, text);
  const key = await keyOf(file, false);
  if (key === undefined || signatureOf(told, key) !== signature) {
    throw new OlderLedgerError(`${file} is not what was signed with ${file}.key`);
  }
  const lacks = await readLedger(ledger, async (ask) => {
    for (const kind of ["entry", "act"] as const) {
      const end = told[kind];
      if (end !== null && (await endOf(ask, kind, end.id))?.link !== end.link) return `${kind} ${end.id}`;
    }
    return undefined;
  }).catch((error: Error) => {
    if (error.name === "NoLedgerError") return "anything at all";
    throw error;
  });
  if (lacks === undefined) return;
  throw new OlderLedgerError(
    `the ledger is older than the one that was served until ${told.at}, or another: it lacks ${lacks} of the head ${told.head}`,
  );
}

async function endOf(ask: AskBackup, kind: keyof typeof ENDS, id?: string): Promise<End | null> {
  const sql = id === undefined ? `${ENDS[kind]} ORDER BY id DESC LIMIT 1` : `${ENDS[kind]} WHERE id = $1`;
  const [row] = (await ask({ sql, values: id === undefined ? [] : [BigInt(id)] })).rows;
  return row === undefined ? null : { id: String(row.id), link: String(row.link) };
}

const signatureOf = ({ act, at, entry, head }: Witnessed, key: Buffer): string =>
  createHmac("sha256", key)
    .update(JSON.stringify([at, head, entry, act]))
    .digest("hex");

async function parsed(file: string, text: string): Promise<SignedHead> {
  try {
    return JSON.parse(text) as SignedHead;
  } catch {
    throw new OlderLedgerError(`${file} is not what was written: it is no JSON`);
  }
}

async function keyOf(file: string, make: true): Promise<Buffer>;
async function keyOf(file: string, make: false): Promise<Buffer | undefined>;
async function keyOf(file: string, make: boolean): Promise<Buffer | undefined> {
  const path = `${file}.key`;
  if (make) {
    const flag = { mode: 0o600, flag: "wx" };
    await writeFile(path, randomBytes(32).toString("hex"), flag).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
  }
  const text = await readFile(path, "utf8").catch(ifMissing);
  return text === undefined ? undefined : Buffer.from(text.trim(), "hex");
}

function ifMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}
