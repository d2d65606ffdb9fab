import { readdir } from "node:fs/promises";
import { join } from "node:path";
import {
  SUPPRESSION_FILES,
  Suppression,
  type SuppressionRing,
} from "../../shared/contract/suppression.ts";
import { failed } from "../../shared/errors.ts";
import { ifMissing } from "../../shared/folder.ts";
import { readSuppressionList } from "../../shared/suppression-list.ts";

export const suppressionFolder = (stateDir: string): string => join(stateDir, "suppression");

/**
 * @throws CliError exit 5 where the list cannot be read
 * whole: nothing is written then rather than too much
 */
export async function readSuppression(folder: string): Promise<Suppression> {
  return new Suppression(...(await readRings(folder)));
}

/** A ring that has a folder, which need not be there yet. */
type KeptRing = SuppressionRing & { readonly folder: string };

/** The list's own, and beside it those of other machines, each under the key of the machine. */
export async function readRings(folder: string): Promise<readonly KeptRing[]> {
  const others = join(folder, "others");
  const names = (await readdir(others).catch(ifMissing([]))).filter((one) => !one.startsWith("."));
  const rings: KeptRing[] = [];
  for (const place of [folder, ...names.sort().map((name) => join(others, name))]) {
    const { key, entries } = await readList(place);
    if (key !== undefined) rings.push({ key, entries, folder: place });
  }
  return rings;
}

export const readList = (folder: string) =>
  readSuppressionList(folder, (why) =>
    failed.incomplete(
      "the suppression list cannot be used, and nobody is shown without it: " +
        `${join(folder, SUPPRESSION_FILES.list)}: ${why}`,
      "restore the folder from a backup, or remove it whole and add the people again",
      "damaged_suppression",
    ),
  );
