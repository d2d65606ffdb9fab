import {
  checkSegmentName,
  removeSegments,
  type SavedSegment,
  savedSegments,
  saveSegment,
} from "../../app/segments/segment-store.ts";
import { spokenFilters } from "../../engine/runs/plan.ts";
import type { Context } from "../../shared/context.ts";
import { isUnfiltered } from "../../shared/contract/filters.ts";
import { usageError } from "../../shared/errors.ts";
import { timeText } from "../../shared/numbers.ts";
import {
  addFilterOptions,
  type FilterOptions,
  readFilterSets,
  readFilters,
} from "../arguments/filter-options.ts";
import { Argument, type Command, type GlobalOptions, offering } from "../options.ts";
import { type ColumnOf, printList } from "../terminal/list.ts";
import { atDesk, type Desk } from "../terminal/printer.ts";

type SaveOptions = GlobalOptions & { readonly overwrite?: boolean };

export function register(program: Command, context: Context): void {
  const segment = program
    .command("segment")
    .description(
      "Keep filters under a name, and use them with -s NAME wherever filters go. " +
        "Each is a filter file of its own in the config folder. Offline and free.",
    )
    .examples(`
  $ headcount segment save eu-legal --department Legal --country france --country germany \
--overwrite
  $ headcount segment list
  $ headcount segment show eu-legal
  $ headcount -c sample count -s eu-legal --seniority-level vp
  $ headcount segment remove eu-legal

See also: headcount help filters`);

  const nameWord = (label: string): Argument =>
    offering(new Argument(label, "name of the segment (or a pattern: 'eu-*')"), {
      kind: "segments",
    });

  segment
    .command("list", { isDefault: true })
    .description("list the saved segments")
    .does("reads segments", atDesk(context, list));

  addFilterOptions(
    segment
      .command("save")
      .description("keep filters under a name")
      .argument("<name>", "lower-case letters, digits, - and _")
      .option("--overwrite", "replace the segment of this name"),
  ).does(
    `reads given segments
      writes segments`,
    atDesk(context, save),
  );

  segment
    .command("show")
    .description("print a segment's filters, as -f reads them")
    .addArgument(nameWord("<name>"))
    .does("reads segments", atDesk(context, show));

  segment
    .command("remove")
    .description("forget segments")
    .addArgument(nameWord("<name...>"))
    .does(
      `reads segments
      writes segments`,
      atDesk(context, remove),
    );
}

async function save(
  { options, printer, context }: Desk<SaveOptions & FilterOptions>,
  name: string,
) {
  checkSegmentName(name);
  const { filters, canonical } = await readFilters(context, options);
  if (isUnfiltered(canonical)) {
    throw usageError(
      "a segment without any filter would be everybody",
      "give a filter (headcount filters lists them)",
    );
  }

  const saved = await saveSegment(context, name, filters, options.overwrite === true);
  if (printer.json) printer.document<"segment save">({ name, file: saved.file, filters });
  printer.note(`saved as ${name}: headcount count -s ${name}`);
}

async function list({ printer, context }: Desk<GlobalOptions>) {
  const rows = await Promise.all(
    (await savedSegments(context)).map((segment) => described(segment, context)),
  );

  if (printer.json) return printer.document<"segment list">({ segments: rows });
  const none =
    "no segment is saved yet; for example: headcount segment save legal --department Legal";
  await printList(COLUMNS, rows, printer, none);
}

const COLUMNS: readonly ColumnOf<Awaited<ReturnType<typeof described>>>[] = [
  { name: "name" },
  {
    name: "filters",
    long: true,
    value: ({ filters, problem }) =>
      filters === null ? `unusable: ${problem}` : spokenFilters(filters),
  },
  {
    name: "saved_at",
    title: "saved",
    show: ({ saved_at }) => timeText(Date.parse(saved_at)),
  },
];

async function described({ name, file, savedAt }: SavedSegment, context: Context) {
  const saved_at = new Date(savedAt).toISOString();
  try {
    const [first] = await readFilterSets(context, { segment: [name] });
    return { name, file, saved_at, filters: first?.filters ?? null, problem: null };
  } catch (error) {
    return { name, file, saved_at, filters: null, problem: (error as Error).message };
  }
}

async function show({ printer, context }: Desk<GlobalOptions>, name: string) {
  const { filters } = await readFilters(context, { segment: [name] });
  printer.document<"segment show">(filters);
}

async function remove({ printer, context }: Desk<GlobalOptions>, names: readonly string[]) {
  const removed = await removeSegments(context, names);
  if (printer.json)
    printer.document<"segment remove">({ removed: removed.map(({ name }) => name) });
  printer.note(`removed ${removed.map(({ name }) => name).join(", ")}`);
}
