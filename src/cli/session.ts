import { type Session, type SessionEvents, inSession as withEvents } from "../app/session.ts";
import type { RequestLog } from "../engine/client/http-client.ts";
import type { TellWait } from "../engine/client/transport.ts";
import type { Context } from "../shared/context.ts";
import type { GlobalOptions } from "./options.ts";
import { openWaiting } from "./terminal/drawn.ts";
import { hasColor, styleFor } from "./terminal/style.ts";

export type SessionFlags = Pick<
  GlobalOptions,
  "connection" | "baseUrl" | "paging" | "quiet" | "verbose" | "maxWait"
>;

export const withSession = <T>(
  context: Context,
  flags: SessionFlags,
  run: (session: Session) => Promise<T>,
): Promise<T> => withEvents(context, flags, sessionEvents(context, flags), run);

function sessionEvents(
  context: Context,
  flags: Pick<SessionFlags, "quiet" | "verbose">,
): SessionEvents {
  const { quiet, verbose } = flags;
  const { asking, note } = waitingOn(context, flags);
  const notice = quiet ? undefined : note;

  return {
    notice,
    asking,
    pause: asking && ((until, reason) => void countDown(context, until, reason)),
    aside: verbose ? notice : undefined,
    log: requestLog(flags, context),
  };
}

/**
 * What is waited for on a terminal, and how words are written beside it.
 * @returns `asking` undefined where nobody looks
 */
export function waitingOn(
  { stderr, now }: Pick<Context, "stderr" | "now">,
  { quiet }: Pick<SessionFlags, "quiet">,
): { readonly asking?: TellWait; note(words: string): void } {
  return stderr.isTTY === true && !quiet
    ? openWaiting(stderr, now)
    : { note: (words) => void stderr.write(`${words}\n`) };
}

/** `--verbose`: method, path, status, time, credits, request id. Never a key or a filter value. */
export const requestLog = (
  { verbose }: Pick<GlobalOptions, "verbose">,
  { stderr }: Pick<Context, "stderr">,
): ((entry: RequestLog) => void) | undefined =>
  verbose
    ? ({ method, path, outcome, elapsedMs, creditsUsed, requestId }) => {
        const line = [
          method,
          path,
          outcome,
          Math.round(elapsedMs),
          "ms",
          creditsUsed ?? [],
          requestId || [],
        ].flat();
        stderr.write(`${line.join(" ")}\n`);
      }
    : undefined;

async function countDown(context: Context, until: number, reason: string): Promise<void> {
  const { stderr, now, env } = context;
  const style = styleFor(hasColor(stderr, env));
  const { openProgress } = await import("./terminal/progress.ts");
  const progress = openProgress({ stream: stderr, enabled: true, now, style, unit: "call" });
  progress.wait(until, reason);
  await context.sleep(until - now(), context.interrupted).catch(() => undefined);
  progress.stop();
}
