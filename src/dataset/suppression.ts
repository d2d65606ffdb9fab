import { hash } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { DuckDBConnection } from "@duckdb/node-api";
import type { Person } from "../shared/contract/records.ts";
import { NOBODY_SUPPRESSED, Suppression } from "../shared/contract/suppression.ts";
import { jsonIn } from "../shared/contract/text.ts";
import { ifMissing, replaceFile } from "../shared/folder.ts";
import { readSuppressionList } from "../shared/suppression-list.ts";
import { InputError } from "../shared/tables/input-file.ts";

export interface PeopleFolders {
  readonly suppression: string;
  readonly dataset: string;
  readonly testDataset: string;
}

/** Whether a record is left out. */
export const isHidden = (
  { company_domain: domain, id, network_url: address }: Person,
  list: Suppression,
): boolean => list.hides({ id, address, domain });

/** Beside the versions of a dataset. Every build leaves out who is on the list there. */
export const suppressionDir = (datasetDir: string): string => join(datasetDir, "suppression");

/**
 * @throws InputError where the list cannot be read
 * whole: nothing is built then rather than too much
 */
export async function readHiddenPeople(folder: string): Promise<Suppression> {
  const { entries, key } = await readList(folder);
  return key === undefined ? NOBODY_SUPPRESSED : new Suppression({ key, entries });
}

const readList = (folder: string) =>
  readSuppressionList(folder, (why) => {
    return new InputError(
      `the suppression list in ${folder} cannot be used: ${why}`,
      "restore the folder from a backup, or remove it whole and add the people again",
    );
  });

/**
 * Whom a version was built without. Whoever is added
 * later is looked for in every page until the next build.
 */
const leftOutFile = (datasetDir: string): string => join(datasetDir, "left-out.json");

interface LeftOut {
  readonly version: string;
  readonly marks: readonly string[];
}

const leftOutText = ({ marks, version }: LeftOut): string => {
  const said = { version, marks };
  return `${JSON.stringify({ ...said, sha256: hash("sha256", JSON.stringify(said)) })}\n`;
};

export async function noteLeftOut(
  datasetDir: string,
  version: string,
  { marks }: Suppression,
): Promise<void> {
  replaceFile(leftOutFile(datasetDir), leftOutText({ version, marks: [...marks] }));
}

export async function readLeftOut(datasetDir: string) {
  const text = await readFile(leftOutFile(datasetDir), "utf8").catch(ifMissing(undefined));
  const said = jsonIn(text ?? "") as LeftOut | null | undefined;
  if (said == null || leftOutText(said) !== text) return undefined;
  return { version: said.version, marks: new Set(said.marks) };
}

export async function checkLeftOut(datasetDir: string): Promise<string[]> {
  const problems: string[] = [];
  await readHiddenPeople(suppressionDir(datasetDir)).catch((error: Error) =>
    problems.push(error.message),
  );

  const file = leftOutFile(datasetDir);
  const isThere = (await stat(file).catch(ifMissing(undefined))) !== undefined;
  if (isThere && (await readLeftOut(datasetDir)) === undefined)
    problems.push(
      `${file} is not what was written: until the next import every page ` +
        "is looked through for people who are left out",
    );

  return problems;
}

/**
 * Takes people with their companies (`linked_people`) whom
 * the list names out of the table that they came from.
 * @returns how many
 */
export async function removeSuppressed(
  connection: DuckDBConnection,
  table: string,
  suppression: Suppression,
): Promise<number> {
  const hidden: string[] = [];
  const result = await connection.stream(
    "SELECT id, network_url, company_domain FROM linked_people",
  );

  for await (const chunk of result) {
    for (const [id, address, domain] of chunk.getRows() as (string | null)[][]) {
      if (suppression.hides({ id, address, domain })) hidden.push(String(id));
    }
  }

  if (hidden.length === 0) return 0;

  await connection.run(
    `DELETE FROM ${table} WHERE id IN (SELECT unnest(from_json(?, '["VARCHAR"]')))`,
    [JSON.stringify(hidden)],
  );
  return hidden.length;
}
