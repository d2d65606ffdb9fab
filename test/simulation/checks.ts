import { existsSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { Plan } from "../../src/engine/runs/plan.ts";
import { planOf, stateOf } from "../../src/engine/runs/reader.ts";
import { readSpend } from "../../src/engine/runs/spend.ts";
import { IDEMPOTENCY_TTL_MS } from "../../src/service/ledger/records.ts";
import { creditsToNumber, ZERO } from "../../src/shared/contract/money.ts";
import { readCsv } from "../support/export.ts";
import { BUDGET } from "./commands.ts";
import { isDue, type JobTold, type TypedJob } from "./jobs.ts";
import type { Sold } from "./network.ts";
import { type Asked, type Before, besides, type Person, type Stage, type Typed } from "./person.ts";
import type { Ended, Play } from "./play.ts";

type Say = (what: string) => string;

const idsOf = (csv: string): string[] => readCsv(csv).map(({ id }) => id ?? "");
const without = (ids: ReadonlySet<string>, others: ReadonlySet<string>): Set<string> =>
  new Set([...ids].filter((id) => !others.has(id)));
const isEqual = (one: ReadonlySet<string>, other: ReadonlySet<string>): boolean =>
  one.size === other.size && without(one, other).size === 0;

const isWithOwned = ({ target }: Partial<Plan> = {}): boolean =>
  target?.kind === "search" && target.owned === "with";

function must(isSo: boolean, what: string): asserts isSo {
  if (!isSo) throw new Error(what);
}

/**
 * What must hold after every step, by the service's books, the users' journals, and what the
 * network saw.
 */
export class Checks {
  readonly #play: Play;

  constructor(play: Play) {
    this.#play = play;
  }

  /** At the end of a command. */
  ended(ended: Ended): void {
    const { before, code, disk, stderr, typed, user } = ended;
    user.said = `${stderr}${ended.stdout}`;
    const say: Say = (what) =>
      `${user.name}: headcount ${typed.argv.join(" ")}: ${what}\nexit ${code}: ${stderr}`;
    // Nor 9: nobody else is at work in his folder, and who was killed there is gone.
    must([0, 2, 3, 4, 5, 6, 7, 8, 130].includes(code), say("an exit code that nobody promised"));
    const { kind, who } = typed;
    // One that failed behind it has put somebody on the list all the same.
    const isListed = user.listGrows() || code === 0;
    if (isListed && who !== undefined) user.avoided.add(who);
    if (code === 0 && who !== undefined && kind === "forget") user.forgotten.add(who);
    if (kind === "jobs") this.#ran(ended, say);
    else this.#filesOf(user, typed, before, { code, disk }, say);
    this.#withinCaps(user, typed, before, say);
    this.#withinBudget(ended, say);
    if (kind === "agent") this.#agent(ended, say);
    if (kind === "console") this.#console(ended, say);
    const bought = this.#boughtBy(user, typed, before, stderr);
    if (bought === undefined) return;
    const { asked, run } = bought;
    if (kind !== "resume") this.#boughtNothing(user, asked, before, say);
    this.#boughtTheRest(user, asked, typed, before, run, say);
    if (code === 0) this.#finished(user, { ...bought, before }, say, stderr);
    else if (kind !== "resume") user.open = asked;
  }

  /**
   * A command changes no file but its own, and none where it fails; `forget` takes one person out.
   */
  #filesOf(
    user: Person,
    { argv, file = "", kind, who = "" }: Typed,
    { files }: Before,
    { code, disk }: Pick<Ended, "code" | "disk">,
    say: Say,
  ): void {
    const now = user.written();
    const changed = [...new Set([...files.keys(), ...now.keys()])].filter(
      (name) => files.get(name) !== now.get(name),
    );
    if (kind === "forget") {
      for (const name of changed) {
        const [left, is] = [files, now].map((of) =>
          idsOf(of.get(name) ?? "").filter((id) => !user.avoided.has(id)),
        );
        must(`${left}` === `${is}`, say(`${name} lost another one than ${who}`));
      }
      for (const [name, csv] of now) {
        must(code !== 0 || !idsOf(csv).includes(who), say(`${who} is in ${name} still`));
      }
      return;
    }
    // A disk may fail when the file has its name already, and is not told yet that it has: then it
    // is whole.
    if (code !== 0 && disk !== null) for (const name of changed) this.#isWhole(user, name, say);
    else must(code === 0 || changed.length === 0, say(`${changed} are others although it failed`));
    const own =
      kind === "refresh"
        ? [file, ...besides(file)]
        : kind === "resume"
          ? changed.slice(0, 1)
          : [file];
    const others = changed.filter((name) => !own.includes(name));
    must(others.length === 0, say(`${others} are not its files: ${argv}`));
  }

  /** A file is all that some run of it holds, or what is beside a list. */
  #isWhole(user: Person, name: string, say: Say): void {
    const ids = user.idsIn(name);
    const delivered = new Set(user.sold.flatMap((sold) => sold.ids));
    for (const id of ids) must(delivered.has(id), say(`${id} is in ${name}, never delivered`));
    must(new Set(ids).size === ids.length, say(`somebody is in ${name} twice`));
    must(readFileSync(user.path(name), "utf8").endsWith("\n"), say(`${name} is cut`));

    const hidden = [...user.avoided].filter((id) => delivered.has(id)).length;
    const runs = user.runs().map((run) => user.stage(run));
    const own = runs.filter(({ output }) => output === user.path(name));
    // A list that is refreshed is of several runs.
    if (own.length === 0 || user.lists.has(name)) return;
    // Behind whom it bought those who were owned before may stand.
    const isAll = own.some(
      ({ beside, rows }) => ids.length <= rows + beside && ids.length >= rows - hidden,
    );
    must(isAll, say(`${ids.length} are in ${name}`));
  }

  /**
   * Each job that is done has its file, the others left theirs as it was; and those ran whose time
   * had come.
   */
  #ran(ended: Ended, say: Say): void {
    const { before, code, disk, stderr, stdout, typed, user } = ended;
    const { argv, jobs = [] } = typed;
    const told = stdout === "" ? [] : (JSON.parse(stdout) as JobTold[]);
    const done = told.filter(({ status }) => status === "done").map(({ job }) => job);

    const isNamed = ({ name }: TypedJob): boolean => argv.includes(name);
    const named = jobs.filter(isNamed);
    const due = jobs.filter(({ name }) => isDue(before.jobsDone.get(name), before.at));
    const expected = (named.length > 0 ? named : due).map(({ name }) => name);
    const ran = told.map(({ job }) => job);
    const isCut = code === 130 && `${expected}`.startsWith(`${ran}`);
    must(isCut || `${ran}` === `${expected}`, say(`${ran} were run, and due were ${expected}`));

    const now = user.written();
    const changed = [...new Set([...before.files.keys(), ...now.keys()])].filter(
      (name) => before.files.get(name) !== now.get(name),
    );
    const own = jobs.flatMap(({ file = "", kind, name }) =>
      done.includes(name) ? [file, ...(kind === "refresh" ? besides(file) : [])] : [],
    );
    for (const name of changed.filter((one) => !own.includes(one))) {
      must(disk !== null, say(`${name} is another although no job wrote it`));
      this.#isWhole(user, name, say);
    }

    for (const outcome of told) {
      const asked = user.asked.get(jobs.find(({ name }) => name === outcome.job)?.file ?? "");
      if (asked !== undefined && outcome.status === "done")
        this.#job(user, { asked, before, outcome }, say, stderr);
    }
    const isAll = jobs.every(({ name }) => done.includes(name));
    if (code !== 0) user.open = { typed, versions: new Set(), owned: new Set() };
    else if (isAll && user.open?.typed.kind === "jobs") user.open = undefined;
  }

  #job(
    user: Person,
    {
      asked,
      before,
      outcome,
    }: { readonly asked: Asked; readonly before: Before; readonly outcome: JobTold },
    say: Say,
    stderr: string,
  ): void {
    const { file = "", groups, kind } = asked.typed;
    must(existsSync(user.path(file)), say(`${outcome.job} has no file`));
    const ids = user.idsIn(file);
    must(new Set(ids).size === ids.length, say(`somebody is in ${file} twice`));
    // A search tells of all whom it holds, and a list of those who are in it.
    const hidden = [...asked.versions].flatMap((version) => [
      ...this.#play.datasets.members(version, groups),
    ]);
    const avoided = new Set(hidden.filter((id) => user.avoided.has(id))).size;
    const left = (outcome.rows ?? 0) - ids.length;
    const isTold = left >= 0 && left <= (kind === "search" ? avoided : 0);
    must(isTold, say(`${outcome.job} tells of ${outcome.rows} rows`));
    for (const id of ids) must(!user.avoided.has(id), say(`${id} is in ${file}, to be left out`));

    const runs = user.runs().filter((run) => user.stage(run).job === outcome.job);
    if (runs.some((run) => this.#isBlurred(user, run))) return;
    let [paid, unsure] = [0, 0];
    for (const run of runs) {
      paid += user.charged(run) - (before.runs.get(run)?.charged ?? 0);
      unsure += user.stage(run).uncertain;
    }
    must(paid <= outcome.credits + unsure, say(`${outcome.job} tells less than ${paid} credits`));

    const run = user.runOf(file);
    if (kind === "search" && run !== undefined)
      this.#bought(user, { asked, before, run }, ids, say, stderr);
    if (kind !== "refresh") return;
    const shown = (of: Iterable<string>): Set<string> =>
      new Set([...of].filter((id) => !user.avoided.has(id)));
    const isWhole = [...asked.versions].some((version) =>
      isEqual(shown(this.#play.datasets.members(version, groups)), new Set(ids)),
    );
    must(isWhole, say(`${file} is not the segment`));
  }

  /** The file that the service wrote is the first people of the segment, each paid once. */
  #console({ code, page, typed, user }: Ended, say: Say): void {
    const { groups, ordered } = typed;
    if (page === undefined) {
      must(code !== 0, say("no file"));
      user.open = { typed, versions: new Set(), owned: new Set() };
      return;
    }
    if (user.open?.typed.kind === "console") user.open = undefined;
    const members = [...this.#play.datasets.members(page.version, groups)];
    const first = members.slice(0, ordered?.profiles);
    const ids = idsOf(page.csv);
    must(`${ids}` === `${first}`, say(`in the file are ${ids}, not ${first}`));
    must(page.credits === ids.length, say(`${page.credits} were told for ${ids.length}`));
  }

  /**
   * What jobs of a month cost is within their budget, and what agents ever bought within theirs.
   */
  #withinBudget({ before, typed, user }: Ended, say: Say): void {
    const { budget, kind } = typed;
    if (budget == null) return;
    const isOfBudget = ({ budgets, job }: Pick<Stage, "budgets" | "job">): boolean =>
      kind === "jobs" ? job !== undefined : budgets.includes(BUDGET);
    const month = new Date(this.#play.scheduler.time);
    const since =
      kind === "jobs" ? Date.UTC(month.getUTCFullYear(), month.getUTCMonth(), 1) : undefined;
    // Of a budget that began anew meanwhile nobody here says what fell into it.
    if (since !== undefined && before.at < since) return;

    let [spent, paid] = [0, 0];
    for (const run of user.runs()) {
      if (this.#isBlurred(user, run)) return;
      const had = before.runs.get(run);
      const all = user.charged(run, since);
      const now = user.charged(run) - (had?.charged ?? 0);
      if (had !== undefined && isOfBudget(had)) spent += all - now;
      paid += now;
    }
    must(
      paid <= Math.max(0, budget - spent),
      say(`${paid} were charged, and ${spent} of ${budget} were spent before`),
    );
  }

  /** An agent is told what its run holds and cost, and reads the first people of the segment. */
  #agent({ before, code, told, typed, user }: Ended, say: Say): void {
    const { datasets } = this.#play;
    const { groups, wanted } = typed;
    if (told === undefined) {
      must(code !== 0, say("nothing was told"));
      const isWanted = wanted?.agrees === true;
      if (isWanted) user.open = { typed, versions: new Set(), owned: new Set() };
      return;
    }
    if (user.open?.typed.kind === "agent") user.open = undefined;
    const run = user.runs().find((path) => basename(path) === told.run);
    must(run !== undefined, say(`there is no run ${told.run}`));
    const { charged, settled, uncertain } = user.stage(run);
    must(told.credits === settled, say(`${told.credits} were told, the journal has ${settled}`));
    const paid = charged - (before.runs.get(run)?.charged ?? 0);
    const isTold = paid <= told.credits + uncertain || this.#isBlurred(user, run);
    must(isTold, say(`${paid} were charged, and ${told.credits} told`));

    const plan = planOf(run);
    const members = [...datasets.members(plan?.dataset_version ?? "", groups)];
    const firstOf = (people: readonly string[]): string[] =>
      people.slice(0, told.profiles).filter((id) => !user.avoided.has(id));
    // Whom a `forget` that failed took out of some runs may count as a row in none; who was hidden
    // after the run had brought it does.
    const left = members.filter((id) => !user.avoided.has(id) || user.forgotten.has(id));
    const firsts = [firstOf(left), firstOf(members)];
    // Within a bound those who are owned come before others of the segment.
    const isParted = isWithOwned(plan) && told.ids.every((id) => members.includes(id));
    const isFirst = firsts.some((first) => isEqual(new Set(first), new Set(told.ids)));
    must(isParted || isFirst, say(`read were ${told.ids}, not ${firsts.join(" or ")}`));
    must(new Set(told.ids).size === told.ids.length, say("somebody was read twice"));
    const most = Math.min(wanted?.profiles ?? members.length, members.length);
    const gone = members.filter((id) => user.forgotten.has(id)).length;
    const least = Math.min(most - gone, left.length);
    const isAll = told.profiles >= least && told.profiles <= most;
    must(isAll, say(`${told.profiles} were bought of ${most}`));
  }

  /**
   * What a run cost is within what was agreed to for it, and within the cap of the command that
   * paid.
   */
  #withinCaps(user: Person, { cap }: Typed, before: Before, say: Say): void {
    for (const run of user.runs()) {
      if (this.#isBlurred(user, run)) continue;
      const charged = user.charged(run);
      const paid = before.runs.get(run)?.charged ?? 0;
      const agreed = creditsToNumber(stateOf(run).session?.cap ?? ZERO);
      must(
        charged <= Math.max(agreed, paid),
        say(`${charged} were charged for ${run}, and ${agreed} agreed to`),
      );
      must(
        charged === paid || cap === null || charged <= cap,
        say(`${charged} were charged for ${run}`),
      );
    }
  }

  /** Which run a command was about, and the purchase that it is of. */
  #boughtBy(user: Person, { file, kind, run: named }: Typed, { runs }: Before, stderr: string) {
    if (kind === "resume") {
      const [, id = "nothing"] = /continuing run ([\w-]+)/.exec(stderr) ?? [];
      const run = named ?? user.runs().find((path) => path.endsWith(id));
      const output = run === undefined ? undefined : runs.get(run)?.output;
      const asked = user.asked.get(basename(output ?? ""));
      return asked === undefined ? undefined : { asked, run };
    }
    const asked = file === undefined ? undefined : user.asked.get(file);
    return asked === undefined ? undefined : { asked, run: user.runOf(file ?? "") };
  }

  /**
   * Nobody pays for whom he has: where he has all of a segment, it costs nothing, unless it is
   * asked to be bought again.
   */
  #boughtNothing(user: Person, { typed, versions }: Asked, before: Before, say: Say): void {
    const { argv, groups, kind, limit, owned } = typed;
    const [version = "", ...others] = versions;
    const members = this.#play.datasets.members(version, groups);
    const looks =
      kind === "refresh" || (kind === "search" && (limit ?? members.size) >= members.size);
    if (!looks || argv.includes("--again") || argv.includes("--buy-changed")) return;
    if (others.length > 0 || !before.isIdle) return;
    // Unasked nobody gets a record of another dataset instead of one of today.
    const has = kind === "search" && owned === null ? before.current : before.owned;
    for (const id of members) {
      if (!has.has(id) || user.forgotten.has(id)) return;
    }
    const bought = user.sold.slice(before.deliveries).flatMap(({ ids }) => ids);
    must(bought.length === 0, say(`bought ${bought}, and all of the segment was owned`));
  }

  /**
   * What finished runs hold, and the one that goes on, is not paid for again where nothing was in
   * the way.
   */
  #boughtTheRest(
    user: Person,
    { typed: { argv, file = "", groups, kind, owned, limit: wanted } }: Asked,
    { kind: now, limit }: Typed,
    before: Before,
    run: string | undefined,
    say: Say,
  ): void {
    const { datasets, mishaps } = this.#play;
    const isAnew = now !== "resume" && argv.includes("--again");
    if (mishaps !== before.mishaps || isAnew || owned !== null || !/search|employees/.test(kind))
      return;
    const going =
      now === "resume"
        ? [...before.runs].filter(([path]) => path === run)
        : [...before.runs].filter(([, { isOpen, output }]) => isOpen && output === user.path(file));
    const isUneven = ({ isPending, pieces, rows }: Stage): boolean =>
      isPending || rows !== [...pieces.values()].reduce((sum, had) => sum + had, 0);
    if (going.some(([, stage]) => isUneven(stage))) return;
    const all = datasets.members(datasets.version, groups).size;
    const most = Math.min(all, (now === "resume" ? (limit ?? going[0]?.[1].limit) : wanted) ?? all);
    const held = groups.map((group) => {
      const runs = [...before.runs.values()].filter(
        (stage) => stage.isDone || going.some(([, one]) => one === stage),
      );
      return Math.max(
        0,
        ...runs.map(({ pieces }) => pieces.get(`${datasets.version} ${group}`) ?? 0),
      );
    });
    const rest = Math.max(0, most - held.reduce((sum, rows) => sum + rows, 0));
    const total = (of: Iterable<number>): number =>
      [...of].reduce((sum, credits) => sum + credits, 0);
    const paid =
      total(user.runs().map((path) => user.charged(path))) -
      total([...before.runs.values()].map(({ charged }) => charged));
    must(paid <= rest, say(`paid ${paid}: ${held} of ${most} were there`));
  }

  #finished(
    user: Person,
    {
      asked,
      before,
      run,
    }: { readonly asked: Asked; readonly before: Before; readonly run: string | undefined },
    say: Say,
    stderr: string,
  ): void {
    const { typed, versions } = asked;
    const { file = "", groups, kind } = typed;
    must(existsSync(user.path(file)), say("no file"));
    if (user.open?.typed.file === file) user.open = undefined;
    const ids = user.idsIn(file);
    must(new Set(ids).size === ids.length, say("somebody is in the file twice"));
    const delivered = new Set(user.sold.flatMap((sold) => sold.ids));
    for (const id of ids) {
      must(delivered.has(id), say(`${id} is in the file and was never delivered`));
      must(!user.avoided.has(id), say(`${id} is in the file and was to be left out`));
    }
    const shown = (of: Iterable<string>): Set<string> =>
      new Set([...of].filter((id) => !user.avoided.has(id)));
    const segments = [...versions].map((version) =>
      shown(this.#play.datasets.members(version, groups)),
    );
    const isWhole = segments.some((members) => isEqual(members, new Set(ids)));
    if (kind === "refresh") {
      const had = idsOf(before.files.get(file) ?? "");
      // A list that a cap or a limit ended is the people of it who are still there.
      const isLess =
        stderr.includes("a cap or a limit ended this list") &&
        segments.some((members) =>
          isEqual(new Set(ids), shown(had.filter((id) => members.has(id)))),
        );
      must(isWhole || isLess, say("the list is not the segment"));
      this.#beside(user, asked, before, shown, say);
    } else {
      if (run === undefined) throw new Error(say("no run"));
      this.#told(user, run, ids, before, say, stderr);
      if (typed.owned !== null)
        this.#owning(user, asked, ids, { before, run }, { segments, isWhole }, say);
      else this.#bought(user, { asked, before, run }, ids, say, stderr);
    }
    if (kind === "search" || kind === "refresh") user.lists.set(file, typed);
  }

  /** The last line says what it cost, and how many are in the file. */
  #told(
    user: Person,
    run: string,
    ids: readonly string[],
    before: Before,
    say: Say,
    stderr: string,
  ): void {
    const said =
      /Exported ([\d,]+)(?: of [^;\n]*?)? (new )?profiles?.* for ([\d,]+) credits?(?: \(([\d,]+) of them now\))?/;
    const [line, rows = "", isNew, total = "", now = total] = said.exec(stderr) ?? [];
    const number = (text: string): number => Number(text.replaceAll(",", ""));
    must(line !== undefined, say("no last line"));
    must(isNew !== undefined || number(rows) === ids.length, say(`${ids.length} are in the file`));
    const { charged, settled, uncertain } = user.stage(run);
    must(number(total) === settled, say(`the journal says ${settled}`));
    must(settled <= charged, say(`${charged} were charged`));
    if (this.#isBlurred(user, run)) return;
    must(
      charged <= settled + uncertain,
      say(`${charged} were charged, and ${uncertain} may have been`),
    );
    const paid = charged - (before.runs.get(run)?.charged ?? 0);
    must(paid <= number(now) + uncertain, say(`${paid} were charged now`));
  }

  /**
   * A search without a bound has the segment; one with a bound has as many of its first people as
   * that allows.
   */
  #bought(
    user: Person,
    {
      asked,
      before,
      run,
    }: { readonly asked: Asked; readonly before: Before; readonly run: string },
    ids: readonly string[],
    say: Say,
    stderr: string,
  ): void {
    const { groups, kind, limit: rows } = asked.typed;
    const plan = planOf(run);
    const { guard, dataset_version: version } = plan ?? {};
    const { limit, maxCredits } = stateOf(run).session ?? {};
    const members = [...this.#play.datasets.members(version ?? "", groups)];
    const wanted = Math.min(
      members.length,
      limit ?? members.length,
      kind === "sample" ? (rows ?? 0) : members.length,
    );
    const most = Math.max(wanted, before.runs.get(run)?.rows ?? 0);
    // What a lost reply may have cost counts against the cap, and is said.
    const isUnsure = maxCredits != null && /may have been charged/.test(stderr);
    const least = isUnsure
      ? 0
      : maxCredits == null
        ? wanted
        : Math.min(wanted, creditsToNumber(maxCredits));
    const all = new Set(members);
    for (const id of ids) must(all.has(id), say(`${id} is not of the segment`));
    const isAvoided = (id: string): boolean => user.avoided.has(id);
    const isOrdered = kind === "search" || (kind === "employees" && groups.length === 1);
    const fits = (count: number): boolean => {
      if (!isOrdered)
        return ids.length <= count && ids.length >= count - members.filter(isAvoided).length;
      return isEqual(new Set(members.slice(0, count).filter((id) => !isAvoided(id))), new Set(ids));
    };
    // Those who are new were bought, and those who are owned are beside them: under a bound both
    // may be fewer.
    if (isWithOwned(plan) && (limit != null || maxCredits != null)) return;
    const counts = Array.from({ length: Math.max(0, most - least + 1) }, (_, at) => least + at);
    must(counts.some(fits), say(`${ids.length} rows are not the first ${least} to ${most}`));
    must(!guard?.requireComplete || fits(members.length), say("it is not complete"));
  }

  /** Who is new, and with `--with-owned` whoever is owned already. */
  #owning(
    user: Person,
    { owned, typed }: Asked,
    ids: readonly string[],
    { before, run }: { readonly before: Before; readonly run: string },
    {
      isWhole,
      segments,
    }: { readonly isWhole: boolean; readonly segments: readonly ReadonlySet<string>[] },
    say: Say,
  ): void {
    const isNew = (id: string): boolean => !owned.has(id) || user.forgotten.has(id);
    const { maxCredits, limit } = stateOf(run).session ?? {};
    const cap = maxCredits == null ? null : creditsToNumber(maxCredits);
    if (typed.owned === "new-only")
      for (const id of ids) must(isNew(id), say(`${id} was owned before`));
    const bound = Math.min(cap ?? Number.POSITIVE_INFINITY, limit ?? Number.POSITIVE_INFINITY);
    const most = Math.max(bound, before.runs.get(run)?.rows ?? 0);
    // Where the dataset moved the same command begins a run anew, and owns by then whom other runs
    // brought since it was first given.
    const others = user.owned((other) => other !== run);
    const fresh = ids.filter((id) => isNew(id) && !others.has(id)).length;
    must(fresh <= most, say(`${fresh} new ones, within ${most}`));
    if (cap !== null || limit != null) return;
    const known = new Set([...others, ...ids]);
    const isAll = segments.some((members) => [...members].every((id) => known.has(id)));
    must(typed.owned === "with-owned" ? isWhole : isAll, say("somebody of the segment is missing"));
  }

  /** `.added` and `.removed` say what changed, by the list as it was. */
  #beside(
    user: Person,
    { typed: { file = "" } }: Asked,
    { files }: Before,
    shown: (ids: Iterable<string>) => ReadonlySet<string>,
    say: Say,
  ): void {
    const [added, removed, changed] = besides(file).map((name) => {
      must(existsSync(user.path(name)), say(`no ${name}`));
      return new Set(user.idsIn(name));
    }) as [Set<string>, Set<string>, Set<string>];
    const now = new Set(user.idsIn(file));
    for (const id of [...added, ...changed])
      must(now.has(id), say(`${id} was added or changed, and is not in the list`));
    for (const id of changed) must(!added.has(id), say(`${id} was added and changed`));
    const list = user.lists.get(file);
    // A list of the new ones alone does not show whom its run bought again.
    if (list === undefined || list.owned !== null) return;
    const before = shown(idsOf(files.get(file) ?? ""));
    must(
      isEqual(added, without(now, before)),
      say(`added are ${[...added]}, of the files ${[...without(now, before)]}`),
    );
    const gone = without(before, now);
    must(isEqual(removed, gone), say(`removed are ${[...removed]}, of the files ${[...gone]}`));
  }

  /** After each decision of the scheduler. */
  async quick(): Promise<void> {
    const { balance, held } = await this.#play.store.money("default", "live");
    must(held >= 0n && held <= balance, `held ${held} of ${balance}`);
    for (const { key, name } of this.#play.people) {
      const { budget } = (await this.#play.store.key(key.id)) ?? {};
      if (budget) must(budget.spent + budget.held <= budget.cap, `${name}'s key is above its cap`);
    }
  }

  async all(): Promise<void> {
    const { granted, people, store } = this.#play;
    const breaches = await store.verify();
    must(breaches.length === 0, `the ledger is not sound: ${breaches.join("; ")}`);
    const entries = await store.entries({
      accountId: "default",
      mode: "live",
      kind: "charge",
      limit: 1_000,
    });
    const charged = Number(entries.reduce((sum, { amount }) => sum - amount, 0n)) / 1e6;
    const { balance, held } = await store.money("default", "live");
    must(held === 0n, `${held} are held and nobody is at work`);
    must(
      Number(balance) / 1e6 === granted - charged,
      `${balance} left of ${granted}, charged ${charged}`,
    );
    let [settled, unsure] = [0, 0];
    for (const person of people) {
      this.#soldOnce(person);
      const spend = await readSpend(join(person.dir, "state", "runs"));
      must(spend.damaged.length === 0, `${person.name}'s runs are damaged: ${spend.damaged}`);
      for (const { days, pending } of spend.runs) {
        unsure += creditsToNumber(pending);
        for (const day of days) {
          settled += creditsToNumber(day.settled);
          unsure += creditsToNumber(day.uncertain);
        }
      }
    }
    // A service that died knows a page for bought only when it goes on with it.
    for (const item of await store.console.exports({ accountId: "default", mode: "live" })) {
      const [credits, most] = [Number(item.credits) / 1e6, item.profiles];
      must(credits <= most, `an export of ${most} people cost ${credits}`);
      settled += credits;
      if (item.state !== "ready") unsure += most - credits;
    }
    must(settled <= charged, `journals say ${settled}, charged is ${charged}`);
    const untold = this.#untold();
    must(
      charged <= settled + unsure + untold,
      `charged is ${charged}, journals say ${settled} and perhaps ${unsure}, and ${untold} nobody can know`,
    );
  }

  /**
   * What replies cost that were lost for more than a day, while credits were added: the service
   * knows their keys no more, and the balance explains too much (docs/explanation/reliability.md).
   */
  #untold(): number {
    const { people } = this.#play;
    let credits = 0;
    for (const { sold, units } of people.map((person) => ({
      sold: person.sold,
      units: person.units(),
    }))) {
      for (const { intent, settled } of units) {
        if (!this.#isUntold(intent.key, sold)) continue;
        const cost = sold.reduce(
          (sum, one) => sum + (one.key === intent.key && !one.replayed ? one.credits : 0),
          0,
        );
        credits += Math.max(0, cost - creditsToNumber(settled?.used ?? ZERO));
      }
    }
    return credits;
  }

  #isUntold(key: string, all: readonly Sold[]): boolean {
    const { blurred, scheduler } = this.#play;
    const isLate = (sold: Sold): boolean =>
      sold.key === key && !sold.replayed && scheduler.time - sold.at >= IDEMPOTENCY_TTL_MS;
    return blurred.has(key) && all.some(isLate);
  }

  #isBlurred(user: Person, run: string): boolean {
    return [...stateOf(run).units.values()].some(({ intent }) =>
      this.#isUntold(intent.key, user.sold),
    );
  }

  /** Once for a key; and nobody twice by one run, as long as it is one dataset. */
  #soldOnce(person: Person): void {
    const fresh = new Map<string, Sold>();
    for (const sold of person.sold) {
      if (sold.replayed) continue;
      // Beyond a day the service knows no key any more: then the journal has to say that it is
      // unsure, which `all` looks at.
      const before = fresh.get(sold.key);
      must(
        before === undefined || sold.at - before.at >= IDEMPOTENCY_TTL_MS,
        `${person.name}: one key was charged twice`,
      );
      fresh.set(sold.key, sold);
    }
    for (const path of person.runs()) {
      const { books, units } = stateOf(path);
      // A page whose reply is lost for good is bought again; another dataset has another order.
      if (this.#isBlurred(person, path) || this.#play.reloads > 0 || books.doubt > 0n) continue;
      const ids = [...units.values()].flatMap((unit) => fresh.get(unit.intent.key)?.ids ?? []);
      const twice = ids.filter((id, at) => ids.indexOf(id) !== at);
      must(twice.length === 0, `${person.name} bought ${twice} twice in one run`);
    }
  }

  /** When all is done nothing is open, but what its own cap leaves no room for. */
  peace(): void {
    for (const person of this.#play.people) {
      const { name, open } = person;
      const words = open?.typed.argv.join(" ");
      const { cap, limit } = open?.typed ?? {};
      const isBounded =
        cap != null || (limit != null && open?.typed.argv.includes("--require-complete") === true);
      // Whoever begins to go on with the run of a list refreshes it after that.
      const isOpen = person.runs().some((run) => {
        const { isOpen: goes, output } = person.stage(run);
        return (
          goes && open?.typed.kind === "refresh" && output === person.path(open.typed.file ?? "")
        );
      });
      const isDone = open === undefined || isBounded || isOpen;
      must(isDone, `${name} never got: headcount ${words}\n${person.said}`);
    }
  }
}
