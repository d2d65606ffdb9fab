// Tested by test/cli/vendors-by-ids.test.ts.
import { hash } from "node:crypto";
import { registerOf } from "../../app/keep/store.ts";
import { MAX_CALLS } from "../../app/own/bounds.ts";
import { idsOf } from "../../app/own/ids.ts";
import { pathNamed } from "../../engine/output/named.ts";
import { placeOf } from "../../engine/output/paths.ts";
import { requireFree } from "../../engine/purchase/places.ts";
import { Disk } from "../../engine/runs/disk.ts";
import type { Context } from "../../shared/context.ts";
import { counted } from "../../shared/contract/text.ts";
import { command, option, say, usageError } from "../../shared/errors.ts";
import type { ExportFlags } from "../arguments/export-options.ts";
import { type FilterOptions, readSegmentSet } from "../arguments/filter-options.ts";
import type { NewOnlyFlags, SamplingFlags } from "../arguments/sampling-options.ts";
import { withSession } from "../session.ts";
import { Printer } from "../terminal/printer.ts";

type Flags = ExportFlags & NewOnlyFlags & Pick<SamplingFlags, "sample">;

/** They shape a purchase, and a file of ids is of everybody: passed over it would mislead. */
const OF_PURCHASES = {
  output: "output",
  format: "format",
  fields: "fields",
  csv: "csv",
  limit: "limit",
  sample: "sample",
  newAnywhere: "new_anywhere",
  newOnly: "new_only",
  withOwned: "with_owned",
  dryRun: "dry_run",
  receipt: "receipt",
} as const satisfies Partial<Record<keyof Flags, string>>;

function requireNoPurchase(flags: Flags): void {
  const given = Object.entries(flags).find(([name]) => Object.hasOwn(OF_PURCHASES, name));
  const shaping = given && OF_PURCHASES[given[0] as keyof typeof OF_PURCHASES];
  if (shaping !== undefined)
    throw usageError(
      say`${option("ids")} finds everybody and buys nobody: ${option(shaping)} has no part in it`,
      say`the file can be sorted and cut, and ${command("read", { arguments: ["FILE"] })} buys it`,
    );
}

/** Writes the ids of a segment, for nothing. @param path `-` for stdout */
export async function findIds(
  path: string,
  flags: Flags & FilterOptions,
  context: Context,
): Promise<void> {
  requireNoPurchase(flags);
  const { segments, except } = await readSegmentSet(context, flags);
  const [segment, ...others] = segments;
  if (segment === undefined || others.length + except.length > 0)
    throw usageError(say`${option("ids")} takes one segment`, "one after the other");

  const output = await placeOf(path === "-" ? undefined : pathNamed(path, context.cwd));
  await requireFree({ overwrite: flags.overwrite === true, output });
  const printer = new Printer(context, flags);
  if (output === undefined) printer.requireOpen();
  await withSession(context, flags, async (session) => {
    const { maxCalls = MAX_CALLS } = flags;
    const ids = await idsOf(segment.filters, maxCalls, session, context);
    const text = ["id", ...ids, ""].join("\n");
    if (output === undefined) printer.text(text);
    else {
      // In the register before it appears, as whatever names people.
      const rows = { kind: "person", format: "csv", sha256: [hash("sha256", text)] } as const;
      await registerOf(context).enter({ path: output, what: "output", by: "ids", ...rows });
      await new Disk().replaceFile(output, text, "ids");
    }

    const where = output === undefined ? "" : ` in ${path}`;
    printer.say(
      `${counted(ids.length, "id")}${where} for 0 credits: headcount read ${path} buys them`,
    );
  });
}
