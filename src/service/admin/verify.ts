import { openDataset } from "../../dataset/embedded/open.ts";
import { checkVersionFiles } from "../../dataset/versions.ts";
import { verifyAgainst } from "./against.ts";
import { checkBackup } from "./backup.ts";
import { datasetDir, ledgerFile, testDatasetDir, verifyLedger } from "./data-folder.ts";

/** What was found wrong, part by part; empty lists where all is sound, null where the folder has none. */
export interface Findings {
  readonly ledger: readonly string[] | null;
  readonly dataset: readonly string[] | null;
  /** What the ledger has no more as the backup has it; null where none was named. */
  readonly against: readonly string[] | null;
  /** What could not be seen from here. */
  readonly notes: readonly string[];
  /** The end of the ledger's chain. */
  readonly head: string | null;
}

export const breachesOf = ({ against, dataset, ledger }: Findings): readonly string[] => [
  ...(ledger ?? []),
  ...(dataset ?? []),
  ...(against ?? []),
];

export interface VerifyOptions {
  readonly dir: string;
  /** Where the accounts are, where not in the folder. */
  readonly store: string | undefined;
  readonly backup: string | undefined;
  readonly now: () => number;
}

/** Recomputes ledger and dataset of a data folder, and writes nothing. @throws NoLedgerError where it has neither */
export async function verifyFolder({ backup, dir, now, store }: VerifyOptions): Promise<Findings> {
  const dataset = await verifyDataset(dir);
  const { breaches, head, notes } = await verifyLedger(ledgerFile(dir, store)).catch((error: Error) => {
    // After an import into a new folder there are no accounts yet, and nothing is wrong with that.
    if (error.name !== "NoLedgerError" || store !== undefined || dataset === null) throw error;
    return {
      breaches: null,
      notes: [`${error.message}: headcount serve and service keys create make them`],
      head: null,
    };
  });
  const place = store === undefined ? {} : { store };
  const against = backup === undefined ? null : await verifyAgainst({ dir, backup, now, ...place });
  return { ledger: breaches, dataset, against, notes, head };
}

/** The dataset, and that of test keys where one is there; of a backup also the files that it lists. */
async function verifyDataset(dir: string): Promise<readonly string[] | null> {
  const [dataset = null, test] = await Promise.all([datasetDir(dir), testDatasetDir(dir)].map(verifyVersions));
  const others = [...(test ?? []), ...(await checkBackup(dir))];
  return dataset === null && others.length === 0 ? null : [...(dataset ?? []), ...others];
}

async function verifyVersions(folder: string): Promise<readonly string[] | null> {
  const hurt = await checkVersionFiles(folder);
  if (hurt === undefined) return null;
  try {
    const engine = await openDataset(folder);
    try {
      return [...hurt, ...(await engine.verify())];
    } finally {
      await engine.close();
    }
  } catch (error) {
    // What is so damaged that it cannot be opened is a breach too, and hides none of the ledger.
    if (hurt.length > 0) return hurt;
    if (error instanceof Error && error.name === "DatasetDamagedError") return [error.message];
    throw error;
  }
}
