import type { Command } from "commander";
import { bashScript } from "./bash.ts";
import { fishScript } from "./fish.ts";
import { manPage } from "./man.ts";
import { powershellScript } from "./powershell.ts";
import { programTree } from "./tree.ts";
import { zshScript } from "./zsh.ts";

/** Every generated file by its path below the package: the completion scripts and the man page of a program with all its commands. */
export function generatedFiles(program: Command): ReadonlyMap<string, string> {
  const tree = programTree(program);
  return new Map([
    ["completions/headcount.bash", bashScript(tree)],
    ["completions/_headcount", zshScript(tree)],
    ["completions/headcount.fish", fishScript(tree)],
    ["completions/headcount.ps1", powershellScript(tree)],
    ["docs/headcount.1", manPage(program)],
  ]);
}
