import type { Context } from "../../../shared/context.ts";
import type { Command } from "../../options.ts";
import { register as registerAccounts, registerLink, registerSessions } from "./accounts.ts";
import { register as registerBackup, registerRestore, registerVerify } from "./backup.ts";
import { register as registerCredits, registerPlan } from "./credits.ts";
import { register as registerDataset } from "./dataset.ts";
import { registerAudit, register as registerEntries, registerUsage } from "./entries.ts";
import { addFolderOptions } from "./folder.ts";
import { register as registerForget, registerSuppress } from "./forget.ts";
import { registerGenerate, register as registerImport } from "./import.ts";
import { register as registerKeys } from "./keys.ts";

export function register(program: Command, context: Context): void {
  const service = addFolderOptions(program.command("service"))
    .description(
      "What the people do who run `headcount serve`: bring in data, make accounts and keys " +
        "and bound them, add credits, set limits and prices, see what moved and who did " +
        "what, verify. All of it works on a data folder (--data), also while it is served.",
    )
    .examples(`
  $ headcount service import --people people.parquet --companies companies.csv
  $ headcount service keys create --name nightly
  $ headcount service keys create --name agent --max-credits 500 --expires 7d --scope count,search
  $ headcount service credits add 10000
  $ headcount service usage --by key
  $ headcount service verify`);

  const parts = [
    registerImport,
    registerGenerate,
    registerDataset,
    registerAccounts,
    registerKeys,
    registerCredits,
    registerPlan,
    registerEntries,
    registerUsage,
    registerAudit,
    registerLink,
    registerSessions,
    registerSuppress,
    registerForget,
    registerBackup,
    registerVerify,
    registerRestore,
  ];
  for (const register of parts) register(service, context);
}
