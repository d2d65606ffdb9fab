import { createHmac, randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { ifMissing, replaceFile } from "../../shared/folder.ts";
import { chainEnds, endsOf, lackedOf } from "../ledger/chain/check.ts";
import { type ChainEnds, type LedgerEnds, runStatement, type Steps } from "../ledger/database.ts";
import { OlderLedgerError } from "../ledger/errors.ts";
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

/**
 * Signs where the ledger ends now, and keeps it: whole
 * or not at all. Nothing of it is secret but the key.
 */
async function signHead(file: string, ends: LedgerEnds, now: () => number): Promise<SignedHead> {
  const head = { ...ends, at: new Date(now()).toISOString() };
  await makeKey(file);
  const signed = { ...head, signature: signatureOf(head, await keyOf(file)) };
  replaceFile(file, `${JSON.stringify(signed)}\n`);
  return signed;
}

export const WITNESS = "head.json";
/** How often a ledger that may be exchanged beneath the service is looked at: four short reads. */
const LOOK_MS = 1_000;
const LOOKS_A_HEAD = 60;

export interface WitnessOptions {
  readonly file: string;
  readonly now: () => number;
  /** Told at start and end. */
  readonly onHead: (signed: SignedHead) => void;
  /** Told once for each time that the ledger is an older one, and undefined when it is back. */
  readonly onOlder: (older: Error | undefined) => void;
}

/**
 * Signs the head at start, each minute and at the end: what is given back. Nothing is signed that
 * lacks what was seen last: then the store is halted, until a look finds it again.
 */
export async function keepWitness(store: Store, options: WitnessOptions) {
  const { file, now, onHead, onOlder } = options;
  let older: OlderLedgerError | undefined;
  let signed = await signHead(file, await store.look(endsOf()), now);
  let seen: ChainEnds = signed;

  const judge = async (lacked: string | undefined): Promise<void> => {
    if ((lacked === undefined) === (older === undefined)) return;
    const what = "the ledger is older than the one that was served a moment ago: it lacks";
    older = lacked === undefined ? undefined : new OlderLedgerError(`${what} ${lacked}`);
    store.halt(older);
    onOlder(older);

    // The next start is to know of it too: what was seen since the last minute goes to the head.
    if (older !== undefined) await signHead(file, { ...signed, ...seen }, now);
  };

  /** The new end is read first: it is of the ledger that is asked for the old one, or newer. */
  const look = async <Ends extends ChainEnds>(ends: Steps<Ends>): Promise<Ends> => {
    const found = await store.look(ends);
    await judge(await store.look(lackedOf(seen)));
    if (older !== undefined) throw older;
    seen = found;
    return found;
  };

  const sign = async (): Promise<SignedHead> => {
    signed = await signHead(file, await look(endsOf()), now);
    return signed;
  };

  onHead(signed);

  // What cannot be looked at or signed now is so a moment later: no call waits for it.
  let looks = 0;
  let looking: Promise<unknown> | undefined;
  const timer = setInterval(() => {
    if (looking !== undefined) return;
    looks += 1;
    const work = looks % LOOKS_A_HEAD === 0 ? sign() : look(chainEnds());
    looking = work
      .catch(() => undefined)
      .finally(() => {
        looking = undefined;
      });
  }, LOOK_MS).unref();

  return async (): Promise<void> => {
    clearInterval(timer);
    await looking;
    onHead(await sign());
  };
}

/** @param onAnother told where the head is of another ledger, and says nothing about this one */
export async function assertNotOlder(
  ledger: string,
  file: string,
  onAnother?: (note: string) => void,
): Promise<void> {
  const text = await readFile(file, "utf8").catch(ifMissing(undefined));
  if (text === undefined) return;

  const { signature, ...head } = await parsed(file, text);
  const key = await keyOf(file).catch(ifMissing(undefined));
  if (key === undefined || signatureOf(head, key) !== signature) {
    throw new OlderLedgerError(`${file} is not what was signed with ${file}.key`);
  }

  const lacks = await readLedger(ledger, async (ask) => {
    if (onAnother === undefined || (await runStatement(endsOf(), ask)).ledger === head.ledger) {
      const lacked = await runStatement(lackedOf(head), ask);
      return lacked && `lacks ${lacked} of`;
    }
    onAnother(`${file} is the head of another ledger: nothing was held against it`);
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

const signatureOf = ({ act, at, entry, head, ledger }: Witnessed, key: Buffer): string =>
  createHmac("sha256", key)
    .update(JSON.stringify([at, head, ledger, entry, act]))
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
