import { Readable, Writable } from "node:stream";
import { startSample } from "../app/sample.ts";
import { type Context, sleepFor } from "../shared/context.ts";
import { present } from "../shared/contract/text.ts";
import { usageError } from "../shared/errors.ts";
import type { ConnectOptions } from "./index.ts";

const quiet = (): Writable => new Writable({ write: (_chunk, _encoding, done) => done() });

const nobody = async (): Promise<never> => {
  throw usageError("a program is asked nothing", undefined, "no_terminal");
};

/** Variables as the command reads them, with what the options say in their place. */
function variables({ env = process.env, ...options }: ConnectOptions): Context["env"] {
  const { apiKey, baseUrl, connection, stateDir } = options;
  return {
    ...env,
    ...present({ HEADCOUNT_API_KEY: apiKey, HEADCOUNT_STATE_DIR: stateDir }),
    // An address that is given is meant, whatever connection the environment names.
    ...(baseUrl !== undefined && connection === undefined ? { HEADCOUNT_CONNECTION: "" } : {}),
  };
}

/** The world of a program: nobody is asked, nothing is written, and no signal is heard. */
export function quietContext(options: ConnectOptions, interrupted: AbortSignal): Context {
  return {
    stdin: Readable.from([]),
    stdout: quiet(),
    stderr: quiet(),
    env: variables(options),
    get cwd() {
      return process.cwd();
    },
    platform: process.platform,
    pid: process.pid,
    now: () => Date.now(),
    sleep: sleepFor,
    random: () => Math.random(),

    confirm: nobody,
    prompt: nobody,
    interrupted,
    startSample,
    argv: [],
  };
}
