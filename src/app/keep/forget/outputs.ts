import { basename, dirname, join } from "node:path";
import { distinctPages, kindOf } from "../../../engine/output/distinct.ts";
import { chooseForm, type Form, savedForm } from "../../../engine/output/formats.ts";
import { exists, sha256Of } from "../../../engine/output/output.ts";
import { type Packing, unpacked } from "../../../engine/output/packing.ts";
import { templateOf, type Written, writtenAs } from "../../../engine/output/sinks/sink.ts";
import { engineOf } from "../../../engine/output/tables/target.ts";
import { type Disk, remove } from "../../../engine/runs/disk.ts";
import type { Plan } from "../../../engine/runs/plan.ts";
import type { RunStore } from "../../../engine/runs/run-store.ts";
import type { Context } from "../../../shared/context.ts";
import type { Person } from "../../../shared/person.ts";
import type { Page } from "../../../shared/rows/page.ts";
import { nowhere } from "../../buy/order.ts";
import { REPLACING, writePages } from "../write-pages.ts";
import type { RunFound } from "./find.ts";

/** A file, or a table, that was written from what is kept. */
export interface OutputFound {
  readonly path: string;
  /** `again`: it is as headcount wrote it, and is written again without the person. `left`: somebody has to look at it. */
  readonly how: "again" | "left";
  readonly run: string | undefined;
}

/** What can be read as text, once it is unpacked. Whatever else a run with the person wrote holds the person for all that anybody knows. */
const isText = ({ format }: Form): boolean => !["xlsx", "parquet", "duckdb", "postgres"].includes(format);

/** Whether a file, unpacked, names the person. What cannot be unpacked may hold anybody. */
async function mentions(path: string, person: Person, packing?: Packing): Promise<boolean> {
  return person.isNamedInAll(unpacked(path, packing)).catch((error: unknown) => {
    if (packing === undefined) throw error;
    return true;
  });
}

/** The outputs of a run that have the person. */
export async function outputsOf({ plan, rows, named, receipt }: RunFound, person: Person): Promise<OutputFound[]> {
  const found: OutputFound[] = [];
  for (const path of [plan.receipt, plan.misses]) {
    if (path != null && (await exists(path)) && (await mentions(path, person)))
      found.push({ path, how: "left", run: plan.id });
  }
  const { output: path } = plan;
  if (path === null) return found;
  const form = savedForm(plan.view.format);
  const has = rows > 0 || receipt?.forgetting !== undefined;
  if (engineOf(path) !== undefined) return has ? [...found, { path, how: "left", run: plan.id }] : found;
  if (!(await exists(path)) || !(isText(form) ? await mentions(path, person, form.packing) : has)) return found;
  const sha256 = await sha256Of(path);
  const ours = [receipt?.output?.sha256, receipt?.replaces].includes(sha256);
  return [...found, { path, how: ours && receipt?.output?.file === path && !named ? "again" : "left", run: plan.id }];
}

function formOfFile(path: string): Form | undefined {
  try {
    return chooseForm(undefined, path, false);
  } catch {
    return undefined;
  }
}

/** The files of a list, or of runs that are gone, that have the person, for all that anybody knows. A refresh writes a list again. */
export async function listFiles(paths: readonly string[], person: Person): Promise<OutputFound[]> {
  const found: OutputFound[] = [];
  for (const path of paths) {
    const isTable = engineOf(path) !== undefined;
    if (!isTable && !(await exists(path))) continue;
    const form = isTable ? undefined : formOfFile(path);
    const isRead = form !== undefined && isText(form);
    if (!isRead || (await mentions(path, person, form.packing))) found.push({ path, how: "left", run: undefined });
  }
  return found;
}

const draftOf = ({ id, output }: Plan): string =>
  join(dirname(output ?? ""), `.${basename(output ?? "")}.${id}.forget`);

/** Writes the output of a run again beside its name, as it was asked for. @returns what takes its place with {@link replaceOutput} */
export async function writeAgain(plan: Plan, store: RunStore, context: Context): Promise<Written | undefined> {
  const run = await store.open(plan.id);
  const pages = (): AsyncIterable<Page> => distinctPages(run);
  const form = savedForm(plan.view.format);
  const template = await templateOf(plan.view);
  const fields = template?.fields ?? plan.view.fields ?? undefined;
  const { excel, raw } = plan.view;
  const rendering = { ...form, kind: kindOf(run), fields, excel, raw, template, table: undefined };
  const writing = { output: draftOf(plan), stream: nowhere(), rendering, guard: REPLACING, name: `${plan.id}-forget` };
  const { file } = await writePages(pages, writing, context);
  return file === undefined ? undefined : { ...writtenAs(file, form), file: plan.output ?? "" };
}

export const replaceOutput = (plan: Plan, disk: Disk): Promise<void> =>
  disk.rename(draftOf(plan), plan.output ?? "", "output");

/** Removes what a process that was killed had written of an output beside its name. */
export async function removePart(plan: Plan): Promise<void> {
  const { id, output } = plan;
  if (output === null || engineOf(output) !== undefined) return;
  const part = join(dirname(output), `.${basename(output)}.${id}.part`);
  await remove(part);
  await remove(`${part}.scratch`);
  await remove(draftOf(plan));
}
