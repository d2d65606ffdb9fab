import { setTimeout as after } from "node:timers/promises";
import { CliError } from "../../shared/errors.ts";
import { toInstall } from "../../shared/packages.ts";

/** Why a keychain cannot be used. "No such entry" is no failure: it is `undefined`. */
type KeychainProblem =
  | "missing_package"
  | "no_bus"
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

export interface KeychainOptions {
  readonly platform: NodeJS.Platform;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly deadlineMs?: number;
  readonly load?: () => Promise<KeyringPackage>;
}

interface KeyringPackage {
  readonly AsyncEntry: new (
    service: string,
    username: string,
    options?: { readonly linux?: { readonly store: "secret-service" } } | null,
  ) => {
    getPassword(signal?: AbortSignal): Promise<string | null>;
    setPassword(password: string, signal?: AbortSignal): Promise<void>;
    deleteCredential(signal?: AbortSignal): Promise<boolean>;
  };
}

const SERVICE = "headcount";
/** A keychain outside of D-Bus asks the person, in a window of its own. */
const DEADLINE_MS = { daemon: 3_000, person: 120_000 };

/**
 * One that is locked or hung is never "no key".
 * @throws CliError (exit 3), `keychain_<problem>`, from every method
 */
export function openKeychain(options: KeychainOptions): Keychain {
  type Entry = InstanceType<KeyringPackage["AsyncEntry"]>;
  const load =
    options.load ?? (() => import("@napi-rs/keyring") as unknown as Promise<KeyringPackage>);

  async function within<T>(name: string, operate: (entry: Entry) => Promise<T>): Promise<T> {
    let loaded: KeyringPackage;
    try {
      loaded = await load();
    } catch (error) {
      throw keychainError("missing_package", options, error);
    }

    // Unpinned, the package falls back to the kernel's keyring, which is gone at reboot.
    const pinned =
      options.platform === "linux" ? ({ linux: { store: "secret-service" } } as const) : null;
    const stop = new AbortController();
    const ms =
      options.deadlineMs ??
      (options.platform === "linux" ? DEADLINE_MS.daemon : DEADLINE_MS.person);
    const deadline = after(ms, undefined, { signal: stop.signal }).then(() => {
      throw keychainError("hung", options);
    });
    deadline.catch(() => undefined);

    try {
      return await Promise.race([operate(new loaded.AsyncEntry(SERVICE, name, pinned)), deadline]);
    } catch (error) {
      throw error instanceof CliError ? error : keychainError(problemOf(error), options, error);
    } finally {
      stop.abort();
    }
  }

  return {
    get: async (name) => (await within(name, (entry) => entry.getPassword())) ?? undefined,
    set: (name, key) => within(name, (entry) => entry.setPassword(key)),
    remove: (name) => within(name, (entry) => entry.deleteCredential()),
  };
}

function problemOf(error: unknown): KeychainProblem {
  const text = error instanceof Error ? error.message : String(error);
  if (/timed? ?out|NoReply|did not receive a reply/i.test(text)) return "hung";
  if (/not provided by any|ServiceUnknown|NameHasNoOwner/i.test(text)) return "no_provider";

  if (
    /autolaunch|DBUS_SESSION_BUS|connect to socket|Failed to connect|no such file|NotSupported|\$DISPLAY/i.test(
      text,
    )
  )
    return "no_bus";
  if (/\blocked|dismissed|prompt/i.test(text)) return "locked";
  if (/no such (object|collection)|default collection|does not exist/i.test(text))
    return "no_collection";

  return "failed";
}

const WAY_ROUND =
  "or give the key in HEADCOUNT_API_KEY, or choose a 0600 file: headcount login --insecure-storage";

const TEXTS: Readonly<
  Record<KeychainProblem, { readonly message: string; readonly hint: string }>
> = {
  missing_package: {
    message:
      "the keychain cannot be used: the optional package @napi-rs/keyring " +
      "is not installed or does not load here",
    hint: `${toInstall("@napi-rs/keyring")}; ${WAY_ROUND}`,
  },
  no_bus: {
    message:
      "the keychain cannot be reached: there is no D-Bus session " +
      "(usual over ssh, in containers and in cron)",
    hint: `run it inside a desktop session or under dbus-run-session; ${WAY_ROUND}`,
  },
  no_provider: {
    message:
      "there is no keychain: no program on this session's D-Bus provides org.freedesktop.secrets",
    hint: `install and start gnome-keyring, KWallet or KeePassXC; ${WAY_ROUND}`,
  },
  locked: {
    message:
      "the keychain is locked, and the question for its password " +
      "was dismissed or cannot be shown here",
    hint: `unlock it (log in at the desktop, or gnome-keyring-daemon --unlock); ${WAY_ROUND}`,
  },
  hung: {
    message: "the keychain did not answer within 3 seconds",
    hint:
      "restart its daemon (gnome-keyring-daemon --replace) " +
      `or answer its open question; ${WAY_ROUND}`,
  },
  no_collection: {
    message: "the keychain has no default collection to store keys in",
    hint:
      "create one (for example with Seahorse: " +
      `a new password keyring, set as default); ${WAY_ROUND}`,
  },
  failed: { message: "the keychain failed", hint: `see the message above; ${WAY_ROUND}` },
};

function keychainError(
  problem: KeychainProblem,
  { platform }: KeychainOptions,
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
    hint: elsewhere ? `unlock it or allow headcount to use it; ${WAY_ROUND}` : hint,
    ...(text === undefined || problem === "missing_package"
      ? {}
      : { details: [`it said: ${text}`] }),
    cause,
  });
}
