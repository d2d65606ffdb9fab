import { Readable } from "node:stream";
import type { FastifyInstance } from "fastify";
import { collectColumns } from "../../shared/rows/columns.ts";
import { CsvView } from "../../shared/rows/csv.ts";
import { NdjsonView } from "../../shared/rows/json.ts";
import { Page } from "../../shared/rows/page.ts";
import type { Admission } from "../http/admission.ts";
import type { ConsoleExport } from "../ledger/records.ts";
import { assertScope, Problem } from "../problem.ts";
import { BUYERS, type ConsoleEndpoint, type ConsoleParts, chosen, exportOf } from "./call.ts";
import { storedPages } from "./exports.ts";

const FORMATS = ["csv", "ndjson"] as const;
type Format = (typeof FORMATS)[number];

/** Rows that are sent as they are read. */
export interface ExportFile {
  readonly headers: Readonly<Record<string, string>>;
  readonly rows: Readable;
}

export const FILE_ENDPOINT: ConsoleEndpoint = {
  ...{ method: "GET", path: "/exports/:id/:format", roles: BUYERS },
  run: async (call) => fileOf(call.parts, await exportOf(call), chosen(call.params.format, "format", FORMATS)),
};

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
    const { headers, rows } = await fileOf(parts, item, format as Format);
    return reply.headers(headers).send(rows);
  });
}

/** An export from its stored replies, as `headcount search` writes it. */
async function fileOf(parts: ConsoleParts, item: ConsoleExport, format: Format): Promise<ExportFile> {
  const pages = () => pagesOf(parts, item);
  // Reads all of them once before a byte is sent: a file that cannot be whole is not begun.
  const columns = await collectColumns(pages(), "person");
  const headers = {
    "content-type": format === "csv" ? "text/csv; charset=utf-8" : "application/x-ndjson; charset=utf-8",
    "content-disposition": `attachment; filename="${nameOf(item)}.${format}"`,
    "cache-control": "no-store",
  };
  return { headers, rows: Readable.from(rendered(pages, format, columns)) };
}

const nameOf = ({ id, profiles, rows }: ConsoleExport): string =>
  rows < profiles ? `people-${id}-first-${rows}` : `people-${id}`;

async function* pagesOf(parts: ConsoleParts, item: ConsoleExport): AsyncGenerator<Page> {
  for await (const body of storedPages(parts, item)) yield Page.read(Buffer.from(body), "person");
}

async function* rendered(
  pages: () => AsyncIterable<Page>,
  format: Format,
  columns: readonly string[],
): AsyncGenerator<Buffer> {
  const view = format === "csv" ? new CsvView({ kind: "person", columns }) : new NdjsonView();
  for await (const page of pages()) yield Buffer.from(view.page(page));
  yield Buffer.from(view.end());
}
