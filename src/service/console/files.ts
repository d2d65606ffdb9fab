import { Readable } from "node:stream";
import type { FastifyInstance } from "fastify";
import type { Person } from "../../shared/contract/records.ts";
import { CliError } from "../../shared/errors.ts";
import { collectColumns } from "../../shared/rows/columns.ts";
import { CsvView } from "../../shared/rows/csv.ts";
import { ndjsonView } from "../../shared/rows/json.ts";
import { Page } from "../../shared/rows/page.ts";
import type { Admission } from "../http/admission.ts";
import type { ConsoleExport } from "../ledger/records.ts";
import { assertScope, Problem } from "../problem.ts";
import {
  BUYERS,
  type ConsoleCall,
  type ConsoleEndpoint,
  type ConsoleParts,
  chosen,
  type ExportFormat,
  exportOf,
  formatsOf,
  maySee,
  wholeOf,
} from "./call.ts";
import { storedPage } from "./exports.ts";
import { ConsoleRefusal } from "./guard.ts";

const TYPES = {
  csv: "text/csv; charset=utf-8",
  ndjson: "application/x-ndjson; charset=utf-8",
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  parquet: "application/vnd.apache.parquet",
} as const satisfies Readonly<Record<ExportFormat, string>>;

export interface ExportFile {
  readonly headers: Readonly<Record<string, string>>;
  readonly rows: Readable;
}

export const FILE_ENDPOINTS: readonly ConsoleEndpoint[] = [
  {
    method: "GET",
    path: "/exports/:id/:format",
    roles: BUYERS,
    run: async (call) => {
      const { params, parts } = call;
      const format = chosen(params.format, "format", formatsOf(parts));
      return fileOf(parts, await exportOf(call), format);
    },
  },
  { method: "GET", path: "/exports/:id/people/:page", roles: BUYERS, run: people },
];

export type PeopleAnswer = Awaited<ReturnType<typeof people>>;

/** A page of an export's people, from 0: the rows of its reply, whoever was left out since. */
async function people(call: ConsoleCall) {
  const item = await exportOf(call);
  const last = Math.max(0, item.pages - 1);
  const page = wholeOf(Number(call.params.page), "page", 0, last);
  if (item.pages === 0)
    throw new ConsoleRefusal(409, "no_rows", "nobody of this export was bought yet");

  const reply = JSON.parse(await storedPage(call.parts, item, page)) as {
    readonly result: readonly Person[];
  };
  return { people: reply.result };
}

/** `GET /exports/ID.csv`: the same file for a program with a key of the account, at no cost. */
export function addExportFiles(
  app: FastifyInstance,
  admission: Admission,
  opened: () => ConsoleParts,
): void {
  app.get("/exports/:file", async (request, reply) => {
    await admission.admit(request);
    const { key } = request.call;
    if (key === undefined) throw new Error("a key was let in that is not there");

    assertScope(key, "search");

    const parts = opened();
    const { file } = request.params as { readonly file: string };
    const [, id = "", ending] = /^([0-9a-f]{16})\.(\w+)$/.exec(file) ?? [];
    const format = formatsOf(parts).find((each) => each === ending);
    const item = await parts.store.console.export(key.accountId, id);
    // A capped key has what its chain bought: its cap is a wall for what others paid for too.
    const isOwn = item && (maySee(key)(item) || (await parts.store.key(key.id))?.budget === null);
    if (format === undefined || item?.mode !== key.mode || !isOwn) {
      const names = formatsOf(parts).map((each) => `.${each}`);
      throw new Problem(404, [`this key has no such export; /exports/ID${names.join(" or ")}`]);
    }

    const { headers, rows } = await fileOf(parts, item, format);
    return reply.headers(headers).send(rows);
  });
}

/** An export from its stored replies, as `headcount search` writes it. */
async function fileOf(
  parts: ConsoleParts,
  item: ConsoleExport,
  format: ExportFormat,
): Promise<ExportFile> {
  const pages = () => pagesOf(parts, item);
  const rows =
    format === "csv" || format === "ndjson"
      ? // Reads all of them once before a byte is sent: what cannot be whole is not begun.
        rendered(pages, format, await collectColumns(pages(), "person"))
      : await begun(parts.wholeFile?.(format, pages));
  const headers = {
    "content-type": TYPES[format],
    "content-disposition": `attachment; filename="${nameOf(item)}.${format}"`,
    "cache-control": "no-store",
  };
  return { headers, rows: Readable.from(rows) };
}

/** With its first bytes there: what fails before them is an answer, and no broken file. */
async function begun(bytes: AsyncIterable<Buffer> = Readable.from([])) {
  const chunks = bytes[Symbol.asyncIterator]();
  const first = await chunks.next().catch((error: unknown) => {
    if (error instanceof CliError) throw new ConsoleRefusal(501, "no_writer", error.message);
    throw error;
  });

  return (async function* () {
    try {
      for (let next = first; next.done !== true; next = await chunks.next()) yield next.value;
    } finally {
      await chunks.return?.();
    }
  })();
}

const nameOf = ({ id, profiles, rows }: ConsoleExport): string =>
  rows < profiles ? `people-${id}-first-${rows}` : `people-${id}`;

async function* pagesOf(parts: ConsoleParts, item: ConsoleExport): AsyncGenerator<Page> {
  for (let page = 0; page < item.pages; page++)
    yield Page.read(Buffer.from(await storedPage(parts, item, page)), "person");
}

async function* rendered(
  pages: () => AsyncIterable<Page>,
  format: "csv" | "ndjson",
  columns: readonly string[],
): AsyncGenerator<Buffer> {
  const view = format === "csv" ? new CsvView({ kind: "person", columns }) : ndjsonView();
  for await (const page of pages()) yield Buffer.from(view.page(page));
  yield Buffer.from(view.end());
}
