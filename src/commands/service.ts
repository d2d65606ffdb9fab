import type { Command } from "commander";
import type { Context } from "../context.ts";
import * as credits from "./service-credits.ts";
import * as generate from "./service-generate.ts";
import * as importData from "./service-import.ts";
import * as keys from "./service-keys.ts";
import * as map from "./service-map.ts";
import * as plan from "./service-plan.ts";
import * as verify from "./service-verify.ts";

export function register(program: Command, context: Context): void {
  const service = program.command("service").summary("import data, make keys, add credits, verify");
  for (const part of [importData, map, generate, keys, credits, plan, verify]) part.register(service, context);
}
