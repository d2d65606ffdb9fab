import { Readable } from "node:stream";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { collectColumns } from "../../shared/rows/columns.ts";
import { CsvView } from "../../shared/rows/csv.ts";
import { NdjsonView } from "../../shared/rows/json.ts";
import { Page, type View } from "../../shared/rows/page.ts";
import type { Admission } from "../http/admission.ts";
import type { ConsoleExport } from "../ledger/records.ts";
import { assertScope, Problem } from "../problem.ts";
import type { ConsoleParts } from "./call.ts";
import { storedPages } from "./exports.ts";
import { ConsoleRefusal } from "./guard.ts";
import { unseal } from "./sessions.ts";

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
  return sendRows(reply, parts, item, ticket.format ?? "csv");
}

/** `GET /exports/ID.csv`: the same file for a program with a key of the account, at no cost. */
export function addExportFiles(app: FastifyInstance, admission: Admission, opened: () => ConsoleParts): void {
  app.get("/exports/:file", async (request, reply) => {
    await admission.admit(request);
    const { key } = request.call;
    if (key === undefined) throw new Error("a key was let in that is not there");
    assertScope(key, "search");
    const parts = opened();
    const { file } = request.params as { readonly file: string };
    const [, id = "", format] = /^([0-9a-f]{16})\.(csv|ndjson)$/.exec(file) ?? [];
    const item = await parts.store.console.export(key.accountId, id);
    // A capped key has what it bought itself: its cap is a wall for what others paid for too.
    const isOwn = item?.keyId === key.id || (await parts.store.key(key.id))?.budget === null;
    if (item?.mode !== key.mode || !isOwn)
      throw new Problem(404, ["this key has no such export; /exports/ID.csv or .ndjson"]);
    return sendRows(reply, parts, item, format as Ticket["format"]).catch((error: unknown) => {
      throw error instanceof ConsoleRefusal ? new Problem(error.status, [error.message]) : error;
    });
  });
}

async function sendRows(
  reply: FastifyReply,
  parts: ConsoleParts,
  item: ConsoleExport,
  format: Ticket["format"],
): Promise<FastifyReply> {
  const pages = () => pagesOf(parts, item);
  // Reads all of them once before a byte is sent: a file that cannot be whole is not begun.
  const columns = await collectColumns(pages(), "person");
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
