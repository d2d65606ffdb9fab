import { Writable } from "node:stream";
import { setFlagsFromString } from "node:v8";
import { buy as buyOrder, priceRest, quote, resume } from "../../app/buy/buy.ts";
import { type Events, worldOf } from "../../app/buy/order.ts";
import type { Session } from "../../app/session.ts";
import { formName } from "../../engine/output/formats.ts";
import type { Finished as Bought } from "../../engine/purchase/deliver.ts";
import { quoteJson } from "../../engine/purchase/quote.ts";
import { errorCode } from "../../engine/runs/disk.ts";
import { type Context, written } from "../../shared/context.ts";
import { formatCreditsGrouped } from "../../shared/contract/money.ts";
import { counted, grouped } from "../../shared/contract/text.ts";
import { command, say, systemFailure } from "../../shared/errors.ts";
import { withSession } from "../session.ts";
import { Printer } from "../terminal/printer.ts";
import type { ProgressLine } from "../terminal/progress.ts";
import { askConsent } from "./consent.ts";
import type { ParsedPurchase } from "./purchase.ts";
import { quoteEntries, wordingOf } from "./quote-card.ts";
import { printSummary } from "./summary.ts";

/** Quote, consent, progress, rows and summary, for every command that spends. @throws CliError */
export async function buy(purchase: ParsedPurchase, context: Context): Promise<void> {
  const { flags, run, show } = purchase;
  const printer = new Printer(context, flags);

  if ((printer.json || purchase.order.output === undefined) && flags.dryRun !== true)
    printer.requireOpen();

  await withSession(context, flags, async (session) => {
    const shown = show && captured();
    const order = {
      ...purchase.order,
      rows: shown?.stream ?? printer.dataStream(formName({ format: "ndjson", ...purchase.order })),
      table: () => printer.rowsTable(),
    };
    const { events, stop } = await watch(purchase, session, printer, context);
    const world = worldOf(session, context);

    if (purchase.notice !== undefined) session.notice(purchase.notice);
    try {
      if (flags.dryRun === true) {
        const quoted =
          run === undefined
            ? await quote(order, world, events)
            : { quote: await priceRest(run, order, world, events), order };
        const { target } = order.accounts === undefined ? order : quoted.order;
        if (printer.json) printer.document<"search">(quoteJson(quoted.quote, target));
        else await printer.card(quoteEntries(quoted.quote, target, true), 2);
        return;
      }

      const result =
        run === undefined
          ? await buyOrder(order, world, events)
          : await resume(run, order, world, events);

      stop();
      if (shown !== undefined) await show?.(shown.text(), printer);

      // Before anything is called exported.
      await written(context.stdout).catch((error: unknown) => {
        throw unread(error, result);
      });
      printSummary(result, purchase, printer);
      if (result.failure !== undefined) throw result.failure;
    } finally {
      stop();
    }
  });
}

/**
 * Stdout took not all of what was bought: it is kept,
 * so the same command again is not the way to have it.
 */
function unread(error: unknown, { receipt, run }: Bought): unknown {
  const failure = systemFailure(error);
  if (failure === undefined || errorCode(error) === "EPIPE") return error;
  const rows = counted(receipt.received, "row is", "rows are");
  const next = command("runs export", { arguments: [run] });
  return failure.with({
    category: "incomplete",
    details: [`${rows} paid for and kept in run ${run}`],
    hint: say`${next} writes what it holds at 0 credits`,
    next,
  });
}

function captured(): { readonly stream: Writable; readonly text: () => string } {
  const chunks: Buffer[] = [];
  const write = (chunk: Buffer, _encoding: unknown, done: () => void): void => {
    chunks.push(Buffer.from(chunk));
    done();
  };
  return { stream: new Writable({ write }), text: () => Buffer.concat(chunks).toString() };
}

/**
 * V8's young generation grows by so much when it is full, 2 by default. What a page needs is
 * little and soon gone: it would take 30 MB more after some 100,000 rows, and gain nothing.
 */
const growYoung = (factor: 1 | 2): void =>
  setFlagsFromString(`--semi-space-growth-factor=${factor}`);

async function watch(
  purchase: ParsedPurchase,
  session: Session,
  printer: Printer,
  context: Context,
) {
  const { order, show } = purchase;
  const { now, stderr } = context;
  const { one: unit, many: units } = wordingOf(order.target);

  // Rows on the same terminal say by themselves how far it is.
  const isOnScreen = order.output === undefined && printer.terminal && stderr.isTTY === true;
  const isShown = !printer.quiet && show === undefined && !isOnScreen;
  const openProgress = isShown ? (await import("../terminal/progress.ts")).openProgress : undefined;
  let progress: ProgressLine | undefined;
  let plan = { rows: 0, cap: "" };
  const events: Events = {
    agree: (quoted, resuming, target) =>
      askConsent({ quote: quoted, resuming, target }, purchase, printer, context),
    hint: printer.quiet ? undefined : (text) => printer.note(text),
    notice: (text) => (progress === undefined ? session.notice(text) : progress.note(text)),
    warning: (text) => (progress === undefined ? printer.say(text) : progress.note(text)),

    start: ({ kept: startedWith, rows, cap }) => {
      // Of a vendor's rows each is made an object, which lives as long as its page.
      if (session.client.dialect.vendor === undefined) growYoung(1);
      plan = { rows, cap: formatCreditsGrouped(cap) };

      const { noteStyle: style, unicode } = printer;
      progress = openProgress?.({
        stream: stderr,
        enabled: true,
        now,
        style,
        unit,
        units,
        unicode,
        startedWith,
      });
    },

    progress: ({ rows: done, settled, uncertain, wait }) => {
      const unsure = uncertain > 0n ? `, ${formatCreditsGrouped(uncertain)} uncertain` : "";
      const same =
        formatCreditsGrouped(settled) === grouped(done) && plan.cap === grouped(plan.rows);
      const detail = same
        ? unsure.slice(2)
        : `${formatCreditsGrouped(settled)} of ${plan.cap} credits${unsure}`;
      progress?.update({ done, total: plan.rows, detail });
      progress?.wait(
        wait?.until,
        `${wait?.why}: ${wait?.reason === "retry" ? "trying again in" : "waiting"}`,
      );
    },
  };
  const stop = (): void => {
    growYoung(2);
    progress?.stop();
  };
  return { events, stop };
}
