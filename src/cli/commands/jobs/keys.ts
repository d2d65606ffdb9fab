import { FILTER_KEYS } from "../../../shared/contract/filters.ts";
import { addUnattendedOptions } from "../../arguments/export-options.ts";
import { Command, collect, type Option, offersOf, type Values } from "../../options.ts";

/** One key of a job: a flag of its command. */
export interface JobKey {
  readonly key: string;
  /** Empty: the command's argument. */
  readonly flag: string;
  readonly description: string;
  /** `switch`: true or false; `value`: a text or number; `list`: one or several of them. */
  readonly takes: "switch" | "value" | "list";
  readonly values: Values | undefined;
}

/** Commands that a job may be; the first where it says nothing. */
export const JOB_COMMANDS = ["search", "refresh"] as const;
export type JobCommand = (typeof JOB_COMMANDS)[number];

/** Flags that say what a person decides each time, or what every job has anyway. */
const NOT_IN_A_JOB = new Set(["yes", "dry_run", "owned", "test", "fresh", "job", "budget_left", "help"]);
/** Of the program's own flags those that choose the service. */
const OF_THE_PROGRAM = new Set(["connection", "base_url", "paging", "max_wait"]);

const keyOf = ({ long }: Option): string => (long ?? "").slice(2).replaceAll("-", "_");

/** What the keys of a job are: the flags of its command by their names, so that nothing is declared twice; and its argument. */
export function jobKeys(command: Command): readonly JobKey[] {
  const filters = new Set<string>(FILTER_KEYS);
  // How a job is run is the same for all of them.
  const always = addUnattendedOptions(new Command()).options;
  const own = command.options.filter((option) => !filters.has(keyOf(option)) && !NOT_IN_A_JOB.has(keyOf(option)));
  const general = (command.parent?.options ?? []).filter((option) => OF_THE_PROGRAM.has(keyOf(option)));
  const options = new Map([...always, ...own, ...general].map((option) => [keyOf(option), option]));
  const given = command.registeredArguments.map((argument) => ({
    ...{ key: argument.name(), flag: "", description: argument.description },
    ...{ takes: "value" as const, values: undefined },
  }));
  const flags = [...options].map(([key, option]) => ({
    ...{ key, flag: option.long ?? "", description: option.description, values: offersOf(option) },
    takes: !option.required
      ? ("switch" as const)
      : option.parseArg === collect
        ? ("list" as const)
        : ("value" as const),
  }));
  return [...given, ...flags];
}
