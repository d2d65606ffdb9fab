// Tested by test/cli/output-tables.long.test.ts.

import { hash } from "node:crypto";
import { option, type Sentence, say } from "../../../shared/errors.ts";
import type { Page } from "../../../shared/rows/page.ts";
import type { JsonRecord, RecordKind } from "../../../shared/rows/values.ts";
import { identityOf } from "../distinct.ts";
import type { TypedColumn } from "../whole/cells.ts";

export interface TableWriter {
  /** By their identity, in a transaction. @returns how many are new */
  upsert(
    columns: readonly TypedColumn[],
    batches: AsyncIterable<readonly JsonRecord[]>,
  ): Promise<number>;
  /** Nobody sees anything before. */
  commit(): Promise<void>;
  rollback(): Promise<void>;
}

/** `id`, else `@` and the address, else `#` and a digest of the record. */
export const IDENTITY = "identity";
const KEY = "\u0000identity";
export const IDENTITY_COLUMN: TypedColumn = {
  field: KEY,
  name: IDENTITY,
  type: "text",
  empty: false,
};

/** Each row once: those that name nobody may come twice, and are the same then. */
export async function* identified(
  pages: () => AsyncIterable<Page>,
  kind: RecordKind,
): AsyncGenerator<readonly JsonRecord[]> {
  const unnamed = new Set<string>();
  for await (const page of pages()) {
    const rows: JsonRecord[] = [];
    for (const [index, row] of page.rows().entries()) {
      let identity = identityOf(page, index, kind);
      if (identity === undefined) {
        identity = `#${hash("sha256", page.text(index))}`;
        if (unnamed.has(identity)) continue;
        unnamed.add(identity);
      }
      rows.push({ ...row, [KEY]: identity });
    }

    if (rows.length > 0) yield rows;
  }
}

export class TableRefusal extends Error {
  override readonly name = "TableRefusal";
  readonly hint: Sentence;

  constructor(message: string, hint: Sentence) {
    super(message);
    this.hint = hint;
  }
}

const ANOTHER = "name another table: one that is not there is made";

export const noIdentity = (): TableRefusal =>
  new TableRefusal(
    `it has no column ${IDENTITY}, by which rows are updated: it was not made by headcount`,
    ANOTHER,
  );

export const unfit = (column: string, has: string, comes: string): TableRefusal =>
  new TableRefusal(
    `its column ${column} is ${has}, and what is to be written is ${comes}`,
    say`${option("fields")} leaves it out, or ${ANOTHER}`,
  );
