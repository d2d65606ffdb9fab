import type { DatasetDiff, TableDiff } from "../../../dataset/build/diff.ts";
import type { KeptVersion } from "../../../dataset/versions.ts";
import type { Context } from "../../../shared/context.ts";
import { counted, grouped, harmlessLine } from "../../../shared/contract/text.ts";
import { failed } from "../../../shared/errors.ts";
import type { Command } from "../../options.ts";
import { countColumn, type Listed, minute, printList } from "../../terminal/list.ts";
import { Printer } from "../../terminal/printer.ts";
import { type BuildSetup, withBuild } from "./build.ts";
import { type FolderOptions, placeFlags } from "./folder.ts";

const DATA = ["--data <dir>", "data folder with the dataset and the accounts (default: the XDG data folder)"] as const;

export function register(service: Command, context: Context): void {
  const dataset = service
    .command("dataset")
    .description(
      "List, compare and take back versions of the dataset. Every import, generate and suppression makes one; one that was served before is kept (--keep of import says how many), so that a bad import can be looked at and taken back.",
    );
  dataset
    .command("list", { isDefault: true })
    .description(
      "List the version that is served and those kept, the last served first: when each was made, from what, people, companies and bytes. A pipe gets CSV.",
    )
    .option(...DATA)
    .examples("\n  $ headcount service dataset\n  $ headcount service dataset list --data ./demo --json")
    .does((options: FolderOptions) => list(options, context));
  dataset
    .command("rollback")
    .argument("[version]", "a version of the list", "previous")
    .description(
      "Serve a kept version again, by default the one that was served last. The version served until now is kept, so that the same command takes it back. A running service follows within a second; cursors of other versions get a 422.",
    )
    .option(...DATA)
    .examples("\n  $ headcount service dataset rollback --data ./demo")
    .does((options: FolderOptions, version: string) => rollBack(version, options, context));
  dataset
    .command("diff")
    .argument("[from]", "a version of the list", "previous")
    .argument("[to]", "another one", "current")
    .description(
      "Count who was added, removed and changed between two kept versions, told apart by id, and the changes by column. Reads all of both; needs about the disk of an import.",
    )
    .option(...DATA)
    .examples(
      "\n  $ headcount service dataset diff --data ./demo\n  $ headcount service dataset diff previous current --data ./demo --json",
    )
    .does((options: FolderOptions, from: string, to: string) => diff(from, to, options, context));
}

const COLUMNS: readonly Listed<KeptVersion>[] = [
  { name: "version", title: "version", value: ({ version }) => version },
  { name: "serves", title: "state", value: ({ serves }) => serves, show: ({ serves }) => (serves ? "serves" : "kept") },
  {
    name: "created_at",
    title: "made",
    value: ({ created_at }) => created_at,
    show: ({ created_at }) => minute(Date.parse(created_at)),
  },
  countColumn("people", ({ people }) => people),
  countColumn("companies", ({ companies }) => companies),
  {
    name: "bytes",
    title: "MB",
    align: "right",
    value: ({ bytes }) => bytes,
    show: ({ bytes }) => (bytes / 1e6).toFixed(1),
  },
  { name: "source", title: "from", long: true, value: ({ source }) => source },
];

async function list(options: FolderOptions, context: Context): Promise<void> {
  const versions = await onVersions(options, context, async ({ datasetDir }, { versionsOf }) => versionsOf(datasetDir));
  await printList(COLUMNS, versions, new Printer(context, options), "No dataset yet.");
}

async function rollBack(wanted: string, options: FolderOptions, context: Context): Promise<void> {
  const { before, now } = await onVersions(options, context, async (setup, versions) => {
    const [before] = await versions.versionsOf(setup.datasetDir);
    return { before, now: await versions.rollBack(wanted, setup) };
  });
  const printer = new Printer(context, options);
  const { companies, created_at, people, source, version } = now;
  if (printer.json) {
    printer.document<"service dataset rollback">({
      version,
      people,
      companies,
      created_at,
      source,
      before: before?.version ?? null,
    });
  } else if (before?.version === version) printer.note(`Version ${version} is the one that is served.`);
  else {
    const what = `${counted(people, "person", "people")}, from ${harmlessLine(source, 60)}`;
    printer.note(`Version ${version} is served again (${what}); ${before?.version} is kept.`);
  }
}

async function diff(from: string, to: string, options: FolderOptions, context: Context): Promise<void> {
  const found = await onVersions(options, context, async (setup, { versionNamed, versionsOf }) => {
    const versions = await versionsOf(setup.datasetDir);
    const pair = [versionNamed(versions, from), versionNamed(versions, to)] as const;
    const { diffVersions } = await import("../../../dataset/build/diff.ts");
    return diffVersions(...pair, setup);
  });
  const printer = new Printer(context, options);
  if (printer.json) printer.document<"service dataset diff">(found);
  else await printDiff(found, printer);
}

async function printDiff({ companies, from, people, to }: DatasetDiff, printer: Printer): Promise<void> {
  const line = (what: string, { added, after, before, changed, removed }: TableDiff): string =>
    `${what}: ${grouped(before)} -> ${grouped(after)}, ${grouped(added)} added, ${grouped(removed)} removed, ${grouped(changed)} changed`;
  printer.note([`${from} -> ${to}`, line("people", people), line("companies", companies)].join("\n"));
  const rows = Object.entries({ people, companies }).flatMap(([table, { added, changed, columns, removed }]) => [
    [table, "added", added],
    [table, "removed", removed],
    [table, "changed", changed],
    ...Object.entries(columns).map(([column, n]) => [table, column, n]),
  ]);
  const show = (value: unknown): string => (typeof value === "number" ? grouped(value) : String(value));
  await printer.rows([{ title: "table" }, { title: "what" }, { title: "rows", align: "right", show }], rows);
}

type Versions = typeof import("../../../dataset/versions.ts");

/** Does work on the versions of the options' data folder. @throws CliError where one that is named is not kept */
async function onVersions<Result>(
  options: FolderOptions,
  context: Context,
  work: (setup: BuildSetup, versions: Versions) => Promise<Result>,
): Promise<Result> {
  const versions = await import("../../../dataset/versions.ts");
  try {
    return await withBuild(options, context, (setup) => work(setup, versions));
  } catch (error) {
    if (!(error instanceof versions.UnknownVersionError)) throw error;
    throw failed.not_found(
      error.message,
      `headcount service dataset list${placeFlags(options)}`,
      "unknown_version",
      error,
    );
  }
}
