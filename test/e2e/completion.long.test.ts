import { execFileSync, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { allCommands, manPages, programTree } from "../../src/cli/completion/tree.ts";
import { buildProgram } from "../../src/cli/program.ts";
import { EXIT_CODES } from "../../src/cli/topics.ts";
import { testContext } from "../support/client.ts";
import { long } from "../support/long.ts";
import { isLeftOut } from "../support/tools.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const has = (program: string): boolean =>
  spawnSync(program, ["--version"], { stdio: "ignore" }).error === undefined;
const lacks = (...programs: string[]): boolean => isLeftOut(programs.every(has));
const BASH_COMPLETION = "/usr/share/bash-completion/bash_completion";

/**
 * Types lines into a shell on a pseudo-terminal, each up to and with its tab, and lets the shell itself say which words it made of
 * them. stdin: {argv, env, cwd, lines}; stdout: one JSON array of words for each line.
 */
const DRIVER = String.raw`
import json, os, pty, re, select, sys, time
job = json.load(sys.stdin)
pid, fd = pty.fork()
if pid == 0:
    os.chdir(job["cwd"])
    os.execvpe(job["argv"][0], job["argv"], job["env"])
seen, used = b"", 0
def until(marker):
    global seen, used
    end = time.time() + 40
    while marker not in seen[used:]:
        if time.time() > end:
            os.kill(pid, 9)
            sys.exit("no %r in %r" % (marker, seen[-2000:]))
        if select.select([fd], [], [], 0.2)[0]:
            seen += os.read(fd, 65536)
    used = seen.index(marker, used) + len(marker)
until(b"READY>")
for line in job["lines"]:
    start = used
    os.write(fd, line.encode() + b"\x01printf '<%s>' \x05; printf '{%s}\\n' END\r")
    until(b"{END}")
    words = re.findall(rb"((?:<[^<>]*>)+)\{END\}", seen[start:used])[-1]
    print(json.dumps(words.decode()[1:-1].split("><")))
    until(b"READY>")
os.kill(pid, 9)
`;

let dir = "";
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "headcount-completion-"));
  mkdirSync(join(dir, "bin"));
  mkdirSync(join(dir, "work", "folder"), { recursive: true });
  symlinkSync(join(ROOT, "bin/headcount.js"), join(dir, "bin", "headcount"));
  writeFileSync(join(dir, "work", "people.csv"), "");
  mkdirSync(join(dir, "config"));
  writeFileSync(
    join(dir, "config", "config.json"),
    '{"connections":{"work":{"baseUrl":"https://api.example:8443"}}}',
  );
  mkdirSync(join(dir, "state", "runs", "20260102-030405-abcdef"), { recursive: true });
  mkdirSync(join(dir, "config", "segments"));
  writeFileSync(join(dir, "config", "segments", "eu-legal.json"), '{"department":"Legal"}');
  const job = { filters: { department: "Legal" }, max_credits: 5, output: "legal.csv" };
  writeFileSync(
    join(dir, "work", "our.jsonc"),
    JSON.stringify({ jobs: { legal: job, sales: job } }),
  );
  writeFileSync(join(dir, "owned.ndjson"), '{"id":"1","country":"United States"}\n');
  execFileSync(join(dir, "bin", "headcount"), ["owned", "import", join(dir, "owned.ndjson")], {
    env: environment(),
  });
  writeFileSync(join(dir, "bashrc"), `. '${ROOT}/completions/headcount.bash'\nPS1='READY>'\n`);
  writeFileSync(
    join(dir, "bashrc-full"),
    `. ${BASH_COMPLETION}\n. '${ROOT}/completions/headcount.bash'\nPS1='READY>'\n`,
  );
  const zsh = `fpath=('${ROOT}/completions' $fpath); autoload -Uz compinit; compinit -u -d '${dir}/zcompdump'; bindkey -e; PS1='READY>'\n`;
  writeFileSync(join(dir, ".zshrc"), zsh);
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const environment = (): Record<string, string> => ({
  HOME: dir,
  ZDOTDIR: dir,
  PATH: `${join(dir, "bin")}:${process.env.PATH}`,
  TERM: "xterm",
  LANG: "C.UTF-8",
  HEADCOUNT_CONNECTION: "work",
  HEADCOUNT_CONFIG_DIR: join(dir, "config"),
  HEADCOUNT_STATE_DIR: join(dir, "state"),
});

function typed(argv: readonly string[], lines: readonly string[]): string[][] {
  const job = JSON.stringify({ argv, env: environment(), cwd: join(dir, "work"), lines });
  const out = execFileSync("python3", ["-c", DRIVER], {
    input: job,
    encoding: "utf8",
    timeout: 110_000,
  });
  return out
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as string[]);
}

/** What is typed before the tab, and the words that the shell should make of it after "headcount". */
const CASES: readonly (readonly [string, readonly string[]])[] = [
  ["filt", ["filters"]],
  ["count --department Cust", ["count", "--department", "Customer Service"]],
  ['count --department "Cust', ["count", "--department", "Customer Service"]],
  ["count --department 'Cust", ["count", "--department", "Customer Service"]],
  ["count --department Customer\\ Se", ["count", "--department", "Customer Service"]],
  ["count --department=Fin", ["count", "--department=Finance & Accounting"]],
  ["count --department sal", ["count", "--department", "Sales"]],
  ["count --seniority-level dire", ["count", "--seniority-level", "director"]],
  ["count --company-n", ["count", "--company-network-url"]],
  ["count -f peo", ["count", "-f", "people.csv"]],
  ["--json filters title_", ["--json", "filters", "title_prefix"]],
  ["-c sam", ["-c", "sample"]],
  ["--connection=wo", ["--connection=work"]],
  ["connections use wo", ["connections", "use", "work"]],
  ["resume 2026", ["resume", "20260102-030405-abcdef"]],
  ["service gen", ["service", "generate"]],
  ["count -s eu", ["count", "-s", "eu-legal"]],
  ["segment show eu", ["segment", "show", "eu-legal"]],
  // Who is owned tells values, without any key.
  ["count --country uni", ["count", "--country", "united states"]],
  ["count --country 'Uni", ["count", "--country", "united states"]],
  ["search --format nd", ["search", "--format", "ndjson"]],
  ["search --fields id,headl", ["search", "--fields", "id,headline"]],
  ["help filt", ["help", "filters"]],
  ["completion fi", ["completion", "fish"]],
  // The jobs of the file that is named.
  ["jobs run --file our.jsonc leg", ["jobs", "run", "--file", "our.jsonc", "legal"]],
  ["jobs status --file=our.jsonc sal", ["jobs", "status", "--file=our.jsonc", "sales"]],
  // Nothing is known of a title: no file is offered in its place.
  ["count --title peo", ["count", "--title", "peo"]],
];

describe("tab in a real shell", () => {
  const shells: readonly (readonly [string, readonly string[], () => readonly string[]])[] = [
    ["bash", ["bash"], () => ["bash", "--noprofile", "--rcfile", join(dir, "bashrc"), "-i"]],
    [
      "bash with bash-completion",
      ["bash"],
      () => ["bash", "--noprofile", "--rcfile", join(dir, "bashrc-full"), "-i"],
    ],
    ["zsh", ["zsh"], () => ["zsh", "-d", "-i"]],
    [
      "fish",
      ["fish"],
      () => {
        const prompt = "function fish_prompt; printf 'READY>'; end; function fish_greeting; end";
        return ["fish", "-N", "-C", `source '${ROOT}/completions/headcount.fish'; ${prompt}`];
      },
    ],
  ];

  long.each(shells)("%s", { timeout: 120_000 }, (name, needs, argv) => {
    if (lacks(...needs, "python3") || (name.includes("with") && !existsSync(BASH_COMPLETION))) {
      console.warn(`no ${name} here: its completion is not tried`);
      return;
    }
    // With bash-completion it is the same script, whose words come from elsewhere.
    const cases = CASES.slice(0, name.includes("with") ? 14 : CASES.length);
    const lines = cases.map(([line]) => `headcount ${line}\t`);
    const words = typed(argv(), lines);
    const got = cases.map(([line], index) => [line, words[index]?.slice(1)]);
    expect(got).toEqual(cases.map(([line, expected]) => [line, [...expected]]));
    expect(words.every(([first]) => first === "headcount")).toBe(true);
  });

  test.skipIf(lacks("fish"))("fish lists descriptions, and departments as one word each", () => {
    const list = (line: string): string[] =>
      execFileSync(
        "fish",
        ["-N", "-c", `source '${ROOT}/completions/headcount.fish'; complete -C '${line}'`],
        {
          env: environment(),
          encoding: "utf8",
        },
      )
        .trimEnd()
        .split("\n");
    expect(list("headcount count --department ")).toHaveLength(20);
    expect(list("headcount -c ")).toContain("work\thttps://api.example:8443");
    expect(list("headcount runs show ")).toEqual([
      "last\tthe newest run",
      expect.stringMatching(/^20260102-030405-abcdef/),
    ]);
    expect(list("headcount serv")).toEqual(
      expect.arrayContaining([expect.stringMatching(/^serve\t./)]),
    );
  });

  long.skipIf(lacks("bash", "timeout"))(
    "a config that hangs when it is read does not hold the shell",
    () => {
      const hung = join(dir, "hung");
      mkdirSync(hung);
      execFileSync("mkfifo", [join(hung, "config.json")]);
      const script = `. '${ROOT}/completions/headcount.bash'; COMP_WORDS=(headcount -c ''); COMP_CWORD=2; _headcount; echo "<\${COMPREPLY[*]}>"`;
      const env = { ...environment(), HEADCOUNT_CONFIG_DIR: hung };
      // Killed after the script's own limit; without it this would run into the limit given here.
      const out = execFileSync("bash", ["--norc", "-c", script], {
        env,
        encoding: "utf8",
        timeout: 40_000,
        killSignal: "SIGKILL",
      });
      expect(out).toBe("<>\n");
    },
  );
});

describe("what is generated, read by what reads it", () => {
  test.skipIf(lacks("groff"))(
    "the man pages are clean roff, and have every command, exit code and topic",
    async () => {
      const program = await buildProgram(testContext({}).context, [], "all");
      const pages = manPages(program).map(([path]) => path);
      expect(readdirSync(join(ROOT, "docs/man")).map((name) => `docs/man/${name}`)).toEqual(
        pages.toSorted(),
      );
      const { man } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
        man: readonly string[];
      };
      expect(man).toEqual(pages.toSorted());
      const printed = pages.map((page) => {
        const { stderr, stdout } = spawnSync(
          "groff",
          ["-ww", "-man", "-Tascii", "-P-c", "-rLL=200n", join(ROOT, page)],
          {
            encoding: "utf8",
          },
        );
        expect([page, stderr]).toEqual([page, ""]);
        return stdout.replace(/.\u0008/g, "");
      });
      const text = printed.join("");
      // The first page is short: it names the others.
      expect(
        readFileSync(join(ROOT, "docs/man/headcount.1"), "utf8").split("\n").length,
      ).toBeLessThan(300);
      for (const { path } of allCommands(programTree(program))) {
        if (path.length > 0 && path[0] !== "help")
          expect(text).toContain(`headcount ${path.join(" ")}`);
      }
      for (const { meaning } of EXIT_CODES) expect(text.replace(/\s+/g, " ")).toContain(meaning);
      for (const heading of ["FILTERS", "EXIT CODES", "ENVIRONMENT"])
        expect(text).toContain(heading);
    },
  );

  test.each([
    ["bash", "headcount.bash"],
    ["zsh", "_headcount"],
    ["fish", "headcount.fish"],
  ])("%s reads its script", (shell, file) => {
    if (lacks(shell)) return;
    execFileSync(shell, ["-n", join(ROOT, "completions", file)]);
  });
});
