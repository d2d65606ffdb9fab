import { existsSync } from "node:fs";
import { join } from "node:path";
import { stateDir } from "../../../engine/connections/paths.ts";
import { bodiesOf, forgetPeople } from "../../../engine/library/forget.ts";
import { withLibrary } from "../../../engine/library/take-in.ts";
import { sha256Of } from "../../../engine/output/paths.ts";
import type { RegisterEntry } from "../../../engine/output/register.ts";
import type { Disk } from "../../../engine/runs/disk.ts";
import type { RunStore } from "../../../engine/runs/run-store.ts";
import type { Context } from "../../../shared/context.ts";
import { suppressedName } from "../../../shared/contract/naming/who.ts";
import { FORGOTTEN } from "../../../shared/contract/suppression.ts";
import { counted, present } from "../../../shared/contract/text.ts";
import { type CliError, failed } from "../../../shared/errors.ts";
import { type PersonMatcher, whoIs } from "../../../shared/person.ts";
import { diskOf, openRuns, registerOf, suppressionHere } from "../store.ts";
import {
  forgettingOf,
  forgottenNames,
  keptOf,
  keptWithin,
  learn,
  nobody,
  type RunFound,
  runsWith,
  sightingsIn,
} from "./find.ts";
import {
  forgetHistory,
  type HistoryFound,
  historiesWith,
  type MentionFound,
  mentionLines,
  mentionsOf,
  withoutNotes,
} from "./mentions.ts";
import {
  cutFile,
  deleteRows,
  mayHold,
  type OutputFound,
  outputsOf,
  registered,
  removePart,
  replaceOutput,
  writeAgain,
} from "./outputs.ts";
import { forgottenAmong } from "./redact.ts";

type Everything = Awaited<ReturnType<typeof keptOf>>;

/** What is kept of a person, or of several, place by place. */
export interface Traces {
  readonly person: PersonMatcher;
  readonly runs: readonly RunFound[];
  /** Of all that is kept. */
  readonly kept: Everything["runs"];
  readonly unread: Everything["unread"];
  readonly libraries: readonly string[];
  readonly owned: number;
  readonly outputs: readonly OutputFound[];
  /** What is not where it was written, and whether it may have the person. */
  readonly gone: readonly { readonly path: string; readonly mayHold: boolean }[];
  readonly histories: readonly HistoryFound[];
  /** In files of the user's own. */
  readonly mentions: readonly MentionFound[];
}

/**
 * Whom a word names, and what is kept of them. Changes nothing.
 * @throws CliError exit 2 where it names several, exit 6 where nothing is kept
 */
export async function findTraces(word: string, context: Context): Promise<Traces> {
  const store = openRuns(context, diskOf(context));
  const data = await keptOf(stateDir(context), store);
  const person = await learn(word, data, store);
  const traces = await tracesOf(person, data, context);

  // Rows tell ids apart, and prove that somebody is meant; other places may have a word by chance.
  const { runs, outputs, histories, mentions } = traces;
  const isKept =
    person.isKnown ||
    outputs.some(({ how }) => how === "cut" || how === "deleted") ||
    (person.isCertain && [runs, outputs, histories, mentions].some(({ length }) => length > 0));
  // Somebody who is on the list may be there because an
  // earlier attempt was cut short: what it deleted is wiped.
  if (!isKept && !(await wasForgotten(word, context))) throw await nobody(word, data, store);

  return traces;
}

/** For programs: places, without the person. */
export const shownTraces = ({ runs, owned, outputs, gone, histories, mentions }: Traces) => ({
  runs: runs.map(({ plan, rows, isNamed }) => ({ run: plan.id, rows, removed: isNamed })),
  owned,
  outputs: outputs.map(({ path, how }) => ({ path, how })),
  gone: gone.map(({ path }) => path),
  histories: histories.map(({ job, lines }) => ({ job, lines })),
  mentions: mentions.map(({ path, lines }) => ({ path, lines })),
});

/** @param data all that is kept: it tells what `person` is called */
async function tracesOf(
  person: PersonMatcher,
  data: Everything,
  context: Context,
): Promise<Traces> {
  const store = openRuns(context, diskOf(context));
  const all = await runsWith(person, data.runs, store);
  const outputs: OutputFound[] = [];
  for (const run of all) outputs.push(...(await outputsOf(run, person)));

  let owned = 0;
  for (const path of data.libraries) {
    const bodies = await withLibrary(path, store, (library) =>
      [...bodiesOf(library)].filter(({ body }) => person.isOf(body, path)),
    );
    owned += new Set(bodies.map(({ n }) => n)).size;
  }

  const had = (entry: RegisterEntry): boolean => mayHold(entry, all, owned);
  const entries = await registerOf(context).entries();
  const { gone, ...files } = await registered(entries, person, had);
  outputs.push(...files.outputs);

  const touched = ({ plan, rows, isNamed, isIn, receipt }: RunFound): boolean =>
    rows > 0 ||
    isNamed ||
    isIn ||
    receipt?.forgetting !== undefined ||
    outputs.some(({ run }) => run === plan.id);

  const runs = all.filter(touched);
  // A run's own stands first: it knows more of it.
  const once = [...new Map(outputs.toReversed().map((output) => [output.path, output])).values()];

  const histories = await historiesWith(person, context);
  const mentions = await mentionsOf(
    person,
    data.runs.map(({ plan: { id, output } }) => ({ folder: join(store.folder, id), output })),
    context,
  );
  return {
    person,
    runs,
    kept: data.runs,
    unread: data.unread,
    libraries: data.libraries,
    owned,
    outputs: once,
    gone: gone.map((entry) => ({ path: entry.path, mayHold: had(entry) })),
    histories,
    mentions,
  };
}

/** What is kept here of people who were forgotten on other machines; undefined: nothing. */
export async function tracesOfForgotten(context: Context): Promise<Traces | undefined> {
  const store = openRuns(context, diskOf(context));
  const forgotten = await store.suppression();
  if (forgotten.forgottenDigest === "") return undefined;

  const data = await keptOf(stateDir(context), store);
  const all = await sightingsIn(data, store);
  const person = forgottenAmong(all, forgotten);
  return person && tracesOf(person, data, context);
}

/** Whether an earlier attempt put the person onto the list: what it deleted is wiped again. */
async function wasForgotten(word: string, context: Context): Promise<boolean> {
  const name = suppressedName(word);
  if (name === undefined) return false;
  return (await suppressionHere(context).find(name)).some(({ note }) => note === FORGOTTEN);
}

/** What was looked at again, and what is left to whoever asked. */
export interface Forgot {
  readonly files: number;
  readonly tables: number;
  /** Not where they were written, so that nobody looked at them. */
  readonly gone: number;
  /** Exit 5, which names each place; undefined: nothing that was looked at has the person. */
  readonly left: CliError | undefined;
}

/**
 * Deletes a person: first from sight, so that nobody is shown the person from here on, then from
 * runs and files, and last from the library, which knows every name. Again, it does the rest.
 */
export async function forgetTraces(traces: Traces, context: Context): Promise<Forgot> {
  const disk = diskOf(context);
  const store = openRuns(context, disk);
  const list = suppressionHere(context);

  await list.add(forgottenNames(traces.person), FORGOTTEN);
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
  const after = await registered(await register.entries(), traces.person, ({ path }) =>
    traces.outputs.some((one) => one.path === path && one.how === "left"),
  );

  // Their own names name the person: nothing of ours keeps them.
  for (const { path } of entries) if (traces.person.isNamedIn(path)) await register.drop(path);

  const rest = [
    ...after.outputs.map(({ path }) => path),
    ...blocks,
    ...(await keptWithin(traces.person, { ...traces, runs: traces.kept }, store)),
    ...[...traces.unread].map(([what, why]) => `${what} cannot be read: ${why}`),
  ];
  // A run that bought by the name is gone by now, and its name with it.
  const mentions = traces.mentions.filter(({ path }) => existsSync(path));
  // Whoever put it back meanwhile had it looked at.
  const away = after.gone.flatMap(({ path }) =>
    traces.gone.some((one) => one.path === path && one.mayHold) ? [path] : [],
  );
  const isLeft = rest.length > 0 || mentions.length > 0 || away.length > 0;
  const { files, tables, gone } = after;
  return {
    files,
    tables,
    gone: gone.length,
    left: isLeft ? leftOver(rest, mentions, away) : undefined,
  };
}

/** What may still have the person, and is left to whoever asked. */
function leftOver(
  rest: readonly string[],
  mentioned: readonly MentionFound[],
  away: readonly string[],
): CliError {
  const lines = mentioned.flatMap(mentionLines);
  const outputs =
    `${counted(rest.length, "place")} may still have the person: outside of ` +
    "rows that are told apart, in rows of others, or where they cannot be read or written";
  const mentions =
    `${counted(mentioned.length, "file of yours names", "files of yours name")} ` +
    "the person: a log, jobs, a segment, or by a name that you gave";
  const message = [
    rest.length > 0 && outputs,
    lines.length > 0 && mentions,
    away.length > 0 &&
      `${counted(away.length, "place")} that may have the person: moved or removed since, ` +
        "and not looked at",
  ].filter(Boolean);

  const again =
    "write files again without the person (runs export, owned export, refresh), delete or edit " +
    "them; headcount runs remove RUN --force --yes removes a run";
  const byHand = rest.length === 0 ? "delete, edit or rename these by hand" : again;
  const hint = [
    rest.length + lines.length > 0 && byHand,
    away.length > 0 &&
      "find and delete what was moved, or put it back: the same command then takes the person out",
  ].filter(Boolean);

  return failed
    .incomplete(message.join("; "), hint.join("; "), "files_left")
    .with({ details: [...rest, ...lines, ...away] });
}

async function forgetRun(
  { plan, service, rows, isNamed, isIn, receipt }: RunFound,
  { person, outputs }: Traces,
  { disk, store }: { readonly disk: Disk; readonly store: RunStore },
  context: Context,
): Promise<void> {
  await removePart(plan, context);
  if (isNamed) return store.remove({ plan }, context, true);

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
  const after = { ...rest, forgotten, ...present({ output }) };

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

const forgetIn = (path: string, person: PersonMatcher, store: RunStore): Promise<void> =>
  withLibrary(path, store, (library) =>
    forgetPeople(
      library,
      (body) => person.isOf(body, path),
      (identity) => person.is(whoIs(identity), path),
      (target) => person.isNamedByFilters(target),
    ),
  );
