import type { Context } from "../../../shared/context.ts";
import type { SuppressedName } from "../../../shared/contract/suppression.ts";
import { counted } from "../../../shared/contract/text.ts";
import type { Command } from "../../options.ts";
import { Printer } from "../../terminal/printer.ts";
import { addListCommands, type SuppressOptions } from "../suppress/list-commands.ts";
import { withBuild } from "./build.ts";
import { type FolderOptions, folderOf } from "./folder.ts";
import { addServersOption, type ServersOptions, servedPeople } from "./servers.ts";

type Options = SuppressOptions & FolderOptions & ServersOptions;

export function register(service: Command, context: Context): void {
  const suppress = service
    .command("suppress")
    .summary("leave people out of the dataset, also of later imports")
    .description(
      "Take people out of the dataset for good: it is built again without them, a running service takes it over within a second, and no import brings them back. The list holds keyed hashes and names nobody.",
    )
    .examples(`
  $ headcount service suppress add network.example/in/ada-lovelace --note "objected, ticket 118" --data ./demo
  $ printf 'p_0000000042\\n' | headcount service suppress import - --data ./demo
  $ headcount service suppress list --data ./demo
  $ headcount service suppress remove network.example/in/ada-lovelace --data ./demo

The last one lets the person in again with the next import. A dataset in ClickHouse is named
with --dataset, as in "headcount serve"; without it the people leave that one with its next import only.`);
  addListCommands<Options>(suppress, context, {
    name: "headcount service suppress",
    options: (command) =>
      command.option("--data <dir>", "data folder with the dataset and the accounts (default: the XDG data folder)"),
    addOptions: addServersOption,
    folder: async (options) => {
      const [{ datasetDir }, { suppressionDir }] = await Promise.all([
        import("../../../service/admin/data-folder.ts"),
        import("../../../dataset/suppression.ts"),
      ]);
      return suppressionDir(datasetDir(await folderOf(options, context)));
    },
    added: rebuild,
  });
}

/** Serves nobody who is on the list; where a process died in between, the same command again does it. */
async function rebuild(names: readonly SuppressedName[], options: Options, context: Context): Promise<void> {
  const printer = new Printer(context, options);
  const away = await withBuild(options, context, () => leaveOutOfServers(names, options, context));
  if (away !== undefined) {
    printer.note(
      away.removed === 0
        ? `nobody more of the dataset in ClickHouse is named so: it stays ${away.version}`
        : `took ${counted(away.removed, "person", "people")} out of the dataset in ClickHouse (now ${away.version})`,
    );
  }
  const built = await withBuild(options, context, async (setup) => {
    const [{ rebuildDataset }, { peopleFolders }] = await Promise.all([
      import("../../../dataset/build/rebuild.ts"),
      import("../../../service/admin/data-folder.ts"),
    ]);
    const { suppression, testDataset } = peopleFolders(await folderOf(options, context));
    await rebuildDataset({ ...setup, datasetDir: testDataset, suppression });
    return rebuildDataset(setup);
  });
  // Who serves from ClickHouse need have no dataset here.
  if (built === undefined && away !== undefined) return;
  const said =
    built === undefined
      ? "nobody of the dataset is on the list: it stays as it is"
      : `took ${counted(built.removed, "person", "people")} out of the dataset (now ${built.meta.version})`;
  printer.note(said);
}

async function leaveOutOfServers(names: readonly SuppressedName[], options: Options, context: Context) {
  const people = await servedPeople(options, context);
  try {
    return await people?.leaveOut(names);
  } finally {
    await people?.close();
  }
}
