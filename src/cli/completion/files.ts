import type { Context } from "../../shared/context.ts";
import { buildProgram } from "../program.ts";
import { bashScript } from "./bash.ts";
import { fishScript } from "./fish.ts";
import { manPage } from "./man.ts";
import { powershellScript } from "./powershell.ts";
import { programTree } from "./tree.ts";
import { zshScript } from "./zsh.ts";

/** Every generated file by its path below the package: the completion scripts and the man page. */
export async function generatedFiles(context: Context): Promise<ReadonlyMap<string, string>> {
  const program = await buildProgram(context, [], "all");
  const tree = programTree(program);
  return new Map([
    ["completions/headcount.bash", bashScript(tree)],
    ["completions/_headcount", zshScript(tree)],
    ["completions/headcount.fish", fishScript(tree)],
    ["completions/headcount.ps1", powershellScript(tree)],
    ["docs/headcount.1", manPage(program)],
  ]);
}
