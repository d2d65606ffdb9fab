// Tested by test/cli/output-tables.long.test.ts.

import { CliError, option, type Sentence, say, usageError } from "../../../shared/errors.ts";
import { askedFields } from "../../../shared/rows/columns.ts";
import { errorCode } from "../../runs/disk.ts";
import type { Guard } from "../../runs/plan.ts";
import { checkRows, formName, type Output, type Rendering } from "../formats.ts";
import { exists } from "../paths.ts";
import { clearLeftovers, naming } from "../publish.ts";
import { enterOutput, type OutputPlace } from "../register.ts";
import { surveyColumns } from "../whole/survey.ts";
import { parseTable, type TableTarget, tableText } from "./target.ts";
import { IDENTITY, identified, TableRefusal, type TableWriter } from "./writer.ts";

type Beside = Pick<OutputPlace, "name" | "disk">;

const open = async (target: TableTarget, place: Beside): Promise<TableWriter> =>
  target.engine === "duckdb"
    ? (await import("./duckdb.ts")).openDuckDb(target, place)
    : (await import("./postgres.ts")).openPostgres(target);

async function* nothing(): AsyncGenerator<never> {}

/** Asked before anything is bought: done without a row, and taken back. */
export async function checkTable(
  output: string,
  { kind, fields }: Pick<Rendering, "kind" | "fields">,
  guard: Guard,
  place: Beside,
): Promise<void> {
  checkGuard(guard);
  const target = parseTable(output, "/");
  if (target.engine === "duckdb") {
    await (await import("../whole/duck.ts")).loadDuckDb("A DuckDB table");
    if (!(await exists(target.file))) return;
  }

  const { columns } = await surveyColumns({ pages: () => [], kind, columns: fields }, [IDENTITY]);
  let writer: TableWriter | undefined;
  try {
    writer = await open(target, place);
    await writer.upsert(columns, nothing());
  } catch (error) {
    throw refused(error, target, "early");
  } finally {
    await writer?.rollback();
  }
}

function checkGuard({ overwrite, maxShrink }: Guard): void {
  if (!overwrite && maxShrink === undefined) return;
  const given = option(overwrite ? "overwrite" : "max_shrink");
  throw usageError(
    say`${given} is about files: rows of a table are updated by their identity, and none is taken
      away`,
    say`leave ${given} out; ${option("min_rows")} is looked at`,
  );
}

/** In one transaction, once all rows are there. */
export async function openTable(
  output: string,
  rendering: Rendering,
  guard: Guard,
  place: OutputPlace,
) {
  const target = parseTable(output, "/");
  if (target.engine === "duckdb") await clearLeftovers(target.file);

  const { kind, fields } = rendering;
  const fieldCheck = askedFields(fields);
  let writer: TableWriter | undefined;
  return {
    get notices() {
      return fieldCheck.notices();
    },

    async write(page) {
      fieldCheck.look(page);
    },

    async prepare(pages) {
      await checkRows(fieldCheck.rows(), undefined, guard);

      const { columns } = await surveyColumns({ pages, kind, columns: fields }, [IDENTITY]);
      try {
        writer = await open(target, place);
        const added = await writer.upsert(columns, identified(pages, kind));
        return {
          file: tableText(target),
          format: formName(rendering),
          bytes: null,
          sha256: null,
          added,
        };
      } catch (error) {
        throw refused(error, target, "writing");
      }
    },

    async publish() {
      const path = target.engine === "duckdb" ? target.file : "";
      try {
        await enterOutput(tableText(target), { kind, format: formName(rendering) }, place);
        if (writer !== undefined) await naming(path, writer.commit());
        writer = undefined;
      } catch (error) {
        throw refused(error, target, "commit");
      }
    },

    async abort() {
      const begun = writer;
      writer = undefined;
      await begun?.rollback();
    },
  } satisfies Output;
}

const BUSY = /set lock on file|already (?:open|attached)/i;

/** At the commit the end may be unknown. */
type Moment = "early" | "writing" | "commit";

function refused(error: unknown, target: TableTarget, moment: Moment): unknown {
  if (error instanceof CliError) return error;

  const message =
    (error as Error).message.split("\n", 1)[0]?.trim() || errorCode(error) || "unknown";
  const busy = target.engine === "duckdb" && BUSY.test(message);
  const why = busy ? "another process has the file open" : message;
  const name = tableText(target);

  const said: Readonly<Record<Moment, string>> = {
    early: `${name} cannot be written: ${why}; nothing was spent`,
    writing: `${name} was left as it is: ${why}`,
    commit:
      `whether ${name} has the rows is not known: ${why}; ` +
      "to put them in again changes nothing",
  };
  const init = { code: "table_refused", message: said[moment], cause: error } as const;
  const hint = busy ? "close it there, and run this again" : hintOf(error, target);

  if (moment !== "early") return new CliError({ ...init, category: "incomplete", hint });
  // A database that is down comes back, and schedules try again.
  if (isDown(error, target)) return new CliError({ ...init, category: "network", hint: DOWN });

  return new CliError({ ...init, category: busy ? "locked" : "usage", hint });
}

const DOWN =
  "is it running there, and the address right? The same command again is right once it is";
const NOT_REACHED = /^(?:ECONN\w+|ETIMEDOUT|E(?:HOST|NET)\w+|EAI_AGAIN|ENOTFOUND|EPIPE)$/;
/** The connection failed, it has no room for another, it starts or is stopped. */
const NOT_SERVED = /^(?:08|53|57P0)/;

function isDown(error: unknown, { engine }: TableTarget): boolean {
  const code = errorCode(error) ?? "";
  const isSilent = /timeout|terminated/i.test((error as Error).message);
  return (
    engine === "postgres" &&
    (NOT_REACHED.test(code) || NOT_SERVED.test(code) || (code === "" && isSilent))
  );
}

function hintOf(error: unknown, { engine }: TableTarget): Sentence {
  if (error instanceof TableRefusal) return error.hint;
  if (engine === "duckdb")
    return say`${option("output")} duckdb:FILE#TABLE names a DuckDB file, or one that is not there
      yet`;
  const code = errorCode(error) ?? "";
  if (code === "28P01" || /password/.test((error as Error).message))
    return "PGPASSWORD, or a line of ~/.pgpass, has the password";
  if (code === "42P10") return `its column ${IDENTITY} needs a unique index, or name another table`;
  // A value that a column does not hold.
  if (code.startsWith("22"))
    return say`a text column holds every value; ${option("fields")} leaves a column out`;
  return "is the address right, and may its user make and change the table?";
}
