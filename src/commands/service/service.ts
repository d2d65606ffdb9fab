import type { Command } from "commander";
import type { Context } from "../../context.ts";
import * as credits from "./credits.ts";
import { addFolderOptions } from "./folder.ts";
import * as generate from "./generate.ts";
import * as importData from "./import.ts";
import * as keys from "./keys.ts";
import * as link from "./link.ts";
import * as map from "./map.ts";
import * as plan from "./plan.ts";
import * as verify from "./verify.ts";

export function register(program: Command, context: Context): void {
  const service = addFolderOptions(program.command("service"))
    .summary("import data, make keys, add credits, verify")
    .description(
      "What the people do who run `headcount serve`: bring in data, make and revoke keys, add credits, set limits and prices, verify. All of it works on a data folder (--data), also while it is served.",
    )
    .addHelpText(
      "after",
      `
Examples:
  $ headcount service import --people people.parquet --companies companies.csv
  $ headcount service keys create --name nightly
  $ headcount service credits add 10000
  $ headcount service verify`,
    );
  for (const part of [importData, map, generate, keys, credits, plan, link, verify]) part.register(service, context);
}
