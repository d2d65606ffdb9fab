import { spawn } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { DatabaseSync } from "@photostructure/sqlite";
import { openSqliteStore, type SqliteStoreOptions } from "../../../src/service/ledger/sqlite.ts";
import { credits } from "../../../src/shared/contract/money.ts";

/** strace is what stops, breaks and records the system calls. */
export const HAS_STRACE = existsSync("/usr/bin/strace");

const ROOT = resolve(import.meta.dirname, "../../..");
/** The built ledger: what runs in production, and what a plain `node` can run. */
export const STORE_MODULE = join(
  process.env.HEADCOUNT_DIST ?? join(ROOT, "dist"),
  "service/ledger/sqlite.js",
);
export const WORKER = join(import.meta.dirname, "worker.mjs");

/** A seeded generator of numbers in [0, 1): a campaign can be repeated. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export type Action =
  | { readonly kind: "open" | "close" | "account" | "tidy" | "wipe" }
  | { readonly kind: "grant"; readonly note: string; readonly amount: string }
  | { readonly kind: "key" | "revoke"; readonly hash: string }
  | { readonly kind: "hold" | "release"; readonly name: string }
  | {
      readonly kind: "settle";
      readonly name: string;
      readonly posted: string;
      readonly idempotent: boolean;
    }
  | { readonly kind: "calls"; readonly count: number };

export interface Line {
  readonly try?: Action;
  readonly ack?: Action;
  readonly refused?: Action;
  readonly name?: string;
  readonly message?: string;
}

export interface LifeOptions {
  readonly rounds: number;
  readonly width: number;
  /** Goes on after a refused action. */
  readonly tolerant?: boolean;
  /** Dies by SIGKILL as soon as an action was refused. Only with `tolerant`. */
  readonly fragile?: boolean;
  readonly store?: Partial<SqliteStoreOptions>;
  /** For controls: acknowledges before it has done anything, or what was refused. */
  readonly lies?: "early" | "always";
}

export interface Life {
  readonly folder: string;
  readonly path: string;
  readonly lines: readonly Line[];
  readonly signal: NodeJS.Signals | null;
  readonly code: number | null;
  /** What strace wrote. */
  readonly trace: string;
  readonly stderr: string;
  remove(): void;
}

export interface LifeStart {
  /** Which of the worker's lives: `life`. */
  readonly work?: "life" | "vacuum";
  /** A folder with a ledger that the life goes on with, in a copy. */
  readonly from?: string;
  /** Called before the process starts. */
  readonly beside?: (path: string) => Promise<void>;
  /** Called once where a SIGSTOP that was injected has stopped the process, with what was acknowledged until then; then it goes on. */
  readonly stopped?: (path: string, lines: readonly Line[]) => Promise<void>;
}

/** Writes of a line that a kill cut short are no acknowledgement. */
export function parseLines(text: string): Line[] {
  return text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line);
}

/** Runs one life of the ledger under strace. @param expressions what strace is to trace or to inject, `-e` each */
export async function runLife(
  options: LifeOptions,
  expressions: readonly string[],
  more: readonly string[] = [],
  { beside, from, stopped, work = "life" }: LifeStart = {},
): Promise<Life> {
  const folder = mkdtempSync(join(tmpdir(), "headcount-faults-"));
  const path = join(folder, "ledger.db");
  if (from !== undefined) cpSync(from, folder, { recursive: true });
  await beside?.(path);
  const ack = join(folder, "ack");
  const log = join(folder, "trace");
  const paths = [path, `${path}-wal`, `${path}-journal`, ...(more.length > 0 ? [ack] : [])];
  // Stops the process at those calls alone, which halves a life; strace 6.1 delivers no signal then.
  const filter = expressions.some((expression) => expression.includes("signal="))
    ? []
    : ["--seccomp-bpf"];
  const child = spawn(
    "strace",
    [
      ...["-f", ...filter, "-qq", "-o", log, ...more],
      ...expressions.flatMap((expression) => ["-e", expression]),
      ...paths.flatMap((each) => ["-P", each]),
      ...[process.execPath, WORKER, work, STORE_MODULE, path, ack, JSON.stringify(options)],
    ],
    { stdio: ["ignore", "ignore", "pipe"] },
  );
  let stderr = "";
  child.stderr.on("data", (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>(
    (done, fail) => {
      child.on("error", fail);
      child.on("close", (exitCode, exitSignal) => done({ code: exitCode, signal: exitSignal }));
    },
  );
  const told = (): Line[] => (existsSync(ack) ? parseLines(readFileSync(ack, "utf8")) : []);
  if (stopped !== undefined) {
    let over = false;
    const noted = ended.then(() => {
      over = true;
      return undefined;
    });
    const pid = await Promise.race([stoppedProcess(log, () => over), noted]);
    if (pid !== undefined) await stopped(path, told()).finally(() => goOn(pid, ended));
  }
  const { code, signal } = await ended;
  return {
    folder,
    path,
    code,
    signal,
    stderr,
    lines: told(),
    trace: readFileSync(log, "latin1"),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** The process that strace says is stopped, once one is. */
async function stoppedProcess(log: string, isOver: () => boolean): Promise<number | undefined> {
  while (!isOver()) {
    const text = existsSync(log) ? readFileSync(log, "latin1") : "";
    const [, pid] = /^(\d+) +--- stopped by SIGSTOP ---$/m.exec(text) ?? [];
    if (pid !== undefined) return Number(pid);
    await new Promise((done) => setTimeout(done, 5));
  }
  return undefined;
}

/** Until it is gone: one of its threads may come to the stop only after a first SIGCONT. */
function goOn(pid: number, ended: Promise<unknown>): void {
  const again = setInterval(() => {
    try {
      process.kill(pid, "SIGCONT");
    } catch {
      clearInterval(again);
    }
  }, 20);
  void ended.finally(() => clearInterval(again));
}

/** Plays of the points 1 to `total` every `step`th, two at a time: a life leaves most of two cores idle. */
export async function eachPoint(
  total: number,
  step: number,
  play: (when: number) => Promise<void>,
): Promise<void> {
  // Where few are played, none of them is the very beginning.
  let next = Math.max(1, step / 2);
  const player = async (): Promise<void> => {
    while (next <= total) {
      const when = Math.round(next);
      next += step;
      await play(when);
    }
  };
  await Promise.all([player(), player()]);
}

/** How many calls strace saw of a kind. */
export const countCalls = (trace: string, name: string): number =>
  trace.split("\n").filter((line) => line.includes(` ${name}(`)).length;

let checks = 0;

function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
}

/**
 * Opens a ledger that a dead process left, recovers it, and compares it with what that process was told.
 * @param volatile whether changes that need no sync must be there too: yes after a kill, no after a power failure
 * @returns one sentence per contradiction
 */
export async function checkLedger(
  path: string,
  lines: readonly Line[],
  volatile: boolean,
): Promise<string[]> {
  // The driver closes a file only when its statements are collected.
  checks += 1;
  if (checks % 50 === 0) collectGarbage();
  const problems: string[] = [];
  const actions = (which: "try" | "ack" | "refused"): Action[] =>
    lines.flatMap((line) => line[which] ?? []);
  const tried = actions("try");
  const acked = actions("ack");
  const refused = actions("refused");
  const store = await openSqliteStore({ path, now: Date.now, synchronous: "NORMAL" });
  const database = new DatabaseSync(path);
  try {
    await store.recover(0);
    problems.push(...(await store.verify()));
    const rows = <T>(sql: string): T[] => database.prepare(sql).all() as T[];
    const compare = (
      what: string,
      found: readonly { id: string; amount: string }[],
      idOf: (action: Action) => { id: string; amount: string } | undefined,
    ): void => {
      const all = new Map<string, string>();
      for (const { id, amount } of found) {
        if (all.has(id)) problems.push(`${what} ${id} is there twice`);
        all.set(id, amount);
      }
      const known = new Map(
        tried.flatMap((action) => idOf(action) ?? []).map(({ id, amount }) => [id, amount]),
      );
      for (const [id, amount] of all) {
        if (known.get(id) !== amount)
          problems.push(`${what} ${id} of ${amount} was never asked for`);
      }
      for (const { id, amount } of acked.flatMap((action) => idOf(action) ?? [])) {
        if (all.get(id) !== amount)
          problems.push(`LOST: ${what} ${id} of ${amount} was acknowledged, found ${all.get(id)}`);
      }
      for (const { id } of refused.flatMap((action) => idOf(action) ?? [])) {
        if (all.has(id)) problems.push(`CHARGED: ${what} ${id} was refused and is there`);
      }
    };
    compare(
      "charge",
      rows(
        "SELECT request_id AS id, CAST(posted AS TEXT) AS amount FROM holds WHERE state = 'posted'",
      ),
      (action) =>
        action.kind === "settle" ? { id: action.name, amount: action.posted } : undefined,
    );
    compare(
      "grant",
      rows("SELECT note AS id, CAST(amount AS TEXT) AS amount FROM entries WHERE kind = 'grant'"),
      (action) =>
        action.kind === "grant" ? { id: action.note, amount: action.amount } : undefined,
    );
    compare("key", rows("SELECT hash AS id, 'made' AS amount FROM keys"), (action) =>
      action.kind === "key" ? { id: action.hash, amount: "made" } : undefined,
    );
    compare(
      "revocation",
      rows("SELECT hash AS id, 'done' AS amount FROM keys WHERE revoked_at IS NOT NULL"),
      (action) => (action.kind === "revoke" ? { id: action.hash, amount: "done" } : undefined),
    );
    for (const action of acked) {
      if (action.kind === "revoke" && (await store.findKey(action.hash)) !== undefined)
        problems.push("LOST: a revoked key works");
      if (action.kind === "calls" && volatile) {
        const [count] = await store.callsOfDay("2999-01-01");
        if (count?.count !== action.count)
          problems.push(`LOST: ${action.count} calls were counted, found ${count?.count}`);
      }
    }
    const [pending] = rows<{ n: number }>(
      "SELECT COUNT(*) AS n FROM holds WHERE state = 'pending'",
    );
    if (pending?.n !== 0) problems.push(`${pending?.n} holds are pending after the recovery`);
    const hasAccount = (await store.account("acme")) !== undefined;
    if (!hasAccount && acked.some(({ kind }) => kind === "account"))
      problems.push("LOST: the account was acknowledged");
    if (hasAccount) {
      const posted = new Set(
        rows<{ id: string }>("SELECT request_id AS id FROM holds WHERE state = 'posted'").map(
          ({ id }) => id,
        ),
      );
      for (const action of tried) {
        if (action.kind !== "settle" || !action.idempotent) continue;
        const outcome = await store.hold({
          accountId: "acme",
          mode: "live",
          keyId: "k3",
          call: "person_search",
          amount: credits(0n),
          requestId: "retry",
          idempotency: { key: `key-${action.name}`, requestHash: `hash-${action.name}` },
        });
        const expected = posted.has(action.name) ? "replay" : "held";
        if (outcome.kind !== expected)
          problems.push(`a retry of ${action.name} is ${outcome.kind}, not ${expected}`);
        if (
          outcome.kind === "replay" &&
          !String(outcome.reply.body).startsWith(`${action.name} `)
        ) {
          problems.push(`a retry of ${action.name} gets the reply ${outcome.reply.body}`);
        }
      }
    }
  } finally {
    database.close();
    await store.close();
  }
  return problems;
}

/** Throws where there is anything to say. */
export function throwAll(problems: readonly string[]): void {
  if (problems.length > 0) throw new Error(problems.slice(0, 20).join("\n"));
}
