import type { AccountView } from "../client/types.ts";
import type { Context } from "../context.ts";
import type { Filters } from "../contract/filters.ts";
import { creditsToNumber, formatCreditsGrouped, priceOf } from "../contract/money.ts";
import { usageError } from "../errors.ts";
import type { CountOptions } from "./count.ts";
import { countAll, formatOf } from "./count-many.ts";
import type { NamedFilters } from "./filter-options.ts";
import { withSession } from "./session.ts";
import { noticeUnknownCost } from "./unknown-cost.ts";

/** `count -f A -f B`: one row for each file. */
export async function countFiles(
  sets: readonly NamedFilters[],
  options: CountOptions,
  context: Context,
): Promise<void> {
  if (options.values !== undefined) throw usageError("--values goes with --by");
  await withSession(context, options, async (session) => {
    const format = formatOf(options, context, "tsv");
    const priced = format === "json" || format === "table";
    const account = priced ? await session.client.account(context.interrupted) : undefined;
    const counts = await countAll(
      session,
      sets.map((set) => set.filters),
      options,
      context,
    );
    const rows = sets.map((set, index) => ({ file: set.name, filters: set.filters, count: counts[index] ?? 0 }));
    if (format === "json") context.stdout.write(`${JSON.stringify(rows.map((row) => fileDocument(row, account)))}\n`);
    else if (format === "csv") {
      const { csvDocument } = await import("../output/csv.ts");
      context.stdout.write(
        csvDocument(
          ["file", "count"],
          rows.map((row) => [row.file, row.count]),
        ),
      );
    } else if (format === "tsv") {
      const { tsv } = await import("../terminal/tsv.ts");
      context.stdout.write(tsv(rows.map((row) => [row.file, row.count])));
    } else await printFiles(rows, account, options, context);
    noticeUnknownCost(account, session);
  });
}

interface FileRow {
  readonly file: string;
  readonly filters: Filters;
  readonly count: number;
}

function fileDocument({ file, filters, count }: FileRow, account: AccountView | undefined) {
  const unit = account?.costs.personSearch;
  return {
    file,
    count,
    filters,
    unit_cost: unit === undefined ? null : creditsToNumber(unit),
    max_cost: unit === undefined ? null : creditsToNumber(priceOf(count, unit)),
  };
}

async function printFiles(
  rows: readonly FileRow[],
  account: AccountView | undefined,
  options: CountOptions,
  context: Context,
): Promise<void> {
  const [{ grouped }, { renderTable }, { hasColor, styleFor, widthOfStream }] = await Promise.all([
    import("../terminal/numbers.ts"),
    import("../terminal/table.ts"),
    import("../terminal/style.ts"),
  ]);
  const unit = account?.costs.personSearch;
  context.stdout.write(
    renderTable(
      [
        { title: "file" },
        { title: "people", align: "right", fixed: true },
        { title: "credits at most", align: "right", fixed: true },
      ],
      rows.map(({ file, count }) => [
        file,
        grouped(count),
        unit === undefined ? "" : formatCreditsGrouped(priceOf(count, unit)),
      ]),
      {
        width: widthOfStream(context.stdout),
        style: styleFor(hasColor(context.stdout, context.env, options.color)),
      },
    ),
  );
}
