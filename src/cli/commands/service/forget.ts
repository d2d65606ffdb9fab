import { withoutNotes } from "../../../app/keep/forget/mentions.ts";
import type { ServedPeople } from "../../../dataset/clickhouse/left-out.ts";
import { SuppressionList } from "../../../engine/library/suppression.ts";
import { Disk, failpoint } from "../../../engine/runs/disk.ts";
import { findInFolder, type InFolder, openKept, purge } from "../../../service/people/purge.ts";
import type { Context } from "../../../shared/context.ts";
import { suppressedName, takenFor } from "../../../shared/contract/naming/who.ts";
import { FORGOTTEN, type SuppressedName } from "../../../shared/contract/suppression.ts";
import { counted, echo, withoutPassword } from "../../../shared/contract/text.ts";
import { type CliError, failed, shellWord } from "../../../shared/errors.ts";
import type { Command } from "../../options.ts";
import { atDesk, type Desk, type Printer } from "../../terminal/printer.ts";
import { agreeToForget, reportForgotten } from "../forget/consent.ts";
import { addListCommands, type SuppressOptions } from "../suppress/list-commands.ts";
import { withBuild } from "./build.ts";
import {
  actor,
  addDataOption,
  addFolderOptions,
  type FolderOptions,
  folderOf,
  LEDGER,
  ledgerOf,
  placeFlags,
} from "./folder.ts";

type ForgetOptions = FolderOptions &
  ServersOptions & { readonly yes?: boolean; readonly dryRun?: boolean };

export function register(service: Command, context: Context): void {
  addServersOption(addFolderOptions(service.command("forget <person>")))
    .description(
      "Delete a person, named by profile address, its last part or id, from all that the " +
        "service keeps: dataset, stored replies, and exports that the console bought. " +
        "Credits and entries stay, and no import brings the person back. " +
        "Lists what it finds, and asks first. A service may run meanwhile.",
    )
    .option("--dry-run", "only list what would be deleted")
    .option("-y, --yes", "do not ask")
    .examples(`
  $ headcount service forget p_0000000042 --data ./demo --dry-run
  $ headcount service forget p_0000000042 --data ./demo --yes

--dataset names a dataset in ClickHouse, as in "headcount serve".
A reply that was bought is given again without the person, for nothing.
Exit 5 names files that are left to you: refused rows, what you put there; exit 9: a file is in use.
See also: headcount service suppress`)
    .does(
      `reads data
      writes data
      exits 5 6 8 9 10`,
      atDesk(context, forget),
    );
}

async function forget(desk: Desk<ForgetOptions>, word: string) {
  const { options, printer, context } = desk;
  const name = suppressedName(word);
  if (name === undefined || name.kind === "domain") {
    throw failed.not_found(
      `"${echo(word)}" is no profile address or id: it was taken for ${takenFor(word)}`,
      name === undefined
        ? "name the person by the whole profile address, its last part or an id"
        : "headcount service suppress add leaves everybody of a domain out",
      "bad_name",
    );
  }

  const dir = await folderOf(options, context);
  const step = failpoint(context.env);
  const [disk, lock] = [
    new Disk(step),
    { now: context.now, sleep: context.sleep, signal: context.interrupted },
  ];

  await withBuild(desk, async (setup) => {
    const servers = await servedPeople(options, context);
    const data = await openKept(dir, await ledgerOf(options, context), servers).catch(
      async (error: unknown) => {
        await servers?.close();
        throw error;
      },
    );

    try {
      const traces = await findInFolder(word, data, setup);
      if (!traces.anything && !(await data.hides(name))) throw nobody(word, options);
      if (options.dryRun === true) return report(traces, "would_forget", printer);
      if (options.yes !== true) await agreeToForget(linesOf(traces), printer, context);

      const rest = await purge(traces, data, {
        setup,
        actor: actor(context),
        suppress: async (names) => {
          const list = new SuppressionList(data.folders.suppression, disk, lock);
          await list.add(names, FORGOTTEN);
          await list.change((entries) => withoutNotes(entries, traces.person));
        },
        step: (what) => step?.(what, "written"),
      });

      report(traces, "forgot", printer);
      complain(rest);
    } finally {
      await data.close();
    }
  });
}

const nobody = (word: string, options: ForgetOptions): CliError =>
  failed.not_found(
    `nobody in this data folder is "${echo(word)}"`,
    "headcount service suppress add " +
      `'${echo(word)}'${placeFlags(options)}${serversFlag(options)} ` +
      "leaves somebody out who is not here yet",
    "nobody_kept",
  );

/** What could not be deleted is never passed over in silence. */
function complain({
  files,
  inUse,
}: {
  readonly files: readonly string[];
  readonly inUse: readonly string[];
}): void {
  if (inUse.length > 0) {
    const what =
      "nobody sees the person any more, and these still hold bytes of it: " +
      "another process has them open";
    throw failed
      .locked(
        what,
        "the same command again, once a running service has " +
          "gone over to the new dataset or has ended",
        "in_use",
      )
      .with({ details: inUse });
  }
  if (files.length === 0) return;

  throw failed
    .incomplete(
      `${counted(files.length, "file")} of the folder may still have the person: ` +
        "refused rows of an import, or what somebody put there",
      "delete or edit them",
      "files_left",
    )
    .with({ details: files });
}

const linesOf = ({ exports, filters, records, replies, test }: InFolder): string[] => [
  `dataset: ${counted(records, "record")}`,
  ...(test > 0 ? [`dataset of test keys: ${counted(test, "record")}`] : []),
  `stored replies: ${replies}` +
    (exports > 0 ? `, among them pages of ${counted(exports, "export")} of the console` : ""),
  ...filters.map(
    ({ accountId, id }) => `export ${echo(id)} of ${accountId}: its filters name the person`,
  ),
];

function report(traces: InFolder, verb: "forgot" | "would_forget", printer: Printer): void {
  const { exports, filters, records, replies, test } = traces;
  const sets = filters.map(({ accountId, id }) => ({ account: accountId, id }));
  const document = { records, test_records: test, replies, exports, filters: sets };
  const answer = verb === "forgot" ? { forgot: document } : { would_forget: document };
  reportForgotten(answer, linesOf(traces), printer);
}

interface ServersOptions {
  readonly dataset?: string;
}

const addServersOption = (command: Command): Command =>
  command.option("--dataset <url>", "leave them out of the dataset in clickhouse://... too");

const serversFlag = ({ dataset }: ServersOptions): string =>
  dataset === undefined ? "" : ` --dataset ${shellWord(withoutPassword(dataset))}`;

async function servedPeople(
  { dataset }: ServersOptions,
  { env, interrupted, sleep }: Context,
): Promise<ServedPeople | undefined> {
  if (dataset === undefined) return undefined;
  const { ServedPeople } = await import("../../../dataset/clickhouse/left-out.ts");
  return ServedPeople.open(dataset, env.HEADCOUNT_CLICKHOUSE_PASSWORD ?? "", {
    sleep,
    signal: interrupted,
  });
}

type SuppressFlags = SuppressOptions & FolderOptions & ServersOptions;

export function registerSuppress(service: Command, context: Context): void {
  const suppress = service
    .command("suppress")
    .description(
      "Take people out of the dataset for good: it is built again without them, " +
        "a running service takes it over within a second, and no import brings them back. " +
        "The list holds keyed hashes and names nobody.",
    )
    .examples(`
  $ headcount service suppress add network.example/in/ada-lovelace --note "objected, ticket 118" \
--data ./demo
  $ printf 'p_0000000042\\n' | headcount service suppress import - --data ./demo
  $ headcount service suppress list --data ./demo
  $ headcount service suppress remove network.example/in/ada-lovelace --data ./demo

The last one lets the person in again with the next import. A dataset in ClickHouse is named \
with --dataset, as in "headcount serve"; without it the people leave that one with its next \
import only.`);

  addListCommands<SuppressFlags>(suppress, context, {
    name: "headcount service suppress",
    touches: {
      add: LEDGER,
      remove: LEDGER,
      import: `reads given data
        writes data
        exits 1 8 9`,
      list: `reads data
        exits 1 8 9`,
      check: `reads data
        exits 6 8 9`,
    },
    options: addDataOption,
    addOptions: addServersOption,
    folder: async (options) => {
      const { peopleFolders } = await import("../../../service/admin/datasets.ts");
      return peopleFolders(await folderOf(options, context)).suppression;
    },
    added: rebuild,
  });
}

/**
 * Serves nobody who is on the list; where a process
 * died in between, the same command again does it.
 */
async function rebuild(names: readonly SuppressedName[], desk: Desk<SuppressFlags>) {
  const { context, options, printer } = desk;
  const away = await withBuild(desk, () => leaveOutOfServers(names, options, context));
  if (away !== undefined) {
    printer.note(
      away.removed === 0
        ? `nobody more of the dataset in ClickHouse is named so: it stays ${away.version}`
        : `took ${counted(away.removed, "person", "people")} out of the ` +
            `dataset in ClickHouse (now ${away.version})`,
    );
  }

  const built = await withBuild(desk, async (setup) => {
    const { rebuildDataset } = await import("../../../dataset/build/rebuild.ts");
    const { peopleFolders } = await import("../../../service/admin/datasets.ts");
    const { suppression, testDataset } = peopleFolders(await folderOf(options, context));
    await rebuildDataset({ ...setup, datasetDir: testDataset, suppression });
    return rebuildDataset(setup);
  });
  // Who serves from ClickHouse need have no dataset here.
  if (built === undefined && away !== undefined) return;

  const said =
    built === undefined
      ? "nobody of the dataset is on the list: it stays as it is"
      : `took ${counted(built.removed, "person", "people")} out ` +
        `of the dataset (now ${built.meta.version})`;
  printer.note(said);
}

async function leaveOutOfServers(
  names: readonly SuppressedName[],
  options: SuppressFlags,
  context: Context,
) {
  const people = await servedPeople(options, context);
  try {
    return await people?.leaveOut(names);
  } finally {
    await people?.close();
  }
}
