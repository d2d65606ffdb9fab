import { Disk } from "../../../engine/runs/disk.ts";
import { failpoint } from "../../../engine/runs/failpoint.ts";
import { SuppressionList } from "../../../engine/runs/suppression.ts";
import { findInFolder, type InFolder, openKept, purge } from "../../../service/people/purge.ts";
import type { Context } from "../../../shared/context.ts";
import { suppressedName } from "../../../shared/contract/suppression.ts";
import { counted, echo } from "../../../shared/contract/text.ts";
import { CliError, usageError } from "../../../shared/errors.ts";
import type { Command } from "../../options.ts";
import { Printer } from "../../terminal/printer.ts";
import { agreeToForget, reportForgotten } from "../forget/consent.ts";
import { withBuild } from "./build.ts";
import { actor, addFolderOptions, type FolderOptions, folderOf, ledgerOf, placeFlags } from "./folder.ts";
import { addServersOption, type ServersOptions, servedPeople, serversFlag } from "./servers.ts";

interface ForgetOptions extends FolderOptions, ServersOptions {
  readonly yes?: boolean;
  readonly dryRun?: boolean;
}

export function register(service: Command, context: Context): void {
  addServersOption(addFolderOptions(service.command("forget <person>")))
    .summary("delete a person from the dataset, stored replies and the console")
    .description(
      "Delete a person, named by profile address, its last part or id, from all that the service keeps: dataset, stored replies, and exports that the console bought. Credits and entries stay, and no import brings the person back. Lists what it finds, and asks first. A service may run meanwhile.",
    )
    .option("--dry-run", "only list what would be deleted")
    .option("-y, --yes", "do not ask")
    .examples(`
  $ headcount service forget p_0000000042 --data ./demo --dry-run
  $ headcount service forget p_0000000042 --data ./demo --yes

--dataset names a dataset in ClickHouse, as in "headcount serve".
A reply that was bought is given again without the person, for nothing.
Exit 5 names files that headcount did not write; exit 9: a file is in use.
See also: headcount service suppress`)
    .does((options: ForgetOptions, word: string) => forget(word, options, context));
}

async function forget(word: string, options: ForgetOptions, context: Context): Promise<void> {
  const name = suppressedName(word);
  if (name === undefined || name.kind === "domain") {
    throw usageError(
      `"${echo(word)}" is no profile address or id`,
      name === undefined ? undefined : "headcount service suppress add leaves everybody of a domain out",
      "bad_name",
    );
  }
  const dir = await folderOf(options, context);
  const step = failpoint(context.env);
  const [disk, lock] = [new Disk(step), { now: context.now, sleep: context.sleep, signal: context.interrupted }];
  const printer = new Printer(context, options);
  await withBuild(options, context, async (setup) => {
    const servers = await servedPeople(options, context);
    const kept = await openKept(dir, await ledgerOf(options, context), servers).catch(async (error: unknown) => {
      await servers?.close();
      throw error;
    });
    try {
      const found = await findInFolder(word, kept, setup);
      if (!found.anything && !(await kept.hides(name))) throw nobody(word, options);
      if (options.dryRun === true) return report(found, "would_forget", printer);
      if (options.yes !== true) await agreeToForget(linesOf(found), printer, context);
      const left = await purge(found, kept, {
        setup,
        actor: actor(context),
        suppress: (names) => new SuppressionList(kept.folders.suppression, disk, lock).add(names, "forgotten"),
        step: (what) => step?.(what, "written"),
      });
      report(found, "forgot", printer);
      complain(left);
    } finally {
      await kept.close();
    }
  });
}

const nobody = (word: string, options: ForgetOptions): CliError =>
  new CliError({
    code: "nobody_kept",
    category: "not_found",
    message: `nobody in this data folder is "${echo(word)}"`,
    hint: `headcount service suppress add '${echo(word)}'${placeFlags(options)}${serversFlag(options)} leaves somebody out who is not here yet`,
  });

/** What could not be deleted is never passed over in silence. */
function complain({ files, inUse }: { readonly files: readonly string[]; readonly inUse: readonly string[] }): void {
  if (inUse.length > 0) {
    throw new CliError({
      code: "in_use",
      category: "locked",
      message: "nobody sees the person any more, and these still hold bytes of it: another process has them open",
      details: inUse,
      hint: "the same command again, once a running service has gone over to the new dataset or has ended",
    });
  }
  if (files.length === 0) return;
  throw new CliError({
    code: "files_left",
    category: "incomplete",
    message: `${counted(files.length, "file")} of the folder still ${files.length === 1 ? "has" : "have"} the person, and headcount did not write ${files.length === 1 ? "it" : "them"}`,
    details: files,
    hint: "delete or edit them",
  });
}

const linesOf = ({ exports, filters, records, replies, test }: InFolder): string[] => [
  `dataset: ${counted(records, "record")}`,
  ...(test > 0 ? [`dataset of test keys: ${counted(test, "record")}`] : []),
  `stored replies: ${replies}${exports > 0 ? `, among them pages of ${counted(exports, "export")} of the console` : ""}`,
  ...filters.map(({ accountId, id, kind }) => `${kind} ${echo(id)} of ${accountId}: its filters name the person`),
];

function report(found: InFolder, verb: "forgot" | "would_forget", printer: Printer): void {
  const { exports, filters, records, replies, test } = found;
  const named = filters.map(({ accountId, id, kind }) => ({ kind, account: accountId, id }));
  const document = { records, test_records: test, replies, exports, filters: named };
  reportForgotten(verb, linesOf(found), document, printer);
}
