// Tested by test/cli/vendors-by-ids.test.ts.
import { hash } from "node:crypto";
import { FreeCounts } from "../../engine/purchase/free-counts.ts";
import type { Target } from "../../engine/runs/plan.ts";
import type { Context } from "../../shared/context.ts";
import { counted } from "../../shared/contract/text.ts";
import type { Filters } from "../../shared/contract/vocabulary.ts";
import { option, say, usageError } from "../../shared/errors.ts";
import { readTableFile } from "../../shared/input.ts";
import { stringifyExact } from "../../shared/rows/values.ts";
import type { Session } from "../session.ts";
import { allRecordsIn, MAX_BYTES } from "./people-file.ts";

/**
 * Of everybody in a segment, for nothing.
 * @throws CliError exit 2 where no ids are found before people are paid for
 */
export async function idsOf(
  filters: Filters,
  maxCalls: number,
  seller: Session,
  context: Context,
): Promise<readonly string[]> {
  const { client } = seller;
  const { now, sleep, interrupted: signal } = context;
  if (client.dialect.idRows === undefined)
    throw usageError(
      "this service finds nobody by id before he is paid for",
      say`without ${option("ids")} the people themselves are bought`,
      "no_ids",
    );
  client.dialect.tries?.(filters);

  const { perMinute } = await client.account(signal);
  const counts = new FreeCounts({ client, maxCalls, now, sleep, signal, perMinute });
  return [...((await counts.ids(filters)) ?? [])];
}

/**
 * The people that a file names by id, each once: those who are owned cost nothing.
 * @throws CliError exit 2 where somebody in it has no id
 */
export async function namedIn(file: string, context: Context, column?: string): Promise<Target> {
  const table = await readTableFile(context, file, "people", MAX_BYTES);
  const records = allRecordsIn(table, file, column);
  const ids = records.map(({ id = null }) =>
    (typeof id === "string" || id === null ? (id ?? "") : stringifyExact(id)).trim(),
  );
  const at = ids.indexOf("");
  if (at >= 0)
    throw usageError(
      `${file}: record ${at + 1} has no id, and people are read by their ids`,
      say`${option("ids", file)} of a search writes such a file`,
      "no_identity",
    );

  const named = [...new Set(ids)].sort();
  const digest = hash("sha256", named.join("\n"));
  const canonical = `${counted(named.length, "id")} (${digest.slice(0, 12)})`;
  return { kind: "search", filters: {}, canonical, owned: "with", named };
}
