import { lstat, open, readFile, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { distinctPages, kindOf } from "../../../engine/output/distinct.ts";
import {
  type Form,
  plainTextOf,
  type RowChoice,
  rowsWithout,
  savedForm,
  type Written,
} from "../../../engine/output/formats.ts";
import { openPacker } from "../../../engine/output/packing.ts";
import { exists, sha256Of } from "../../../engine/output/paths.ts";
import { clearLeftovers } from "../../../engine/output/publish.ts";
import type { RegisterEntry } from "../../../engine/output/register.ts";
import { rowsOfPerson } from "../../../engine/output/tables/people.ts";
import { engineOf, parseTable } from "../../../engine/output/tables/target.ts";
import { type Disk, FILE_MODE, remove } from "../../../engine/runs/disk.ts";
import type { Plan } from "../../../engine/runs/plan.ts";
import type { RunStore } from "../../../engine/runs/run-store.ts";
import type { Context } from "../../../shared/context.ts";
import type { PersonMatcher } from "../../../shared/person.ts";
import type { Page } from "../../../shared/rows/page.ts";
import type { JsonValue } from "../../../shared/rows/values.ts";
import { readTable } from "../../../shared/tables/table.ts";
import { registerOf } from "../store.ts";
import { REPLACING, writePages } from "../write-pages.ts";
import type { RunFound } from "./find.ts";

export interface OutputFound {
  readonly path: string;
  /**
   * `again`: as headcount wrote it, and written again from its run. `cut`: the person's rows are
   * taken out. `deleted`: rows of a table. `left`: somebody has to look.
   */
  readonly how: "again" | "cut" | "deleted" | "left";
  readonly run: string | undefined;
}

/** Whether a file, unpacked, names the person. What cannot be read may hold anybody. */
async function mentions(path: string, person: PersonMatcher, form?: Form): Promise<boolean> {
  return person.isNamedInAll(plainTextOf(path, form)).catch((error: unknown) => {
    if (form === undefined) throw error;
    return true;
  });
}

/**
 * Whether a file that another program saved names the person, or may: rows are read as those of
 * any table, and what is no table any more, or in an unknown code page, may hold anybody.
 * @param isTold whether somebody else of that name is in it
 */
async function mayMention(path: string, person: PersonMatcher, isTold: boolean): Promise<boolean> {
  try {
    const { rows, notes } = await readTable(path, await readFile(path));
    const texts = rows.flatMap(({ cells }) => [cells.join("\n"), cells.join(" ")]);
    return notes.length > 0 || (!isTold && texts.some((text) => person.isNamedIn(text)));
  } catch {
    return true;
  }
}

/** The output of a run that has the person, where it is the run's to be written again. */
export async function outputsOf(
  { plan, isNamed, rows, receipt }: RunFound,
  person: PersonMatcher,
): Promise<OutputFound[]> {
  const { output: path, target } = plan;
  if (path === null || engineOf(path) !== undefined || receipt?.output?.file !== path || isNamed)
    return [];
  // Beside its rows stand those of a table of the user's own.
  if (target.kind === "search" && target.staff?.keep !== undefined) return [];
  if (!(await isFile(path))) return [];

  // Where a run has the person its file has too, whatever fields it tells.
  const isIn = rows > 0 || receipt.forgetting !== undefined;
  if (!isIn && !(await mentions(path, person, savedForm(plan.view.format)))) return [];
  const sha256 = await sha256Of(path);
  const isOurs = sha256 !== undefined && [receipt.output.sha256, receipt.replaces].includes(sha256);
  return isOurs ? [{ path, how: "again", run: plan.id }] : [];
}

/**
 * The files and tables of the register that have the person; those that runs write again apart.
 * @param had whether whoever wrote one had the person: rows may be theirs that tell nobody
 */
export async function registered(
  entries: readonly RegisterEntry[],
  person: PersonMatcher,
  had: (entry: RegisterEntry) => boolean,
) {
  const outputs: OutputFound[] = [];
  const gone: RegisterEntry[] = [];
  let [files, tables] = [0, 0];
  for (const entry of entries) {
    const { path, what, kind } = entry;
    if (what === "log" || what === "jobs") continue;

    const engine = engineOf(path);
    const file = engine === "duckdb" ? fileOfTable(path) : path;
    if (engine !== "postgres" && !(await exists(file))) gone.push(entry);
    else if (engine !== undefined) {
      tables++;
      const rows = kind === "person" ? await rowsIn(path, person) : 0;
      if (rows !== 0)
        outputs.push({ path, how: rows === undefined ? "left" : "deleted", run: undefined });
    } else {
      files++;
      const how = await inFile(entry, person, had(entry));
      if (how !== undefined) outputs.push({ path, how, run: undefined });
    }
  }

  return { outputs, files, tables, gone };
}

async function inFile(
  entry: RegisterEntry,
  person: PersonMatcher,
  hadIt: boolean,
): Promise<"cut" | "left" | undefined> {
  const { path, kind, sha256 } = entry;
  const form = formOf(entry);
  const rows = await rowsCut(entry, person).catch(() => 0);
  const alike = { mayBeIn: () => true, isRow: (row: JsonValue) => person.isRow(row, false) };
  if (rows === 0 && hadIt && (await rowsCut(entry, alike).catch(() => 0)) > 0) return "left";
  // Nothing is written through a link that somebody put there since.
  if (rows > 0) return (await isFile(path)) ? "cut" : "left";

  const isNamed = await mentions(path, person, form);
  if (isNamed && !(await isOfNamesakes(entry, person).catch(() => false))) return "left";

  const isChanged = kind !== null && !(await isAsWritten(path, sha256));
  return isChanged && (await mayMention(path, person, isNamed)) ? "left" : undefined;
}

const isAsWritten = async (path: string, written: readonly string[]): Promise<boolean> =>
  written.length === 0 || written.includes((await sha256Of(path)) ?? "");

/** Whether whatever names the person is the name in rows that tell somebody else. */
async function isOfNamesakes(entry: RegisterEntry, person: PersonMatcher): Promise<boolean> {
  const form = formOf(entry);
  let named = 0;
  const mayBeIn = (text: string): boolean => {
    if (person.isNamedIn(text)) named++;
    return person.isNamedIn(text) && !person.isNamedIn(text, false);
  };

  const choice = { mayBeIn, isRow: (row: JsonValue) => person.isNamesake(row) };
  const rest =
    form && entry.kind === "person"
      ? await rowsWithout(entry.path, form, choice, undefined)
      : undefined;
  return rest !== undefined && !(await person.isNamedInAll(rest.bytes)) && rest.gone() === named;
}

const formOf = ({ format }: RegisterEntry): Form | undefined =>
  format === null ? undefined : savedForm(format);

const isFile = async (path: string): Promise<boolean> =>
  (await lstat(path).catch(() => undefined))?.isFile() === true;

/**
 * Reads a file without the person's rows, and writes what is left.
 * @param to where; undefined: nothing is written @returns how many rows are gone
 */
async function rowsCut(entry: RegisterEntry, choice: RowChoice, to?: string): Promise<number> {
  const { path, kind } = entry;
  const form = formOf(entry);
  if (form === undefined || kind !== "person") return 0;

  const rest = await rowsWithout(path, form, choice, to && `${to}.scratch`);
  if (rest === undefined) return 0;

  const packer = openPacker(to === undefined ? undefined : form.packing);
  const file = to === undefined ? undefined : await open(to, "wx", FILE_MODE);

  try {
    for await (const bytes of rest.bytes)
      for (const packed of (await packer?.push(bytes)) ?? [bytes]) await file?.writeFile(packed);
    for (const packed of (await packer?.end()) ?? []) await file?.writeFile(packed);
  } finally {
    await file?.close();
  }

  return rest.gone();
}

/**
 * Takes the person's rows out of a file: the rest, its name and who may read it stay. It is there
 * whole at any time. What hinders it leaves the file as it is, for whoever looks again to name.
 */
export async function cutFile(
  entry: RegisterEntry,
  person: PersonMatcher,
  disk: Disk,
  context: Context,
): Promise<void> {
  const { path } = entry;
  if (!(await isFile(path))) return;
  await clearLeftovers(path);

  const draft = join(dirname(path), `.${basename(path)}.cut-forget-${context.pid}.part`);
  try {
    const { mode } = await stat(path);
    if ((await rowsCut(entry, person, draft)) === 0) return;

    const file = await open(draft, "r+");
    try {
      await file.chmod(mode & 0o777);
      await file.sync();
    } finally {
      await file.close();
    }

    const sha256 = (await sha256Of(draft)) ?? "";
    await registerOf(context, disk).enter({ ...entry, sha256: [sha256] });
    await disk.rename(draft, path, "output");
  } catch (error) {
    if (context.interrupted.aborted) throw error;
  } finally {
    await remove(draft);
  }
}

function fileOfTable(path: string): string {
  const target = parseTable(path, "/");
  return target.engine === "duckdb" ? target.file : path;
}

/** Undefined where the table cannot be asked. */
const rowsIn = (path: string, person: PersonMatcher): Promise<number | undefined> =>
  rowsOfPerson(path, person.identities, false).catch(() => undefined);

/**
 * Whether what is not at its place may hold the person: whoever wrote it did. What no run that is
 * kept wrote came from the library.
 * @param owned how many people of the library the person is
 */
export function mayHold({ by, kind }: RegisterEntry, runs: readonly RunFound[], owned: number) {
  const run = runs.find(({ plan }) => by === plan.id || by.startsWith(`${plan.id}-`));
  if (run === undefined) return kind === "person" && owned > 0;
  return run.isNamed || (kind === "person" && (run.rows > 0 || run.isIn));
}

/**
 * Deletes the person's rows of a table, and what the database keeps of them.
 * @returns what may be left
 */
export const deleteRows = (path: string, person: PersonMatcher): Promise<string[]> =>
  rowsOfPerson(path, person.identities, true).then(
    () => [],
    (error: Error) => [`${path}: what it keeps of deleted rows: ${error.message}`],
  );

const draftOf = ({ id, output }: Plan): string =>
  join(dirname(output ?? ""), `.${basename(output ?? "")}.${id}.forget`);

/** Writes the output of a run again beside its name, where {@link replaceOutput} takes it from. */
export async function writeAgain(
  plan: Plan,
  store: RunStore,
  context: Context,
): Promise<Written | undefined> {
  const run = await store.open(plan.id);
  const pages = (): AsyncIterable<Page> => distinctPages(run);
  const form = savedForm(plan.view.format);
  const { fields, excel, raw } = plan.view;
  const rendering = {
    ...form,
    kind: kindOf(run),
    fields: fields ?? undefined,
    excel,
    raw,
    table: undefined,
  };

  const writing = {
    output: draftOf(plan),
    stream: context.stdout,
    rendering,
    guard: REPLACING,
    name: `${plan.id}-forget`,
  };
  const { file } = await writePages(pages, writing, context);
  return file && { ...file, file: plan.output ?? "" };
}

export async function replaceOutput(
  plan: Plan,
  { file, sha256 }: Written,
  disk: Disk,
  context: Context,
) {
  const register = registerOf(context, disk);
  const entry = (await register.entries()).find(({ path }) => path === file);
  if (entry !== undefined && sha256 !== null) await register.enter({ ...entry, sha256: [sha256] });
  await disk.rename(draftOf(plan), file, "output");
  await removePart(plan, context);
}

export async function removePart(plan: Plan, context: Context): Promise<void> {
  const { id, output } = plan;
  if (output === null || engineOf(output) !== undefined) return;
  const part = join(dirname(output), `.${basename(output)}.${id}.part`);
  await remove(part);
  await remove(`${part}.scratch`);
  await remove(draftOf(plan));
  await registerOf(context).drop(draftOf(plan));
}
