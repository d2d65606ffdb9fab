import { type Check, checkMachine, checkService } from "../../app/doctor/doctor.ts";
import type { Context } from "../../shared/context.ts";
import { CliError } from "../../shared/errors.ts";
import type { Command, GlobalOptions } from "../options.ts";
import { waitingOn } from "../session.ts";
import { atDesk, type Desk, type Printer } from "../terminal/printer.ts";
import { wrap } from "../terminal/width.ts";

export function register(program: Command, context: Context): void {
  program
    .command("doctor")
    .description(
      "Check Node, optional parts, config, key and proxy, reach the service, and find out " +
        "how it speaks. Only free calls are made; what is learned is saved to the connection.",
    )
    .examples(`
  $ headcount doctor                                the connection in use
  $ headcount doctor -c sample                      the built-in service
  $ headcount doctor --json | jq '.checks[] | select(.status != "ok")'

How a service pages is found out by searches that are certain to be refused, which
is free. Where that tells nothing, say it: headcount connections set NAME
paging=offset, or --paging, or HEADCOUNT_PAGING.

Exit code 0 where nothing failed; else 2 for the machine or config, 3 for the key, 8 for the service.`)
    .does(atDesk(context, run));
}

const CATEGORIES = { machine: "usage", key: "auth", service: "service" } as const;

async function run({ options, printer, context }: Desk<GlobalOptions>): Promise<void> {
  const checks: Check[] = [];
  const add = (check: Check): void => {
    checks.push(check);
    if (!printer.json) printCheck(check, printer);
  };

  const { asking, note } = waitingOn(context, options);
  const looking = { ...options, asking, notice: printer.quiet ? undefined : note };
  for (const check of await checkMachine(context, looking)) add(check);
  await checkService(context, looking, add);

  const failed = checks.filter(({ status }) => status === "fail");
  if (printer.json) printer.document<"doctor">({ ok: failed.length === 0, checks });

  const [first] = failed;
  if (first === undefined) return;

  const more = failed.length > 1 ? ` (and ${failed.length - 1} more)` : "";
  const message = `${first.name}: ${first.message}${more}`;
  throw new CliError({
    code: "doctor_failed",
    category: CATEGORIES[first.area],
    message,
    hint: first.fix,
  });
}

const MARKS = { ok: ["✓", "ok"], warn: ["!", "!"], fail: ["✗", "FAIL"], skip: ["-", "-"] } as const;
const PAINT = { ok: "good", warn: "warning", fail: "strong", skip: "faint" } as const;

/**
 * To a terminal a mark, a name and what was found; piped,
 * the same tab-separated with the status in words.
 */
function printCheck({ name, status, message, fix }: Check, printer: Printer): void {
  if (!printer.terminal) {
    printer.lines([[status, name, message, fix]]);
    return;
  }

  const mark = MARKS[status][printer.unicode ? 0 : 1];
  const indent = printer.unicode ? 17 : 20;
  const lines = [message, ...(fix === undefined || status === "ok" ? [] : [fix])];
  const [first = "", ...more] = lines.flatMap((line) => wrap(line, printer.width - indent));
  const head = `${printer.style[PAINT[status]](mark)}${" ".repeat(indent - 15 - mark.length)}${name.padEnd(15)}`;
  printer.text(
    `${[`${head}${first}`, ...more.map((line) => " ".repeat(indent) + line)].join("\n")}\n`,
  );
}
