import type { Command } from "commander";
import type { Context } from "../context.ts";
import { CliError, type ErrorCategory, EXIT, type ExitCode } from "../errors.ts";
import type { GlobalOptions } from "../options.ts";
import type { Check } from "./doctor-machine.ts";

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
  const { checkMachine } = await import("./doctor-machine.ts");
  const checks: Check[] = [];
  const print = options.json ? undefined : await printer(options, context);
  const add = (check: Check): void => {
    checks.push(check);
    print?.(check);
  };
  for (const check of await checkMachine(context, options)) add(check);
  if (!options.offline) {
    const { checkService } = await import("./doctor-service.ts");
    await checkService(context, options, add);
  }
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

const MARKS = { ok: ["✓", "ok"], warn: ["!", "!"], fail: ["✗", "FAIL"], skip: ["-", "-"] } as const;

/** To a terminal a mark, a name and what was found; piped, the same tab-separated with the status in words. */
async function printer(options: GlobalOptions, context: Context): Promise<(check: Check) => void> {
  const { stdout, env, platform } = context;
  if (stdout.isTTY !== true) {
    return ({ name, status, message, fix }) => stdout.write(`${[status, name, message, fix ?? ""].join("\t")}\n`);
  }
  const [{ hasColor, hasUnicode, styleFor, widthOfStream }, { wrap }] = await Promise.all([
    import("../terminal/style.ts"),
    import("../terminal/width.ts"),
  ]);
  const style = styleFor(hasColor(stdout, env, options.color));
  const paint = { ok: style.good, warn: style.warning, fail: style.strong, skip: style.faint };
  const column = hasUnicode(env, platform) ? 0 : 1;
  const width = widthOfStream(stdout);
  return ({ name, status, message, fix }) => {
    const mark = MARKS[status][column];
    const indent = column === 0 ? 17 : 20;
    const lines = [message, ...(fix === undefined || status === "ok" ? [] : [fix])];
    const [first = "", ...more] = lines.flatMap((line) => wrap(line, width - indent));
    const head = `${paint[status](mark)}${" ".repeat(indent - 15 - mark.length)}${name.padEnd(15)}`;
    stdout.write(`${[`${head}${first}`, ...more.map((line) => " ".repeat(indent) + line)].join("\n")}\n`);
  };
}
