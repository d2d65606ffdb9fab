import { stat } from "node:fs/promises";
import { join } from "node:path";
import { fileDigest } from "../../dataset/manifest.ts";
import { historyBreaches } from "../ledger/chain/against.ts";
import { BackupError, MANIFEST, readManifest } from "./backup.ts";
import { isUrl, ledgerFile, readLedger, verifyLedger } from "./data-folder.ts";

interface AgainstOptions {
  readonly dir: string;
  readonly store?: string;
  /** A folder of `service backup`, a file of accounts, or `postgres://` of a restored dump. */
  readonly backup: string;
  readonly now: () => number;
}

/** All that is in the backup must be the beginning of today's ledger. @returns a sentence for each breach */
export async function verifyAgainst({ backup, dir, now, store }: AgainstOptions): Promise<readonly string[]> {
  const earlier = await ledgerIn(backup);
  const { breaches } = await verifyLedger(earlier);
  if (breaches.length > 0) return breaches.map((breach) => `the backup is not sound itself: ${breach}`);
  return readLedger(earlier, (was) => readLedger(ledgerFile(dir, store), (is) => historyBreaches(was, is, now())));
}

async function ledgerIn(backup: string): Promise<string> {
  if (isUrl(backup)) return backup;
  const found = await stat(backup).catch(() => undefined);
  if (found === undefined) throw new BackupError(`${backup} is no backup: nothing is there`);
  if (!found.isDirectory()) return backup;
  const manifest = (await stat(join(backup, MANIFEST)).catch(() => undefined)) && (await readManifest(backup));
  const path = ledgerFile(backup);
  if (manifest === undefined) return path;
  if (manifest.head === null) {
    throw new BackupError(
      `the backup ${backup} has no ledger: its accounts were elsewhere. Restore their dump, and name that`,
    );
  }
  const listed = manifest.files.find((file) => join(backup, file.path) === path);
  if (listed?.sha256 === (await fileDigest(path))) return path;
  throw new BackupError(`${path} is not what was backed up: its SHA-256 is another`);
}
