import { hash, randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { didYouMean } from "../../shared/contract/suggest.ts";
import type { Suppression } from "../../shared/contract/suppression.ts";
import { counted, echo, someOf } from "../../shared/contract/text.ts";
import { type CliError, command, failed, say, usageError } from "../../shared/errors.ts";
import { ifMissing, makeFolder } from "../../shared/folder.ts";
import { type Disk, errorCode, jsonText, remove } from "./disk.ts";
import { type EndedRecord, pendingUnits, type RunState, type Sums, sumsOf } from "./journal.ts";
import { acquireLock, isLocked, type LockOptions, withLock } from "./lock.ts";
import { type Machine, machineOf } from "./machine.ts";
import { anewOf, isElsewhere, type Plan, type RunIdentity, targetText } from "./plan.ts";
import {
  finishedSums,
  journalOf,
  knownPlan,
  LAYOUT,
  onwardOf,
  planOf,
  RunReader,
  type RunStatus,
  type RunSummary,
  readableState,
  receiptOf,
  runIds,
  stateOf,
} from "./reader.ts";
import { type Forgetting, rewritten } from "./rewrite.ts";
import { Run } from "./run.ts";
import { keepSpend } from "./spend.ts";
import { readSuppression, suppressionFolder } from "./suppression.ts";

export type NewPlan = Omit<Plan, "version" | "id" | "created_at" | "machine">;

/** Runs that are looked through for what they hold. */
const LOOKS = 300;

type Clock = Pick<LockOptions, "now" | "sleep">;

/** A run as it travels. */
export interface RunCopy {
  readonly plan: Plan;
  readonly receipt: unknown;
  readonly journal: Buffer;
}

export class RunStore {
  readonly folder: string;
  readonly #stateDir: string;
  readonly #disk: Disk;

  constructor(stateDir: string, disk: Disk) {
    this.#stateDir = stateDir;
    this.folder = join(stateDir, "runs");
    this.#disk = disk;
  }

  #path(id: string): string {
    return join(this.folder, id);
  }

  #lookup(identity: RunIdentity): string {
    return join(this.folder, ".open", identityHash(identity));
  }

  /** As the list is now. @throws CliError exit 5 where it cannot be read */
  suppression(): Promise<Suppression> {
    return readSuppression(suppressionFolder(this.#stateDir));
  }

  async #withSuppression<R extends RunReader>(run: R): Promise<R> {
    return Object.assign(run, { suppression: await this.suppression() });
  }

  async #locked(id: string, { now, sleep }: Clock, work: () => Promise<void>) {
    await withLock(join(this.#path(id), "lock"), { now, sleep, what: `run ${id}` }, work);
  }

  async create(plan: NewPlan, at: number, lock: LockOptions): Promise<Run> {
    const id = this.#newId(at);
    const whole: Plan = {
      version: LAYOUT,
      id,
      created_at: new Date(at).toISOString(),
      machine: this.machine,
      ...plan,
    };
    const path = this.#path(id);
    makeFolder(path);

    const runLock = await acquireLock(join(path, "lock"), lock);
    try {
      await this.#disk.replaceFile(join(path, "plan.json"), jsonText(whole), "plan");
      // Where the same command finds it again, before any
      // intent: a run that is not found again was not paid for.
      makeFolder(join(this.folder, ".open"));
      await this.#disk.replaceFile(this.#lookup(whole), id, "open");
      return await this.#withSuppression(await Run.open(this.#disk, path, whole, runLock));
    } catch (error) {
      await runLock.release();
      await remove(path).catch(() => undefined);
      throw error;
    }
  }

  get machine(): Machine {
    return machineOf(this.#stateDir);
  }

  /** @throws CliError exit 2 where another machine began it: what it buys there is not seen here */
  requireOwn(plan: Plan): void {
    if (!isElsewhere(plan, this.machine)) return;
    throw usageError(
      `run ${plan.id} was begun on ${plan.machine?.name}, and only that machine goes on with it; ` +
        "nothing was bought",
      say`${anewOf(plan)} begins a new run, which takes what this one holds for nothing`,
      "run_elsewhere",
    );
  }

  /**
   * `20260115-093012-1f4a2b3c4d5`: ids sort by time. Of the end the first three digits are its
   * milliseconds and the others by chance: two machines may begin in the same one.
   */
  #newId(at: number): string {
    const time = new Date(at).toISOString();
    const milliseconds = Number(time.slice(20, 23)).toString(16).padStart(3, "0");
    const second = time.slice(0, 19).replace(/[-:]/g, "").replace("T", "-");
    for (;;) {
      const id = `${second}-${milliseconds}${randomBytes(4).toString("hex")}`;
      if (!existsSync(this.#path(id))) return id;
    }
  }

  async findOpen(identity: RunIdentity): Promise<Plan | undefined> {
    const id = (await readFile(this.#lookup(identity), "utf8").catch(ifMissing(""))).trim();
    const plan = id === "" ? undefined : planOf(this.#path(id));
    if (plan === undefined || identityHash(plan) !== identityHash(identity)) return undefined;
    const { done, ended } = stateOf(this.#path(id));
    return done === undefined && ended?.how !== "stale" ? plan : undefined;
  }

  async openForWriting(id: string, lock: LockOptions): Promise<Run> {
    const plan = await this.readPlan(id);
    this.requireOwn(plan);
    const runLock = await acquireLock(join(this.#path(id), "lock"), lock);
    try {
      return await this.#withSuppression(await Run.open(this.#disk, this.#path(id), plan, runLock));
    } catch (error) {
      await runLock.release();
      throw error;
    }
  }

  async readPlan(id: string): Promise<Plan> {
    const plan = planOf(this.#path(id));
    if (plan === undefined) throw await this.#noSuchRun(id);
    return plan;
  }

  /** Whether {@link rewrite} would change its journal. */
  has(id: string, forgetting: Forgetting): boolean {
    return rewritten(journalOf(this.#path(id)), forgetting) !== undefined;
  }

  /** The caller's table that a run keeps. @throws ENOENT where it keeps none */
  input(id: string): Promise<string> {
    return readFile(join(this.#path(id), "input"), "utf8");
  }

  /** Epoch milliseconds, by the end of its journal alone; undefined where that does not tell. */
  finishedAt(id: string): number | undefined {
    return finishedSums(this.#path(id), id)?.at;
  }

  receipt(id: string): Promise<unknown> {
    return receiptOf(this.#path(id)).catch(() => undefined);
  }

  async open(id: string): Promise<RunReader> {
    const plan = await this.readPlan(id);
    return this.#withSuppression(new RunReader(this.#path(id), plan, stateOf(this.#path(id))));
  }

  ids(): Promise<string[]> {
    return runIds(this.folder);
  }

  /**
   * The newest first, as far back as is looked. One that is damaged hides nothing of the others.
   * @param damages takes why they cannot be read
   */
  async *runs(
    isMeant: (plan: Plan) => boolean,
    damages: unknown[] = [],
  ): AsyncGenerator<RunReader> {
    for (const id of (await this.ids()).slice(0, LOOKS)) {
      const plan = await this.readPlan(id).catch(() => undefined);
      if (plan === undefined || !isMeant(plan)) continue;

      try {
        yield await this.open(id);
      } catch (error) {
        // Without a journal nothing was bought: it died before its first line.
        if (errorCode(error) !== "ENOENT") damages.push(error);
      }
    }
  }

  /** As {@link open}, but what was damaged is left out and told (`lost`). */
  async salvage(id: string): Promise<RunReader> {
    const { state, problem } = readableState(this.#path(id));
    const run = new RunReader(this.#path(id), await this.readPlan(id), state);
    const told = state.done?.sums?.rows;
    const lost = told === undefined ? "not known" : told - state.rows - state.beside;
    run.damages = new Set(problem === undefined ? [] : [`${problem}; paid rows missing: ${lost}`]);
    return this.#withSuppression(run);
  }

  async list(): Promise<RunSummary[]> {
    const summaries = await Promise.all((await this.ids()).map((id) => this.summary(id)));
    return summaries.filter((summary) => summary !== undefined);
  }

  async summary(id: string): Promise<RunSummary | undefined> {
    const path = this.#path(id);
    const { plan, problem: damage } = knownPlan(path, id);
    if (plan === undefined) return undefined;

    const lock = join(path, "lock");
    const running = existsSync(lock) && (await isLocked(lock));
    const finished = running || damage !== undefined ? undefined : finishedSums(path, id);
    if (finished !== undefined) {
      const { sums, at, problem } = finished;
      return { ...sums, id, plan, status: "finished", pending: 0, lastAt: at, problem };
    }

    const { state, problem } = readableState(path);
    return {
      ...sumsIn(new RunReader(path, plan, state)),
      id,
      plan,
      ...(running ? { status: "running" } : statusOf(state, damage ?? problem)),
      pending: pendingUnits(state).length,
      lastAt: state.lastAt || Date.parse(plan.created_at) || 0,
    };
  }

  /**
   * The id that a text names: whole, a part that only one run has, or `last`.
   * @throws CliError exit 2
   */
  async resolve(text: string): Promise<string> {
    const ids = await this.ids();
    if (text === "last" && ids[0] !== undefined) return ids[0];
    if (ids.includes(text)) return text;
    const fitting = text === "" ? [] : ids.filter((id) => id.startsWith(text) || id.endsWith(text));
    if (fitting.length === 1 && fitting[0] !== undefined) return fitting[0];
    if (fitting.length > 1) {
      const message = `"${echo(text)}" names ${fitting.length} runs: ${someOf(fitting)}`;
      throw usageError(message, "give more of it, or `last` for the newest");
    }
    throw await this.#noSuchRun(text);
  }

  async #noSuchRun(text: string): Promise<CliError> {
    const near = didYouMean(text, await this.ids());
    const lists = say`${command("runs")} lists them`;
    return usageError(
      `there is no run "${echo(text)}"`,
      near === undefined ? lists : say`${near} ${lists}`,
      "no_such_run",
    );
  }

  async find(text: string): Promise<RunSummary> {
    const id = await this.resolve(text);
    const summary = await this.summary(id);
    if (summary === undefined) throw await this.#noSuchRun(id);
    // A list believes the last line of a finished one; of one that is asked for all are looked at.
    const problem =
      summary.status === "finished" ? readableState(this.#path(id)).problem : undefined;
    return problem === undefined ? summary : { ...summary, status: "damaged", problem };
  }

  /**
   * @throws CliError exit 9 where it is at work, exit 2
   * where it may still be resumed, with the command that removes it `byForce`
   */
  requireRemovable(summary: RunSummary, byForce: string | undefined): void {
    const { id, pending, status, rows } = summary;
    if (status === "running") {
      throw failed.locked(
        `run ${id} is at work`,
        `stop it first; where it ended for certain, remove ${join(this.#path(id), "lock")}`,
      );
    }
    if (byForce === undefined || OVER.includes(status)) return;

    const first =
      status === "damaged"
        ? `save it with headcount runs export ${id} --force`
        : `finish it with ${onwardOf(summary)}`;

    const lost = pending === 0 ? "" : `, and ${counted(pending, "request")} may have cost more`;
    throw usageError(
      `run ${id} is ${status} and holds ${counted(rows, "row")}${lost}`,
      `${first}, or remove it: ${byForce}`,
    );
  }

  /** @param forgotten whether it named somebody who is forgotten: then no machine may keep it */
  async remove({ plan }: Pick<RunSummary, "plan">, clock: Clock, forgotten = false): Promise<void> {
    await this.#locked(plan.id, clock, async () => {
      await this.#forgetOpen(plan);
      await keepSpend(this.#disk, this.folder, plan, forgotten);
      const trash = join(this.folder, `.gone-${plan.id}`);
      await this.#disk.rename(this.#path(plan.id), trash, "remove");
      await remove(trash);
    });
  }

  /** Its receipt and its replies, each whole or not at all. */
  async rewrite(
    id: string,
    clock: Clock,
    receipt: unknown,
    forgetting?: Forgetting,
  ): Promise<void> {
    const path = this.#path(id);
    await this.#locked(id, clock, async () => {
      await removeDrafts(path);
      if (receipt !== undefined)
        await this.#disk.replaceFile(join(path, "receipt.json"), jsonText(receipt), "receipt");
      const journal = journalOf(path);
      const after = forgetting && rewritten(journal, forgetting);
      if (after !== undefined) await this.#disk.replaceFile(journal, after, "forget");
    });
  }

  /** As it is, without what another process may write: for whoever takes it elsewhere. */
  async copyOf(id: string): Promise<RunCopy> {
    const journal = await readFile(journalOf(this.#path(id)));
    return { plan: await this.readPlan(id), receipt: await this.receipt(id), journal };
  }

  /** Takes in what another machine bought, in place of what is here of it. Whole or not at all. */
  async takeIn({ plan, receipt, journal }: RunCopy, clock: Clock): Promise<void> {
    const path = this.#path(plan.id);
    const files = [
      ["plan.json", jsonText(plan)],
      ...(receipt === undefined ? [] : [["receipt.json", jsonText(receipt)]]),
      ["journal.ndjson", journal],
    ] as const;
    const put = async (folder: string): Promise<void> => {
      for (const [name = "", data = ""] of files)
        await this.#disk.replaceFile(join(folder, `${name}`), data, "take in");
    };

    if (existsSync(path)) return this.#locked(plan.id, clock, () => put(path));

    // Swept with what a process left that died here.
    const draft = join(this.folder, `.gone-new-${plan.id}`);
    await remove(draft);
    makeFolder(draft);
    await put(draft);
    await this.#disk.rename(draft, path, "take in");
  }

  async sweep(): Promise<void> {
    for (const name of await readdir(this.folder).catch(() => [])) {
      if (name.startsWith(".gone-")) await remove(join(this.folder, name));
    }
  }

  async #forgetOpen(plan: Plan) {
    const path = this.#lookup(plan);
    const id = await readFile(path, "utf8").catch(() => "");
    if (id.trim() === plan.id) await remove(path);
  }

  /** @param problem why its output was not written; undefined: it was */
  async finish(run: Run, at: number, problem?: string): Promise<void> {
    await run.append({ t: "done", run: run.id, sums: sumsIn(run), problem, at });
    await this.#forgetOpen(run.plan);
  }

  /** A stale one is let go of: nobody asks again for its pages without a reply. */
  async end(run: Run, { how, why, at }: Omit<EndedRecord, "t">): Promise<void> {
    await run.append({ t: "ended", how, why, at });
    if (how === "stale") await this.#forgetOpen(run.plan);
  }

  async size(id: string): Promise<number> {
    let total = 0;
    for (const entry of await readdir(this.#path(id), { recursive: true, withFileTypes: true })) {
      if (entry.isFile()) total += (await stat(join(entry.parentPath, entry.name))).size;
    }
    return total;
  }
}

function identityHash(identity: RunIdentity): string {
  const { connection, base_url, account_id, key_mode, target, output } = identity;
  const text = JSON.stringify([
    connection,
    base_url,
    account_id,
    key_mode,
    targetText(target),
    output,
  ]);
  return hash("sha256", text).slice(0, 32);
}

function statusOf(
  state: RunState,
  damage: string | undefined,
): { status: RunStatus; problem?: string } {
  if (damage !== undefined) return { status: "damaged", problem: damage };
  if (state.done !== undefined) return { status: "finished" };
  return state.ended === undefined
    ? { status: "unfinished" }
    : { status: state.ended.how, problem: state.ended.why };
}

export const isOver = ({ status }: RunSummary): boolean => OVER.includes(status);
const OVER: readonly RunStatus[] = ["finished", "stale", "closed", "over"];

/** Null for companies whose people are only bounded, and where a cap alone bounds it. */
function sumsIn(run: RunReader): Sums {
  const { matches, counts, target } = run.plan;
  const isTold =
    matches === null
      ? run.offer.matches !== null
      : target.kind !== "employees" || counts !== undefined;
  return sumsOf(run.state, isTold || run.state.session?.limit != null ? run.wanted : null);
}

export async function removeDrafts(folder: string): Promise<void> {
  for (const name of await readdir(folder))
    if (/^\..*\.tmp$/.test(name)) await rm(join(folder, name));
}
