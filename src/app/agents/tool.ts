import type { CallToolResult, InputRequiredResult } from "@modelcontextprotocol/server";
import { creditsText } from "../../shared/contract/money.ts";
import { harmlessJson } from "../../shared/contract/text.ts";
import type { DoorWords } from "../../shared/errors.ts";
import type { ConsentAsking } from "./consent.ts";
import { inert, THIRD_PARTY } from "./rows.ts";
import type { Input, Result, ToolName } from "./schemas.ts";
import type { AgentWorld } from "./world.ts";

/** A result, and one sentence that says it: clients that read `content` only get both as text. */
export interface ToolAnswer<Name extends ToolName = ToolName> {
  readonly structured: Result<Name>;
  readonly sentence: string;
}

export interface Tool<Name extends ToolName = ToolName> {
  readonly title: string;
  readonly description: string;
  /** It exists where a person gave a cap. */
  readonly spends?: true;
  /** It exists where a person gave a folder. */
  readonly writes?: true;
  readonly call: (
    input: Input<Name>,
    world: AgentWorld,
    asking: ConsentAsking,
  ) => Promise<ToolAnswer<Name> | InputRequiredResult>;
}

export const resultOf = ({ structured, sentence }: ToolAnswer): CallToolResult => ({
  content: [
    { type: "text", text: harmlessJson(JSON.stringify(structured)) },
    { type: "text", text: sentence },
  ],
  structuredContent: structured,
});

const ARGUMENTS: Readonly<Record<string, string>> = {
  again: "again",
  limit: "profiles",
  new_only: "new_only",
  per_company: "per_company",
};
const DEEDS: Readonly<Record<string, string>> = {
  account: "the tool account",
  filters: "the tool describe_filters",
  resume: "a new quote for the same",
  runs: "the tool runs",
  "runs export": "the tool read_rows",
  search: "a new quote for the same",
};

/** How an agent is spoken to: options are arguments of tools, and what looks is a tool. */
export const IN_TOOLS: DoorWords = {
  option: ({ name, value }) => {
    if (name === "by") return `the argument ${value}`;
    const argument = ARGUMENTS[name];
    return argument === undefined || value === undefined ? argument : `${argument} ${value}`;
  },
  command: (command) => DEEDS[command.name] ?? command,
  theirs: (text) => `"${inert(text)}" (${THIRD_PARTY})`,
  hints: {
    uncounted: "the tool quote needs no count where profiles are given",
    over_budget: "whoever gave the budget may buy it, or give another",
    key_refused: "whoever started this server gives it another key",
  },
};

export const budgetText = ({ budget }: AgentWorld): string =>
  budget === undefined
    ? "nothing can be bought"
    : `at most ${creditsText(budget.cap)} ` +
      `${budget.per === "total" ? "in all" : `a ${budget.per}`}, budget "${budget.name}"`;
