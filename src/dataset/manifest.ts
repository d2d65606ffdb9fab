import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";

/** In the form of sha256sum, so that it can be checked without us. */
export const MANIFEST_FILE = "manifest.sha256";

export async function fileDigest(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path, { highWaterMark: 2 ** 20 }), hash);
  return hash.digest("hex");
}

const lineOf = (digest: string, name: string): string => `${digest}  ${name}\n`;

async function namesIn(folder: string): Promise<string[]> {
  return (await readdir(folder)).filter((name) => name !== MANIFEST_FILE).sort();
}

export async function writeManifest(folder: string): Promise<void> {
  let text = "";
  for (const name of await namesIn(folder))
    text += lineOf(await fileDigest(join(folder, name)), name);
  await writeFile(join(folder, MANIFEST_FILE), text, { flush: true });
}

/** Whether this file of a version is what was written. */
export async function isAsWritten(folder: string, name: string): Promise<boolean> {
  const text = await readFile(join(folder, MANIFEST_FILE), "utf8");
  return text.includes(lineOf(await fileDigest(join(folder, name)), name));
}

/** Reads every byte of a version. @returns a sentence for each file that is hurt */
export async function checkManifest(folder: string): Promise<string[]> {
  const problems: string[] = [];
  const manifest = join(folder, MANIFEST_FILE);
  let names: string[];
  let text: string;
  try {
    names = await namesIn(folder);
    text = await readFile(manifest, "utf8");
  } catch (error) {
    return [
      `${manifest} cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    ];
  }

  const lines = text.split(/(?<=\n)/);
  const byName = new Map(lines.map((line) => [line.slice(66, -1), line]));

  for (const name of names) {
    const path = join(folder, name);
    const line = byName.get(name);
    if (line === undefined) problems.push(`${path} is not among what was written (${manifest})`);
    else if (line !== lineOf(await fileDigest(path), name))
      problems.push(`${path} is not what was written: its SHA-256 is not that of ${manifest}`);
    // One of them: what says the same twice is not what was written either.
    if (line !== undefined) lines.splice(lines.indexOf(line), 1);
  }

  for (const line of lines)
    problems.push(
      `${manifest} has a line of nothing that is there: ${JSON.stringify(line.slice(0, 120))}`,
    );

  return problems;
}
