import { existsSync } from "node:fs";
import { join } from "node:path";
import {
  forgettingOf,
  keptOf,
  keptWithin,
  learn,
  nobody,
  type RunFound,
  runsWith,
} from "../../../app/keep/forget/find.ts";
import {
  forgetHistory,
  type HistoryFound,
  historiesWith,
  type MentionFound,
  mentionLines,
  mentionsOf,
  withoutNotes,
} from "../../../app/keep/forget/mentions.ts";
import {
  cutFile,
  deleteRows,
  type OutputFound,
  outputsOf,
  registered,
  removePart,
  replaceOutput,
  writeAgain,
} from "../../../app/keep/forget/outputs.ts";
import { registerOf } from "../../../app/keep/store.ts";
import { stateDir } from "../../../engine/connections/paths.ts";
import { bodiesOf, forgetPeople } from "../../../engine/library/forget.ts";
import { Library } from "../../../engine/library/library.ts";
import { sha256Of } from "../../../engine/output/paths.ts";
import { Disk, failpoint } from "../../../engine/runs/disk.ts";
import { RunStore } from "../../../engine/runs/run-store.ts";
import { suppressionFolder, suppressionList } from "../../../engine/runs/suppression.ts";
import type { Context } from "../../../shared/context.ts";
import { suppressedName } from "../../../shared/contract/naming/who.ts";
import { counted } from "../../../shared/contract/text.ts";
import { type CliError, failed } from "../../../shared/errors.ts";
import type { PersonMatcher } from "../../../shared/person.ts";
import type { Command, GlobalOptions } from "../../options.ts";
import { atDesk, type Desk, type Printer } from "../../terminal/printer.ts";
import { agreeToForget, reportForgotten } from "./consent.ts";

type ForgetOptions = GlobalOptions & { readonly yes?: boolean; readonly dryRun?: boolean };

export function register(program: Command, context: Context): void {
  program
    .command("forget <person>")
    .description(
      "Delete a person, named by profile address, its last part, id, e-mail or name, " +
        "from runs, the library and the files that were written from them, and leave the " +
        "person out from now on. What was spent stays known. " +
        "Lists what it finds, and asks first.",
    )
    .option("--dry-run", "only list what would be deleted")
    .option("-y, --yes", "do not ask")
    .examples(`
  $ headcount forget "$(headcount -c sample sql 'select network_url from people limit 1' | tail -1)" --dry-run
  $ headcount forget "$(headcount -c sample sql 'select id from people limit 1' | tail -1)" --yes

Files that name the person outside of rows (receipts, text by another program) and tables that do not answer are named and left: exit 5.
See also: headcount suppress`)
    .does(atDesk(context, forget));
}

type Everything = Awaited<ReturnType<typeof keptOf>>;

interface Traces {
  readonly person: PersonMatcher;
  readonly runs: readonly RunFound[];
  /** Of all that is kept. */
  readonly kept: Everything["runs"];
  readonly unread: Everything["unread"];
  readonly libraries: readonly string[];
  readonly owned: number;
  readonly outputs: readonly OutputFound[];
  readonly gone: Awaited<ReturnType<typeof registered>>["gone"];
  readonly histories: readonly HistoryFound[];
  /** In files of the user's own. */
  readonly mentions: readonly MentionFound[];
}

async function forget(
  { options, printer, context }: Desk<ForgetOptions>,
  word: string,
): Promise<void> {
  const disk = new Disk(failpoint(context.env));
  const store = new RunStore(stateDir(context), disk);
  const traces = await find(word, store, context);

  if (options.dryRun === true) {
    report(traces, "would_forget", printer);
    if (!printer.json) printer.text("nothing of this was done (--dry-run)\n");
    return;
  }
  if (options.yes !== true) await agreeToForget(linesOf(traces), printer, context);

  const list = listOf(context);
  // First: from here on nobody sees the person. Then the
  // runs, and last the library, which knows every name.
  await list.add(traces.person.suppressed, FORGOTTEN);
  await list.change((entries) => withoutNotes(entries, traces.person));
  for (const run of traces.runs) await forgetRun(run, traces, { store, disk }, context);
  for (const { job } of traces.histories) await forgetHistory(job, traces.person, disk, context);

  const register = registerOf(context, disk);
  const entries = await register.entries();

  const blocks: string[] = [];
  for (const { path, how } of traces.outputs) {
    const entry = entries.find((one) => one.path === path);
    if (how === "deleted") blocks.push(...(await deleteRows(path, traces.person)));
    else if (how === "cut" && entry !== undefined)
      await cutFile(entry, traces.person, disk, context);
  }

  // What a process had not deleted of a run that died while it removed it.
  await store.sweep();
  for (const path of traces.libraries) await forgetIn(path, traces.person, store);

  // As they are now: what was cut is entered anew.
  const after = await registered(await register.entries(), traces.person);

  // Their own names name the person: nothing of ours keeps them.
  for (const { path } of entries) if (traces.person.isNamedIn(path)) await register.drop(path);
  report(traces, "forgot", printer);

  const rest = [
    ...after.outputs.map(({ path }) => path),
    ...blocks,
    ...(await keptWithin(traces.person, { ...traces, runs: traces.kept }, store)),
    ...[...traces.unread].map(([what, why]) => `${what} cannot be read: ${why}`),
  ];
  // A run that bought by the name is gone by now, and its name with it.
  const mentions = traces.mentions.filter(({ path }) => existsSync(path));
  if (rest.length > 0 || mentions.length > 0) throw leftOver(rest, mentions);

  const places = `${counted(after.files, "file")} and ${counted(after.tables, "table")}`;
  if (!printer.json)
    printer.text(`looked again at ${places} that were written: none has the person\n`);
}

/** What may still have the person, and is left to whoever asked. */
function leftOver(rest: readonly string[], mentioned: readonly MentionFound[]): CliError {
  const lines = mentioned.flatMap(mentionLines);
  const outputs =
    `${counted(rest.length, "place")} may still have the person: outside of ` +
    "rows that are told apart, in rows of others, or where they cannot be read or written";
  const mentions =
    `${counted(mentioned.length, "file of yours names", "files of yours name")} ` +
    "the person: a log, jobs, a segment, or by a name that you gave";
  const message = [
    ...(rest.length === 0 ? [] : [outputs]),
    ...(lines.length === 0 ? [] : [mentions]),
  ].join("; ");

  const again =
    "write files again without the person (runs export, owned export, refresh), delete or edit " +
    "them; headcount runs remove RUN --force --yes removes a run";
  const hint = rest.length === 0 ? "delete, edit or rename these by hand" : again;

  return failed.incomplete(message, hint, "files_left").with({ details: [...rest, ...lines] });
}

/** What stands beside those on the suppression list who were forgotten. */
const FORGOTTEN = "forgotten";

/** Whether an earlier attempt put the person onto the list: what it deleted is wiped again. */
async function wasForgotten(word: string, context: Context): Promise<boolean> {
  const name = suppressedName(word);
  if (name === undefined) return false;
  const list = listOf(context);
  return (await list.find(name)).some(({ note }) => note === FORGOTTEN);
}

function listOf(context: Context) {
  const { env, now, sleep, interrupted: signal } = context;
  return suppressionList(suppressionFolder(stateDir(context)), new Disk(failpoint(env)), {
    now,
    sleep,
    signal,
  });
}

async function find(word: string, store: RunStore, context: Context): Promise<Traces> {
  const data = await keptOf(stateDir(context), store);
  const person = await learn(word, data, store);
  const all = await runsWith(person, data.runs, store);
  const outputs: OutputFound[] = [];
  for (const run of all) outputs.push(...(await outputsOf(run, person)));

  let owned = 0;
  const { gone, ...files } = await registered(await registerOf(context).entries(), person);
  outputs.push(...files.outputs);

  for (const path of data.libraries) {
    const library = await Library.open(path, await store.suppression());
    try {
      owned += new Set(
        [...bodiesOf(library)].filter(({ body }) => person.isOf(body, path)).map(({ n }) => n),
      ).size;
    } finally {
      library.close();
    }
  }

  const touched = ({ plan, rows, isNamed, isIn, receipt }: RunFound): boolean =>
    rows > 0 ||
    isNamed ||
    isIn ||
    receipt?.forgetting !== undefined ||
    outputs.some(({ run }) => run === plan.id);

  const runs = all.filter(touched);
  // A run's own stands first: it knows more of it.
  const once = [...new Map(outputs.toReversed().map((output) => [output.path, output])).values()];

  // Somebody who is on the list may be there because an
  // earlier attempt was cut short: what it deleted is wiped.
  const histories = await historiesWith(person, context);
  const mentions = await mentionsOf(
    person,
    data.runs.map(({ plan: { id, output } }) => ({ folder: join(store.folder, id), output })),
    context,
  );
  // Rows tell ids apart, and prove that somebody is meant; other places may have a word by chance.
  const isKept =
    owned > 0 ||
    runs.some(({ rows }) => rows > 0) ||
    once.some(({ how }) => how === "cut" || how === "deleted") ||
    (person.isCertain && [runs, once, histories, mentions].some(({ length }) => length > 0));
  if (!isKept && !(await wasForgotten(word, context))) throw nobody(word);

  return {
    person,
    runs,
    kept: data.runs,
    unread: data.unread,
    libraries: data.libraries,
    owned,
    outputs: once,
    gone,
    histories,
    mentions,
  };
}

async function forgetRun(
  { plan, service, rows, isNamed, isIn, receipt }: RunFound,
  { person, outputs }: Traces,
  { disk, store }: { readonly disk: Disk; readonly store: RunStore },
  context: Context,
): Promise<void> {
  await removePart(plan, context);
  if (isNamed) return store.remove({ plan }, context);

  // While it is under way the receipt says so: the output is
  // then written again, however far an earlier attempt came.
  const before = (receipt?.forgotten ?? 0) - (receipt?.forgetting ?? 0);
  const forgotten = rows > 0 ? before + rows : (receipt?.forgotten ?? 0);
  const forgetting = rows > 0 ? rows : receipt?.forgetting;
  if (isIn || forgetting !== undefined) {
    const begun = receipt && { ...receipt, forgotten, forgetting };
    await store.rewrite(plan.id, context, begun, forgettingOf(person, service));
  }

  if (receipt === undefined) return;

  const { forgetting: __, replaces: _, ...rest } = receipt;
  const again = outputs.some(({ run, how }) => run === plan.id && how === "again");
  const output = again ? await writeAgain(plan, store, context) : undefined;
  const after = { ...rest, forgotten, ...(output === undefined ? {} : { output }) };

  if (output !== undefined) {
    // Whichever of the two files a process leaves that dies here, the receipt knows it.
    const replaces = (await sha256Of(output.file)) ?? null;
    await store.rewrite(plan.id, context, {
      ...after,
      forgetting,
      replaces,
    });
    await replaceOutput(plan, output, disk, context);
  }

  await store.rewrite(plan.id, context, after);
}

async function forgetIn(path: string, person: PersonMatcher, store: RunStore): Promise<void> {
  const library = await Library.open(path, await store.suppression());
  try {
    forgetPeople(
      library,
      (body) => person.isOf(body, path),
      (target) => person.isNamedByFilters(target),
    );
  } finally {
    library.close();
  }
}

const OUTPUT_LINES: Readonly<Record<OutputFound["how"], (path: string) => string>> = {
  again: (path) => `written again: ${path}`,
  cut: (path) => `rows taken out: ${path}`,
  deleted: (path) => `rows deleted: ${path}`,
  left: (path) => `left, look yourself: ${path}`,
};

function linesOf({ runs, owned, outputs, gone, histories, mentions }: Traces): string[] {
  return [
    ...runs.map(({ plan, rows, isNamed }) =>
      isNamed
        ? `run ${plan.id}: whole, it names the person`
        : `run ${plan.id}: ${counted(rows, "row")}`,
    ),
    `library: ${counted(owned, "person", "people")}`,
    ...histories.map(({ job, lines }) => `history of job ${job}: ${counted(lines, "line")}`),
    ...outputs.map(({ path, how }) => OUTPUT_LINES[how](path)),
    ...mentions.flatMap(mentionLines).map((place) => `left, by hand: ${place}`),
    ...gone.map((path) => `moved or removed, cannot be looked at: ${path}`),
  ];
}

function report(traces: Traces, verb: "forgot" | "would_forget", printer: Printer): void {
  const { runs, owned, outputs, gone, histories, mentions } = traces;
  const document = {
    runs: runs.map(({ plan, rows, isNamed }) => ({ run: plan.id, rows, removed: isNamed })),
    owned,
    outputs: outputs.map(({ path, how }) => ({ path, how })),
    gone,
    histories: histories.map(({ job, lines }) => ({ job, lines })),
    mentions: mentions.map(({ path, lines }) => ({ path, lines })),
  };
  const answer = verb === "forgot" ? { forgot: document } : { would_forget: document };
  reportForgotten(answer, linesOf(traces), printer);
}
