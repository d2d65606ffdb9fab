import { changedFields, fieldsOf } from "../../../engine/library/history.ts";
import type { Library } from "../../../engine/library/library.ts";
import type { RunStore } from "../../../engine/runs/run-store.ts";
import type { Context } from "../../../shared/context.ts";
import { grouped } from "../../../shared/contract/text.ts";
import { usageError } from "../../../shared/errors.ts";
import { type JsonRecord, type JsonValue, stringifyExact } from "../../../shared/rows/values.ts";
import type { Command } from "../../options.ts";
import { Printer } from "../../terminal/printer.ts";
import { addShelfOption, type ShelfOptions, withLibrary } from "./shelf.ts";

export function register(owned: Command, context: Context, run = diff): void {
  addShelfOption(owned.command("diff <run> <other>"))
    .description(
      "Say who is in one run and not in another, and whose record differs. RUN is an id, its beginning or its end, or `last`.",
    )
    .examples(`
  $ headcount owned diff 20260105-060000-a1b2c3 last
  $ headcount owned diff 20260105-060000-a1b2c3 last --json | jq '.[].name'`)
    .does((options: ShelfOptions, older: string, newer: string) => run(older, newer, options, context));
}

interface Difference {
  readonly change: "added" | "removed" | "changed";
  /** The newest of the two records. */
  readonly record: JsonRecord;
  /** Fields that differ, with what they were. */
  readonly was: JsonRecord;
}

function* differences(library: Library, older: string, newer: string): Generator<Difference> {
  for (const { old, now } of library.broughtBy(older, newer)) {
    if (now === undefined) yield { change: "removed", record: fieldsOf(old ?? "{}"), was: {} };
    else if (old === undefined) yield { change: "added", record: fieldsOf(now), was: {} };
    else if (old !== now) {
      const [before, record] = [fieldsOf(old), fieldsOf(now)];
      const fields = changedFields(before, record);
      if (fields.length === 0) continue;
      yield { change: "changed", record, was: Object.fromEntries(fields.map((name) => [name, before[name] ?? null])) };
    }
  }
}

async function diff(older: string, newer: string, options: ShelfOptions, context: Context): Promise<void> {
  const printer = new Printer(context, options);
  await withLibrary(options, context, printer, async (library, store) => {
    const [from, to] = [await runOf(older, library, store), await runOf(newer, library, store)];
    const found = library === undefined ? [] : [...differences(library, from, to)];
    if (printer.json) {
      const documents = found.map(({ change, record, was }) => ({
        change,
        id: record.id ?? null,
        name: record.name ?? null,
        was,
        record,
      }));
      return printer.text(`${stringifyExact(documents)}\n`);
    }
    await printer.rows(
      [{ title: "change", fixed: true }, { title: "id" }, { title: "name" }, { title: "fields" }, { title: "address" }],
      found.map(({ change, record, was }) => [
        change,
        cell(record.id),
        cell(record.name),
        Object.keys(was).join(" "),
        cell(record.network_url),
      ]),
    );
    const count = (change: Difference["change"]): string =>
      grouped(found.filter((one) => one.change === change).length);
    printer.note(`added ${count("added")}, removed ${count("removed")}, changed ${count("changed")}`);
  });
}

/** The run that a word names: one that is there, or one that was removed and is in the library. */
async function runOf(word: string, library: Library | undefined, store: RunStore): Promise<string> {
  if (library?.knowsRun(word) === true) return word;
  const id = await store.resolve(word);
  if (library?.knowsRun(id) === true) return id;
  throw usageError(`run ${id} brought nobody from this service`, "name another with -c, or --test for test keys");
}

const cell = (value: JsonValue | undefined): string => (value === undefined || value === null ? "" : String(value));
