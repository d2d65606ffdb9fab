import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import type { Dialect } from "../../src/engine/client/dialect.ts";
import { type Agent, startAgent, YES } from "../support/agent.ts";
import { swiftClock } from "../support/client.ts";
import { type Ran, readCsv, spentBy, type User, user } from "../support/export.ts";
import {
  type ForeignOptions,
  type ForeignService,
  type Mishap,
  startForeignService,
} from "../support/foreign-service.ts";

// A service with a habit, what somebody does at it, and its books against ours. What a case expects stands in its row; what holds
// in every case is asserted here after every step, so that no row has to say it.

type Text = string | RegExp;

/** A command line as one would type it, or the one that the last answer names, as the first group of this. */
type Line = string | RegExp;

/** What is known of a service by its own books. */
export interface Books {
  readonly url: string;
  readonly key: string;
  /** Credits, of others too. */
  charged(): number;
  others(): number;
  balance(): number;
  paidCalls(): number;
  /** Of everybody who can be bought, in order. */
  ids(): string[];
  readonly options: { readonly missCosts?: number; readonly chargesRequests?: boolean };
}

export interface Expected<S extends Books = ForeignService> {
  /** Words behind a line that an answer named. */
  readonly more?: string | undefined;
  /** Credits that it took by its own books, since the beginning. */
  readonly charged?: number | undefined;
  /** The most of them. */
  readonly chargedAtMost?: number | undefined;
  /** How many paid calls came, since the beginning. */
  readonly calls?: number | undefined;
  /** Who is in `o.csv`: the first so many people of the service, in its order. */
  readonly rows?: number | undefined;
  readonly says?: readonly Text[] | undefined;
  readonly silent?: readonly Text[] | undefined;
  /** What our books say since the beginning; nobody else spent anything where it is not said here. */
  readonly spent?: Partial<Awaited<ReturnType<typeof spentBy>>> | undefined;
  readonly receipt?: object | undefined;
  /** Of stdout, as JSON. */
  readonly out?: unknown;
  /** What it takes above the cap or leaves out with exit code 0 is what the case is about. */
  readonly mayPass?: boolean | undefined;
  /** More may have been charged than was: nothing tells. */
  readonly mayDoubt?: boolean | undefined;
  /** Of what is gone nobody can say whether we or others spent it: it is in the books as theirs, and said so. */
  readonly mayBlame?: boolean | undefined;
  /** Credits that are in no book yet: of a call that is free by the contract, or of a page that is asked for again. */
  readonly isUnbooked?: boolean | undefined;
  /** What it holds was paid for by another run: its own cap has room for more, and a resume takes that. */
  readonly hasRoom?: boolean | undefined;
  /** It is written, though the code is not 0. */
  readonly isWritten?: boolean | undefined;
  /** The folder of the runs is damaged. */
  readonly hasNoBooks?: boolean | undefined;
  readonly check?: ((scene: Scene<S>, ran: Ran) => unknown) | undefined;
}

export interface Step<S extends Books = ForeignService> extends Expected<S> {
  readonly line: Line;
  /** undefined: any but 0. */
  readonly code: number | readonly number[] | undefined;
  /** Beside the line, for values with spaces. */
  readonly tool?: readonly [name: string, given: Readonly<Record<string, unknown>>] | undefined;
}

export interface Case {
  readonly name: string;
  readonly habit: Partial<ForeignOptions> | ((service: () => ForeignService) => Habit);
  readonly steps: readonly (Step | Change)[];
  /** The `work` connection has it. */
  readonly dialect?: Dialect;
  /** What one finds in the folder. */
  readonly files?: Readonly<Record<string, unknown>>;
}

type Habit = Partial<ForeignOptions>;

/** Between two steps: what is otherwise from now on. */
type Change<S extends Books = ForeignService> = (scene: Scene<S>) => unknown;

export interface Scene<S extends Books = ForeignService> {
  readonly service: S;
  readonly u: User;
  run(line: string): Promise<Ran>;
  /** Runs a step, and holds everything against it that holds of every one. */
  take(step: Step<S>): Promise<Ran>;
}

/** A command that ends with this code. */
export const run = <S extends Books = ForeignService>(
  line: Line,
  code: Step["code"],
  expected: Expected<S> = {},
): Step<S> => ({ line, code, ...expected });

/** An agent, with these options of `mcp`, calls a tool; `buy` takes what `quote` does. Its code is 1 where it fails. */
export const ask = <S extends Books = ForeignService>(
  options: string,
  tool: string,
  given: Readonly<Record<string, unknown>>,
  code: Step["code"],
  expected: Expected<S> = {},
): Step<S> => ({ line: options, tool: [tool, given], code, ...expected });

/** From now on the service has these habits. */
export const turns =
  (habit: Habit): Change =>
  ({ service }) =>
    Object.assign(service.options, habit);

export const writes =
  (name: string, content: unknown) =>
  ({ u }: { readonly u: User }): void =>
    write(u, name, content);

const write = (u: User, name: string, content: unknown): void =>
  writeFileSync(u.file(name), typeof content === "string" ? content : JSON.stringify(content));

/** The command that buys the rest. */
export const HINT = /headcount (resume \S+ --max-credits [\d.]+) buys the (?:other|next)/;

/** The run that can be gone on with. */
export const RESUME = /headcount (resume \S+)/;

/** The n-th paid calls go wrong this way. */
export const at =
  (calls: number | readonly number[], mishap: Mishap) =>
  (call: number): Mishap =>
    [calls].flat().includes(call) ? mishap : undefined;

/** @param options of the service, or what makes them for one that has to know itself */
export async function openScene(
  habit: Case["habit"] = {},
  { dialect, files = {} }: Pick<Case, "dialect" | "files"> = {},
): Promise<Scene> {
  let service: ForeignService | undefined;
  const itself = (): ForeignService => service as ForeignService;
  service = await startForeignService(typeof habit === "function" ? habit(itself) : habit);
  onTestFinished(() => itself().close());
  const u = user(service.url, service.key);

  mkdirSync(u.file("config"));
  const work = { baseUrl: service.url, dialect };
  if (dialect !== undefined) write(u, "config/config.json", { connections: { work } });
  for (const [name, content] of Object.entries(files)) write(u, name, content);

  return sceneOf(service, u, dialect === undefined ? [] : ["-c", "work"]);
}

/** What is so far: the answer before, the caps that bind, and who was asked through which agent. */
interface Past {
  ran: Ran;
  cap: number;
  chargedBefore: number;
}

export function sceneOf<S extends Books>(
  service: S,
  u: User,
  connection: readonly string[],
): Scene<S> {
  const clock = swiftClock();
  if ("now" in service.options) Object.assign(service.options, { now: clock.now });
  const agents = new Map<string, Agent>();
  const past: Past = {
    ran: { code: 0, stdout: "", stderr: "" },
    cap: Number.POSITIVE_INFINITY,
    chargedBefore: 0,
  };

  async function told(options: string, [tool, given]: NonNullable<Step["tool"]>): Promise<Ran> {
    const agent =
      agents.get(options) ??
      (await startAgent(u, [...connection, ...options.split(" ")], { answer: YES, clock }));
    if (!agents.has(options)) onTestFinished(() => agent.close());
    agents.set(options, agent);

    const first = tool === "buy" ? "quote" : tool;
    const kind = tool === "buy" || tool === "quote" ? { kind: "people" } : {};
    let { failed, text, data } = await agent.call(first, { ...kind, ...given });
    if (tool === "buy" && !failed)
      ({ failed, text, data } = await agent.call("buy", { quote_id: String(data.quote_id) }));
    return { code: failed ? 1 : 0, stdout: JSON.stringify(data), stderr: text };
  }

  const scene: Scene<S> = {
    service,
    u,
    run: (line) => u.run([...connection, ...line.split(" ")], { clock }),
    take: async (step) => {
      const line = `${lineOf(step.line, past.ran)}${step.more ?? ""}`;
      const before = { charged: ownCharge(service), hasFile: existsSync(u.file("o.csv")) };
      const ran = step.tool === undefined ? await scene.run(line) : await told(line, step.tool);
      const story = `${line} ${JSON.stringify(step.tool ?? "")}\n${ran.code}\n${ran.stdout}\n${ran.stderr}`;

      expectStep(step, ran, scene, story);
      await expectBooks(step, ran, scene, { line, story, before, past });
      past.ran = ran;
      return ran;
    },
  };
  return scene;
}

/** @throws where the last answer names no such command */
function lineOf(line: Line, { stderr, stdout }: Ran): string {
  if (typeof line === "string") return line;
  const named = line.exec(stderr)?.[1] ?? line.exec(stdout)?.[1];
  expect(named, `${line} in:\n${stderr}`).toBeDefined();
  return named ?? "";
}

/** Without what others spent. */
const ownCharge = (service: Books): number => service.charged() - service.others();

const saysIt = (text: string, words: Text): boolean =>
  typeof words === "string" ? text.includes(words) : words.test(text);

/** What this step alone expects. */
function expectStep<S extends Books>(
  step: Step<S>,
  ran: Ran,
  scene: Scene<S>,
  story: string,
): void {
  const { service, u } = scene;
  const all = `${ran.stdout}\n${ran.stderr}`;

  if (step.code === undefined) expect(ran.code, story).not.toBe(0);
  else expect([step.code].flat(), story).toContain(ran.code);
  for (const words of step.says ?? [])
    expect(saysIt(all, words), `${words} in: ${story}`).toBe(true);
  for (const words of step.silent ?? [])
    expect(saysIt(all, words), `${words} not in: ${story}`).toBe(false);

  if (step.charged !== undefined) expect(ownCharge(service), story).toBeCloseTo(step.charged, 6);
  if (step.chargedAtMost !== undefined)
    expect(ownCharge(service), story).toBeLessThanOrEqual(step.chargedAtMost);
  if (step.calls !== undefined) expect(service.paidCalls(), story).toBe(step.calls);
  if (step.rows !== undefined) expect(idsIn(u), story).toEqual(service.ids().slice(0, step.rows));
  if (step.receipt !== undefined)
    expect(JSON.parse(u.read("r.json")), story).toMatchObject(step.receipt);
  if (step.out !== undefined)
    expect(JSON.parse(ran.stdout), story).toMatchObject(step.out as object);
  step.check?.(scene, ran);
}

export const idsIn = (u: User): string[] => readCsv(u.read("o.csv")).map(({ id }) => id ?? "");

/** Of the paid calls, each once. */
export const keysOf = ({ seen }: ForeignService): string[] => [
  ...new Set(seen.flatMap(({ key }) => key ?? [])),
];

interface Told {
  readonly line: string;
  readonly story: string;
  readonly before: { readonly charged: number; readonly hasFile: boolean };
  readonly past: Past;
}

/** What holds after every step: nothing is charged beyond what is said, agreed to, or delivered. */
async function expectBooks<S extends Books>(
  step: Step<S>,
  ran: Ran,
  scene: Scene<S>,
  told: Told,
): Promise<void> {
  const { service, u } = scene;
  const { line, story, before, past } = told;
  const charged = ownCharge(service);
  const all = `${ran.stdout}\n${ran.stderr}`;

  if (step.hasNoBooks === true) return;
  const books = await spentBy(u);
  const foreign = step.mayBlame === true ? books.foreign : (step.spent?.foreign ?? 0);
  const beside = Math.max(0, foreign - Math.max(0, service.others()));
  const booked = books.settled + books.uncertain + beside;
  expect(books, story).toMatchObject({ ...step.spent, foreign });
  // Each credit is in our books, as paid or as in doubt; and nothing else is, where nothing is in doubt.
  if (step.mayDoubt === true || books.uncertain > 0) {
    if (step.isUnbooked !== true) expect(booked, story).toBeGreaterThanOrEqual(charged - 1e-6);
    // Where the price is of requests, and none tells its charge, rows are booked at it.
    if (service.options.chargesRequests !== true)
      expect(books.settled, story).toBeLessThanOrEqual(charged + 1e-6);
  } else if (step.isUnbooked !== true) expect(booked, story).toBeCloseTo(charged, 6);
  if (foreign === 0) expect(all, story).not.toContain("others spent");

  const [, balance] = /\(balance ([\d,.]+)\)/.exec(ran.stderr) ?? [];
  if (balance !== undefined && step.tool === undefined)
    expect(Number(balance.replaceAll(",", "")), story).toBe(service.balance());

  // What a step paid is not denied.
  if (charged > before.charged)
    expect(all, story).not.toMatch(/nothing (more )?was (charged|spent)/);
  if ((service.options.missCosts ?? 0) > 0) expect(all, story).not.toContain("free of charge");

  if (!line.startsWith("resume")) past.chargedBefore = before.charged;
  const [, given] = /--max-credits (\d[\d.]*)/.exec(line) ?? [];
  if (given !== undefined || !line.startsWith("resume"))
    past.cap = Number(given ?? Number.POSITIVE_INFINITY);
  if (step.mayPass !== true)
    expect(charged - past.chargedBefore, story).toBeLessThanOrEqual(past.cap);

  if (line.includes("-o o.csv") && !/--(json|dry-run)/.test(line))
    expect(ran.stdout, story).toBe("");
  if (line.includes("-o o.csv") && !before.hasFile && !line.startsWith("runs "))
    expect(existsSync(u.file("o.csv")), story).toBe(
      (ran.code === 0 || step.isWritten === true) && !line.includes("--dry-run"),
    );
  if (ran.code === 0 && /^(search|employees acme).*-o o\.csv/.test(line))
    expectRows(step, line, scene, story);
}

/** Everybody once, and nobody is missing where the person who bought set no bound. */
function expectRows<S extends Books>(
  step: Step<S>,
  line: string,
  { service, u }: Scene<S>,
  story: string,
): void {
  if (line.includes("--dry-run")) return;
  const ids = idsIn(u);
  expect(new Set(ids).size, story).toBe(ids.length);
  const known = new Set(service.ids());
  expect(
    ids.filter((id) => !known.has(id)),
    story,
  ).toEqual([]);
  if (step.mayPass !== true && !/--(limit|max-credits|sample)/.test(line))
    expect(ids.toSorted(), story).toEqual(service.ids().toSorted());
}

/** Plays a case: its steps, and at last once more what was whole, which costs nothing. */
export async function play({ habit, steps, dialect, files }: Case): Promise<void> {
  const scene = await openScene(habit, { ...(dialect && { dialect }), ...(files && { files }) });
  await playAt(scene, steps);
}

export async function playAt<S extends Books>(
  scene: Scene<S>,
  steps: readonly (Step<S> | Change<S>)[],
): Promise<void> {
  let isWhole = false;
  for (const step of steps) {
    if (typeof step === "function") await step(scene);
    else {
      const { code } = await scene.take(step);
      isWhole = code === 0 && step.tool === undefined && step.hasRoom !== true;
    }
  }

  if (!isWhole) return;
  const before = scene.service.charged();
  const again = await scene.run("resume last --yes --overwrite");
  expect(scene.service.charged(), again.stderr).toBe(before);
}

/** What tells of what an answer cost that is no success. */
export const TELLS = ["used", "balance", "nothing"] as const;

/** Whatever the exit code. */
export const ANY = [0, 2, 3, 4, 5, 6, 7, 8, 130];

/** A purchase with everything that tells of it. */
export const BUY = "search --country x -o o.csv --yes --receipt r.json";

/** Every place that keeps books says the same: the service, the receipt, and spend. */
export const whole = (credits: number, uncertain = 0) => ({
  charged: credits + uncertain,
  receipt: { credits, uncertain_credits: uncertain },
});

/** How one buys, up to a cap that is added. */
export const DOORS = {
  search: "search --country x --per-page 10 -o o.csv --yes",
  employees: "employees acme.example --limit 60 --per-page 10 -o o.csv --yes",
  enrich: "enrich a.example b.example c.example -o o.csv --yes",
} as const;

export type Door = keyof typeof DOORS;

export const EVERY_DOOR = Object.keys(DOORS) as readonly Door[];

/** Every way to take one of each list. */
export const product = <A, B>(first: readonly A[], second: readonly B[]): (readonly [A, B])[] =>
  first.flatMap((a) => second.map((b) => [a, b] as const));

/** Commands are loaded when they are first run: that is no time of a test. */
export const loadsFirst = (withTools: boolean): void => beforeAll(() => loadEverything(withTools));

async function loadEverything(withTools: boolean): Promise<void> {
  const service = await startForeignService({ people: 1 });
  const u = user(service.url, service.key);
  for (const line of ["search --country x -o o.csv --yes", "resume last", "enrich a.example --yes"])
    await u.run(line.split(" "));
  if (withTools) await (await startAgent(u, [])).close();
  await service.close();
}

/** Each row of a table is a test. */
export function tryCases(cases: readonly Case[]): void {
  const withTools = cases.some(({ steps }) =>
    steps.some((step) => typeof step === "object" && step.tool !== undefined),
  );
  loadsFirst(withTools);

  for (const each of cases) test(each.name, () => play(each));
}
