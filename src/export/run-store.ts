import { createHash, randomBytes } from "node:crypto";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { rowsOf } from "../client/rows.ts";
import type { Credits } from "../contract/money.ts";
import { nearest } from "../contract/suggest.ts";
import { CliError, EXIT, usageError } from "../errors.ts";
import { type Disk, errorCode, remove } from "./disk.ts";
import {
  apply,
  type JournalRecord,
  pendingUnits,
  type RunState,
  replay,
  type SettledRecord,
  settledUnits,
  type Unit,
} from "./journal.ts";
import { acquireLock, isLocked, type Lock, type LockOptions } from "./lock.ts";
import { checksum, Log, readLog } from "./log.ts";
import { type Plan, type RunIdentity, targetText } from "./plan.ts";

/** `finished`: its output was written whole. `running`: a living process holds it. `unfinished`: it can be resumed. */
export type RunStatus = "finished" | "running" | "unfinished" | "damaged";

/** One line of `runs list`. */
export interface RunSummary {
  readonly id: string;
  readonly status: RunStatus;
  readonly plan: Plan;
  readonly rows: number;
  readonly misses: number;
  readonly settled: Credits;
  readonly uncertain: Credits;
  readonly foreign: Credits;
  /** Intents whose reply is not known. */
  readonly pending: number;
  /** Rows that the last session meant to have; null: unknown. */
  readonly expected: number | null;
  /** Epoch milliseconds. */
  readonly lastAt: number;
  /** Why it cannot be read, where the status is `damaged`. */
  readonly problem?: string;
}

export type NewPlan = Omit<Plan, "version" | "id" | "created_at">;

/** One paid page of a run, in the order of the output. */
export interface SpooledPage {
  readonly unit: Unit;
  readonly settled: SettledRecord;
  readonly body: Buffer;
}

/** The runs in a state folder. */
export class RunStore {
  readonly folder: string;
  readonly #disk: Disk;

  /** @param stateDir the state folder (`HEADCOUNT_STATE_DIR`) */
  constructor(stateDir: string, disk: Disk) {
    this.folder = join(stateDir, "runs");
    this.#disk = disk;
  }

  #path(id: string): string {
    return join(this.folder, id);
  }

  #lookup(identity: RunIdentity): string {
    return join(this.folder, ".open", identityHash(identity));
  }

  /**
   * Makes a run's folder and takes its lock.
   * @param at epoch milliseconds, in the run's id
   */
  async create(plan: NewPlan, at: number, lock: LockOptions): Promise<Run> {
    const id = `${new Date(at).toISOString().slice(0, 19).replace(/[-:]/g, "").replace("T", "-")}-${randomBytes(3).toString("hex")}`;
    const whole: Plan = { version: 1, id, created_at: new Date(at).toISOString(), ...plan };
    const path = this.#path(id);
    await this.#disk.makeFolder(join(path, "pages"));
    const held = await acquireLock(join(path, "lock"), lock);
    try {
      await this.#disk.replaceFile(join(path, "plan.json"), `${JSON.stringify(whole, null, 2)}\n`, "plan");
      // Where the same command finds it again. Before any intent: a run that is not found again was not paid for.
      await this.#disk.makeFolder(join(this.folder, ".open"));
      await this.#disk.replaceFile(this.#lookup(whole), id, "open");
      return await Run.open(this.#disk, path, whole, held);
    } catch (error) {
      await held.release();
      await remove(path).catch(() => undefined);
      throw error;
    }
  }

  /** The unfinished run that a command with this identity continues. */
  async findOpen(identity: RunIdentity): Promise<Plan | undefined> {
    let id: string;
    try {
      id = (await readFile(this.#lookup(identity), "utf8")).trim();
    } catch (error) {
      if (errorCode(error) === "ENOENT") return undefined;
      throw error;
    }
    try {
      const plan = await this.readPlan(id);
      const { records } = await readLog<JournalRecord>(join(this.#path(id), "journal.ndjson"));
      return identityHash(plan) === identityHash(identity) && replay(records).done === undefined ? plan : undefined;
    } catch (error) {
      // Removed by hand: the name alone is left.
      if (errorCode(error) === "ENOENT" || (error instanceof CliError && error.code === "no_such_run"))
        return undefined;
      throw error;
    }
  }

  /** Opens a run to continue it; its lock is held until `close`. */
  async openForWriting(id: string, lock: LockOptions): Promise<Run> {
    const plan = await this.readPlan(id);
    const held = await acquireLock(join(this.#path(id), "lock"), lock);
    try {
      return await Run.open(this.#disk, this.#path(id), plan, held);
    } catch (error) {
      await held.release();
      throw error;
    }
  }

  /** @throws CliError `no_such_run` (exit 2), or where the plan cannot be read */
  async readPlan(id: string): Promise<Plan> {
    const path = join(this.#path(id), "plan.json");
    let text: string;
    try {
      text = await readFile(path, "utf8");
    } catch (error) {
      if (errorCode(error) === "ENOENT" || errorCode(error) === "ENOTDIR") throw await this.#noSuchRun(id);
      throw error;
    }
    try {
      return JSON.parse(text) as Plan;
    } catch (error) {
      throw new CliError({
        code: "damaged_run",
        category: "filesystem",
        exitCode: EXIT.incomplete,
        message: `${path} is damaged: ${(error as Error).message}`,
        hint: "nothing was bought or changed; the paid pages are in the folder beside it",
        cause: error,
      });
    }
  }

  /** A run to read: its plan, what its journal adds up to, its pages. */
  async open(id: string): Promise<RunReader> {
    const plan = await this.readPlan(id);
    const { records } = await readLog<JournalRecord>(join(this.#path(id), "journal.ndjson"));
    return new RunReader(this.#path(id), plan, replay(records));
  }

  /** Ids of all runs, newest first. */
  async ids(): Promise<string[]> {
    try {
      const entries = await readdir(this.folder, { withFileTypes: true });
      return entries
        .filter((entry) => entry.isDirectory() && !entry.name.startsWith("."))
        .map((entry) => entry.name)
        .sort()
        .reverse();
    } catch (error) {
      if (errorCode(error) === "ENOENT") return [];
      throw error;
    }
  }

  /** Every run, newest first. A damaged one is listed as such; it does not hide the others. */
  async list(): Promise<RunSummary[]> {
    const summaries: RunSummary[] = [];
    for (const id of await this.ids()) {
      const summary = await this.summary(id);
      if (summary !== undefined) summaries.push(summary);
    }
    return summaries;
  }

  /** @returns undefined where the folder holds no plan: a run that died before it bought anything */
  async summary(id: string): Promise<RunSummary | undefined> {
    let plan: Plan;
    try {
      plan = await this.readPlan(id);
    } catch (error) {
      if (error instanceof CliError && error.code === "no_such_run") return undefined;
      throw error;
    }
    let state: RunState;
    let problem: string | undefined;
    try {
      state = replay((await readLog<JournalRecord>(join(this.#path(id), "journal.ndjson"))).records);
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      problem = error.message;
      state = replay([]);
    }
    const running = await isLocked(join(this.#path(id), "lock"));
    const status: RunStatus =
      problem !== undefined ? "damaged" : running ? "running" : state.done === undefined ? "unfinished" : "finished";
    return {
      id,
      status,
      plan,
      rows: state.rows,
      misses: state.misses,
      settled: state.settled,
      uncertain: state.uncertain,
      foreign: state.foreign,
      pending: pendingUnits(state).length,
      expected: state.session?.rows ?? plan.matches,
      lastAt: state.lastAt || Date.parse(plan.created_at),
      ...(problem === undefined ? {} : { problem }),
    };
  }

  /**
   * The id that a text names: the whole id, or a part of one that only one run has. `last` is the newest.
   * @throws CliError exit 2 where none or several fit
   */
  async resolve(text: string): Promise<string> {
    const ids = await this.ids();
    if (text === "last" && ids[0] !== undefined) return ids[0];
    if (ids.includes(text)) return text;
    const fitting = text === "" ? [] : ids.filter((id) => id.startsWith(text) || id.endsWith(text));
    if (fitting.length === 1 && fitting[0] !== undefined) return fitting[0];
    if (fitting.length > 1) {
      throw usageError(`"${text}" names ${fitting.length} runs: ${fitting.slice(0, 5).join(", ")}`, "give more of it");
    }
    throw await this.#noSuchRun(text);
  }

  async #noSuchRun(text: string): Promise<CliError> {
    const ids = await this.ids();
    const near = nearest(text, ids);
    return usageError(
      `there is no run "${text}"`,
      near === undefined ? "headcount runs lists them" : `did you mean ${near}? headcount runs lists them`,
      "no_such_run",
    );
  }

  /**
   * Removes a run and its paid pages.
   * @throws CliError exit 9 where it is running, exit 2 where it is unfinished and `force` is not set
   */
  async remove(id: string, options: { readonly force?: boolean } = {}): Promise<void> {
    const summary = await this.summary(id);
    if (summary === undefined) throw await this.#noSuchRun(id);
    if (summary.status === "running") {
      throw new CliError({
        code: "locked",
        category: "locked",
        exitCode: EXIT.locked,
        message: `run ${id} is at work`,
        hint: "stop it first",
      });
    }
    if (summary.status !== "finished" && options.force !== true) {
      throw usageError(
        `run ${id} is ${summary.status} and holds ${summary.rows} paid rows`,
        `finish it with headcount resume ${id}, or remove it with --force`,
      );
    }
    await this.#forgetOpen(summary.plan);
    await remove(this.#path(id));
  }

  /**
   * Removes finished runs whose last activity is older than `olderThanMs` before `now`; unfinished ones only with `force`.
   * @returns the runs that were removed
   */
  async prune(now: number, olderThanMs: number, options: { readonly force?: boolean } = {}): Promise<RunSummary[]> {
    const removed: RunSummary[] = [];
    for (const summary of await this.list()) {
      if (summary.status === "running" || now - summary.lastAt < olderThanMs) continue;
      if (summary.status !== "finished" && options.force !== true) continue;
      await this.remove(summary.id, { force: true });
      removed.push(summary);
    }
    return removed;
  }

  /** The run is over: the same command begins a new one. */
  async #forgetOpen(plan: Plan): Promise<void> {
    const path = this.#lookup(plan);
    const id = await readFile(path, "utf8").catch(() => "");
    if (id.trim() === plan.id) await remove(path);
  }

  /** Writes the last line of the journal, lets go of the name under which the same command finds the run. */
  async finish(run: Run, at: number): Promise<void> {
    await run.append({ t: "done", at });
    await this.#forgetOpen(run.plan);
  }

  /** Bytes that a run takes on the disk. */
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
  const text = JSON.stringify([connection, base_url, account_id, key_mode, targetText(target), output]);
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

/** A run to read. */
export class RunReader {
  readonly path: string;
  readonly plan: Plan;
  readonly state: RunState;

  constructor(path: string, plan: Plan, state: RunState) {
    this.path = path;
    this.plan = plan;
    this.state = state;
  }

  get id(): string {
    return this.plan.id;
  }

  /** The paid pages in the order of the output, one in memory at a time. Throws where a page file was damaged. */
  async *pages(): AsyncGenerator<SpooledPage> {
    for (const unit of settledUnits(this.state)) {
      if (unit.settled === undefined || unit.settled.bytes === 0) continue;
      yield { unit, settled: unit.settled, body: await this.readPage(unit.settled) };
    }
  }

  /** The rows of all pages as they came, duplicates included. */
  async *rows(): AsyncGenerator<readonly unknown[]> {
    for await (const { body } of this.pages()) yield rowsOf(body);
  }

  /** `receipt.json` of the run, or undefined where it has none yet. */
  async receipt(): Promise<unknown> {
    try {
      return JSON.parse(await readFile(join(this.path, "receipt.json"), "utf8")) as unknown;
    } catch (error) {
      if (errorCode(error) === "ENOENT") return undefined;
      throw error;
    }
  }

  pagePath(n: number): string {
    return join(this.path, "pages", `${String(n).padStart(6, "0")}.json`);
  }

  async readPage(settled: SettledRecord): Promise<Buffer> {
    const path = this.pagePath(settled.n);
    let body: Buffer | undefined;
    try {
      body = await readFile(path);
    } catch (error) {
      if (errorCode(error) !== "ENOENT") throw error;
    }
    if (body !== undefined && body.length === settled.bytes && checksum(body) === settled.crc) return body;
    throw new CliError({
      code: "damaged_run",
      category: "filesystem",
      exitCode: EXIT.incomplete,
      message: `${path} is ${body === undefined ? "gone" : "damaged"}: its paid rows cannot be read`,
      hint: "restore the file from a backup; nothing else of the run is touched",
    });
  }
}

/** A run that is being written: its lock is held. */
export class Run extends RunReader {
  readonly #disk: Disk;
  readonly #lock: Lock;
  readonly #log: Log<JournalRecord>;

  private constructor(disk: Disk, path: string, plan: Plan, lock: Lock, log: Log<JournalRecord>, state: RunState) {
    super(path, plan, state);
    this.#disk = disk;
    this.#lock = lock;
    this.#log = log;
  }

  static async open(disk: Disk, path: string, plan: Plan, lock: Lock): Promise<Run> {
    const { log, records } = await Log.open<JournalRecord>(disk, join(path, "journal.ndjson"), "journal");
    return new Run(disk, path, plan, lock, log, replay(records));
  }

  /** Resolves once the records are synced; only then are they part of the state. */
  async append(...records: readonly JournalRecord[]): Promise<void> {
    await this.#log.append(...records);
    for (const record of records) apply(this.state, record);
  }

  /** Keeps the bytes of a reply. Resolves once they are on the disk. */
  async writePage(n: number, body: Buffer): Promise<void> {
    await this.#disk.writeFile(this.pagePath(n), body, "page");
  }

  /** Bytes that an earlier process wrote for a unit without getting to settle it. */
  async readUnsettled(n: number): Promise<Buffer | undefined> {
    try {
      return await readFile(this.pagePath(n));
    } catch (error) {
      if (errorCode(error) === "ENOENT") return undefined;
      throw error;
    }
  }

  async writeReceipt(receipt: unknown): Promise<void> {
    await this.#disk.replaceFile(join(this.path, "receipt.json"), `${JSON.stringify(receipt, null, 2)}\n`, "receipt");
  }

  async close(): Promise<void> {
    try {
      await this.#log.close();
    } finally {
      await this.#lock.release();
    }
  }
}
