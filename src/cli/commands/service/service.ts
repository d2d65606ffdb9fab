import type { Context } from "../../../shared/context.ts";
import type { Command } from "../../options.ts";
import * as accounts from "./accounts.ts";
import * as audit from "./audit.ts";
import * as backup from "./backup.ts";
import * as credits from "./credits.ts";
import * as data from "./data.ts";
import * as dataset from "./dataset.ts";
import * as entries from "./entries.ts";
import { addFolderOptions } from "./folder.ts";
import * as forget from "./forget.ts";
import * as generate from "./generate.ts";
import * as importData from "./import.ts";
import * as keys from "./keys.ts";
import * as link from "./link.ts";
import * as map from "./map.ts";
import * as plan from "./plan.ts";
import * as restore from "./restore.ts";
import * as sessions from "./sessions.ts";
import * as suppress from "./suppress.ts";
import * as usage from "./usage.ts";
import * as verify from "./verify.ts";

export function register(program: Command, context: Context): void {
  const service = addFolderOptions(program.command("service"))
    .summary("import data, make accounts and keys, add credits, see usage, verify")
    .description(
      "What the people do who run `headcount serve`: bring in data, make accounts and keys and bound them, add credits, set limits and prices, see what moved and who did what, verify. All of it works on a data folder (--data), also while it is served.",
    )
    .examples(`
  $ headcount service import --people people.parquet --companies companies.csv
  $ headcount service keys create --name nightly
  $ headcount service keys create --name agent --max-credits 500 --expires 7d --scope count,search
  $ headcount service credits add 10000
  $ headcount service usage --by key
  $ headcount service verify`);
  for (const part of [
    importData,
    map,
    generate,
    dataset,
    accounts,
    keys,
    credits,
    plan,
    entries,
    usage,
    audit,
    link,
    sessions,
    suppress,
    forget,
    data,
    backup,
    verify,
    restore,
  ])
    part.register(service, context);
}
