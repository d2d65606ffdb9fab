import type { Order } from "../../app/buy/order.ts";
import type { Receipt } from "../../engine/purchase/receipt.ts";
import type { ExportFlags } from "../arguments/export-options.ts";
import type { Printer } from "../terminal/printer.ts";

/** What a command line asks to be bought. */
export interface ParsedPurchase {
  readonly order: Order;
  readonly flags: ExportFlags;
  /** The run that it goes on with, where that was named. */
  readonly run?: string;
  /** Whether it needs no asking up to HEADCOUNT_ASK_ABOVE (1 credit): one company that was named. */
  readonly small?: boolean;
  /** What has to be said of it before anything is asked. */
  readonly notice?: string | undefined;
  /** Prints what would have gone to stdout, once it is all there, in place of rows as they come. */
  readonly show?: (rows: string, printer: Printer) => Promise<void>;
  /** Told the id of the run before anything is bought. */
  readonly onRun?: (run: string) => void;
}

/** How it ended: with a receipt, a quote alone, or nothing to do because the file is young enough. */
export interface PurchaseOutcome {
  readonly receipt?: Receipt;
  readonly skipped?: boolean;
}
