import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { openTransport } from "../../engine/client/transport.ts";
import { Disk } from "../../engine/runs/disk.ts";
import type { Context } from "../../shared/context.ts";
import { present } from "../../shared/contract/text.ts";
import { jobsFolder, type RunOutcome } from "./history.ts";

/** One call: connecting, asking and reading its reply. */
const PING_MS = 10_000;

type PingEvent = "start" | "success" | "failure";

/** How an event is told; undefined: this form has no word for it. */
type Form = (url: URL, event: PingEvent, text: string) => { url: URL; body?: string } | undefined;

const withPath = (url: URL, path: string): URL => {
  const to = new URL(url);
  to.pathname = `${url.pathname.replace(/\/+$/, "")}${path}`;
  return to;
};

const healthchecks: Form = (url, event, text) => {
  const paths = { start: "/start", success: "", failure: "/fail" };
  return { url: withPath(url, paths[event]), body: text };
};

/** It knows up and down alone: `up` at the start would hide that the last time failed. */
const uptimeKuma: Form = (url, event, text) => {
  if (event === "start") return undefined;

  const to = new URL(url);
  to.searchParams.set("status", event === "success" ? "up" : "down");
  to.searchParams.set("msg", text);
  return { url: to };
};

const FORMS = { healthchecks, "uptime-kuma": uptimeKuma } as const;

export type PingForm = keyof typeof FORMS;
export const PING_FORMS = Object.keys(FORMS) as readonly PingForm[];

/** Where a job tells that it lives. The form is declared: no name of a host tells it. */
export interface Ping {
  readonly form: PingForm;
  /** http or https. */
  readonly url: URL;
}

/**
 * Tells in order, one call after another, beside the job: nobody waits but for `told`.
 * @param heard how each went: undefined, or in words why nobody heard it
 */
export function heartbeat(
  { form, url }: Ping,
  { env, now }: Pick<Context, "env" | "now">,
  heard: (problem: string | undefined) => Promise<void> | void,
  most = PING_MS,
) {
  let last = Promise.resolve();

  const send = async (event: PingEvent, text: string): Promise<void> => {
    const request = FORMS[form](url, event, text);
    if (request === undefined) return;
    await heard(await problemOf(request, { env, now, most }));
  };
  const tell = (event: PingEvent, text: string): void => {
    last = last.then(() => send(event, text)).catch(() => undefined);
  };

  return {
    tell,

    end({ exit_code: exit, rows, credits, error }: RunOutcome): void {
      if (error === null) tell("success", `${rows} rows, ${credits} credits`);
      else tell("failure", `exit ${exit}: ${error.code}`);
    },

    /** All that was told arrived, or was given up. Never rejects. */
    told: (): Promise<void> => last,
  };
}

interface Watched {
  readonly name: string;
  readonly values: { readonly ping?: Ping };
  readonly problem: unknown;
}

/** Of a job that declares one. What nobody hears is said, and kept where the job has a folder. */
export function heartbeatOf({ name, values, problem }: Watched, key: string, context: Context) {
  if (values.ping === undefined) return undefined;

  return heartbeat(values.ping, context, async (unheard) => {
    if (unheard !== undefined) context.stderr.write(`${name}: warning: ping: ${unheard}\n`);
    if (problem === undefined) await keepPing(context, key, unheard);
  });
}

interface Way extends Pick<Context, "env" | "now"> {
  /** Milliseconds. */
  readonly most: number;
}

async function problemOf(
  { url, body }: { readonly url: URL; readonly body?: string },
  { most, ...way }: Way,
): Promise<string | undefined> {
  const timeouts = { connect: most, headers: most, bodyIdle: most, total: most };
  const late = AbortSignal.timeout(most);

  try {
    const { send, close } = openTransport({ origin: new URL(url.origin), timeouts, ...way });
    const { status } = await send({
      method: body === undefined ? "GET" : "POST",
      path: `${url.pathname}${url.search}`,
      headers: { "user-agent": "headcount", "content-type": "text/plain" },
      signal: late,
      ...present({ body }),
    }).finally(close);
    // The address is a secret of its own: only where it is is said.
    return status < 300 ? undefined : `${url.origin}: HTTP ${status}`;
  } catch (error) {
    return late.aborted
      ? `${url.origin}: no whole answer within ${most / 1_000} s`
      : (error as Error).message;
  }
}

const lastFile = (context: Context, key: string): string =>
  join(jobsFolder(context), key, "ping.json");

/** Keeps for `jobs check` how the last call went. */
async function keepPing(context: Context, key: string, problem: string | undefined): Promise<void> {
  const line = JSON.stringify({ at: new Date(context.now()).toISOString(), problem });
  await new Disk().replaceFile(lastFile(context, key), `${line}\n`, "ping");
}

/** Why nobody heard the last call of a job, with its time; undefined where it was heard. */
export async function unheard(context: Context, key: string): Promise<string | undefined> {
  try {
    const { at, problem } = JSON.parse(await readFile(lastFile(context, key), "utf8")) as {
      readonly at: string;
      readonly problem?: string;
    };
    return problem === undefined ? undefined : `its ping of ${at} was not heard: ${problem}`;
  } catch {
    // Never pinged, or half a file: nothing is known.
    return undefined;
  }
}
