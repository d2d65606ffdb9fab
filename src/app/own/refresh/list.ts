import { existsSync } from "node:fs";
import { lstat, realpath } from "node:fs/promises";
import { resolve } from "node:path";
import type { Library } from "../../../engine/library/library.ts";
import { identitiesIn, ownedBy } from "../../../engine/library/members.ts";
import { identitiesOf } from "../../../engine/library/take-in.ts";
import { sha256Of } from "../../../engine/output/paths.ts";
import type { Verified } from "../../../engine/planning/verify.ts";
import type { FreeCounts } from "../../../engine/purchase/free-counts.ts";
import type { Receipt } from "../../../engine/purchase/receipt.ts";
import type { Plan, SavedView } from "../../../engine/runs/plan.ts";
import type { Context } from "../../../shared/context.ts";
import {
  type CheckedFilters,
  canonicalJson,
  isUnfiltered,
} from "../../../shared/contract/filters.ts";
import type { Credits } from "../../../shared/contract/money.ts";
import { canonicalAddress } from "../../../shared/contract/naming/address.ts";
import { counted, echo, grouped } from "../../../shared/contract/text.ts";
import {
  type CliError,
  command,
  option,
  type Sentence,
  say,
  usageError,
} from "../../../shared/errors.ts";
import { checkedFilters } from "../../../shared/filters.ts";
import { readTableFile } from "../../../shared/input.ts";
import type { Sight } from "../look.ts";
import { allRecordsIn, MAX_BYTES } from "../people-file.ts";
import type { RefreshPlan, Work } from "./work.ts";

export interface Followed extends CheckedFilters {
  /** Identities. */
  readonly before: readonly string[];
  /** Epoch milliseconds: records that came later are news. */
  readonly at: number;
  readonly view: SavedView | undefined;
  /** A cap or a limit ended it, and nobody asked for more: nobody else is news of it. */
  readonly isPart: boolean;
}

/**
 * Filters, beside it or alone, ask for everybody of the segment, as `again` does.
 * @throws CliError exit 2 where nothing says what a list is of
 */
export async function followed(work: Work): Promise<Followed> {
  const { segment, terms } = work.order;
  const list = await listOf(work);
  return { ...list, isPart: list.isPart && segment === undefined && terms.again !== true };
}

async function listOf(work: Work): Promise<Followed> {
  const { order, latest, store, context } = work;
  const { word, output, segment } = order;
  const { library } = latest;

  if (word === undefined) {
    if (segment === undefined) {
      throw usageError(
        "nothing is named to bring up to date",
        "name a file that a purchase wrote, a run, or filters: headcount refresh people.csv",
        "nothing_named",
      );
    }

    if (output !== undefined) await requireSame(output, segment, work);
    const list =
      output === undefined
        ? undefined
        : (listAt(output, work, canonicalJson(segment.canonical)) ??
          (await knownByContent(output, work, canonicalJson(segment.canonical))));
    if (list !== undefined) return list;

    const before = identitiesIn(library.database, { matching: segment.canonical });
    return { ...segment, before, at: context.now(), view: undefined, isPart: false };
  }

  const path = await listPath(word, context);
  const run = await newestRun(path, work);
  const list =
    run !== undefined && run.at > (library.lists.at(path)?.at ?? 0)
      ? undefined
      : listAt(path, work);
  if (list !== undefined) return list;

  if (run !== undefined) return wroteBy(run, path, work);

  if (existsSync(path)) return (await knownByContent(path, work)) ?? ofFile(word, path, work);
  if (/\.\w+$/.test(word)) {
    throw usageError(
      `there is no file ${echo(word)}, and nothing that was bought here was written to it`,
      say`${command("runs")} lists what was bought`,
      "no_such_list",
    );
  }

  const plan = await store.readPlan(await store.resolve(word));
  return await ofRun(plan, (await store.open(plan.id)).state.lastAt, work);
}

/**
 * A list stays the one that it is, whoever keeps it and may write over its file.
 * @throws CliError exit 2 where the file is a list of another segment, and nobody said that it goes
 */
async function requireSame(path: string, segment: CheckedFilters, work: Work): Promise<void> {
  if (work.order.terms.replaces === true || !existsSync(path)) return;
  const { target } = (await newestRun(path, work))?.plan ?? {};
  const ofRun = target?.kind === "search" ? target.filters : undefined;
  const there = work.latest.library.lists.at(path)?.filters ?? ofRun;
  if (there === undefined) return;

  const own = checkedFilters(there, `${path}: `);
  if (canonicalJson(own.canonical) !== canonicalJson(segment.canonical))
    throw otherSegment(
      path,
      own,
      segment,
      say`another file with ${option("output")} keeps both; ${option("overwrite")} ends that list`,
    );
}

const otherSegment = (what: string, own: CheckedFilters, said: CheckedFilters, hint: Sentence) =>
  usageError(
    `${what} is a list of ${canonicalJson(own.canonical)}, and the filters ` +
      `beside it say ${canonicalJson(said.canonical)}; nothing was spent`,
    hint,
    "other_segment",
  );

/** Where it is a symbolic link, the file behind it. */
export async function listPath(word: string, { cwd }: Context): Promise<string> {
  const path = resolve(cwd, word);
  const link = await lstat(path).catch(() => undefined);
  return link?.isSymbolicLink() === true ? realpath(path).catch(() => path) : path;
}

/**
 * The list that is kept at a path.
 * @param canonical of the segment that it has to be of, where one is meant
 */
function listAt(path: string, work: Work, canonical?: string): Followed | undefined {
  const { library } = work.latest;
  const list = library.lists.at(path);
  if (list === undefined || (canonical !== undefined && list.canonical !== canonical))
    return undefined;
  const before = identitiesIn(library.database, { list: list.n });
  const { at, view, isPart } = list;
  return { ...sameSegment(list.filters, path, work), before, at, view, isPart };
}

/**
 * Of a file that another machine wrote, or that was moved: as the list was when it had just that,
 * or the run that wrote it.
 */
async function knownByContent(
  path: string,
  work: Work,
  canonical?: string,
): Promise<Followed | undefined> {
  const sha256 = await sha256Of(path);
  if (sha256 === undefined) return undefined;

  const then = work.latest.library.lists.written(sha256);
  if (then !== undefined && (canonical ?? then.canonical) === then.canonical) {
    const { at, view, isPart, members } = then;
    const owned = identitiesIn(work.latest.library.database, members).length;
    if (owned < members.length) throw notOwned(members.length - owned, members.length, path);
    return { ...sameSegment(then.filters, path, work), before: members, at, view, isPart };
  }
  const run = canonical === undefined ? await newestRun(path, work, sha256) : undefined;
  return run && wroteBy(run, path, work);
}

/** What a run wrote to a path. */
async function wroteBy(
  { plan, at }: { readonly plan: Plan; readonly at: number },
  path: string,
  work: Work,
): Promise<Followed> {
  const { target } = plan;
  const { before, ...own } = await ofRun(plan, at, work);
  // A file of `--with-owned` also holds people whom its run did not bring.
  const holdsMore = target.kind === "search" && target.owned === "with" && existsSync(path);
  return { ...own, before: holdsMore ? await peopleIn(path, work) : before };
}

/** @param sha256 of what a run of another machine wrote, whose path nobody knows */
async function newestRun(
  path: string,
  { store, shelf }: Work,
  sha256?: string,
): Promise<{ plan: Plan; at: number } | undefined> {
  for (const id of await store.ids()) {
    const plan = await store.readPlan(id).catch(() => undefined);
    if (
      plan === undefined ||
      (sha256 === undefined ? plan.output !== path : plan.wrote !== sha256) ||
      plan.base_url !== shelf.serviceId ||
      (plan.key_mode ?? "live") !== shelf.mode
    )
      continue;
    const run = await store.open(id).catch(() => undefined);
    if (run?.state.done !== undefined) return { plan, at: run.state.lastAt };
  }

  return undefined;
}

async function ofRun(plan: Plan, at: number, work: Work): Promise<Followed> {
  const { latest, shelf, store } = work;
  const { target } = plan;
  const isSearch = target.kind === "search";
  if (!isSearch || (target.union ?? target.except ?? target.sample ?? target.named) !== undefined) {
    const why = isSearch
      ? "several segments, a sample or ids, and a list is brought up to date as one whole segment"
      : "by companies, and only a segment can be brought up to date";
    const example = isSearch
      ? say` and its list with ${option("output")}`
      : ", for example --company-network-url";
    throw usageError(
      `run ${plan.id} bought ${why}`,
      say`name the segment by filters${example}`,
      "no_segment",
    );
  }

  if (plan.base_url !== shelf.serviceId || (plan.key_mode ?? "live") !== shelf.mode) {
    throw usageError(
      `run ${plan.id} bought from ${plan.base_url}, not from ${shelf.serviceId}`,
      say`add ${option("connection", plan.connection)}`,
    );
  }

  const { bound } = ((await store.receipt(plan.id)) ?? {}) as Partial<Receipt>;

  return {
    ...sameSegment(target.filters, `run ${plan.id}`, work),
    before: identitiesIn(latest.library.database, { run: plan.id }),
    at,
    view: plan.view,
    isPart: bound === "cap" || bound === "limit",
  };
}

/** Filters beside it may say the same, and no other. */
function sameSegment(filters: unknown, what: string, { order: { segment } }: Work): CheckedFilters {
  const own = checkedFilters(filters, `${what}: `);
  if (segment === undefined || canonicalJson(segment.canonical) === canonicalJson(own.canonical))
    return own;
  throw otherSegment(
    what,
    own,
    segment,
    say`leave the filters out, or name only the filters and another file with
    ${option("output")}`,
  );
}

/** Nobody wrote it here: the filters beside it say what it is of. */
async function ofFile(word: string, path: string, work: Work): Promise<Followed> {
  const { segment } = work.order;
  if (segment === undefined || isUnfiltered(segment.canonical)) {
    throw usageError(
      `no finished run wrote ${word}, so nobody knows which segment it is a list of`,
      `give its filters beside it: headcount refresh ${word} --department Sales`,
      "no_segment",
    );
  }

  return {
    ...segment,
    before: await peopleIn(path, work),
    at: work.context.now(),
    view: undefined,
    isPart: false,
  };
}

/** @throws CliError exit 2 where somebody in it is not owned */
async function peopleIn(
  path: string,
  { order: { column, word = path }, latest, context }: Work,
): Promise<string[]> {
  const { database } = latest.library;
  const table = await readTableFile(context, path, "people", MAX_BYTES);
  const records = allRecordsIn(table, word, column);
  const identities = identitiesOf(records);
  const byIdentity = new Set(identitiesIn(database, identities));
  const addresses = records.map(({ network_url: url }) =>
    typeof url === "string" ? canonicalAddress(url) : undefined,
  );
  const rest = addresses.flatMap((address, index) =>
    byIdentity.has(identities[index] ?? "") ? [] : (address ?? []),
  );

  const byAddress = new Map(
    ownedBy(database, { addresses: rest }).map(({ address = "", identity }) => [
      canonicalAddress(address),
      identity,
    ]),
  );

  const missing = identities.filter(
    (each, index) => !byIdentity.has(each) && !byAddress.has(addresses[index]),
  );
  if (missing.length > 0) throw notOwned(missing.length, records.length, word);

  return [...new Set([...byIdentity, ...byAddress.values()])];
}

const notOwned = (missing: number, all: number, word: string): CliError =>
  usageError(
    `${grouped(missing)} of the ${counted(all, "person", "people")} ` +
      `in ${word} are not owned here, and would be bought again`,
    `headcount owned import ${word} takes them in`,
    "not_owned",
  );

export function candidates({ before, canonical }: Followed, library: Library): Merged {
  const others = [{ matching: canonical }, { segment: canonicalJson(canonical) }];
  return merged(
    [...before, ...others.flatMap((who) => identitiesIn(library.database, who))],
    library,
  );
}

export interface Merged {
  /** Identities. */
  readonly people: readonly string[];
  /** Who went by the address, and has an id now. */
  readonly renamed: ReadonlyMap<string, string>;
}

/** Who was taken in without an id, and bought with one later, is one person. */
export function merged(all: readonly string[], { database }: Library): Merged {
  const people = [...new Set(all)];
  const isBare = (identity: string): boolean => identity.startsWith("@");
  if (!people.some(isBare)) return { people, renamed: new Map() };

  const owned = ownedBy(database, people).map(({ address, identity }) => ({
    identity,
    own: address === undefined ? undefined : canonicalAddress(address),
  }));
  const withId = new Map(
    owned.flatMap(({ identity, own }) => (isBare(identity) ? [] : [[own, identity] as const])),
  );
  withId.delete(undefined);

  const renamed = new Map<string, string>();
  for (const { identity, own } of owned) {
    const id = isBare(identity) ? withId.get(own) : undefined;
    if (id !== undefined) renamed.set(identity, id);
  }

  return { people: people.filter((identity) => !renamed.has(identity)), renamed };
}

/** What was found and bought, before it is written. */
export interface Brought extends Verified {
  readonly list: Followed;
  readonly plan: RefreshPlan;
  readonly counts: FreeCounts;
  /** Identities. */
  readonly now: readonly string[];
  readonly renamed: ReadonlyMap<string, string>;
  readonly runs: readonly string[];
  readonly spent: Credits;
  readonly rows: number;
  /** Of those bought, who were owned before. */
  readonly again: number;
  /** On the suppression list: paid for, and in nothing that is written. */
  readonly hidden: number;
  readonly certificate: Sight;
}
