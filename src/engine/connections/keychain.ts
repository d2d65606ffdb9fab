import { existsSync } from "node:fs";
import { setTimeout as after } from "node:timers/promises";
import { answerOf, Overrun } from "../../shared/child.ts";
import type { Context } from "../../shared/context.ts";
import { CliError, command, option, type Sentence, say } from "../../shared/errors.ts";
import { nativePath, toInstall } from "../../shared/packages.ts";

/** Why a keychain cannot be used. "No such entry" is no failure: it is `undefined`. */
type KeychainProblem =
  | "missing_package"
  | "no_bus"
  | "silent_bus"
  | "no_provider"
  | "locked"
  | "hung"
  | "no_collection"
  | "failed";

export interface Keychain {
  get(name: string): Promise<string | undefined>;
  set(name: string, key: string): Promise<void>;
  remove(name: string): Promise<boolean>;
}

/** Without a terminal nobody is waited for; without `interrupted` no signal ends the wait. */
export interface KeychainOptions
  extends Pick<Context, "platform" | "env">,
    Partial<Pick<Context, "interrupted" | "stderr">> {
  /** Where the package stands; default: where it is installed. */
  readonly module?: string;
  /** What to do without a keychain, where it is not the key of a connection that is kept. */
  readonly otherwise?: Sentence;
}

interface Request {
  readonly operation: "getPassword" | "setPassword" | "deleteCredential";
  readonly name: string;
  readonly key?: string;
}

const SERVICE = "headcount";
/** A keychain that asks the person does so in a window, where there is one. */
const DEADLINE_MS = { daemon: 3_000, person: 120_000 };
const DECLARED_MS = 2_000;
const MEMORY_MB = 64;

/** Runs in the child. Unpinned, the package falls back to the kernel's keyring, gone at reboot. */
const TEXT = `
let loaded;
try {
  loaded = require(workerData.module);
} catch (error) {
  return () => ({ unloaded: error.message });
}
const pinned = workerData.platform === "linux" ? { linux: { store: "secret-service" } } : null;
return async ({ operation, name, key }) => {
  const entry = new loaded.AsyncEntry(${JSON.stringify(SERVICE)}, name, pinned);
  return { value: await (key === undefined ? entry[operation]() : entry[operation](key)) };
};`;

/**
 * The package's calls block the thread they are made in, also where the
 * daemon never answers: each is a process of its own, which can be ended.
 * One that is locked or hung is never "no key".
 * @throws CliError (exit 3), `keychain_<problem>`, from every method; the reason of `interrupted`
 */
export function openKeychain(options: KeychainOptions): Keychain {
  const { platform, module = nativePath("@napi-rs/keyring") } = options;

  async function ask<Value>(request: Request): Promise<Value> {
    if (module === undefined) throw keychainError("missing_package", options);
    if (platform === "linux" && busOf(options.env) === undefined)
      throw keychainError("no_bus", options);
    const ended = new AbortController();
    const signals = [ended.signal, ...(options.interrupted ? [options.interrupted] : [])];
    const signal = AbortSignal.any(signals);
    void watch(options, ended);

    let answer: { readonly value: Value } | { readonly unloaded: string };
    try {
      answer = await answerOf(request, {
        deadlineMs: DEADLINE_MS.person,
        memoryMb: MEMORY_MB,
        what: "the keychain",
        text: TEXT,
        data: { module, platform },
        signal,
      });
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      // What the library says is for people: nothing is decided by it.
      const otherwise = error instanceof Overrun ? "hung" : "failed";
      throw keychainError((await declared(options)) ?? otherwise, options, error);
    } finally {
      ended.abort();
    }

    if ("unloaded" in answer) throw keychainError("missing_package", options);
    // A locked KeePassXC may say of every key that there is none.
    if (!answer.value && (await declared(options)) === "locked")
      throw keychainError("locked", options);
    return answer.value;
  }

  return {
    get: async (name) =>
      (await ask<string | null>({ operation: "getPassword", name })) ?? undefined,
    set: (name, key) => ask({ operation: "setPassword", name, key }),
    remove: (name) => ask({ operation: "deleteCredential", name }),
  };
}

/** Where the session's D-Bus is; undefined where there is none. */
function busOf({ DBUS_SESSION_BUS_ADDRESS: address, XDG_RUNTIME_DIR: folder }: Context["env"]) {
  if (address) return address;
  return folder && existsSync(`${folder}/bus`) ? `unix:path=${folder}/bus` : undefined;
}

/** After three seconds of silence: ends the wait, or says what is waited for. */
async function watch(options: KeychainOptions, ended: AbortController): Promise<void> {
  const { env, platform, stderr } = options;
  try {
    await after(DEADLINE_MS.daemon, undefined, { signal: ended.signal });
  } catch {
    return;
  }

  if (platform === "linux") {
    const state = await declared(options);
    const hasWindows = Boolean(env.DISPLAY || env.WAYLAND_DISPLAY);
    const isAsking = hasWindows && stderr?.isTTY === true && state !== "silent_bus";
    if (!isAsking) return ended.abort(keychainError(state ?? "hung", options));
  }

  if (!ended.signal.aborted && stderr?.isTTY)
    stderr.write("Waiting for the keychain: it may be asking for its password in a window.\n");
}

/** What the bus itself says is wrong with the keychain: undefined where it knows of nothing. */
async function declared({ env, platform }: KeychainOptions): Promise<KeychainProblem | undefined> {
  const bus = platform === "linux" ? busOf(env) : undefined;
  if (bus === undefined) return undefined;
  const { secretServiceState } = await import("./secret-service.ts");
  const state = await secretServiceState(bus, DECLARED_MS);
  return state === "open" ? undefined : state;
}

/** Of the key of a connection. */
const BY_LOGIN = say`give the key in HEADCOUNT_API_KEY, or choose a 0600 file:
  ${command("login", { options: [option("insecure_storage")] })}`;

const TEXTS: Readonly<
  Record<KeychainProblem, { readonly message: string; readonly hint: Sentence }>
> = {
  missing_package: {
    message:
      "the keychain cannot be used: the optional package @napi-rs/keyring " +
      "is not installed or does not load here",
    hint: toInstall("@napi-rs/keyring"),
  },
  no_bus: {
    message:
      "the keychain cannot be reached: there is no D-Bus session " +
      "(usual over ssh, in containers and in cron)",
    hint: "run it inside a desktop session or under dbus-run-session",
  },
  silent_bus: {
    message: "the D-Bus session takes connections and answers nothing: no keychain is reached",
    hint: "log out and in again, or run it under dbus-run-session",
  },
  no_provider: {
    message:
      "there is no keychain: no program on this session's D-Bus provides org.freedesktop.secrets",
    hint: "install and start gnome-keyring, KWallet or KeePassXC",
  },
  locked: {
    message:
      "the keychain is locked, and the question for its password " +
      "was dismissed or cannot be shown here",
    hint:
      "unlock it (log in at the desktop, or gnome-keyring-daemon --unlock; " +
      "KeePassXC: its database)",
  },
  hung: {
    message: "the keychain did not answer in time",
    hint: "unlock it, or answer the window in which it asks; if it has none, restart its program",
  },
  no_collection: {
    message: "the keychain has no collection to store keys in",
    hint:
      "make one (Seahorse: a new password keyring, set as default; KeePassXC: expose a group " +
      "in Database Settings, Secret Service Integration)",
  },
  failed: {
    message: "the keychain refused, and the session's D-Bus says nothing of why",
    hint: "see its own words",
  },
};

function keychainError(
  problem: KeychainProblem,
  { platform, otherwise = BY_LOGIN }: KeychainOptions,
  cause?: unknown,
): CliError {
  const { message, hint } = TEXTS[problem];
  const text = cause instanceof Error ? cause.message.split("\n", 1)[0] : undefined;
  const elsewhere = platform !== "linux" && problem !== "missing_package";
  const silent = "the system's keychain did not answer";

  return new CliError({
    code: `keychain_${problem}`,
    category: "auth",
    message: elsewhere ? (problem === "hung" ? silent : "the system's keychain refused") : message,
    hint: say`${elsewhere ? "unlock it or allow headcount to use it" : hint}; or ${otherwise}`,
    ...(text === undefined || problem === "missing_package"
      ? {}
      : { details: [`in the keychain's own words: ${text}`] }),
    cause,
  });
}
