import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { stateOf } from "../../src/engine/runs/reader.ts";
import { readSpend } from "../../src/engine/runs/spend.ts";
import { IDEMPOTENCY_TTL_MS } from "../../src/service/ledger/records.ts";
import { readCsv } from "../support/export.ts";
import type { Sold } from "./network.ts";
import { type Asked, type Before, besides, type Person, type Typed } from "./person.ts";
import type { Ended, Play } from "./play.ts";

type Say = (what: string) => string;

const idsOf = (csv: string): string[] => readCsv(csv).map(({ id }) => id ?? "");
const without = (ids: ReadonlySet<string>, others: ReadonlySet<string>): Set<string> =>
  new Set([...ids].filter((id) => !others.has(id)));
const isEqual = (one: ReadonlySet<string>, other: ReadonlySet<string>): boolean =>
  one.size === other.size && without(one, other).size === 0;

function must(isSo: boolean, what: string): asserts isSo {
  if (!isSo) throw new Error(what);
}

/** What must hold after every step, by the service's books, the users' journals, and what the network saw. */
export class Checks {
  readonly #play: Play;

  constructor(play: Play) {
    this.#play = play;
  }

  /** At the end of a command. */
  ended({ before, code, stderr, typed, user }: Ended): void {
    const say: Say = (what) => `${user.name}: headcount ${typed.argv.join(" ")}: ${what}\nexit ${code}: ${stderr}`;
    must([0, 2, 3, 4, 5, 6, 7, 8, 9, 130].includes(code), say("an exit code that nobody promised"));
    const [name, ...words] = typed.argv;
    if (name === "suppress" || name === "forget") {
      const id = words.find((word) => /^p\d+$/.test(word));
      if (code === 0 && id !== undefined) user.avoided.add(id);
      if (name === "forget" && id !== undefined) user.forgotten.add(id);
    }
    if (name === "resume") {
      this.#resumed(user, code, say);
      return;
    }
    const asked = typed.file === undefined ? undefined : user.asked.get(typed.file);
    if (asked === undefined) return;
    this.#boughtNothing(user, asked, before, say);
    if (code === 0) this.#finished(user, asked, before, say, stderr);
    else {
      user.open = asked;
      for (const [file, bytes] of before.files) {
        const now = existsSync(user.path(file)) ? readFileSync(user.path(file), "utf8") : undefined;
        must(now === bytes, say(`${file} is another one although it failed`));
      }
    }
  }

  /** Where it went to its end there is one more file, of whichever run was the unfinished one. */
  #resumed(user: Person, code: number, say: Say): void {
    const come = [...user.asked.values()].filter(
      ({ typed: { file, kind } }) =>
        kind === "search" && file !== undefined && !user.lists.has(file) && existsSync(user.path(file)),
    );
    must(come.length <= (code === 0 ? 1 : 0), say("a file although it failed"));
    const [asked] = come;
    if (asked !== undefined) this.#finished(user, asked, undefined, say, "may have been charged");
  }

  /** Nobody pays for whom he has: where he has all of a segment, looking for anybody new costs nothing, unless it is asked to be bought again. */
  #boughtNothing(user: Person, { typed, versions }: Asked, before: Before, say: Say): void {
    const { department = "", kind, owned } = typed;
    const [version = "", ...others] = versions;
    const looks =
      kind === "refresh" ? !["--buy-changed", "--again"].some((flag) => typed.argv.includes(flag)) : owned !== null;
    if (!looks || others.length > 0 || !before.isIdle) return;
    for (const id of this.#play.datasets.members(version, department)) {
      if (!before.owned.has(id) || user.forgotten.has(id)) return;
    }
    const bought = user.sold.slice(before.deliveries).flatMap(({ ids }) => ids);
    must(bought.length === 0, say(`bought ${bought}, and all of the segment was owned`));
  }

  #finished(user: Person, asked: Asked, before: Before | undefined, say: Say, stderr: string): void {
    const { typed, versions } = asked;
    const { department = "", file = "", kind } = typed;
    must(existsSync(user.path(file)), say("no file"));
    if (user.open?.typed.file === file) user.open = undefined;
    const ids = user.idsIn(file);
    must(new Set(ids).size === ids.length, say("somebody is in the file twice"));
    const delivered = new Set(user.sold.flatMap((sold) => sold.ids));
    for (const id of ids) {
      must(delivered.has(id), say(`${id} is in the file and was never delivered`));
      must(!user.avoided.has(id), say(`${id} is in the file and was to be left out`));
    }
    const shown = (of: Iterable<string>): Set<string> => new Set([...of].filter((id) => !user.avoided.has(id)));
    const segments = [...versions].map((version) => shown(this.#play.datasets.members(version, department)));
    const isWhole = segments.some((members) => isEqual(members, new Set(ids)));
    if (kind === "refresh") {
      must(isWhole, say("the list is not the segment"));
      if (before !== undefined) this.#beside(user, asked, before, shown, say);
    } else if (typed.owned !== null) this.#owning(user, asked, ids, { segments, isWhole }, say);
    else this.#bought(user, typed, ids, isWhole, versions, say, stderr);
    if (department !== "") user.lists.set(file, { ...typed, department });
  }

  /** A search without a bound has the segment; one with a bound has as many of it as that allows. */
  #bought(
    user: Person,
    { cap, department = "", limit }: Typed,
    ids: readonly string[],
    isWhole: boolean,
    versions: ReadonlySet<string>,
    say: Say,
    stderr: string,
  ): void {
    if (cap === null && limit === null) {
      must(isWhole, say("the file is not the segment"));
      return;
    }
    const most = Math.min(cap ?? Number.POSITIVE_INFINITY, limit ?? Number.POSITIVE_INFINITY);
    const isIt = [...versions].some((version) => {
      const members = this.#play.datasets.members(version, department);
      const rows = Math.min(members.size, most);
      const avoided = [...user.avoided].filter((id) => members.has(id)).length;
      return ids.every((id) => members.has(id)) && ids.length <= rows && ids.length >= rows - avoided;
    });
    // What a lost reply may have cost counts against the cap, and is said.
    const isShort = cap !== null && /may have been charged/.test(stderr) && ids.length < most;
    must(isShort || isIt, say(`${ids.length} rows are not the segment within ${most}`));
  }

  /** Who is new, and with `--with-owned` whoever is owned already. */
  #owning(
    user: Person,
    { owned, typed }: Asked,
    ids: readonly string[],
    { isWhole, segments }: { readonly isWhole: boolean; readonly segments: readonly ReadonlySet<string>[] },
    say: Say,
  ): void {
    const isNew = (id: string): boolean => !owned.has(id) || user.forgotten.has(id);
    const { cap, file = "", limit } = typed;
    if (typed.owned === "new-only") for (const id of ids) must(isNew(id), say(`${id} was owned before`));
    const most = Math.min(cap ?? Number.POSITIVE_INFINITY, limit ?? Number.POSITIVE_INFINITY);
    // Where the dataset moved the same command begins a run anew, and owns by then whom other runs brought since it was first given.
    const others = user.owned(user.runOf(file));
    const fresh = ids.filter((id) => isNew(id) && !others.has(id)).length;
    must(fresh <= most, say(`${fresh} new ones, within ${most}`));
    if (cap !== null || limit !== null) return;
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
    const entries = await store.entries({ accountId: "default", mode: "live", kind: "charge", limit: 1_000 });
    const charged = Number(entries.reduce((sum, { amount }) => sum - amount, 0n)) / 1e6;
    const { balance, held } = await store.money("default", "live");
    must(held === 0n, `${held} are held and nobody is at work`);
    must(Number(balance) / 1e6 === granted - charged, `${balance} left of ${granted}, charged ${charged}`);
    let [settled, unsure] = [0, 0];
    for (const person of people) {
      this.#soldOnce(person);
      const spend = await readSpend(join(person.dir, "state", "runs"));
      must(spend.damaged.length === 0, `${person.name}'s runs are damaged: ${spend.damaged}`);
      for (const { days, pending } of spend.runs) {
        unsure += Number(pending);
        for (const day of days) {
          settled += Number(day.settled);
          unsure += Number(day.uncertain);
        }
      }
    }
    must(settled <= charged, `journals say ${settled}, charged is ${charged}`);
    const untold = this.#untold();
    must(
      charged <= settled + unsure + untold,
      `charged is ${charged}, journals say ${settled} and perhaps ${unsure}, and ${untold} nobody can know`,
    );
  }

  /**
   * What replies cost that were lost for more than a day, while credits were added: the service knows their keys no more, and the balance
   * explains too much (docs/reliability.md).
   */
  #untold(): number {
    const { people } = this.#play;
    let credits = 0;
    for (const { sold, units } of people.map((person) => ({ sold: person.sold, units: person.units() }))) {
      for (const { intent, settled } of units) {
        if (!this.#isUntold(intent.key, sold)) continue;
        const cost = sold.reduce((sum, one) => sum + (one.key === intent.key && !one.replayed ? one.credits : 0), 0);
        credits += Math.max(0, cost - Number(settled?.used ?? 0));
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

  /** Once for a key; and nobody twice by one run, as long as it is one dataset. */
  #soldOnce(person: Person): void {
    const fresh = new Map<string, Sold>();
    for (const sold of person.sold) {
      if (sold.replayed) continue;
      // Beyond a day the service knows no key any more: then the journal has to say that it is unsure, which `all` looks at.
      const before = fresh.get(sold.key);
      must(
        before === undefined || sold.at - before.at >= IDEMPOTENCY_TTL_MS,
        `${person.name}: one key was charged twice`,
      );
      fresh.set(sold.key, sold);
    }
    for (const path of person.runs()) {
      const { spent, units } = stateOf(path);
      // A page whose reply is lost for good is bought again; another dataset has another order.
      const isLost = [...units.values()].some(({ intent }) => this.#isUntold(intent.key, person.sold));
      if (isLost || this.#play.reloads > 0 || spent.some(({ kind }) => kind === "uncertain")) continue;
      const ids = [...units.values()].flatMap((unit) => fresh.get(unit.intent.key)?.ids ?? []);
      const twice = ids.filter((id, at) => ids.indexOf(id) !== at);
      must(twice.length === 0, `${person.name} bought ${twice} twice in one run`);
    }
  }

  /** When all is done nothing is open, but what its own cap leaves no room for. */
  peace(): void {
    for (const { name, open } of this.#play.people) {
      const words = open?.typed.argv.join(" ");
      must(open === undefined || open.typed.cap !== null, `${name} never got: headcount ${words}`);
    }
  }
}
