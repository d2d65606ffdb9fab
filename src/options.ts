import type { Command } from "commander";
import type { Context } from "./context.ts";

/** What a file under `commands/` exports. */
export interface CommandModule {
  /** Adds the command with its options, examples and action to the program. */
  register(program: Command, context: Context): void;
}

/** Values of the global options, as commander parsed them. */
export interface GlobalOptions {
  readonly connection?: string;
  readonly baseUrl?: string;
  readonly json?: boolean;
  readonly quiet?: boolean;
  readonly verbose?: boolean;
  /** `--no-color` makes it false. */
  readonly color?: boolean;
  /** Longest single wait for a rate limit, in seconds. */
  readonly maxWait: number;
}
