import { LostReplyError, ServiceError, WaitTooLongError } from "../engine/client/errors.ts";
import type { KeySource } from "../engine/connections/resolve.ts";
import { isFault } from "../engine/runs/journal.ts";
import { ZERO } from "../shared/contract/money.ts";
import {
  atConnection,
  CliError,
  type CliErrorInit,
  type CodeOf,
  clauses,
  command,
  type ErrorCategory,
  failed,
  isUntrusted,
  type OwnCommand,
  option,
  type Sentence,
  say,
  shellWord,
  systemFailure,
  theirs,
  usageError,
} from "../shared/errors.ts";
import { missingPackage } from "../shared/packages.ts";

export interface CallSite {
  readonly connectionName: string;
  readonly baseUrl: string;
  /** Whose file says how the key is sent. */
  readonly vendor?: string | undefined;
  readonly key?: { readonly shown: string; readonly source: KeySource } | undefined;
  /** The data folder of the built-in sample service, where it is the one that answered. */
  readonly sampleDir?: string | undefined;
}

const doctor = (site: CallSite): OwnCommand =>
  command("doctor", { options: atConnection(site.connectionName) });

/** What an answer says, and of which call. */
interface Answered extends CallSite {
  readonly status: number;
  /** Whether it came as the contract says: else something in between may have given it. */
  readonly envelope: boolean;
  /** In the service's words. */
  readonly detail: Sentence;
  readonly requestId: string | undefined;
  readonly refusedSizes?: readonly number[] | undefined;
}

const row = <Category extends ErrorCategory>(
  code: CodeOf<Category>,
  category: Category,
  message: (answer: Answered) => Sentence,
  hint?: Sentence | ((answer: Answered) => Sentence),
) => ({ code, category, message, hint });

/** What it refuses is in its own words, which are shown and not read. */
const REFUSED = row(
  "request_refused",
  "usage",
  ({ status, detail }) => say`the service refused the request (${status}): ${detail}`,
  (answer) => {
    const { refusedSizes = [] } = answer;
    return clauses(
      refusedSizes.length > 0
        ? say`so were pages of ${refusedSizes.join(", ")} rows: a higher ${option("max_credits")} or
            ${option("limit")} asks for a larger one`
        : say`${command("filters")} lists what a filter may be`,
      say`${doctor(answer)} looks at the rest, free of charge`,
    );
  },
);

const keyOf = ({ key }: CallSite): string =>
  key === undefined ? "the key" : `the key ${key.shown} from ${KEY_PLACES[key.source]}`;

const KEY = row(
  "key_refused",
  "auth",
  (answer) => say`the service refused ${keyOf(answer)} (${answer.status}): ${answer.detail}`,
  ({ envelope, key, connectionName, status, vendor }) => {
    // By the service's own words: another key of these scopes is refused as well.
    if (status === 403 && envelope)
      return say`the service knows the key, which may not do this: its operator gives scopes, and
        ${command("account")} shows them`;

    const between = envelope ? "" : "; a proxy or firewall in between may have refused it";
    const sent =
      vendor === undefined ? `Authorization: Bearer${between}` : `the file of ${vendor} says`;
    return key?.source === "environment"
      ? "put another key into HEADCOUNT_API_KEY; it goes before whatever headcount " +
          `login stores; it was sent as ${sent}`
      : `headcount login ${connectionName} stores another key; this one was sent as ${sent}`;
  },
);

const KEY_LOST = row(
  "key_lost",
  "auth",
  (answer) =>
    `no key arrived at ${answer.baseUrl}, though ${keyOf(answer)} was sent: something in between ` +
    `takes the header Authorization away (${answer.status})`,
  "whoever runs the proxy in front of the service has to pass Authorization on " +
    "(Squid: login=PASSTHRU at its cache_peer); the key itself was not refused",
);

/**
 * What a service's answer means, by its status. No
 * error is ever charged (docs/reference/contract.md, "Errors").
 */
const ANSWERS: Readonly<Record<number, ReturnType<typeof row>>> = {
  401: KEY,
  402: row(
    "insufficient_credits",
    "credits",
    ({ detail }) => say`not enough credits (402): ${detail}`,
    creditHint,
  ),
  403: { ...KEY, code: "forbidden" },
  429: row(
    "rate_limited",
    "rate_limit",
    ({ detail }) => say`too many calls (429): ${detail}`,
    clauses("wait a little", say`${command("account")} shows the limits`),
  ),
};

const REDIRECT = row(
  "redirect",
  "service",
  ({ baseUrl, status, detail }) => say`${baseUrl} answered ${status}: ${detail}`,
  "headcount login again with the final address",
);

const NOT_THE_API = row(
  "not_the_api",
  "service",
  ({ baseUrl, status, detail }) => say`${baseUrl} answered ${status} with ${detail}`,
  "is this the API's address? give the part before /v1 as base URL",
);

/** Who answers may be another than its file speaks of. */
const UNDECLARED = {
  ...NOT_THE_API,
  message: ({ baseUrl, status, detail }: Answered) =>
    say`${baseUrl} answered ${status}, of which the file of the vendor says nothing: ${detail}`,
  hint:
    `connections add ... --base-url gives another address; "means" says in the file what an ` +
    "answer means",
};

const FAILED = row(
  "service_failed",
  "service",
  ({ status, detail }) => say`the service answered ${status}: ${detail}`,
  ({ requestId }) =>
    "try again later; if it stays, contact its operator" +
    `${requestId === undefined ? "" : " with the request id"}`,
);

/** How to get more credits. The built-in sample is topped up from the command line. */
function creditHint({ sampleDir }: Pick<CallSite, "sampleDir">): Sentence {
  return sampleDir === undefined
    ? clauses(
        say`lower ${option("limit")} or ${option("per_page")}, top the account up, or use a key with
          more left of its cap`,
        say`${command("account")} shows both`,
      )
    : `headcount service credits add 10000 --data ${shellWord(sampleDir)}`;
}

export const KEY_PLACES: Readonly<Record<KeySource, string>> = {
  environment: "HEADCOUNT_API_KEY",
  keychain: "the keychain",
  file: "the credentials file",
  sample: "the sample's folder",
};

function rowOf({ answered, envelope, lostKey, status }: ServiceError): ReturnType<typeof row> {
  if (answered !== undefined && !envelope) return UNDECLARED;
  if (lostKey === true) return KEY_LOST;
  if (status >= 300 && status < 400) return REDIRECT;
  // The 404 of a company that nobody knows is an answer, and does not come here.
  if (status === 404 || (!envelope && (status < 400 || status === 405))) return NOT_THE_API;
  return [400, 413, 415, 422].includes(status) ? REFUSED : (ANSWERS[status] ?? FAILED);
}

/**
 * What a run's calls may have cost is told by whoever ends the run (docs/explanation/caps.md), and
 * of what broke at its end the service tells it in its own words.
 */
const freeText = ({ creditsUsed = ZERO, isFree, status }: ServiceError): string =>
  creditsUsed === 0n && (isFree ?? !isFault(status)) ? FREE : "";

const FREE = "; nothing was charged";

function answerFailure(error: ServiceError, site: CallSite): CliError {
  const [detail = "no detail", ...details] = error.detail.map(theirs);
  const { message, hint, ...own } = rowOf(error);
  const { status, answered = status, requestId, refusedSizes, envelope } = error;
  const answer = { ...site, status: answered, detail, requestId, refusedSizes, envelope };
  const call = message(answer);

  return new CliError({
    ...own,
    message: say`${call}${freeText(error)}`,
    call,
    hint: typeof hint === "function" ? hint(answer) : hint,
    status,
    requestId,
    details,
    cause: error,
  });
}

function wayThere({ code, proxy, wasSent }: LostReplyError, site: CallSite): Sentence {
  if (proxy !== undefined && !wasSent) {
    const host = URL.canParse(site.baseUrl) ? new URL(site.baseUrl).hostname : site.baseUrl;
    return `see whether the proxy in ${proxy} is up; with NO_PROXY=${host} it is not asked`;
  }
  if (code !== "ECONNREFUSED") return say`${doctor(site)} checks the way there, free of charge`;
  return clauses(
    `see whether the service at ${site.baseUrl} is up`,
    say`${doctor(site)} looks further`,
  );
}

function lostReply(error: LostReplyError, site: CallSite): CliError {
  const [why, code] = error.wasSent
    ? (["no whole answer came", "lost_reply"] as const)
    : (["the request was not sent", "unreachable"] as const);
  const call = `${why}: ${error.message}`;
  if (!error.wasSent && isUntrusted(error.code)) {
    return usageError(
      `${call}${FREE}`,
      "the key is not sent to a host that cannot prove who it is",
      "untrusted",
      error,
    ).with({ call });
  }

  return failed.network(`${call}${FREE}`, wayThere(error, site), code, error).with({ call });
}

function waitTooLong(error: WaitTooLongError): CliError {
  const seconds = Math.ceil(error.waitMs / 1000);
  const waited = Math.ceil(error.waitedMs / 1000);
  const most = error.maxWaitMs / 1000;

  // Rounded so that the sum is what is said of it.
  const past = (Math.ceil(error.waitedMs / 100) / 10).toString();
  const bound = option("max_wait", most);
  const asks =
    waited === 0
      ? say`the rate limit makes this a wait of ${seconds} s, longer than ${bound}`
      : say`the rate limit has held up one call for ${past} s, and the next wait is ${seconds} s: in
        all longer than ${bound}`;
  const longer = waited + seconds + 5;
  const again = longer > 604_800 ? "" : say`, or with ${option("max_wait", longer)}`;

  // Which limit it is, in the service's words: there are others than that of the minute.
  const refusal = error.cause instanceof ServiceError ? error.cause : undefined;
  const details = refusal?.detail.map(theirs) ?? [];
  const free = refusal === undefined ? FREE : freeText(refusal);
  const failure = failed.rate_limit(
    say`${asks}${free}`,
    say`run it again after ${new Date(error.resetAt).toISOString().slice(0, 19)}Z${again}`,
    "rate_limited",
    error,
  );
  return failure.with({ call: asks, status: 429, requestId: error.requestId, details });
}

/**
 * What went wrong with a call, as it is reported; what is no error of a call comes back as it is.
 */
export function mapError(error: unknown, site: CallSite): unknown {
  if (error instanceof WaitTooLongError) return waitTooLong(error);
  if (error instanceof ServiceError) return answerFailure(error, site);
  if (!(error instanceof LostReplyError)) return error;
  // A cancelled request is told by what cancelled it: the signal.
  return error.code === "ABORTED" && error.cause !== undefined
    ? error.cause
    : lostReply(error, site);
}

const STOPPED = { code: "interrupted", category: "interrupted", message: "interrupted" } as const;
const ENDINGS: Readonly<Record<string, Omit<CliErrorInit, "cause">>> = {
  SIGINT: STOPPED,
  SIGTERM: STOPPED,
  SIGHUP: STOPPED,
  SIGBREAK: STOPPED,
  EPIPE: { code: "pipe_closed", category: "pipe_closed", message: "closed pipe" },
};

/**
 * Whatever a command threw as the one error that is
 * reported. What nothing else explains is a bug: exit 1.
 */
export function failureOf(error: unknown): CliError {
  if (error instanceof CliError) return error;

  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const message = error instanceof Error ? error.message : String(error);
  const ending = ENDINGS[code];
  if (ending !== undefined) return new CliError({ ...ending, cause: error });

  // Data of a service that is nested so deep cannot be gone through; our own code never is.
  if (error instanceof RangeError && message.includes("call stack")) {
    return failed.service(
      "the service's answer is nested too deep to be read",
      "what was paid for is kept (headcount runs); tell the service's operator",
      "nested_too_deep",
      error,
    );
  }

  return (
    systemFailure(error) ??
    missingPackage(error) ??
    failed.internal(
      `this is a bug in headcount: ${message}`,
      "run it again with HEADCOUNT_DEBUG=1 and report what it prints; " +
        "nothing paid is lost (headcount runs)",
      "internal",
      error,
    )
  );
}
