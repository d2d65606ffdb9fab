// Tested by test/service/console-people.test.ts.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "../../../shared/rows/page.ts";
import type { RecordKind } from "../../../shared/rows/values.ts";
import { lateFormat } from "../formats.ts";
import { surveyColumns } from "./survey.ts";

/**
 * The bytes of a file that needs all rows before its first, of pages that no run has.
 * @param pages read twice. @throws CliError where what writes it is missing
 */
export async function* wholeBytes(
  format: "xlsx" | "parquet",
  kind: RecordKind,
  pages: () => AsyncIterable<Page>,
): AsyncGenerator<Buffer> {
  const whole = await lateFormat(format);
  if (whole === undefined) throw new TypeError(`${format} is written row by row`);
  await whole.load();

  const survey = await surveyColumns({ pages, kind });
  whole.checkRoom(survey.rows, "usage");

  const folder = await mkdtemp(join(tmpdir(), "headcount-"));
  try {
    const rows = { ...survey, pages, onCut: () => undefined };
    yield* whole.bytes(rows, join(folder, "scratch"));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
