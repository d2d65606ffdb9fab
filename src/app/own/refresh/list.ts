import { existsSync } from "node:fs";
import { lstat, realpath } from "node:fs/promises";
import { resolve } from "node:path";
import type { Library } from "../../../engine/library/library.ts";
import type { OwnedPerson } from "../../../engine/library/members.ts";
import { identitiesOf, type Shelf } from "../../../engine/library/take-in.ts";
import type { Plan, SavedView } from "../../../engine/runs/plan.ts";
import type { RunStore } from "../../../engine/runs/run-store.ts";
import type { Context } from "../../../shared/context.ts";
import {
  type CanonicalFilters,
  canonicalJson,
  checkFilters,
  type Filters,
  isUnfiltered,
} from "../../../shared/contract/filters.ts";
import { canonicalAddress } from "../../../shared/contract/normalise.ts";
import { counted, echo, grouped } from "../../../shared/contract/text.ts";
import { type CliError, usageError } from "../../../shared/errors.ts";
import { readInput } from "../../../shared/input.ts";
import { MAX_BYTES, recordsOf } from "../people-file.ts";

export interface ListSegmentOf {
  readonly filters: Filters;
  readonly canonical: CanonicalFilters;
}

export interface Followed extends ListSegmentOf {
  readonly before: readonly OwnedPerson[];
  /** Epoch milliseconds: records that came later are news. */
  readonly at: number;
  readonly view: SavedView | undefined;
}

interface Named {
  readonly library: Library;
  readonly store: RunStore;
  readonly shelf: Shelf;
  readonly given: ListSegmentOf | undefined;
}

/** @throws CliError exit 2 where nothing says what a list is of */
export async function followed(
  word: string | undefined,
  output: string | undefined,
  named: Named,
  context: Context,
): Promise<Followed> {
  const { library, store, given } = named;
  if (word === undefined) {
    if (given === undefined) throw nothingNamed();
    const known = output === undefined ? undefined : library.lists.at(output);
    if (known !== undefined && known.canonical === canonicalJson(given.canonical)) return listed(known.output, named);
    return { ...given, before: library.members(given.canonical), at: context.now(), view: undefined };
  }
  const path = await listPath(word, context);
  const run = await newestRun(path, named);
  const list = library.lists.at(path);
  if (list !== undefined && (run === undefined || run.at <= list.at)) return listed(path, named);
  if (run !== undefined) {
    const list = ofRun(run.plan, run.at, named);
    return holdsMore(run.plan) && existsSync(path)
      ? { ...list, before: await peopleIn(word, path, named, context) }
      : list;
  }
  if (existsSync(path)) return ofFile(word, path, named, context);
  if (/\.\w+$/.test(word)) {
    throw usageError(
      `there is no file ${echo(word)}, and nothing that was bought here was written to it`,
      "headcount runs lists what was bought",
      "no_such_list",
    );
  }
  const plan = await store.readPlan(await store.resolve(word));
  return ofRun(plan, (await store.open(plan.id)).state.lastAt, named);
}

/** As runs keep it: where it is a symbolic link, the file behind it. */
export async function listPath(word: string, { cwd }: Context): Promise<string> {
  const path = resolve(cwd, word);
  const link = await lstat(path).catch(() => undefined);
  return link?.isSymbolicLink() === true ? realpath(path).catch(() => path) : path;
}

const nothingNamed = (): CliError =>
  usageError(
    "nothing is named to bring up to date",
    "name a file that headcount wrote, a run, or filters: headcount refresh people.csv",
    "nothing_named",
  );

function listed(path: string, named: Named): Followed {
  const list = named.library.lists.at(path);
  if (list === undefined) throw new RangeError(`no list at ${path}`);
  const segment = sameSegment(list.filters, path, named);
  return {
    ...segment,
    before: named.library.membersBy(named.library.lists.members(list.n)),
    at: list.at,
    view: list.view,
  };
}

/** A file of `--with-owned` also holds people whom its run did not bring. */
const holdsMore = ({ target }: Plan): boolean => target.kind === "search" && target.owned === "with";

async function newestRun(path: string, { store, shelf }: Named): Promise<{ plan: Plan; at: number } | undefined> {
  for (const id of await store.ids()) {
    const plan = await store.readPlan(id).catch(() => undefined);
    if (plan?.output !== path || plan.base_url !== shelf.serviceId || (plan.key_mode ?? "live") !== shelf.mode)
      continue;
    const run = await store.open(id).catch(() => undefined);
    if (run?.state.done !== undefined) return { plan, at: run.state.lastAt };
  }
  return undefined;
}

function ofRun(plan: Plan, at: number, named: Named): Followed {
  const { library, shelf } = named;
  if (plan.target.kind === "search" && (plan.target.union ?? plan.target.except ?? plan.target.sample) !== undefined) {
    throw usageError(
      `run ${plan.id} bought several segments or a sample, and a list is brought up to date as one whole segment`,
      "name the segment by filters and its list with -o",
      "no_segment",
    );
  }
  if (plan.target.kind !== "search") {
    throw usageError(
      `run ${plan.id} bought by companies, and only a segment can be brought up to date`,
      "name the segment by filters, for example --company-network-url",
      "no_segment",
    );
  }
  if (plan.base_url !== shelf.serviceId || (plan.key_mode ?? "live") !== shelf.mode) {
    throw usageError(
      `run ${plan.id} bought from ${plan.base_url}, not from ${shelf.serviceId}`,
      `add -c ${plan.connection}`,
    );
  }
  return {
    ...sameSegment(plan.target.filters, `run ${plan.id}`, named),
    before: library.membersBy({ run: plan.id }),
    at,
    view: plan.view,
  };
}

/** Filters beside it may say the same, and no other. */
function sameSegment(filters: Filters, what: string, { given }: Named): ListSegmentOf {
  const checked = checkFilters(filters);
  if (!checked.ok)
    throw usageError(`${what} has filters that this version does not know: ${checked.issues[0]?.message}`);
  const own = { filters: checked.filters, canonical: checked.canonical };
  if (given === undefined || canonicalJson(given.canonical) === canonicalJson(own.canonical)) return own;
  throw usageError(
    `${what} is a list of ${canonicalJson(own.canonical)}, and the filters beside it say ${canonicalJson(given.canonical)}`,
    "leave the filters out, or name only the filters and another file with -o",
    "other_segment",
  );
}

/** Nobody wrote it here: the filters beside it say what it is of. */
async function ofFile(word: string, path: string, named: Named, context: Context): Promise<Followed> {
  const { given } = named;
  if (given === undefined || isUnfiltered(given.canonical)) {
    throw usageError(
      `no run wrote ${word}, so nobody knows which segment it is a list of`,
      `give its filters beside it: headcount refresh ${word} --department Sales`,
      "no_segment",
    );
  }
  return { ...given, before: await peopleIn(word, path, named, context), at: context.now(), view: undefined };
}

/** @throws CliError exit 2 where somebody in it is not owned */
async function peopleIn(word: string, path: string, { library }: Named, context: Context): Promise<OwnedPerson[]> {
  const records = await recordsOf(await readInput(context, path, "people", MAX_BYTES), word);
  const identities = identitiesOf(records);
  const found = new Map(library.membersBy(identities).map((person) => [person.identity, person]));
  const addresses = records.flatMap(({ network_url: url }, index) => {
    const address = found.has(identities[index] ?? "") || typeof url !== "string" ? undefined : canonicalAddress(url);
    return address === undefined ? [] : [address];
  });
  const byAddress = new Map(library.membersBy({ addresses }).map((person) => [person.address, person]));
  for (const person of byAddress.values()) found.set(person.identity, person);
  const missing = identities.filter((identity, index) => {
    const url = records[index]?.network_url;
    return !found.has(identity) && !(typeof url === "string" && byAddress.has(canonicalAddress(url)));
  });
  if (missing.length > 0) {
    throw usageError(
      `${grouped(missing.length)} of the ${counted(records.length, "person", "people")} in ${word} are not owned here, and would be bought again`,
      `headcount owned import ${word} takes them in`,
      "not_owned",
    );
  }
  return [...found.values()];
}
