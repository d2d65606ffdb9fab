import { createHmac, randomBytes } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { RateLimiter } from "../http/limits.ts";
import type { Account, KeyMode, Scope, Spender, Store, StoredKey } from "../ledger/ledger.ts";
import type { ConsoleLink, ConsoleSession } from "../ledger/records.ts";
import { hashOf, parseApiKey, sameHash } from "../money/keys.ts";
import { assertScope, suspended } from "../problem.ts";
import { ConsoleRefusal } from "./guard.ts";

const newSecret = (): string => randomBytes(32).toString("base64url");

const macOf = (text: string, secret: string): string =>
  createHmac("sha256", secret).update(text).digest("base64url");

export function sealToken(value: unknown, secret: string): string {
  const text = Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${text}.${macOf(text, secret)}`;
}

export function unseal(sealed: unknown, secret: string): unknown {
  if (typeof sealed !== "string") return undefined;
  const [text = "", mac = "", ...rest] = sealed.split(".");
  // Compared as text: many texts decode to the same bytes, and each would be a quote of its own.
  if (rest.length > 0 || !sameHash(mac, macOf(text, secret))) return undefined;
  return JSON.parse(Buffer.from(text, "base64url").toString()) as unknown;
}

const LINK_MS = 10 * 60_000;
const SESSION_MS = 12 * 60 * 60_000;
const IDLE_MS = 2 * 60 * 60_000;
const SEEN_MS = 60_000;
const TRIES_A_MINUTE = 10;

interface SessionOptions {
  readonly store: Store;
  readonly limiter: Pick<RateLimiter, "takeAnonymous">;
  readonly now: () => number;
  readonly port: number;
  readonly secure: boolean;
}

/** Who is asking, with the secret of their cookie: quotes are sealed with it. */
export interface Visitor {
  readonly session: ConsoleSession;
  readonly secret: string;
  readonly account: Account;
  readonly key: StoredKey | undefined;
}

interface SignedIn {
  readonly cookie: string;
  /**
   * The second half of the session, for the page alone: a
   * cookie is sent to other ports of the same name too.
   */
  readonly proof: string;
}

export async function makeLink(
  store: Pick<Store, "console">,
  link: Omit<ConsoleLink, "hash" | "expiresAt">,
  by: string,
): Promise<string> {
  const token = newSecret();
  await store.console.addLink(
    { ...link, hash: hashOf(token), expiresAt: link.createdAt + LINK_MS },
    by,
  );
  return token;
}

export class Sessions {
  readonly #options: SessionOptions;
  readonly #cookie: string;
  readonly #attributes: string;
  readonly #times = new Map<string, number>();

  constructor(options: SessionOptions) {
    this.#options = options;
    const { port, secure } = options;
    this.#cookie = secure ? "__Host-hc_console" : `hc_console_${port}`;
    const where = secure ? "Secure; Path=/" : "Path=/console";
    this.#attributes = `; HttpOnly; SameSite=Strict; ${where}`;
  }

  async byLink(token: string, address: string): Promise<SignedIn> {
    const login = this.#make();
    const { accountId: _, role: __, ...session } = login.session;
    const account = await this.#options.store.console.redeemLink(hashOf(token), session);
    if (account === undefined) {
      this.#countFailure(address);
      throw new ConsoleRefusal(
        401,
        "bad_link",
        "this link was used before, is older than ten minutes, or was never made; " +
          "headcount service link prints a new one",
      );
    }

    return login;
  }

  async byKey(text: string, address: string): Promise<SignedIn> {
    const parsed = parseApiKey(text.trim());
    const key = parsed && (await this.#options.store.findKey(parsed.hash));
    if (!isGood(key, this.#options.now())) {
      this.#countFailure(address);
      throw new ConsoleRefusal(
        401,
        "bad_key",
        "this API key is not valid here, or expired; headcount service keys create makes one",
      );
    }

    const login = this.#make();
    const session = {
      ...login.session,
      accountId: key.accountId,
      role: "key" as const,
      keyHash: key.hash,
    };
    await this.#options.store.console.addSession(session);

    return login;
  }

  /** @throws ConsoleRefusal 401 */
  async visitor(headers: IncomingHttpHeaders, proof: string | undefined): Promise<Visitor> {
    const secret = cookieOf(headers.cookie, this.#cookie);
    const session =
      secret === undefined ? undefined : await this.#options.store.console.session(hashOf(secret));
    const now = this.#options.now();

    if (secret === undefined || session === undefined) throw signedOut();
    if (proof === undefined || !sameHash(hashOf(proof), session.proofHash)) throw signedOut();

    const seenAt = Math.max(session.seenAt, this.#times.get(session.id) ?? 0);
    if (now - seenAt > IDLE_MS) {
      await this.end(session.id);
      throw signedOut();
    }

    const key =
      session.keyHash === null ? undefined : await this.#options.store.findKey(session.keyHash);
    const account = await this.#options.store.account(session.accountId);
    if (account === undefined || (session.keyHash !== null && !isGood(key, now))) {
      await this.end(session.id);
      throw signedOut();
    }

    if (now - seenAt > SEEN_MS) {
      this.#times.set(session.id, now);
      await this.#options.store.console.seeSession(session.id, now);
    }

    return { session, secret, account, key };
  }

  /**
   * Who counts and buys: the session with its own key, or with one that nobody can have.
   * @throws Problem 403 for a suspended account or a key
   * without the scope; ConsoleRefusal 403 for another mode
   */
  acting({ account, key, session }: Visitor, mode: KeyMode, scope: Scope): Spender {
    if (account.suspendedAt !== null) throw suspended();
    if (key === undefined) {
      const id = `console:${session.id}`;
      const whose = { accountId: account.id, accountName: account.name, session: session.id };
      return { ...NOBODYS_KEY, ...whose, id, origin: id, mode };
    }

    assertScope(key, scope);
    if (key.mode === mode) return { ...key, session: session.id };

    throw new ConsoleRefusal(
      403,
      "other_mode",
      `you signed in with a ${key.mode} key: it has no ${mode} mode`,
    );
  }

  async end(id: string, by = "service"): Promise<boolean> {
    this.#times.delete(id);
    return await this.#options.store.console.endSession(id, by);
  }

  get farewell(): string {
    return `${this.#cookie}=${this.#attributes}; Max-Age=0`;
  }

  #make(): SignedIn & { readonly session: ConsoleSession } {
    const [secret, proof, now] = [newSecret(), newSecret(), this.#options.now()];
    const session: ConsoleSession = {
      id: randomBytes(6).toString("hex"),
      hash: hashOf(secret),
      proofHash: hashOf(proof),
      accountId: "",
      role: "viewer",
      keyHash: null,
      createdAt: now,
      seenAt: now,
      expiresAt: now + SESSION_MS,
    };

    return {
      cookie: `${this.#cookie}=${secret}${this.#attributes}; Max-Age=${SESSION_MS / 1_000}`,
      proof,
      session,
    };
  }

  /**
   * What signs in is never refused for the failures of others behind the same address.
   * @throws ConsoleRefusal 429
   */
  #countFailure(address: string): void {
    const { allowed, retryAfter } = this.#options.limiter.takeAnonymous(
      `sign in ${address}`,
      TRIES_A_MINUTE,
    );
    if (allowed) return;

    throw new ConsoleRefusal(
      429,
      "too_many_tries",
      "too many tries to sign in from this address; try again in a minute",
      { headers: { "retry-after": String(retryAfter) } },
    );
  }
}

const NOBODYS_KEY = {
  name: "console",
  prefix: "console",
  hash: "",
  createdAt: 0,
  revokedAt: null,
  expiresAt: null,
  scopes: null,
} as const;

const isGood = (key: StoredKey | undefined, now: number): key is StoredKey =>
  key !== undefined && key.revokedAt === null && (key.expiresAt === null || key.expiresAt > now);

const signedOut = (): ConsoleRefusal =>
  new ConsoleRefusal(
    401,
    "signed_out",
    "nobody is signed in here, or the session is over; headcount service link prints a link",
  );

function cookieOf(header: string | undefined, name: string): string | undefined {
  for (const pair of (header ?? "").split(";")) {
    const [key, value] = pair.trim().split("=");
    if (key === name && value !== undefined && /^[\w-]{43}$/.test(value)) return value;
  }
  return undefined;
}
