import type { JobsFile } from "../../../app/jobs/file.ts";
import { openFolder } from "../../../app/keep/sync/open.ts";
import { sync } from "../../../app/keep/sync/sync.ts";
import { syncLine, syncProblem } from "../../../app/keep/sync/syncing.ts";
import type { Context } from "../../../shared/context.ts";
import { Printer, type PrintOptions } from "../../terminal/printer.ts";

/**
 * Works between two syncs, where the file of the jobs names a folder: without what others bought
 * it would be bought again.
 * @throws CliError exit 2 or 3 where the folder is not there, or its key is not; what `work` throws
 */
export async function betweenSyncs(
  { sync: path }: JobsFile,
  options: PrintOptions & { readonly dryRun?: boolean },
  context: Context,
  work: () => Promise<void>,
): Promise<void> {
  if (path === undefined || options.dryRun === true) return work();

  const printer = new Printer(context, options);
  const syncOnce = async (world = context): Promise<void> => {
    const { head, key } = await openFolder(path, { inFile: false, mayBegin: false }, world);
    const synced = await sync(path, { head, key }, world);
    printer.note(`sync: ${syncLine(synced)}`);

    const problem = syncProblem(synced);
    if (problem !== undefined) printer.say(`warning: ${problem.message}`);
    for (const detail of problem?.details ?? []) printer.say(`  ${detail}`);
  };

  await syncOnce();
  const failure = await work().then(
    () => undefined,
    (error: unknown) => ({ error }),
  );

  // What was bought is given also where a job failed, and after the signal that stopped it.
  const interrupted = { value: new AbortController().signal };
  await syncOnce(Object.create(context, { interrupted }));
  if (failure !== undefined) throw failure.error;
}
