import { existsSync } from "node:fs";
import { type Library, recordPages } from "../../../engine/library/library.ts";
import { changedSince, newestRecords } from "../../../engine/library/members.ts";
import { formName, type Output, type Rendering } from "../../../engine/output/formats.ts";
import { checkOutput, exists, sha256Of } from "../../../engine/output/paths.ts";
import { openSink, savedView } from "../../../engine/output/sinks/sink.ts";
import { fileExists } from "../../../engine/purchase/failures.ts";
import { type Guard, listCommand } from "../../../engine/runs/plan.ts";
import { canonicalJson } from "../../../shared/contract/filters.ts";
import {
  creditsText,
  creditsToNumber,
  formatCredits,
  priceOf,
} from "../../../shared/contract/money.ts";
import { counted } from "../../../shared/contract/text.ts";
import { CliError, systemFailure } from "../../../shared/errors.ts";
import { collectColumns } from "../../../shared/rows/columns.ts";
import type { Page } from "../../../shared/rows/page.ts";
import { besideName, LIST_FILES, MOVES } from "../../keep/list-files.ts";
import { registerOf, requireAsWritten } from "../../keep/store.ts";
import { type Brought, type Followed, listPath } from "./list.ts";
import { profilePrice, type RefreshOrder, type RefreshReceipt, type Work } from "./work.ts";

/** @throws CliError exit 2 where a file is not this list's, exit 5 where one was changed */
export async function checkFiles(list: Followed, { order, latest, context }: Work): Promise<void> {
  const { output, word, terms } = order;
  if (output === undefined || terms.overwrite) return;

  // Somebody's, too: a list of another segment, and a file that was not written here.
  const isKnown = latest.library.lists.at(output)?.canonical === canonicalJson(list.canonical);
  const register = registerOf(context);
  const isNamed = word !== undefined && output === (await listPath(word, context));

  for (const what of LIST_FILES) {
    const path = besideName(output, what);
    const isOurs = (isKnown && register.has(path)) || (what === "list" && isNamed);
    if (isOurs || !(await exists(path))) continue;
    // By another machine, or under another name.
    const sha256 = (await sha256Of(path)) ?? "";
    if (!latest.library.lists.wrote(canonicalJson(list.canonical), sha256)) throw fileExists(path);
  }

  await requireAsWritten(output, context, true);
}

const entryOf = ({ filters, canonical, at, view, isPart }: Followed, work: Work) => ({
  output: work.order.output ?? "",
  filters,
  canonical: canonicalJson(canonical),
  at,
  view: savedView(viewOf(view, work)),
  isPart,
});

/** Before anybody is bought for it: whatever ends this, the next refresh tells who came. */
export const beginList = (list: Followed, work: Work): void =>
  work.latest.library.lists.begin(entryOf(list, work), list.before);

/** A process that is killed before the history finds the same again, at 0 credits. */
export async function keep(result: Brought, work: Work): Promise<RefreshReceipt> {
  const { context, account, latest } = work;
  const { list, counts, now } = result;
  const { library } = latest;
  const moves = movesOf(result, library);
  const { added, removed, changed } = moves;

  // Who is suppressed is in the list's history, so that nobody is paid for twice, and in no file.
  const people = {
    list: library.shown(now),
    added: library.shown(added),
    removed: library.shown(removed),
    changed: library.shown([...changed.keys()]),
  };
  const files = await writeFiles(people, [...now, ...removed], result, work);
  const at = context.now();

  library.lists.record(entryOf(list, work), moves.before, {
    at,
    added,
    removed,
    changed,
    calls: counts.calls,
    credits: result.spent,
    run: result.runs[0] ?? null,
    datasetVersion: counts.datasetVersion ?? account.datasetVersion ?? null,
    count: result.certificate.total,
    files: files.map(([, { sha256 }]) => sha256),
  });

  if (added.length + removed.length + changed.size > 0)
    await work.events.moved?.(movesIn(people, changed, library));
  if (result.changed.size > 0 && work.order.terms.buyChanged !== true)
    work.deps.onNotice(asBought(result, work));

  return receiptOf(result, work, {
    checked_at: new Date(at).toISOString(),
    added: added.length,
    removed: removed.length,
    changed: changed.size,
    suppressed: now.length - people.list.length,
    changes: people.changed.map((person) => ({ person, fields: changed.get(person) ?? [] })),
    files: Object.fromEntries(files) as RefreshReceipt["files"],
  });
}

/** Who is in the list and was not, the other way round, and whose fields are others now. */
function movesOf({ list, now, renamed, changed: found }: Brought, { database }: Library) {
  const before = [...new Set(list.before.map((identity) => renamed.get(identity) ?? identity))];
  const added = without(now, before);
  const changed = new Map(changedSince(database, without(now, added), list.at));
  for (const [person, fields] of found)
    changed.set(person, [...new Set([...(changed.get(person) ?? []), ...fields])]);

  return { before, added, removed: without(before, now), changed };
}

/**
 * Each of the files has the columns of the list.
 * @param everybody who is or was in the list
 */
async function writeFiles(
  people: Readonly<Record<(typeof LIST_FILES)[number], readonly string[]>>,
  everybody: readonly string[],
  result: Brought,
  work: Work,
) {
  const { order, latest } = work;
  const { output = "" } = order;
  const view = viewOf(result.list.view, work);
  const pages = (who: readonly string[]) => (): AsyncIterable<Page> =>
    recordPages(newestRecords(latest.library.database, who));
  const columns = AS_THEY_CAME.includes(view.format)
    ? undefined
    : await collectColumns(pages(everybody)(), "person");

  beginList(result.list, work);

  // Who moved before stays to be read: a file with nobody is not written over one that is there.
  const due = LIST_FILES.filter(
    (what) => what === "list" || people[what].length > 0 || !existsSync(besideName(output, what)),
  );
  const facts = await writeTogether(
    due.map((what) => ({
      path: besideName(output, what),
      pages: pages(people[what]),
      guard: { ...(what === "list" ? order.terms : NO_GUARD), overwrite: true },
    })),
    { ...view, kind: "person", fields: view.fields ?? columns },
    work,
  ).catch((error) => {
    throw unwritten(error, result, work);
  });

  return await Promise.all(
    LIST_FILES.map(async (what) => {
      const path = besideName(output, what);
      const written = facts[due.indexOf(what)];
      const sha256 = written?.sha256 ?? (await sha256Of(path)) ?? "";
      return [what, { file: written?.file ?? path, rows: people[what].length, sha256 }] as const;
    }),
  );
}

/** What was bought is owned: the same refresh writes it at 0 credits. */
function unwritten(
  error: unknown,
  { list, rows, spent }: Brought,
  { order: { output = "" }, deps: { seller } }: Work,
): unknown {
  const failure = error instanceof CliError ? error : systemFailure(error);
  if (rows === 0 || failure === undefined) return error;

  const details = [
    `${counted(rows, "profile")} bought for ${creditsText(spent)} ` +
      `${rows === 1 ? "is" : "are"} kept`,
  ];

  return failure.with({
    category: "incomplete",
    details: [...failure.details, ...details],
    next: listCommand(list.filters, output, seller.connectionName),
  });
}

/**
 * A JSON line each, with the newest record that is owned.
 * @param people who is shown, of each change
 */
function movesIn(
  people: Readonly<Record<"added" | "removed" | "changed", readonly string[]>>,
  changed: ReadonlyMap<string, readonly string[]>,
  { database }: Library,
): string {
  const lines = MOVES.flatMap((change) =>
    people[change].flatMap((person) => {
      const fields =
        change === "changed" ? `"fields":${JSON.stringify(changed.get(person) ?? [])},` : "";
      const [record] = newestRecords(database, [person]);
      return record === undefined ? [] : `{"change":"${change}",${fields}"person":${record}}\n`;
    }),
  );
  return lines.join("");
}

type Facts = Pick<
  RefreshReceipt,
  "checked_at" | "added" | "removed" | "changed" | "suppressed" | "changes" | "files"
>;

const receiptOf = (
  result: Brought,
  { order, account }: Work,
  { checked_at, changes, files, ...sizes }: Facts,
): RefreshReceipt => ({
  list: order.output ?? "",
  filters: result.list.filters,
  checked_at,
  dataset_version: result.counts.datasetVersion ?? account.datasetVersion ?? null,
  count: result.certificate.total,
  ...sizes,
  forgotten: result.plan.leftOut ? result.plan.forgotten : 0,
  changes,
  not_checked: result.notChecked,
  verified: order.verify.map(({ name }) => name),
  runs: result.runs,
  bought: result.rows,
  bought_again: result.again,
  bought_suppressed: result.hidden,
  credits: creditsToNumber(result.spent),
  rebuy_credits: creditsToNumber(result.plan.again),
  free_calls: result.counts.calls,
  certificate: { count: result.certificate.total, owned: result.certificate.present, equal: true },
  files,
});

function asBought({ changed }: Brought, { account, order: { output = "" } }: Work): string {
  const most = formatCredits(priceOf(changed.size, profilePrice(account).price));
  const whose = `the ${counted(changed.size, "record")} of whom a value no longer holds`;
  return (
    `notice: ${besideName(output, "changed")} has ${whose} as bought; ` +
    `--buy-changed --max-credits ${most} buys what is there now`
  );
}

const NO_GUARD = { allowEmpty: true, minRows: undefined, maxShrink: undefined };

const without = (people: readonly string[], others: readonly string[]): string[] => {
  const set = new Set(others);
  return people.filter((person) => !set.has(person));
};

/** Formats that have the fields that a record has. */
const AS_THEY_CAME: readonly string[] = ["ndjson", "json"];

/** As asked, else as the list was written, where it has the same format. */
function viewOf(saved: Followed["view"], { order: { view, terms } }: Work): RefreshOrder["view"] {
  if (saved === undefined || saved.format !== formName(view)) return view;
  return {
    ...view,
    fields: view.fields ?? saved.fields ?? undefined,
    excel: terms.csv === undefined ? saved.excel : view.excel,
    raw: terms.csv === undefined ? saved.raw : view.raw,
  };
}

interface FileToWrite {
  readonly path: string;
  readonly pages: () => AsyncIterable<Page>;
  readonly guard: Guard;
}

/** The first file gets its name last. */
async function writeTogether(
  files: readonly FileToWrite[],
  rendering: Rendering,
  { context, deps: { disk } }: Work,
) {
  const outputs: Output[] = [];
  try {
    const facts: Awaited<ReturnType<Output["prepare"]>>[] = [];
    for (const { path, pages, guard } of files) {
      const output = await openSink({
        output: await checkOutput(path),
        stream: context.stdout,
        rendering,
        guard,
        place: {
          name: `owned-${context.pid}`,
          by: "refresh",
          disk,
          register: registerOf(context, disk),
        },
        interrupted: context.interrupted,
      });
      outputs.push(output);

      for await (const page of pages()) {
        context.interrupted.throwIfAborted();
        await output.write(page);
      }

      facts.push(await output.prepare(pages));
    }

    for (const output of [...outputs.slice(1), ...outputs.slice(0, 1)]) await output.publish();

    return facts;
  } catch (error) {
    for (const output of outputs) await output.abort();
    throw error;
  }
}
