import { LostReplyError, ServiceError, WaitTooLongError } from "../client/errors.ts";
import { CliError, type CliErrorInit, EXIT } from "../errors.ts";

/** What an error message says about where the call went. */
export interface CallSite {
  readonly connectionName: string;
  readonly baseUrl: string;
  /** Whether the call costs credits: only then can a lost reply have been charged. */
  readonly paid?: boolean;
  /** The data folder of the built-in sample service, where it is the one that answered. */
  readonly sampleDir?: string | undefined;
}

/**
 * What went wrong with a call, as the command line reports it: exit code, request id, and what happened to credits
 * (contract section 7: no error is ever charged). Everything that is no error of a call comes back as it is.
 */
export function mapError(error: unknown, site: CallSite): unknown {
  if (error instanceof WaitTooLongError) return waitTooLong(error);
  if (error instanceof ServiceError) return serviceError(error, site);
  if (!(error instanceof LostReplyError)) return error;
  // A cancelled request is told by what cancelled it: the signal.
  if (error.code === "ABORTED" && error.cause !== undefined) return error.cause;
  const charged =
    site.paid && error.sent
      ? "the call may have been charged; headcount account shows the balance"
      : "nothing was charged";
  const notSent = error.sent ? "no whole answer came" : "the request was not sent";
  return new CliError({
    code: error.sent ? "lost_reply" : "unreachable",
    category: "network",
    exitCode: EXIT.service,
    message: `${notSent}: ${error.message}; ${charged}`,
    hint: hintForNetwork(error, site),
    cause: error,
  });
}

function hintForNetwork({ code }: LostReplyError, { connectionName, baseUrl }: CallSite): string {
  if (code === "ECONNREFUSED")
    return `is the service at ${baseUrl} up? headcount doctor -c ${connectionName} looks further`;
  if (/CERT|SIGNATURE/.test(code)) return "the key is not sent to a host that cannot prove who it is";
  return `headcount doctor${connectionName === "environment" ? "" : ` -c ${connectionName}`} checks the way there, free of charge`;
}

function waitTooLong(error: WaitTooLongError): CliError {
  const seconds = Math.ceil(error.waitMs / 1000);
  const waited = Math.round(error.waitedMs / 1000);
  const most = error.maxWaitMs / 1000;
  const asks =
    waited === 0
      ? `the rate limit asks for a wait of ${seconds} s, longer than --max-wait ${most}`
      : `the rate limit has held up one call for ${waited} s and asks for another ${seconds} s: in all longer than --max-wait ${most}`;
  return new CliError({
    code: "rate_limited",
    category: "rate_limit",
    exitCode: EXIT.rateLimit,
    status: 429,
    ...(error.requestId === undefined ? {} : { requestId: error.requestId }),
    message: `${asks}; nothing was charged`,
    hint: `run it again after ${new Date(error.resetAt).toISOString().slice(0, 19)}Z, or with --max-wait ${waited + seconds + 5}`,
    cause: error,
  });
}

type Kind = Pick<CliErrorInit, "code" | "category" | "exitCode" | "message"> & { readonly hint?: string };

function serviceError(error: ServiceError, site: CallSite): CliError {
  const [first = "no detail", ...details] = error.detail;
  const kind = kindOf(error, first, site);
  return new CliError({
    ...kind,
    message: `${kind.message}; nothing was charged`,
    status: error.status,
    ...(error.requestId === undefined ? {} : { requestId: error.requestId }),
    details,
    cause: error,
  });
}

function kindOf(error: ServiceError, detail: string, site: CallSite): Kind {
  const { connectionName, baseUrl } = site;
  const { status } = error;
  if (status >= 300 && status < 400) {
    return {
      code: "redirect",
      category: "service",
      exitCode: EXIT.service,
      message: `${baseUrl} answered ${status}: ${detail}`,
      hint: "headcount login again with the final address",
    };
  }
  if (!error.envelope && (status < 400 || status === 404 || status === 405)) {
    return {
      code: "not_the_api",
      category: "service",
      exitCode: EXIT.service,
      message: `${baseUrl} answered ${status} with ${detail}`,
      hint: "is this the API's address? give the part before /v1 as base URL",
    };
  }
  if (status === 401 || status === 403) {
    return {
      code: status === 401 ? "key_refused" : "forbidden",
      category: "auth",
      exitCode: EXIT.auth,
      message: `the service refused the key (${status}): ${detail}`,
      hint: `headcount connections says where the key comes from; headcount login ${connectionName === "environment" ? "" : `${connectionName} `}stores another`,
    };
  }
  if (status === 402) {
    return {
      code: "insufficient_credits",
      category: "credits",
      exitCode: EXIT.credits,
      message: `not enough credits (402): ${detail}`,
      hint: creditHint(site),
    };
  }
  if (status === 404) {
    return { code: "not_found", category: "not_found", exitCode: EXIT.notFound, message: `not found (404): ${detail}` };
  }
  if (status === 429) {
    return {
      code: "rate_limited",
      category: "rate_limit",
      exitCode: EXIT.rateLimit,
      message: `too many calls (429): ${detail}`,
      hint: "wait a little; headcount account shows the limits",
    };
  }
  if (status === 400 || status === 409 || status === 413 || status === 415 || status === 422) {
    return {
      code: "request_refused",
      category: "usage",
      exitCode: EXIT.usage,
      message: `the service refused the request (${status}): ${detail}`,
      hint: "headcount filters lists what a filter may be",
    };
  }
  return {
    code: "service_failed",
    category: "service",
    exitCode: EXIT.service,
    message: `the service answered ${status}: ${detail}`,
    hint: "try again later; if it stays, contact its operator with the request id",
  };
}

/** How to get more credits. The built-in sample is topped up from the command line. */
export function creditHint({ sampleDir }: Pick<CallSite, "sampleDir">): string {
  return sampleDir === undefined
    ? "lower --limit or --per-page, or top the account up; headcount account shows the balance"
    : `headcount service credits add 10000 --data '${sampleDir}'`;
}
