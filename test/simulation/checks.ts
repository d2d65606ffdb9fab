import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { stateOf } from "../../src/runs/run.ts";
import { readSpend } from "../../src/runs/spend.ts";
import { IDEMPOTENCY_TTL_MS } from "../../src/service/basics.ts";
import { readCsv } from "../support/export.ts";
import type { Sold } from "./network.ts";
import type { Ended, Person, Play, Typed } from "./play.ts";
import type { Command } from "./story.ts";

function must(isSo: boolean, what: string): asserts isSo {
  if (!isSo) throw new Error(what);
}

/** What must hold after every step, by the service's books, the users' journals, and what the network saw. */
export class Checks {
  readonly #play: Play;

  constructor(play: Play) {
    this.#play = play;
  }

  typed(person: Person, command: Command): Typed | undefined {
    const free = { file: undefined, department: undefined, cap: null, limit: null };
    const { segments } = this.#play.datasets;
    switch (command.kind) {
      case "search": {
        const department = segments[command.segment] as string;
        const { cap, limit, perPage } = command;
        const file = `list-${++person.files}.csv`;
        const argv = [
          ...[
            "search",
            "--department",
            department,
            "--per-page",
            String(perPage),
            "--concurrency",
            "1",
            "--yes",
            "-o",
            file,
          ],
          ...(cap === null ? [] : ["--max-credits", String(cap)]),
          ...(limit === null ? [] : ["--limit", String(limit)]),
        ];
        person.versions = new Set([this.#play.datasets.version]);
        return { argv, file, department, cap, limit };
      }
      case "count":
        return { ...free, argv: ["count", "--department", segments[command.segment] as string] };
      case "again":
        return person.open;
      case "resume":
        return person.open && { ...person.open, argv: ["resume", "--yes", "--concurrency", "1"] };
      default: {
        const ids = person.sold.flatMap((sold) => sold.ids);
        const id = ids[command.nth % Math.max(1, ids.length)];
        if (id === undefined) return undefined;
        return { ...free, argv: command.kind === "forget" ? ["forget", id, "--yes"] : ["suppress", "add", id] };
      }
    }
  }

  /** At the end of a command. */
  ended({ code, stderr, typed, user, versions }: Ended): void {
    const say = (what: string): string =>
      `${user.name}: headcount ${typed.argv.join(" ")}: ${what}\nexit ${code}: ${stderr}`;
    must([0, 2, 3, 4, 5, 6, 7, 8, 9, 130].includes(code), say("an exit code that nobody promised"));
    const [name] = typed.argv;
    if (name === "suppress" || name === "forget") {
      const id = typed.argv.find((word) => /^p\d+$/.test(word));
      if (code === 0 && id !== undefined) user.avoided.add(id);
    }
    if (typed.file === undefined || typed.department === undefined) return;
    // What ended before its first credit has left no run.
    if (name === "resume" && code === 0 && stderr.startsWith("Nothing to resume")) return;
    const isThere = existsSync(join(user.dir, typed.file));
    must(isThere === (code === 0), say(isThere ? "a file although it failed" : "no file"));
    if (code !== 0) {
      user.open = { ...typed, argv: name === "resume" && user.open !== undefined ? user.open.argv : typed.argv };
      return;
    }
    user.open = undefined;
    const ids = readCsv(readFileSync(join(user.dir, typed.file), "utf8")).map(({ id }) => id ?? "");
    must(new Set(ids).size === ids.length, say("somebody is in the file twice"));
    const delivered = new Set(user.sold.flatMap((sold) => sold.ids));
    for (const id of ids) {
      must(delivered.has(id), say(`${id} is in the file and was never delivered`));
      must(!user.avoided.has(id), say(`${id} is in the file and was to be left out`));
    }
    const sizes = [...versions].map((version) => this.#wanted(user, typed, version));
    // What a lost reply may have cost counts against the cap, and is said.
    const isShort = typed.cap !== null && /may have been charged/.test(stderr) && ids.length < Math.max(...sizes);
    must(isShort || sizes.includes(ids.length), say(`${ids.length} rows, not ${sizes.join(" or ")}`));
  }

  /** Rows that a finished search has to have. */
  #wanted(user: Person, { cap, department = "", limit }: Typed, version: string): number {
    const members = this.#play.datasets.members(version, department);
    const bought = Math.min(members.size, cap ?? Number.POSITIVE_INFINITY, limit ?? Number.POSITIVE_INFINITY);
    const avoided = [...user.avoided].filter((id) => members.has(id));
    return bought - avoided.length;
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
    const isBlurred = this.#play.blurred.granted && this.#play.blurred.late;
    must(
      isBlurred || charged <= settled + unsure,
      `charged is ${charged}, journals say ${settled} and perhaps ${unsure}`,
    );
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
    for (const path of runFolders(person)) {
      const { spent, units } = stateOf(path);
      // A page whose reply is lost for good is bought again; another dataset has another order.
      if (this.#play.reloads > 0 || spent.some(({ kind }) => kind === "uncertain")) continue;
      const ids = [...units.values()].flatMap((unit) => fresh.get(unit.intent.key)?.ids ?? []);
      const twice = ids.filter((id, at) => ids.indexOf(id) !== at);
      must(twice.length === 0, `${person.name} bought ${twice} twice in one run`);
    }
  }

  /** When all is done nothing is open, but what its own cap leaves no room for. */
  peace(): void {
    for (const { name, open } of this.#play.people) {
      must(open === undefined || open.cap !== null, `${name} never got: headcount ${open?.argv.join(" ")}`);
    }
  }
}

function runFolders(person: Person): string[] {
  const folder = join(person.dir, "state", "runs");
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => !name.startsWith("."))
    .map((name) => join(folder, name))
    .filter((path) => existsSync(join(path, "journal.ndjson")));
}
