import { createHmac, randomBytes } from "node:crypto";
import { readFile, rename, writeFile } from "node:fs/promises";
import { syncPath } from "../../dataset/layout.ts";
import { ifMissing } from "../../shared/folder.ts";
import { chainEnd } from "../ledger/chain/check.ts";
import { type LedgerEnds, runStatement } from "../ledger/database.ts";
import type { Store } from "../ledger/ledger.ts";
import { readLedger } from "./data-folder.ts";

/*
 * An old copy of a ledger is sound in itself. Outside of it a file says where
 * it ended last: the head, and the last entry and act with their links, signed
 * with a key beside it. A ledger that lacks them is an older one, or another.
 */

type Witnessed = LedgerEnds & { readonly at: string };

interface SignedHead extends Witnessed {
  readonly signature: string;
}

class OlderLedgerError extends Error {
  override readonly name = "OlderLedgerError";
}

/**
 * Signs where the ledger ends now, and keeps it: whole
 * or not at all. Nothing of it is secret but the key.
 */
async function signHead(
  store: Pick<Store, "ends">,
  file: string,
  now: () => number,
): Promise<SignedHead> {
  const head = { at: new Date(now()).toISOString(), ...(await store.ends()) };
  await makeKey(file);
  const signed = { ...head, signature: signatureOf(head, await keyOf(file)) };
  const draft = `${file}.${process.pid}.part`;
  await writeFile(draft, `${JSON.stringify(signed)}\n`, { mode: 0o600 });
  await syncPath(draft);
  await rename(draft, file);
  return signed;
}

export const WITNESS = "head.json";
const WITNESS_MS = 60_000;

/**
 * Signs the head at start, each minute and at the end: what is given back. Start and end are told.
 */
export async function keepWitness(
  store: Store,
  file: string,
  now: () => number,
  onHead: (signed: SignedHead) => void,
): Promise<() => Promise<void>> {
  const tell = async (): Promise<void> => onHead(await signHead(store, file, now));
  await tell();

  // What cannot be signed now is signed a minute later: no call waits for it.
  const timer = setInterval(
    () => void signHead(store, file, now).catch(() => undefined),
    WITNESS_MS,
  );
  timer.unref();

  return () => {
    clearInterval(timer);
    return tell();
  };
}

export async function assertNotOlder(ledger: string, file: string): Promise<void> {
  const text = await readFile(file, "utf8").catch(ifMissing(undefined));
  if (text === undefined) return;

  const { signature, ...head } = await parsed(file, text);
  const key = await keyOf(file).catch(ifMissing(undefined));
  if (key === undefined || signatureOf(head, key) !== signature) {
    throw new OlderLedgerError(`${file} is not what was signed with ${file}.key`);
  }

  const lacks = await readLedger(ledger, async (ask) => {
    for (const kind of ["entry", "act"] as const) {
      const end = head[kind];
      if (end === null) continue;
      const row = await runStatement(chainEnd(kind, end.id), async (statement) => ask(statement));
      if (row?.link !== end.link) return `lacks ${kind} ${end.id} of`;
    }
    return undefined;
  }).catch((error: Error) => {
    if (error.name === "NoLedgerError") return "holds nothing, and so nothing of";
    throw error;
  });
  if (lacks === undefined) return;

  throw new OlderLedgerError(
    `the ledger is older than the one that was served until ${head.at}, ` +
      `or another: it ${lacks} the head ${head.head}`,
  );
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

async function makeKey(file: string): Promise<void> {
  const flag = { mode: 0o600, flag: "wx" };
  await writeFile(`${file}.key`, randomBytes(32).toString("hex"), flag).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    },
  );
}

const keyOf = async (file: string): Promise<Buffer> =>
  Buffer.from((await readFile(`${file}.key`, "utf8")).trim(), "hex");
