import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";

const ROOT = resolve(import.meta.dirname, "../..");
const FOLDER = join(ROOT, ".github/workflows");
const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { readonly scripts: object };
const read = (name: string): string => readFileSync(join(FOLDER, name), "utf8");

/** What the steps run, a line of a block each. */
const commandsOf = (text: string): string[] =>
  [...text.matchAll(/^( *)(?:- )?run: (?:\|\n((?:\1 {2,}.*\n?)+)|(.*)$)/gm)].flatMap(([, , block, line = ""]) =>
    (block ?? line).split("\n").map((each) => each.trim()),
  );

test.each(readdirSync(FOLDER))("%s runs scripts, folders and files that are there", (name) => {
  const text = read(name);
  const commands = commandsOf(text).filter((command) => command !== "");
  expect(commands.length).toBe(text.match(/\brun: [^|\n]|^ {10}\S/gm)?.filter((one) => !/with|env/.test(one)).length);
  for (const command of commands) {
    const [, script] = /^npm run (\S+)/.exec(command) ?? [];
    if (script !== undefined) expect(Object.keys(scripts), command).toContain(script);
    for (const [path] of command.matchAll(/\b(?:test|bin|packaging|src)\/[\w./-]+/g)) {
      expect(existsSync(join(ROOT, path)), path).toBe(true);
    }
    for (const [, packed] of command.matchAll(/^npx (?!--yes)(\S+)/g)) {
      expect(existsSync(join(ROOT, "node_modules/.bin", packed ?? "")), command).toBe(true);
    }
  }
  // A key that YAML does not know as one is taken by the runner for nothing.
  expect([...text.matchAll(/^(\w[\w-]*):/gm)].map(([, key]) => key)).toEqual(["name", "on", "permissions", "jobs"]);
  expect(text).not.toMatch(/\t/);
});

test("what nobody has run on macOS and Windows is switched on by a person alone", () => {
  expect(read("platforms.yml")).toMatch(/^on: workflow_dispatch$/m);
  expect(read("platforms.yml")).toMatch(/os: \[.*macos.*windows.*\]/);
});

test.skipIf(!hasPython())("each workflow is YAML, and each job has a machine and steps that do one thing", () => {
  for (const name of readdirSync(FOLDER)) {
    const { jobs } = JSON.parse(
      execFileSync(
        "python3",
        ["-c", "import json,sys,yaml; json.dump(yaml.safe_load(sys.stdin),sys.stdout,default=str)"],
        {
          input: read(name).replace(/^on:/m, '"on":'),
          encoding: "utf8",
        },
      ),
    ) as { readonly jobs: Readonly<Record<string, { "runs-on"?: string; steps: readonly object[] }>> };
    for (const job of Object.values(jobs)) {
      expect(job["runs-on"]).toEqual(expect.any(String));
      expect(job.steps.length).toBeGreaterThan(0);
      for (const step of job.steps) {
        expect(Object.keys(step).filter((key) => key === "run" || key === "uses")).toHaveLength(1);
      }
    }
  }
});

function hasPython(): boolean {
  try {
    execFileSync("python3", ["-c", "import yaml"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
