import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { main } from "../../src/cli/main.ts";
import { tempDir, testContext } from "./client.ts";
import { BIN, type Spawned } from "./spawned.ts";

export interface Shell {
  /** Runs a script of bash that ends at its first error. */
  bash(script: string, cwd: string, env: Readonly<Record<string, string>>): Promise<Spawned>;
  /** What is put first on a PATH. */
  readonly bin: string;
  close(): void;
}

/**
 * What is called `headcount` in a shell of these: it hands its words, environment and input to
 * this process, where a command costs milliseconds. What serves, and what reads of a shell's own
 * file descriptors, is the built program in a process of its own.
 */
const shim = (socket: string): string => `#!/bin/sh
case "$1 $* " in
  serve*|mcp*|"jobs watch"*|*/dev/fd/*) exec "${process.execPath}" "${BIN}" "$@" ;;
esac
said=$(mktemp -d)
{
  printf '%s\\0' "$said" "$PWD" "$#" "$@"
  env -0
  printf '\\0'
  case " $* " in *" - "*|*@-*|*-stdin*|*" --join "*) cat ;; esac
} | curl -sS --unix-socket "${socket}" --data-binary @- http://headcount/ > "$said/code" || exit 99
cat "$said/stderr" >&2
cat "$said/stdout"
code=$(cat "$said/code")
rm -r "$said"
exit "$code"
`;

/** Words that end with a byte of zero each, until there is an empty one, and what follows it. */
function fieldsOf(body: Buffer): { fields: string[]; rest: Buffer } {
  const fields: string[] = [];
  let at = 0;
  const next = (): string => {
    const end = body.indexOf(0, at);
    const field = body.toString("utf8", at, end);
    at = end + 1;
    return field;
  };
  for (let nth = 0; nth < 3; nth++) fields.push(next());
  for (let nth = Number(fields[2]); nth > 0; nth--) fields.push(next());
  for (let entry = next(); entry !== ""; entry = next()) fields.push(entry);
  return { fields, rest: body.subarray(at) };
}

async function answer(body: Buffer): Promise<number> {
  const { fields, rest } = fieldsOf(body);
  const [said = "", cwd = "", count] = fields;
  const argv = fields.slice(3, 3 + Number(count));
  const env = Object.fromEntries(
    fields.slice(3 + Number(count)).map((entry) => {
      const at = entry.indexOf("=");
      return [entry.slice(0, at), entry.slice(at + 1)];
    }),
  );
  const tested = testContext({ argv, cwd, stdin: rest });
  const code = await main(argv, { ...tested.context, env });
  writeFileSync(join(said, "stdout"), tested.stdoutBytes());
  writeFileSync(join(said, "stderr"), tested.stderr());
  return code;
}

/** A shell in which `headcount` is this process. */
export async function startShell(): Promise<Shell> {
  const folder = tempDir("sh-");
  const socket = join(folder, "s");
  const bin = join(folder, "bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "headcount"), shim(socket));
  chmodSync(join(bin, "headcount"), 0o755);

  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const code = await answer(Buffer.concat(chunks));
    response.end(String(code));
  });
  await new Promise<void>((done) => server.listen(socket, done));

  const started = new Set<ChildProcess>();
  return {
    bin,
    close: () => {
      for (const child of started) child.kill("SIGKILL");
      server.close();
      server.closeAllConnections();
    },
    bash: (script, cwd, env) =>
      new Promise((done, fail) => {
        const child = spawn("bash", ["-c", `set -e\n${script}`], {
          cwd,
          env: { ...env, PATH: `${bin}:${env.PATH ?? process.env.PATH}` },
          stdio: ["ignore", "pipe", "pipe"],
        });
        started.add(child);
        let [stdout, stderr] = ["", ""];
        child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
        child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
        child.on("error", fail);
        child.on("close", (code) => {
          started.delete(child);
          done({ code: code ?? 143, stdout, stderr });
        });
      }),
  };
}
