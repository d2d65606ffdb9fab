import type { Library } from "../../../engine/library/library.ts";
import type { Refreshed } from "../../../engine/library/lists.ts";
import { recordPages } from "../../../engine/library/pages.ts";
import { formName } from "../../../engine/output/formats.ts";
import type { OutputFacts } from "../../../engine/output/output.ts";
import { savedView, templateOf } from "../../../engine/output/sinks/sink.ts";
import type { FreeCounts } from "../../../engine/purchase/free-counts.ts";
import { canonicalJson } from "../../../shared/contract/filters.ts";
import { creditsToNumber, formatCredits, priceOf } from "../../../shared/contract/money.ts";
import { counted } from "../../../shared/contract/text.ts";
import { collectColumns } from "../../../shared/rows/columns.ts";
import type { Page } from "../../../shared/rows/page.ts";
import type { Of } from "../../../shared/schema/build.ts";
import type { refreshed } from "../../../shared/schema/purchase.ts";
import { BESIDE, type Beside, besideName, type FileToWrite, writeTogether } from "./files.ts";
import type { Followed } from "./list.ts";
import type { Brought, RefreshOrder, RefreshPlan, Work } from "./work.ts";

interface Found extends Brought {
  readonly library: Library;
  readonly list: Followed;
  readonly plan: RefreshPlan;
  readonly counts: FreeCounts;
}

export type RefreshReceipt = Of<typeof refreshed>;

/** A process that is killed before the history finds the same again, at 0 credits. */
export async function keep(found: Found, work: Work): Promise<RefreshReceipt> {
  const { order, context, account } = work;
  const { list, library, plan, counts } = found;
  const output = order.output ?? "";
  const now = found.now.map(({ identity }) => identity);
  const before = [...new Set(list.before.map(({ identity }) => found.renamed.get(identity) ?? identity))];
  const added = without(now, before);
  const removed = without(before, now);
  const stayed = without(now, added);
  const changed = new Map(library.changedSince(stayed, list.at));
  for (const [person, fields] of found.changed)
    changed.set(person, [...new Set([...(changed.get(person) ?? []), ...fields])]);
  const view = viewOf(list, work);
  const people = shownOf(library, { list: now, added, removed, changed: [...changed.keys()] });
  const pages = (who: readonly string[]) => (): AsyncIterable<Page> => recordPages(library.recordsBy(who));
  const beside = { overwrite: true, allowEmpty: true, minRows: undefined, maxShrink: undefined };
  const file = (what: Beside): FileToWrite => ({
    path: besideName(output, what),
    pages: pages(people[what]),
    guard: beside,
  });
  // Each of the files has the columns of the list.
  const columns = AS_THEY_CAME.includes(view.format)
    ? undefined
    : await collectColumns(pages([...now, ...removed])(), "person");
  const kept = { output, filters: list.filters, canonical: canonicalJson(list.canonical), view: savedView(view) };
  library.lists.begin({ ...kept, at: list.at }, before);
  const facts = await writeTogether(
    [{ path: output, pages: pages(people.list), guard: { ...order.terms, overwrite: true } }, ...BESIDE.map(file)],
    { ...view, kind: "person", fields: view.fields ?? columns, template: await templateOf(view) },
    context,
  );
  const at = context.now();
  const refreshed: Refreshed = {
    at,
    datasetVersion: counts.datasetVersion ?? account.datasetVersion ?? null,
    count: found.certificate.total,
    added,
    removed,
    changed,
    calls: counts.calls,
    credits: found.spent,
    run: found.runs[0] ?? null,
  };
  library.lists.record(kept, before, refreshed);
  if (found.changed.size > 0 && order.terms.buyChanged !== true) work.deps.onNotice(asBought(output, found, work));
  return {
    list: output,
    filters: list.filters,
    checked_at: new Date(at).toISOString(),
    dataset_version: refreshed.datasetVersion,
    count: found.certificate.total,
    added: added.length,
    removed: removed.length,
    changed: changed.size,
    suppressed: now.length - people.list.length,
    forgotten: plan.leftOut ? plan.forgotten : 0,
    changes: people.changed.map((person) => ({ person, fields: changed.get(person) ?? [] })),
    not_checked: found.notChecked,
    verified: order.verify.map(({ name }) => name),
    runs: found.runs,
    bought: found.rows,
    bought_suppressed: found.hidden,
    credits: creditsToNumber(found.spent),
    rebuy_credits: creditsToNumber(plan.again),
    free_calls: counts.calls,
    certificate: { count: found.certificate.total, owned: found.certificate.present, equal: true },
    files: filesOf(facts, people),
  };
}

function asBought(output: string, { changed }: Brought, { account }: Work): string {
  const most = formatCredits(priceOf(changed.size, account.costs.personSearch));
  const whose = `the ${counted(changed.size, "record")} of whom a value no longer holds`;
  return `notice: ${besideName(output, "changed")} has ${whose} as bought; --buy-changed --max-credits ${most} buys what is there now`;
}

type People = Readonly<Record<"list" | Beside, readonly string[]>>;

/** Who is suppressed is in the list's history, so that nobody is paid for twice, and in no file. */
const shownOf = (library: Library, people: People): People =>
  Object.fromEntries(Object.entries(people).map(([what, who]) => [what, library.shown(who)])) as unknown as People;

const filesOf = (facts: readonly (OutputFacts | undefined)[], people: People): RefreshReceipt["files"] =>
  Object.fromEntries(
    (["list", ...BESIDE] as const).map((what, index) => {
      const { path: file = "", sha256 } = facts[index] ?? {};
      return [what, { file, rows: people[what].length, sha256: sha256 ?? "" }];
    }),
  ) as RefreshReceipt["files"];

const without = (people: readonly string[], others: readonly string[]): string[] => {
  const left = new Set(others);
  return people.filter((person) => !left.has(person));
};

/** Formats that have the fields that a record has, or their own. */
const AS_THEY_CAME: readonly string[] = ["ndjson", "json", "template"];

/** As asked, else as the list was written, where it has the same format. */
function viewOf({ view: saved }: Followed, { order }: Work): RefreshOrder["view"] {
  const { view, terms } = order;
  if (saved === undefined || saved.format !== formName(view)) return view;
  return {
    ...view,
    fields: view.fields ?? saved.fields ?? undefined,
    excel: terms.excel ?? saved.excel,
    raw: terms.raw ?? saved.raw,
  };
}
