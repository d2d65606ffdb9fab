import { hash, randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { open, readdir, readFile, stat, unlink, writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { basename, dirname, join } from "node:path";
import { platform } from "node:process";
import type { Context } from "../../shared/context.ts";
import { CliError, option, say } from "../../shared/errors.ts";
import { isRunning, type ProcessIdentity, systemText, thisProcess } from "../../shared/process.ts";
import { claim, errorCode, FILE_MODE } from "./disk.ts";

/** `elsewhere`: nobody here can tell, so it counts as living and is never taken over. */
type Fate = "living" | "gone" | "elsewhere";

const bootedAt = (): number =>
  Number(/^btime (\d+)$/m.exec(systemText("/proc/stat"))?.[1] ?? 0) * 1_000;

/** @param since epoch milliseconds @param sign where its sign of life is */
async function fateOf(holder: ProcessIdentity, since: number, sign: string): Promise<Fate> {
  const self = thisProcess();
  if (holder.boot !== self.boot) {
    // A name and an id may be shared; nothing here ran before the machine was started.
    const same =
      holder.machine !== "" && holder.machine === self.machine && holder.host === self.host;
    return same && holder.boot !== "" && since < bootedAt() ? "gone" : "elsewhere";
  }

  // Without /proc a Linux process does not know in which container it is; other systems have none.
  if (self.boot === "" && (holder.host !== self.host || platform === "linux")) return "elsewhere";

  const near = holder.space === self.space && (self.space !== "" || platform !== "linux");
  const running = near ? isRunning(holder) : undefined;
  if (running !== undefined) return running ? "living" : "gone";
  // A number that is in use may be another's by now: where no sign tells, it is not.
  const fate = await askSign(sign);
  return near && fate === "elsewhere" ? "living" : fate;
}

type End = (() => Promise<void>) | undefined;

/**
 * A socket that a process listens on: the kernel tells other PID namespaces when it is gone.
 * @returns what ends it
 */
const showLife = (path: string): Promise<End> =>
  shortly<End>(
    path,
    undefined,
    (short) =>
      new Promise((resolve) => {
        const server = createServer((socket) => socket.destroy());
        const end = async (): Promise<void> => {
          await new Promise<void>((closed) => server.close(() => closed()));
          await unlink(path).catch(() => undefined);
        };
        server.on("error", () => resolve(undefined));
        server.listen(short, () => resolve(end));
        server.unref();
      }),
  );

/** A refusal means that nobody listens any more. Anything else tells nothing. */
const askSign = (path: string): Promise<Fate> =>
  shortly<Fate>(
    path,
    "elsewhere",
    (short) =>
      new Promise((resolve) => {
        const socket = connect(short);
        socket.on("connect", () => {
          socket.destroy();
          resolve("living");
        });
        socket.on("error", (error) =>
          resolve(errorCode(error) === "ECONNREFUSED" ? "gone" : "elsewhere"),
        );
      }),
  );

const NAME_BYTES = 100;

/**
 * Where a socket's path is too long, by way of its open folder.
 * @param otherwise where that fails
 */
async function shortly<Result>(
  path: string,
  otherwise: Result,
  work: (short: string) => Promise<Result>,
): Promise<Result> {
  if (Buffer.byteLength(path) <= NAME_BYTES) return await work(path);

  const folder = await open(dirname(path), "r").catch(() => undefined);
  try {
    const short = `/proc/self/fd/${folder?.fd}/${basename(path)}`;
    if (
      folder === undefined ||
      Buffer.byteLength(short) > NAME_BYTES ||
      !existsSync(dirname(short))
    )
      return otherwise;
    return await work(short);
  } finally {
    await folder?.close();
  }
}

export interface LockHolder extends ProcessIdentity {
  readonly at: string;
  readonly token: string;
  /** The keys of what it claims. */
  readonly claims?: readonly string[] | undefined;
}

export interface Lock {
  release(): Promise<void>;
}

export interface LockOptions extends Pick<Context, "now" | "sleep"> {
  readonly wait?: boolean;
  readonly signal?: AbortSignal;
  readonly onWait?: (holder: LockHolder | undefined, what: string) => void;
  readonly what: string;
  readonly claims?: readonly string[];
}

/** What one command at a time may be at work on. */
export interface Claim {
  /** In a sentence: "another run is at work on ...". */
  readonly what: string;
  readonly key: string;
  /** Whether it waits for another one that has it, and does not fail. */
  readonly waits: boolean;
}

const POLL_MS = 250;
const SIGN_MADE_MS = 200;

const temporaryOf = (path: string, token: string): string => `${path}.${token}`;
const signOf = (path: string, token: string): string => `${path}.${token}.s`;
/** Whose turn it is to remove what the process of this token, which is gone, was about. */
const turnAfter = (path: string, token: string): string => `${path}.${token}.t`;

/**
 * Made whole and at once. Only a lock whose holder is gone is taken over.
 * @throws CliError exit 9
 */
export async function acquireLock(path: string, options: LockOptions): Promise<Lock> {
  const token = randomBytes(8).toString("hex");
  const at = new Date(options.now()).toISOString();
  const mine: LockHolder = { ...thisProcess(), at, token, claims: options.claims };
  // Before the lock says whose it is: a holder that shows no sign where it should is gone.
  const endSign = await showLife(signOf(path, token));

  try {
    await take(path, mine, options);
  } catch (error) {
    await endSign?.();
    throw error;
  }

  await clearLeft(path, token, options.now());
  return {
    release: async () => {
      if ((await readHolder(path))?.token === token) await unlink(path).catch(() => undefined);
      await endSign?.();
    },
  };
}

/** Works while the lock is held. @throws CliError as {@link acquireLock} */
export async function withLock<T>(
  path: string,
  options: LockOptions,
  work: () => Promise<T>,
): Promise<T> {
  const lock = await acquireLock(path, options);
  return await work().finally(() => lock.release());
}

/**
 * Works while all of it is claimed: the whole or nothing, so that
 * no two wait for each other. @throws CliError exit 9
 */
export async function withClaims<T>(
  folder: string,
  claims: readonly Claim[],
  options: Omit<LockOptions, "what" | "wait" | "claims">,
  work: () => Promise<T>,
): Promise<T> {
  const keyed = new Map(claims.map((claim) => [hashOf(claim.key), claim]));
  const path = join(folder, `${randomBytes(8).toString("hex")}${CLAIM}`);
  const own = { ...options, what: "its claims", claims: [...keyed.keys()] };
  const look = { ...options, onWait: () => undefined, what: "the claims", wait: true };

  let lock: Lock | undefined;
  const claimAll = async (): Promise<Rival | undefined> => {
    const rival = await rivalOf(folder, keyed);
    if (rival === undefined) lock = await acquireLock(path, own);
    return rival;
  };

  await outlast(() => withLock(join(folder, "claims"), look, claimAll), options);
  return await work().finally(() => lock?.release());
}

const CLAIM = ".claim";

/** What a claim is kept as: a segment may name a person. */
const hashOf = (key: string): string => hash("sha256", key).slice(0, 32);

/** Who has any of it, if anybody. What killed ones claimed goes, whatever it was. */
async function rivalOf(
  folder: string,
  keyed: ReadonlyMap<string, Claim>,
): Promise<Rival | undefined> {
  for (const name of await readdir(folder)) {
    if (!name.endsWith(CLAIM)) continue;
    const path = join(folder, name);
    const holder = await readHolder(path);
    if (holder === undefined) continue;

    const fate = await fateOfHolder(path, holder);
    const claim = keyed.get(holder.claims?.find((key) => keyed.has(key)) ?? "");
    if (fate === "gone") await removeAll([path, signOf(path, holder.token)]);
    else if (claim !== undefined) return { ...claim, path, holder, fate };
  }

  return undefined;
}

/** Of those who were killed as they waited. A sign that is too young may have no listener yet. */
async function clearLeft(path: string, token: string, now: number) {
  const start = `${basename(path)}.`;
  const tokens = new Set<string>();
  for (const name of await readdir(dirname(path)).catch(() => [])) {
    const [, theirs, kind] =
      /^([0-9a-f]{16})(\.[st])?$/.exec(name.startsWith(start) ? name.slice(start.length) : "") ??
      [];
    if (theirs === undefined || theirs === token) continue;
    if (kind === ".t") await unlink(join(dirname(path), name)).catch(() => undefined);
    else tokens.add(theirs);
  }

  for (const theirs of tokens) {
    const sign = signOf(path, theirs);
    const stats = await stat(sign).catch(() => undefined);
    if (stats !== undefined && now - stats.mtimeMs < SIGN_MADE_MS) continue;
    const writer = await readHolder(temporaryOf(path, theirs));
    const fate = writer === undefined ? await askSign(sign) : await fateOfHolder(path, writer);
    if (fate === "gone") await removeAll([temporaryOf(path, theirs), sign]);
  }
}

/** In this order: what tells that its process is gone comes last. */
async function removeAll(paths: readonly string[]) {
  for (const each of paths) await unlink(each).catch(() => undefined);
}

/** Who has what is wanted. */
interface Rival extends Pick<Claim, "what" | "waits"> {
  /** Of its lock. */
  readonly path: string;
  readonly holder: LockHolder | undefined;
  readonly fate: Fate;
}

async function take(path: string, mine: LockHolder, options: LockOptions) {
  const { what, wait: waits = false } = options;
  const attempt = async (): Promise<Rival | undefined> => {
    if (await create(path, path, mine)) return undefined;
    const holder = await readHolder(path);
    const fate = await fateOfHolder(path, holder);
    if (holder !== undefined && fate === "gone") await takeAway(path, holder, mine);
    return { path, what, waits, holder, fate };
  };

  await outlast(attempt, options);
}

/** Tries until nobody has it. @throws CliError exit 9 where it does not wait */
async function outlast(
  attempt: () => Promise<Rival | undefined>,
  { onWait, sleep, signal }: Pick<LockOptions, "onWait" | "sleep" | "signal">,
): Promise<void> {
  for (let waits = 0; ; ) {
    const rival = await attempt();
    if (rival === undefined) return;

    const isGone = rival.fate === "gone";
    if (!isGone && !rival.waits) throw lockedError(rival);
    if (!isGone && waits === 0) onWait?.(rival.holder, rival.what);
    waits += isGone ? 0 : 1;
    await sleep(Math.min(POLL_MS, 2 ** waits), signal);
  }
}

export async function readHolder(path: string): Promise<LockHolder | undefined> {
  try {
    const { pid, token, ...rest } = JSON.parse(await readFile(path, "utf8")) as Partial<LockHolder>;
    if (typeof pid !== "number" || typeof token !== "string" || !/^\w+$/.test(token))
      return undefined;
    return { started: "", space: "", boot: "", machine: "", host: "", at: "", ...rest, pid, token };
  } catch {
    return undefined;
  }
}

export const isLocked = async (path: string): Promise<boolean> => {
  const holder = await readHolder(path);
  return holder !== undefined && (await fateOfHolder(path, holder)) !== "gone";
};

async function fateOfHolder(path: string, holder: LockHolder | undefined): Promise<Fate> {
  if (holder !== undefined)
    return await fateOf(holder, Date.parse(holder.at), signOf(path, holder.token));
  // Nobody can read it; or whoever had it released it before it was read.
  return existsSync(path) ? "elsewhere" : "gone";
}

function lockedError({ path, what, holder, fate }: Rival): CliError {
  const self = thisProcess();
  const where =
    holder?.boot !== self.boot || (self.boot === "" && holder.host !== self.host)
      ? ` on ${holder?.host ?? ""}`
      : holder.space === self.space
        ? ""
        : " in another container";

  const who =
    holder === undefined
      ? "a process that left no name"
      : `process ${holder.pid}${where} since ${holder.at}`;

  return new CliError({
    code: "locked",
    category: "locked",
    message: `another run is at work on ${what}: ${who}`,
    ...(fate === "living"
      ? {
          option: "wait",
          hint: say`wait for it with ${option("wait")}, or stop it; nothing was bought`,
        }
      : { hint: `if it is certain that it ended, remove ${path}` }),
  });
}

/** @param path the lock's, @param file its own or a turn's */
async function create(path: string, file: string, mine: LockHolder): Promise<boolean> {
  const temporary = temporaryOf(path, mine.token);
  await writeFile(temporary, JSON.stringify(mine), { mode: FILE_MODE, flag: "wx" });

  try {
    await claim(temporary, file);
    return true;
  } catch (error) {
    if (errorCode(error) === "EEXIST") return false;
    throw error;
  } finally {
    await unlink(temporary).catch(() => undefined);
  }
}

/**
 * Removes a stale lock. Several processes may have seen it, and one may hold
 * a new lock by now: each looks again in its turn. Whoever is killed in its
 * turn keeps it, so that nobody slow removes the turn of a living one.
 */
async function takeAway(path: string, stale: LockHolder, mine: LockHolder) {
  const turns: string[] = [];
  const tokens = [stale.token];
  for (let turn = turnAfter(path, stale.token); ; turn = turnAfter(path, tokens.at(-1) ?? "")) {
    turns.push(turn);
    if (await create(path, turn, mine)) break;
    const holder = await readHolder(turn);
    if (holder === undefined || (await fateOfHolder(path, holder)) !== "gone") return;
    tokens.push(holder.token);
  }

  if ((await readHolder(path))?.token === stale.token) await unlink(path).catch(() => undefined);
  await removeAll(turns);
  for (const token of tokens) await removeAll([temporaryOf(path, token), signOf(path, token)]);
}
