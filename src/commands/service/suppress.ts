import type { Context } from "../../context.ts";
import { counted } from "../../contract/text.ts";
import type { Command } from "../../options.ts";
import { Printer } from "../../terminal/printer.ts";
import { addListCommands, type SuppressOptions } from "../suppress/list-commands.ts";
import { withBuild } from "./build.ts";
import { type FolderOptions, folderOf } from "./folder.ts";

type Options = SuppressOptions & FolderOptions;

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

The last one lets the person in again with the next import. A dataset in ClickHouse leaves them out from its next import on.`);
  addListCommands<Options>(suppress, context, {
    name: "headcount service suppress",
    options: (command) =>
      command.option("--data <dir>", "data folder with the dataset and the accounts (default: the XDG data folder)"),
    folder: async (options) => {
      const [{ datasetDir }, { suppressionDir }] = await Promise.all([
        import("../../service/data-folder.ts"),
        import("../../dataset/suppression.ts"),
      ]);
      return suppressionDir(datasetDir(await folderOf(options, context)));
    },
    added: rebuild,
  });
}

/** Serves nobody who is on the list; where a process died in between, the same command again does it. */
async function rebuild(options: Options, context: Context): Promise<void> {
  const built = await withBuild(options, context, async (setup) => {
    const [{ rebuildDataset }, { peopleFolders }] = await Promise.all([
      import("../../dataset/build/rebuild.ts"),
      import("../../service/data-folder.ts"),
    ]);
    const { suppression, testDataset } = peopleFolders(await folderOf(options, context));
    await rebuildDataset({ ...setup, datasetDir: testDataset, suppression });
    return rebuildDataset(setup);
  });
  const said =
    built === undefined
      ? "nobody of the dataset is on the list: it stays as it is"
      : `took ${counted(built.removed, "person", "people")} out of the dataset (now ${built.meta.version})`;
  new Printer(context, options).note(said);
}
