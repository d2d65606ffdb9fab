import type { Command } from "commander";
import type { Context } from "../context.ts";

export function register(service: Command, context: Context): void {
  void context;
  service.command("generate");
}
