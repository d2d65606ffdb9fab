import { type ChildProcess, spawn } from "node:child_process";
import { BIN } from "./spawned.ts";

/** The built program's `serve`, as a process of its own. */
export interface Served {
  readonly url: string;
  readonly key: string;
  readonly child: ChildProcess;
  readonly stderr: () => string;
  /** SIGTERM, and the exit code. */
  stop(): Promise<number | null>;
}

/** Starts `serve --port 0 --json` with more flags. @throws Error with its stderr where it ends before it serves */
export async function startServed(
  flags: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Served> {
  const child = spawn(process.execPath, [BIN, "serve", "--port", "0", "--json", ...flags], {
    env: { PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? "", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stderr = "";
  let stdout = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  const line = await new Promise<string | undefined>((resolve) => {
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
      if (stdout.includes("\n")) resolve(stdout);
    });
    void ended.then(() => resolve(undefined));
  });
  if (line === undefined) throw new Error(`serve ended: ${stderr}`);
  const { key, url } = JSON.parse(line) as { readonly key: string; readonly url: string };
  return {
    url,
    key,
    child,
    stderr: () => stderr,
    stop() {
      child.kill("SIGTERM");
      return ended;
    },
  };
}
