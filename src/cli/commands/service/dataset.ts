import type { KeptVersion } from "../../../dataset/versions.ts";
import type { Context } from "../../../shared/context.ts";
import { counted, harmlessLine } from "../../../shared/contract/text.ts";
import { failed } from "../../../shared/errors.ts";
import type { Command } from "../../options.ts";
import { type ColumnOf, countColumn, printList, timeColumn } from "../../terminal/list.ts";
import { atDesk, type Desk } from "../../terminal/printer.ts";
import { type BuildSetup, withBuild } from "./build.ts";
import { addDataOption, type FolderOptions, LEDGER, placeFlags } from "./folder.ts";

export function register(service: Command, context: Context): void {
  const dataset = service
    .command("dataset")
    .description(
      "List and take back versions of the dataset. Every import, generate and suppression " +
        "makes one; one that was served before is kept (--keep of import says how many), " +
        "so that a bad import can be looked at and taken back.",
    );

  addDataOption(dataset.command("list", { isDefault: true }))
    .description(
      "List the version that is served and those kept, the last served first: " +
        "when each was made, from what, people, companies and bytes. A pipe gets CSV.",
    )
    .examples(
      "\n  $ headcount service dataset\n  $ headcount service dataset list --data ./demo --json",
    )
    .does(
      `reads data
      exits 1 8 9`,
      atDesk(context, list),
    );

  addDataOption(
    dataset.command("rollback").argument("[version]", "a version of the list", "previous"),
  )
    .description(
      "Serve a kept version again, by default the one that was served last. " +
        "The version served until now is kept, so that the same command takes it back. " +
        "A running service follows within a second; cursors of other versions get a 422.",
    )
    .examples("\n  $ headcount service dataset rollback --data ./demo")
    .does(LEDGER, atDesk(context, rollBack));
}

const COLUMNS: readonly ColumnOf<KeptVersion>[] = [
  { name: "version" },
  {
    name: "serves",
    title: "state",
    show: ({ serves }) => (serves ? "serves" : "kept"),
  },
  timeColumn("created_at", "made", ({ created_at }) => Date.parse(created_at)),
  countColumn("people"),
  countColumn("companies"),
  {
    name: "bytes",
    title: "MB",
    align: "right",
    show: ({ bytes }) => (bytes / 1e6).toFixed(1),
  },
  { name: "source", title: "from", long: true },
];

async function list(desk: Desk<FolderOptions>) {
  const versions = await onVersions(desk, async ({ datasetDir }, { versionsOf }) =>
    versionsOf(datasetDir),
  );
  await printList(COLUMNS, versions, desk.printer, "No dataset yet.");
}

async function rollBack(desk: Desk<FolderOptions>, wanted: string) {
  const { printer } = desk;
  const { before, now } = await onVersions(desk, async (setup, versions) => {
    const [before] = await versions.versionsOf(setup.datasetDir);
    return { before, now: await versions.rollBack(wanted, setup) };
  });
  const { companies, created_at, people, source, version } = now;

  if (printer.json) {
    const served = { version, people, companies, created_at, source };
    printer.document<"service dataset rollback">({ ...served, before: before?.version ?? null });
  } else if (before?.version === version)
    printer.note(`Version ${version} is the one that is served.`);
  else {
    const what = `${counted(people, "person", "people")}, from ${harmlessLine(source, 60)}`;
    printer.note(`Version ${version} is served again (${what}); ${before?.version} is kept.`);
  }
}

/**
 * Does work on the versions of the options' data folder.
 * @throws CliError where one that is named is not kept
 */
async function onVersions<Result>(
  desk: Desk<FolderOptions>,
  work: (
    setup: BuildSetup,
    versions: typeof import("../../../dataset/versions.ts"),
  ) => Promise<Result>,
): Promise<Result> {
  const versions = await import("../../../dataset/versions.ts");
  try {
    return await withBuild(desk, (setup) => work(setup, versions));
  } catch (error) {
    if (!(error instanceof versions.UnknownVersionError)) throw error;
    throw failed.not_found(
      error.message,
      `headcount service dataset list${placeFlags(desk.options)}`,
      "unknown_version",
      error,
    );
  }
}
