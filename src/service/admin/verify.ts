import { stat } from "node:fs/promises";
import { join } from "node:path";
import { fileDigest } from "../../dataset/manifest.ts";
import { historyBreaches } from "../ledger/chain/against.ts";
import type { VerifiedFile } from "../ledger/database.ts";
import { BackupError, checkBackup, MANIFEST, readManifest, verifyVersions } from "./backup.ts";
import { isUrl, ledgerFile, readLedger, verifyLedger } from "./data-folder.ts";
import { datasetDir, testDatasetDir } from "./datasets.ts";
import { assertNotOlder, WITNESS } from "./witness.ts";

/**
 * What was found wrong, part by part; empty lists
 * where all is sound, null where the folder has none.
 */
export interface Findings extends Pick<VerifiedFile, "notes" | "head"> {
  readonly ledger: readonly string[] | null;
  readonly dataset: readonly string[] | null;
  readonly against: readonly string[] | null;
}

export const breachesOf = ({ against, dataset, ledger }: Findings): readonly string[] => [
  ...(ledger ?? []),
  ...(dataset ?? []),
  ...(against ?? []),
];

export interface VerifyOptions {
  readonly dir: string;
  readonly store?: string | undefined;
  readonly backup: string | undefined;
  readonly expectHead?: string | undefined;
  readonly now: () => number;
}

/**
 * Recomputes ledger and dataset of a data folder, and writes nothing.
 * @throws NoLedgerError where it has neither
 */
export async function verifyFolder({
  backup,
  dir,
  expectHead,
  now,
  store,
}: VerifyOptions): Promise<Findings> {
  const dataset = await verifyDataset(dir);
  const { breaches, head, notes } = await verifyLedger(ledgerFile(dir, store)).catch(
    (error: Error) => {
      // After an import into a new folder there are no
      // accounts yet, and nothing is wrong with that.
      if (error.name !== "NoLedgerError" || store !== undefined || dataset === null) throw error;
      return {
        breaches: null,
        notes: [`${error.message}: headcount serve and service keys create make them`],
        head: null,
      };
    },
  );

  // Where the folder's own ledger lies: another one there is no copy, and was put in its place.
  const others = [...notes];
  const onAnother = store === undefined ? undefined : (note: string) => others.push(note);
  const ledger = [...(breaches ?? [])];
  if (breaches !== null) {
    await assertNotOlder(ledgerFile(dir, store), join(dir, WITNESS), onAnother).catch(
      (error: Error) => {
        if (error.name !== "OlderLedgerError") throw error;
        ledger.push(error.message);
      },
    );
  }

  const against = backup === undefined ? null : await verifyAgainst({ dir, backup, now, store });
  if ((expectHead ?? head) !== head) {
    ledger.push(
      `the ledger ends with the head ${head}, and not with ${expectHead}: ` +
        "it is older, newer or another one",
    );
  }

  return {
    ledger: breaches === null && ledger.length === 0 ? null : ledger,
    dataset,
    against,
    notes: others,
    head,
  };
}

async function verifyDataset(dir: string): Promise<readonly string[] | null> {
  const [dataset = null, test] = await Promise.all(
    [datasetDir(dir), testDatasetDir(dir)].map(verifyVersions),
  );
  const others = [...(test ?? []), ...(await checkBackup(dir))];
  return dataset === null && others.length === 0 ? null : [...(dataset ?? []), ...others];
}

type AgainstOptions = Omit<VerifyOptions, "backup"> & { readonly backup: string };

/**
 * All that is in the backup must be the beginning of today's ledger.
 * @returns a sentence for each breach
 */
export async function verifyAgainst({
  backup,
  dir,
  now,
  store,
}: AgainstOptions): Promise<readonly string[]> {
  const earlier = await ledgerIn(backup);
  const { breaches } = await verifyLedger(earlier);
  if (breaches.length > 0)
    return breaches.map((breach) => `the backup is not sound itself: ${breach}`);
  return readLedger(earlier, (was) =>
    readLedger(ledgerFile(dir, store), (is) => historyBreaches(was, is, now())),
  );
}

async function ledgerIn(backup: string): Promise<string> {
  if (isUrl(backup)) return backup;

  const stats = await stat(backup).catch(() => undefined);
  if (stats === undefined) throw new BackupError(`${backup} is no backup: nothing is there`);
  if (!stats.isDirectory()) return backup;

  const manifest =
    (await stat(join(backup, MANIFEST)).catch(() => undefined)) && (await readManifest(backup));
  const path = ledgerFile(backup);

  if (manifest === undefined) return path;
  if (manifest.head === null) {
    throw new BackupError(
      `the backup ${backup} has no ledger: its accounts were elsewhere. ` +
        "Restore their dump, and name that",
    );
  }

  const entry = manifest.files.find((file) => join(backup, file.path) === path);
  if (entry?.sha256 === (await fileDigest(path))) return path;

  throw new BackupError(`${path} is not what was backed up: its SHA-256 is another`);
}
