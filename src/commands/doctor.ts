import type { Command } from "commander";
import type { Context } from "../context.ts";

export function register(program: Command, context: Context): void {
  void context;
  program.command("doctor");
}
