// Tested by test/cli/vendors-by-ids.test.ts.
import { resolve } from "node:path";
import { MAX_CALLS } from "../../app/own/bounds.ts";
import { idsOf } from "../../app/own/ids.ts";
import { requireFree } from "../../engine/purchase/places.ts";
import { Disk } from "../../engine/runs/disk.ts";
import type { Context } from "../../shared/context.ts";
import { counted } from "../../shared/contract/text.ts";
import { option, say, usageError } from "../../shared/errors.ts";
import type { ExportFlags } from "../arguments/export-options.ts";
import { type FilterOptions, readSegmentSet } from "../arguments/filter-options.ts";
import type { NewOnlyFlags } from "../arguments/sampling-options.ts";
import { withSession } from "../session.ts";
import { Printer } from "../terminal/printer.ts";

/** Writes the ids of a segment, for nothing. */
export async function findIds(
  path: string,
  flags: ExportFlags & FilterOptions & Partial<NewOnlyFlags>,
  context: Context,
): Promise<void> {
  const { segments, except } = await readSegmentSet(context, flags);
  const [segment, ...others] = segments;
  if (segment === undefined || others.length + except.length > 0)
    throw usageError(say`${option("ids")} takes one segment`, "one after the other");

  const output = resolve(context.cwd, path);
  await requireFree({ overwrite: flags.overwrite === true, output });
  await withSession(context, flags, async (session) => {
    const { maxCalls = MAX_CALLS } = flags;
    const ids = await idsOf(segment.filters, maxCalls, session, context);
    await new Disk().replaceFile(output, ["id", ...ids, ""].join("\n"), "ids");
    new Printer(context, flags).say(
      `${counted(ids.length, "id")} in ${path} for 0 credits: headcount read ${path} buys them`,
    );
  });
}
