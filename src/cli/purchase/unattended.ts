import { resolve } from "node:path";
import { resolveOutput } from "../../engine/output/tables/target.ts";
import type { RunCommand } from "../../engine/runs/plan.ts";
import type { RunSpend } from "../../engine/runs/spend.ts";
import type { Context } from "../../shared/context.ts";
import type { ExportFlags } from "../arguments/export-options.ts";
import type { buy } from "./buy.ts";
import type { ParsedPurchase } from "./purchase.ts";

/** Parses a command and buys what it says; --log and --notify tell how it went, also where parsing failed. */
export async function buyParsed(
  command: RunCommand,
  flags: ExportFlags,
  context: Context,
  parse: () => Promise<ParsedPurchase>,
  run: typeof buy,
): Promise<void> {
  const { log, notify } = flags;
  if ((log ?? notify) === undefined) return void (await run(await parse(), context));
  const { endedWith, tellOutcome: told } = await import("../../app/jobs/outcome.ts");
  const file = (name: string | undefined): string | undefined =>
    name === undefined ? undefined : resolve(context.cwd, name);
  let id: string | undefined;
  const onRun = (started: string): void => {
    id = started;
  };
  // A name that is none is refused where the command is read.
  const output =
    flags.output === undefined || flags.output === "-"
      ? undefined
      : tried(() => resolveOutput(flags.output ?? "", context.cwd));
  const telling = {
    command,
    output,
    log: file(log),
    notify,
    isMine: (spend: RunSpend) => spend.run === id,
  };
  const { failure } = await told(telling, context, async () => {
    const { receipt, skipped = false } = await run({ ...(await parse()), onRun }, context);
    return receipt === undefined ? { skipped } : endedWith(receipt);
  });
  if (failure !== undefined) throw failure;
}

function tried<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
