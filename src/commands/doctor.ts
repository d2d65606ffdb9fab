import type { Command } from "commander";
import type { Context } from "../context.ts";
import { CliError, type ErrorCategory, EXIT, type ExitCode } from "../errors.ts";
import type { GlobalOptions } from "../program.ts";
import type { Check } from "./doctor-checks.ts";

export function register(program: Command, context: Context): void {
  program
    .command("doctor")
    .summary("check this machine and a connection (free)")
    .description(
      "Check Node, optional parts, config, key and proxy, reach the service, and find out how it speaks. Only free calls are made; what is learned is saved to the connection.",
    )
    .option("--offline", "check this machine alone, make no call")
    .addHelpText(
      "after",
      `
Examples:
  $ headcount doctor                                the connection in use
  $ headcount doctor -c sample                      the built-in service
  $ headcount doctor --offline                      nothing leaves this machine
  $ headcount doctor --json | jq '.checks[] | select(.status != "ok")'

Exit code 0 where nothing failed; else 2 for the machine or config, 3 for the key, 8 for the service.`,
    )
    .action(async (_: unknown, command: Command) => {
      await run(command.optsWithGlobals<GlobalOptions & { readonly offline?: boolean }>(), context);
    });
}

async function run(options: GlobalOptions & { readonly offline?: boolean }, context: Context): Promise<void> {
  const { checkMachine, checkService } = await import("./doctor-checks.ts");
  const checks: Check[] = [];
  const live = options.json !== true;
  const add = (check: Check): void => {
    checks.push(check);
    if (live) print(check, context);
  };
  for (const check of await checkMachine(context, options)) add(check);
  if (!options.offline) await checkService(context, options, add);
  const failed = checks.filter(({ status }) => status === "fail");
  if (options.json) context.stdout.write(`${JSON.stringify({ ok: failed.length === 0, checks }, undefined, 2)}\n`);
  const [first] = failed;
  if (first === undefined) return;
  const codes: Readonly<Record<Check["area"], readonly [ExitCode, ErrorCategory]>> = {
    machine: [EXIT.usage, "usage"],
    key: [EXIT.auth, "auth"],
    service: [EXIT.service, "service"],
  };
  const [exitCode, category] = codes[first.area];
  const more = failed.length > 1 ? ` (and ${failed.length - 1} more)` : "";
  throw new CliError({
    code: "doctor_failed",
    category,
    exitCode,
    message: `${first.name}: ${first.message}${more}`,
    ...(first.fix === undefined ? {} : { hint: first.fix }),
  });
}

const MARKS = { ok: "✓", warn: "!", fail: "✗", skip: "-" } as const;

/** To a terminal a mark, a name and what was found; piped, the same tab-separated with the status in words. */
function print({ name, status, message, fix }: Check, context: Context): void {
  if (context.stdout.isTTY !== true) {
    context.stdout.write(`${[status, name, message, fix ?? ""].join("\t")}\n`);
    return;
  }
  context.stdout.write(`${MARKS[status]} ${name.padEnd(18)} ${message}\n`);
  if (fix !== undefined && status !== "ok") context.stdout.write(`${" ".repeat(21)}${fix}\n`);
}
