import { createHash } from "node:crypto";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { main } from "../../src/cli/main.ts";
import { type AccountPlan, STANDARD_PLAN } from "../../src/service/ledger/ledger.ts";
import { makeApiKey } from "../../src/service/money/keys.ts";
import { type TestContext, tempDir, testContext } from "../support/client.ts";
import { seeded } from "../support/export.ts";
import { c } from "../support/store.ts";
import { type AgentEnded, type AgentTold, asAgent } from "./agent.ts";
import { Checks } from "./checks.ts";
import { inPeace, typed } from "./commands.ts";
import type { Line } from "./network.ts";
import { asPage, type PageEnded, type PageTold } from "./page.ts";
import { type Before, Person, type Typed } from "./person.ts";
import { Scheduler, type Token } from "./scheduler.ts";
import { type Breakage, Life } from "./service.ts";
import { type DiskFault, type Mishap, type Step, type Story, USERS } from "./story.ts";
import { type Datasets, leaveLocks, START } from "./world.ts";

export interface Ended {
  readonly user: Person;
  readonly typed: Typed;
  readonly before: Before;
  readonly code: number;
  readonly stderr: string;
  readonly stdout: string;
  readonly told: AgentTold | undefined;
  readonly page: PageTold | undefined;
  /** What its disk did. */
  readonly disk: DiskFault | null;
}

const HOUR = 3_600_000;
/** Of a run: the end of it is by chance. */
const ID = /\d{8}-\d{6}-[0-9a-f]{11}/;
const PAID = "POST /v1/person/search";
const PLAN: Partial<AccountPlan> = { ...STANDARD_PLAN, perMinute: 100_000, perDay: 10_000_000 };

let emptyLedger: string | undefined;

/** One story from its first step to its last, and what was seen on the way. */
export class Play {
  readonly scheduler = new Scheduler(START);
  readonly people: readonly Person[];
  readonly datasets: Datasets;
  readonly story: Story;
  readonly checks: Checks;
  granted = 0;
  reloads = 0;
  /** That struck while a command ran. */
  mishaps = 0;
  /** Idempotency keys whose reply was awaited when credits came: after a day the balance no longer explains what they cost. */
  readonly blurred = new Set<string>();
  /** Whose command was at work when credits came: it may have read the balance before. */
  readonly #clouded = new Set<Person>();
  #life!: Life;
  readonly #lives: Life[] = [];
  #isOver = false;
  #folder = tempDir("headcount-sim-service-");
  #zombies: { readonly test: TestContext; readonly ended: Promise<unknown> }[] = [];
  #stuck: (() => void)[] = [];
  #keys = 0;
  readonly #breakage: Breakage | undefined;

  /** @param breakage what is wrong with the service, so that the checks have to see it */
  constructor(story: Story, datasets: Datasets, lines: readonly Line[], breakage?: Breakage) {
    this.story = story;
    this.#breakage = breakage;
    this.datasets = datasets;
    this.people = USERS.map((name, at) => new Person(name, lines[at] as Line));
    this.checks = new Checks(this);
    // Whoever runs and waits for nothing that is seen here is on the way to it.
    this.scheduler.isBusy = () =>
      this.people.some((person) => person.running !== undefined && !this.#isStopped(person));
  }

  #isStopped({ line, name }: Person): boolean {
    return line.isWaiting || this.scheduler.waiting.some(({ actor }) => actor === name);
  }

  get store() {
    return this.#life.store;
  }

  /** @throws what a check found */
  async play(): Promise<void> {
    try {
      await this.#begin();
      for (const step of this.story.steps) {
        this.scheduler.say(`-- ${JSON.stringify(step)}`);
        await this.#step(step);
        await this.checks.all();
      }
      await this.#settle();
    } finally {
      await this.#clear();
    }
  }

  async #begin(): Promise<void> {
    const { people, scheduler, story } = this;
    await this.datasets.rewind();
    this.#folder = join(this.#folder, "life");
    emptyLedger ??= await Life.emptyLedger();
    cpSync(emptyLedger, this.#folder, { recursive: true });
    await this.#live();
    await this.store.createAccount("default", "default");
    await this.store.setPlan("default", PLAN);
    await this.#grant(story.credits);
    for (const person of people) {
      person.line.begin({
        scheduler,
        url: () => this.#life.url,
        sold: (sold) => person.sold.push(sold),
      });
      await this.#newKey(person);
    }
  }

  async #live(): Promise<void> {
    this.#life = await Life.start(
      this.#folder,
      this.#lives.length,
      this.datasets.engine,
      this.scheduler,
      this.#breakage,
    );
    this.#lives.push(this.#life);
  }

  async #newKey(person: Person): Promise<void> {
    const [ada, bob] = this.people;
    // Digests of people are made with it, and their order says who is bought first.
    const secret = createHash("sha256")
      .update(`${++this.#keys}`)
      .digest("hex")
      .slice(0, 48);
    const { hash, key, prefix } = makeApiKey("live", secret);
    const made = { id: `k_${this.#keys}`, key };
    const own = { id: made.id, name: person.name, prefix, hash, createdAt: this.scheduler.time };
    await this.store.createKey({ ...own, accountId: "default", mode: "live" });
    person.key = made;
    if (
      this.story.shared &&
      ada !== undefined &&
      bob !== undefined &&
      (person === ada || person === bob)
    ) {
      ada.key = made;
      bob.key = made;
    }
  }

  async #grant(credits: number): Promise<void> {
    for (const person of this.people) {
      for (const { intent } of person.pending()) this.blurred.add(intent.key);
      if (person.running !== undefined) this.#clouded.add(person);
    }
    await this.store.grant("default", "live", c(credits), "granted");
    this.granted += credits;
  }

  async #step(step: Step): Promise<void> {
    if (step.kind === "run") return this.#run(step);
    if (step.kind === "hours") this.scheduler.time += step.hours * HOUR;
    else await this.#act(step.kind, step.nth, step.kind === "cap" ? step.room : null);
  }

  async #act(what: string, nth: number, room: number | null): Promise<void> {
    const { datasets, people, store } = this;
    const person = people[nth] as Person;
    if (what === "grant") await this.#grant(30 * (nth + 1));
    if (what === "deduct") {
      const { balance, held } = await store.money("default", "live");
      const free = Number((balance - held) / 1_000_000n);
      const taken = Math.min(free, 20 * (nth + 1));
      if (taken > 0) await store.deduct("default", "live", c(taken), { note: "taken" });
      this.granted -= taken;
    }
    if (what === "revoke") {
      await store.revokeKey(person.key.id);
      await this.#newKey(person);
    }
    if (what === "cap") {
      const { budget, spent } = (await store.key(person.key.id)) ?? { budget: null, spent: 0n };
      const used = Math.ceil(Number((budget?.spent ?? spent) + (budget?.held ?? 0n)) / 1_000_000);
      // What calls hold that nobody counted may be above it: then the store says so.
      await store
        .updateKey(person.key.id, { maxCredits: room === null ? null : c(used + room) })
        .catch((error: unknown) => {
          if (!(error instanceof RangeError)) throw error;
        });
    }
    if (what === "reload") {
      await datasets.reload();
      this.reloads++;
      for (const { asked } of people)
        for (const { versions } of asked.values()) versions.add(datasets.version);
    }
    if (what === "crash") await this.#crash();
  }

  async #crash(): Promise<void> {
    const { scheduler } = this;
    const next = `${this.#folder}+`;
    this.#folder = this.#life.crash(this.#folder, next);
    for (const token of scheduler.inOrder()) if (token.kind === "at work") scheduler.leave(token);
    for (const { line } of this.people) line.lose();
    await this.#live();
  }

  async #run({
    commands,
    disk,
    mishaps,
    mixed,
  }: Extract<Step, { readonly kind: "run" }>): Promise<void> {
    const { people, scheduler } = this;
    const turns = seeded(this.story.random);
    let isFirst = true;
    for (const person of people) {
      const command = commands[person.name];
      const words = command && typed(person, command, this.datasets, this.story.jobs);
      if (words === undefined) continue;
      if (command?.kind !== "again") person.ask(words, this.datasets.version);
      if (isFirst && disk !== null) this.mishaps++;
      await this.start(person, words, isFirst ? disk : null);
      isFirst = false;
    }
    const armed = [...mishaps];
    for (let decision = 0; scheduler.waiting.length > 0; decision++) {
      if (decision > 20_000) throw new Error("the story does not end");
      const isPaid = scheduler.waiting.some(({ detail }) => detail.startsWith(PAID));
      const due = armed.filter((mishap) => mishap.at <= decision && (isPaid || !mishap.paid));
      const struck = await this.#strike(due);
      if (struck !== undefined) this.mishaps++;
      if (struck !== undefined) armed.splice(armed.indexOf(struck), 1);
      else await this.#next(mixed ? Math.floor(turns() * 6) : 0);
      await this.checks.quick();
    }
    for (const person of this.#clouded)
      for (const { intent } of person.units()) this.blurred.add(intent.key);
    this.#clouded.clear();
  }

  async #next(overtaking: number): Promise<void> {
    const tokens = this.scheduler.inOrder();
    const token = tokens[overtaking % Math.max(1, tokens.length)];
    if (token !== undefined) await this.scheduler.release(token);
  }

  /** The first mishap that fits here. */
  async #strike(due: readonly Mishap[]): Promise<Mishap | undefined> {
    for (const mishap of due) if (await this.#happens(mishap)) return mishap;
    return undefined;
  }

  async #happens({ what, whom }: Mishap): Promise<boolean> {
    const { people, scheduler } = this;
    const tokens = scheduler.inOrder();
    const one = <Thing>(of: readonly Thing[]): Thing | undefined =>
      of[whom % Math.max(1, of.length)];
    if (what === "overtake") {
      if (tokens.length < 2) return false;
      await this.#next(1 + (whom % (tokens.length - 1)));
      return true;
    }
    if (what === "kill") {
      const person = one(people.filter(({ running }) => running !== undefined));
      if (person !== undefined) this.#kill(person);
      return person !== undefined;
    }
    if (what === "line breaks")
      return this.#breakLine(one(tokens.filter((token) => this.#lineOf(token) !== undefined)));
    if (what === "interrupt") {
      const token = one(tokens.filter(({ kind }) => kind === "reply"));
      if (token === undefined) return false;
      scheduler.say(`${token.actor} is interrupted`);
      people.find(({ name }) => token.actor.startsWith(name))?.running?.test.interrupt();
      await scheduler.release(token);
      return true;
    }
    // A machine that sleeps for a day loses its lines: it does so here while its client waits for its next attempt.
    if (what === "hours" && !tokens.every(({ kind }) => kind === "sleep")) return false;
    if (/^(revoke|grant|deduct|cap|reload|crash|hours)$/.test(what)) {
      scheduler.say(what);
      if (what === "hours") scheduler.time += 25 * HOUR;
      else await this.#act(what, whom, 10);
      return true;
    }
    const token = one(tokens.filter(({ faults }) => what in faults));
    if (token !== undefined) await scheduler.release(token, what);
    return token !== undefined;
  }

  #lineOf({ actor, kind }: Token): Line | undefined {
    const line = this.people.find(({ name }) => actor.startsWith(name))?.line;
    return kind === "at work" && line?.isOpen(actor) ? line : undefined;
  }

  async #breakLine(token: Token | undefined): Promise<boolean> {
    const line = token && this.#lineOf(token);
    if (token === undefined || line === undefined) return false;
    this.scheduler.say(`${token.actor} at work ${token.detail}: the line breaks`);
    await this.scheduler.move(() => line.break(token.actor));
    return true;
  }

  /** Starts a command and lets it come to its first stop. */
  async start(person: Person, typed: Typed, disk: DiskFault | null): Promise<void> {
    const { scheduler } = this;
    const failpoint = disk && `${disk.at}:${disk.code}${disk.once ? ":once" : ""}`;
    scheduler.say(
      `${person.name}: headcount ${typed.argv.join(" ").replace(ID, "RUN")}${failpoint === null ? "" : ` (disk ${failpoint})`}`,
    );
    scheduler.moving = person.name;
    // Runs of one second have no order.
    scheduler.time += 1_000;
    person.line.turn();
    const { line, key, dir } = person;
    const test: TestContext = testContext({
      argv: typed.argv,
      cwd: dir,
      random: seeded(this.story.random + scheduler.transcript.length),
      clock: {
        now: () => scheduler.time,
        sleep: (ms, signal) => this.#sleep(person, test, ms, signal),
        sleeps: [],
        advance: () => undefined,
      },
      env: {
        HOME: dir,
        ...{ HEADCOUNT_CONFIG_DIR: join(dir, "config"), HEADCOUNT_STATE_DIR: join(dir, "state") },
        ...{ HEADCOUNT_BASE_URL: line.url, HEADCOUNT_API_KEY: key.key },
        ...(failpoint === null ? {} : { HEADCOUNT_FAILPOINT: failpoint }),
      },
    });
    const before = person.before(
      this.mishaps - (disk === null ? 0 : 1),
      this.datasets.version,
      scheduler.time,
    );
    const running = { test, typed, before };
    person.running = running;
    await scheduler.move(() => {
      const argv = [...typed.argv, "--base-url", line.url];
      const ended = this.#obey(person, typed, test, argv).then(({ code, said, told, page }) => {
        if (person.running !== running) return;
        person.running = undefined;
        scheduler.say(`${person.name} ends with ${code}`);
        const streams = { stderr: `${test.stderr()}${said}`, stdout: test.stdout() };
        this.checks.ended({ user: person, typed, before, code, told, page, disk, ...streams });
      });
      ended.catch((error: unknown) => {
        scheduler.failure ??= error;
      });
      this.#zombies.push({ test, ended });
    });
  }

  /** Does what was typed: an agent talks to what its command serves, and a page of the console to the service itself. */
  async #obey(
    { key, line }: Person,
    { ordered, wanted }: Typed,
    { context }: TestContext,
    argv: readonly string[],
  ): Promise<AgentEnded & PageEnded> {
    if (ordered !== undefined)
      return await asPage(ordered, {
        url: line.url,
        host: () => new URL(this.#life.url).host,
        key: key.key,
        // A signal of a terminal is none of a page.
        sleep: (ms) => context.sleep(ms),
      });
    if (wanted !== undefined)
      return await asAgent(wanted, context, (within) => main([...argv], within));
    return { code: await main([...argv], context), said: "" };
  }

  #sleep(person: Person, test: TestContext, ms: number, signal?: AbortSignal): Promise<void> {
    const { scheduler } = this;
    const until = scheduler.time + ms;
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      if (this.#isOver) return reject(new Error("killed"));
      const token: Token = {
        ...{ actor: person.name, kind: "sleep", detail: `${Math.round(ms)} ms`, faults: {} },
        go: () => {
          signal?.removeEventListener("abort", onAbort);
          scheduler.time = Math.max(scheduler.time, until);
          resolve();
        },
      };
      const onAbort = (): void => {
        scheduler.leave(token);
        reject(signal?.reason);
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#stuck.push(() => reject(new Error("killed")));
      if (person.running?.test === test) scheduler.arrive(token);
    });
  }

  /** As SIGKILL: it does nothing more, its files stay as they are; the service goes on with what it was sent. */
  #kill(person: Person): void {
    const { scheduler } = this;
    scheduler.say(`${person.name} is killed`);
    person.running = undefined;
    person.line.turn();
    const isHis = ({ actor, kind }: Token): boolean =>
      actor === person.name || (actor.startsWith(`${person.name}#`) && kind !== "at work");
    for (const token of scheduler.inOrder()) if (isHis(token)) scheduler.leave(token);
    leaveLocks(person.dir);
  }

  /** In peace everybody gets what was begun. */
  async #settle(): Promise<void> {
    this.scheduler.say("-- peace");
    await this.#grant(5_000);
    for (const person of this.people) {
      await this.store.updateKey(person.key.id, { maxCredits: null });
    }
    for (const person of this.people) {
      for (let attempt = 0; attempt < 3 && person.open !== undefined; attempt++) {
        const words = inPeace(person, person.open.typed, this.story.jobs, this.datasets);
        person.ask({ ...words, file: undefined }, this.datasets.version);
        await this.start(person, words, null);
        while (this.scheduler.waiting.length > 0) await this.#next(0);
      }
    }
    await this.checks.all();
    this.checks.peace();
  }

  /** Those who were killed come to their ends, now that nobody looks. */
  async #clear(): Promise<void> {
    this.#isOver = true;
    for (const { line } of this.people) {
      line.begin(undefined);
      line.drop();
    }
    for (const { test } of this.#zombies) test.interrupt();
    for (const free of this.#stuck) free();
    await Promise.allSettled(this.#zombies.map(({ ended }) => ended));
    for (const life of this.#lives) await life.close();
  }
}
