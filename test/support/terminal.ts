import { spawn } from "node:child_process";
import { resolve } from "node:path";
import { tempDir } from "./client.ts";

const BIN = resolve(import.meta.dirname, "../../bin/headcount.js");

export interface TerminalRun {
  readonly columns?: number;
  readonly env?: Readonly<Record<string, string>>;
  /** What is typed: each text once the screen has shown its pattern, in order. */
  readonly type?: readonly (readonly [after: RegExp, keys: string])[];
  /** Killed and failed after this many milliseconds; default 30,000. */
  readonly deadline?: number;
}

export interface TerminalResult {
  readonly code: number;
  /** Everything that reached the terminal, stdout and stderr as they came, with LF line ends. */
  readonly screen: string;
  /** The working folder, which is also HOME. */
  readonly dir: string;
}

const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;

/** Runs the built program on a real pseudo-terminal (util-linux `script`) of this width, in a folder and HOME of its own. */
export async function runInTerminal(
  argv: readonly string[],
  options: TerminalRun = {},
): Promise<TerminalResult> {
  const dir = tempDir("headcount-terminal-");
  const command = [process.execPath, BIN, ...argv].map(quoted).join(" ");
  const child = spawn(
    "script",
    ["-qefc", `stty cols ${options.columns ?? 80} rows 24; exec ${command}`, "/dev/null"],
    {
      cwd: dir,
      stdio: ["pipe", "pipe", "inherit"],
      env: {
        PATH: process.env.PATH,
        HOME: dir,
        TERM: "xterm-256color",
        LANG: "C.UTF-8",
        HEADCOUNT_CONFIG_DIR: `${dir}/config`,
        HEADCOUNT_STATE_DIR: `${dir}/state`,
        DBUS_SESSION_BUS_ADDRESS: "unix:path=/nonexistent/headcount-test-bus",
        ...options.env,
      },
    },
  );
  const typed = [...(options.type ?? [])];
  let screen = "";
  let seen = 0;
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    screen += text;
    for (let next = typed[0]; next !== undefined; next = typed[0]) {
      const match = next[0].exec(screen.slice(seen));
      if (match === null) break;
      seen += match.index + match[0].length;
      typed.shift();
      child.stdin.write(next[1]);
    }
  });
  const deadline = setTimeout(() => child.kill("SIGKILL"), options.deadline ?? 30_000);
  const code = await new Promise<number | null>((done) => child.once("close", done));
  clearTimeout(deadline);
  if (code === null) throw new Error(`killed at the deadline; the screen was:\n${screen}`);
  if (typed.length > 0)
    throw new Error(`never shown: ${typed[0]?.[0]}; the screen was:\n${screen}`);
  return { code, screen: screen.replaceAll("\r\n", "\n"), dir };
}
