import { type Check, checkMachine, checkService, countCosts } from "../../app/doctor/doctor.ts";
import { type Context, canPrompt } from "../../shared/context.ts";
import { type Credits, creditsText } from "../../shared/contract/money.ts";
import { CliError, declined } from "../../shared/errors.ts";
import { creditsGiven } from "../arguments/settings.ts";
import type { Command, GlobalOptions } from "../options.ts";
import { waitingOn, withSession } from "../session.ts";
import { type ColumnOf, printList } from "../terminal/list.ts";
import { atDesk, type Desk, type Printer } from "../terminal/printer.ts";
import { renderCard } from "../terminal/table.ts";

export function register(program: Command, context: Context): void {
  program
    .command("doctor")
    .description(
      "Check Node, optional parts, config, key and proxy, reach the service, and find out " +
        "how it speaks. Only free calls are made; what is learned is saved to the connection.",
    )
    .option(
      "--buy <n>",
      "of a vendor: spend at most this on its fewest people, and compare with its file",
      (text) => creditsGiven("--buy", text),
    )
    .option("--yes", "do not ask before that")
    .examples(`
  $ headcount doctor                                the connection in use
  $ headcount doctor -c sample                      the built-in service
  $ headcount doctor --json | jq '.checks[] | select(.status != "ok")'

How a service pages is found out by searches that are certain to be refused, which \
is free. Where that tells nothing, say it: headcount connections set NAME \
paging=offset, or --paging, or HEADCOUNT_PAGING.

Exit code 0 where nothing failed; else 2 for the machine or config, 3 for the key, 8 for the \
service.`)
    .does(
      `asks account count search employees
      reads connection runs
      writes runs
      exits 1 3 4 5 7 8 130`,
      atDesk(context, run),
    );
}

const CATEGORIES = { machine: "usage", key: "auth", service: "service" } as const;

interface DoctorFlags extends GlobalOptions {
  readonly buy?: Credits;
  readonly yes?: boolean;
}

async function run({ options, printer, context }: Desk<DoctorFlags>) {
  const checks: Check[] = [];
  const add = (check: Check): void => {
    checks.push(check);
    if (printer.terminal && !printer.json) printCheck(check, printer);
  };

  const { asking, note } = waitingOn(context, options);
  const looking = { ...options, asking, notice: printer.quiet ? undefined : note };
  for (const check of await checkMachine(context, looking)) add(check);
  await checkService(context, looking, add);
  const { buy: most } = options;
  const isSound = checks.every(({ status }) => status !== "fail");
  if (most !== undefined && isSound) await tryBuying(most, options, { add, context, printer });

  const failed = checks.filter(({ status }) => status === "fail");
  if (printer.json) printer.document<"doctor">({ ok: failed.length === 0, checks });
  else if (!printer.terminal) await printList(COLUMNS, checks, printer, "none");

  const [first] = failed;
  if (first === undefined) return;

  const more = failed.length > 1 ? ` (and ${failed.length - 1} more)` : "";
  throw new CliError({
    code: "doctor_failed",
    category: CATEGORIES[first.area],
    message: `${first.name}: ${first.message}${more}`,
    hint: first.fix,
  });
}

async function tryBuying(
  most: Credits,
  options: DoctorFlags,
  {
    add,
    context,
    printer,
  }: Pick<Desk<object>, "context" | "printer"> & { add: (one: Check) => void },
) {
  const { tryPaid } = await import("../../app/doctor/bought.ts");
  const asks = options.yes !== true && canPrompt(context);

  const spent = await withSession(context, options, async (session) => {
    const { counting } = session.client.dialect;
    const count = counting === undefined ? "" : `; ${countCosts(counting.price)}`;
    if (
      asks &&
      !(await context.confirm(`may spend at most ${creditsText(most)}${count}. Go on? [y/N]`))
    )
      throw declined("declined; nothing was spent");
    return tryPaid(session, context, { most, add });
  });

  const charged =
    spent === undefined ? "what was charged" : `spent ${creditsText(spent)}; what came`;
  printer.note(`${charged} is kept, and in headcount spend`);
}

const MARKS = { ok: ["✓", "ok"], warn: ["!", "!"], fail: ["✗", "FAIL"], skip: ["-", "-"] } as const;
const LONGEST_NAME = 14;
const PAINT = { ok: "good", warn: "warning", fail: "strong", skip: "faint" } as const;

const COLUMNS: readonly ColumnOf<Check>[] = [
  { name: "status" },
  { name: "name" },
  { name: "message" },
  { name: "fix", value: ({ fix }) => fix ?? "" },
];

/** To a terminal, as each comes: a mark, a name and what was found. */
function printCheck({ name, status, message, fix }: Check, printer: Printer): void {
  const mark = MARKS[status][printer.unicode ? 0 : 1].padEnd(printer.unicode ? 1 : 4);
  const label = `${printer.style[PAINT[status]](mark)} ${name.padEnd(LONGEST_NAME)}`;
  printer.text(
    renderCard(
      [
        [label, message],
        [" ", status === "ok" ? undefined : fix],
      ],
      printer,
    ),
  );
}
