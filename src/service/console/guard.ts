import type { IncomingHttpHeaders } from "node:http";
import type { RateLimiter } from "../http/limits.ts";
import type { Account, Spender } from "../ledger/ledger.ts";
import { Problem } from "../problem.ts";

/**
 * An answer of the console that is an error: a sentence
 * for the page to show, and a word for it to act on.
 */
export class ConsoleRefusal extends Problem {
  readonly code: string;
  readonly issues: readonly { readonly key: string; readonly message: string }[] | undefined;

  constructor(
    status: number,
    code: string,
    message: string,
    { headers, issues }: Partial<Pick<ConsoleRefusal, "headers" | "issues">> = {},
  ) {
    super(status, [message], headers);
    this.code = code;
    this.issues = issues;
  }
}

/**
 * Takes a call of the plan.
 * @throws ConsoleRefusal 429 that says after how many seconds there is one more
 */
export function takeCall(limiter: RateLimiter, { id }: Spender, { plan }: Account): void {
  const { allowed, limit, retryAfter, window } = limiter.take(id, plan);
  if (allowed) return;

  const until = window === "minute" ? "the next minute" : "midnight (UTC)";
  throw new ConsoleRefusal(
    429,
    "rate_limited",
    `the plan's ${limit} calls a ${window} are used up until ${until}`,
    { headers: { "retry-after": String(retryAfter) } },
  );
}

/**
 * Nothing but what the service itself serves runs, styles
 * or is asked; no script may make markup from a text.
 */
export const CONSOLE_HEADERS = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; " +
    "require-trusted-types-for 'script'; trusted-types 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
} as const;

interface GuardOptions {
  readonly host: string;
  readonly port: number;
  readonly scheme: "http" | "https";
  readonly publicUrl?: string | undefined;
}

/** The names that the console is served under, as a browser writes them. */
function addressesOf({ host, port, publicUrl, scheme }: GuardOptions) {
  const hostName = host.includes(":") ? `[${host}]` : host;
  const any = host === "0.0.0.0" || host === "::";
  const names = ["127.0.0.1", "localhost", "[::1]", ...(any ? [] : [hostName.toLowerCase()])];
  // A browser leaves the port of the scheme out.
  const hosts = names.flatMap((name) =>
    port === (scheme === "http" ? 80 : 443) ? [name, `${name}:${port}`] : [`${name}:${port}`],
  );
  const origins = hosts.map((each) => `${scheme}://${each}`);

  if (publicUrl !== undefined) {
    const url = new URL(publicUrl);
    hosts.push(url.host);
    origins.push(url.origin);
  }
  return { hosts, origins };
}

/**
 * Which names the console answers to, and from which
 * pages it takes changes (docs/operate/console.md, Rules).
 */
export function consoleGuard(options: GuardOptions) {
  const { hosts, origins } = addressesOf(options);
  return {
    /**
     * A name of another page that was pointed at this address (DNS rebinding).
     * @throws ConsoleRefusal 421
     */
    checkHost({ host }: IncomingHttpHeaders): void {
      if (host !== undefined && hosts.includes(host.toLowerCase())) return;
      const hostList = [...new Set(hosts)].join(", ");
      throw new ConsoleRefusal(
        421,
        "wrong_host",
        `the console is not served under this name; it is under ${hostList}. ` +
          "Another name is given with serve --public-url",
      );
    },

    /**
     * Only a page of this very origin may ask for data or change something.
     * @throws ConsoleRefusal 403
     */
    checkSender(method: string, headers: IncomingHttpHeaders): void {
      const site = headers["sec-fetch-site"];
      const reads = method === "GET" || method === "HEAD";

      if (site !== undefined) {
        if (site === "same-origin" || (reads && site === "none")) return;
        throw foreign(`a page of another origin (${String(site).slice(0, 20)})`);
      }

      const { origin } = headers;
      if (origin === undefined ? reads : origins.includes(origin.toLowerCase())) return;

      throw foreign(
        origin === undefined ? "a program that names no origin" : "a page of another origin",
      );
    },

    /** A form of another page cannot send this type. @throws ConsoleRefusal 403 */
    checkType(headers: IncomingHttpHeaders): void {
      const type = (headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase();
      if (type === "application/json") return;
      throw new ConsoleRefusal(
        403,
        "wrong_type",
        "the console takes Content-Type: application/json",
      );
    },
  };
}

const foreign = (who: string): ConsoleRefusal =>
  new ConsoleRefusal(
    403,
    "foreign_page",
    `refused: this was sent by ${who}; programs use /v1 with an API key`,
  );
