import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import { collectColumns } from "../../shared/rows/columns.ts";
import { CsvView } from "../../shared/rows/csv.ts";
import { NdjsonView } from "../../shared/rows/json.ts";
import { Page, type View } from "../../shared/rows/page.ts";
import type { ConsoleExport } from "../admin/console-store.ts";
import type { ConsoleParts } from "./call.ts";
import { storedPages } from "./exports.ts";
import { ConsoleRefusal } from "./guard.ts";
import { unseal } from "./tokens.ts";

const TICKET_MS = 60_000;
const used = new WeakMap<ConsoleParts, Map<string, number>>();

interface Ticket {
  readonly kind: "ticket";
  readonly id: string;
  readonly format: "csv" | "ndjson";
  readonly made: number;
}

/** Streams an export from its stored replies, as `headcount search` writes it. A ticket serves once, for a minute. */
export async function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  parts: ConsoleParts,
): Promise<FastifyReply> {
  const visitor = await parts.sessions.visitorByCookie(request.headers);
  const text = new URL(request.raw.url ?? "", "http://console").searchParams.get("t");
  const ticket = unseal(text, visitor.secret) as Partial<Ticket> | undefined;
  const now = parts.now();
  if (ticket?.kind !== "ticket" || now - (ticket.made ?? 0) > TICKET_MS || !firstUse(parts, String(text), now)) {
    throw new ConsoleRefusal(
      403,
      "bad_ticket",
      "this download was begun before, or more than a minute ago: press Download again",
    );
  }
  const item = await parts.store.console.export(visitor.account.id, ticket.id ?? "");
  if (item === undefined) throw new ConsoleRefusal(404, "no_export", "there is no such export");
  const pages = () => pagesOf(parts, item);
  // Reads all of them once before a byte is sent: a file that cannot be whole is not begun.
  const columns = await collectColumns(pages(), "person");
  const format = ticket.format ?? "csv";
  return reply
    .headers({
      "content-type": format === "csv" ? "text/csv; charset=utf-8" : "application/x-ndjson; charset=utf-8",
      "content-disposition": `attachment; filename="${nameOf(item)}.${format}"`,
      "cache-control": "no-store",
    })
    .send(Readable.from(rendered(pages, format, columns)));
}

const nameOf = ({ id, profiles, rows }: ConsoleExport): string =>
  rows < profiles ? `people-${id}-first-${rows}` : `people-${id}`;

async function* pagesOf(parts: ConsoleParts, item: ConsoleExport): AsyncGenerator<Page> {
  for await (const body of storedPages(parts, item)) yield Page.read(Buffer.from(body), "person");
}

/** As a file of the client: with the columns of its first page where no later page has more. */
async function* rendered(
  pages: () => AsyncIterable<Page>,
  format: Ticket["format"],
  columns: readonly string[],
): AsyncGenerator<Buffer> {
  let view: View | undefined;
  for await (const page of pages()) {
    if (view === undefined) {
      const isAll = (await collectColumns([page], "person")).join() === columns.join();
      view = format === "csv" ? new CsvView({ kind: "person", ...(isAll ? {} : { columns }) }) : new NdjsonView();
    }
    yield Buffer.from(view.page(page));
  }
  yield Buffer.from(view?.end() ?? "");
}

function firstUse(parts: ConsoleParts, ticket: string, now: number): boolean {
  const tickets = used.get(parts) ?? new Map<string, number>();
  used.set(parts, tickets);
  for (const [each, at] of tickets) if (now - at > TICKET_MS) tickets.delete(each);
  if (tickets.has(ticket)) return false;
  tickets.set(ticket, now);
  return true;
}
