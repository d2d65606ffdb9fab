import { chooseForm, type Form } from "../../engine/output/formats.ts";
import { engineOf } from "../../engine/output/tables/target.ts";
import type { Guard, Target } from "../../engine/runs/plan.ts";
import { option, say, usageError } from "../../shared/errors.ts";
import { parseFields } from "../../shared/rows/columns.ts";

interface OutputOptions extends Partial<Pick<Guard, "maxShrink" | "minRows">> {
  readonly csv?: "excel" | "raw" | undefined;
  readonly fields?: string | undefined;
  readonly format?: string | undefined;
  readonly newAnywhere?: boolean | undefined;
  readonly newOnly?: boolean | undefined;
  readonly overwrite?: boolean | undefined;
  readonly withOwned?: boolean | undefined;
}

export const outputGuard = ({ overwrite, minRows, maxShrink }: OutputOptions): Guard => ({
  overwrite: overwrite === true,
  allowEmpty: minRows === 0,
  minRows,
  maxShrink,
});

/**
 * How rows are written. `fields` are split, not yet checked.
 * @throws CliError exit 2 for what does not go together
 */
export function outputView(
  { format, fields, csv }: OutputOptions,
  output: string | undefined,
  isTerminal: boolean,
) {
  const engine = output === undefined ? undefined : engineOf(output);
  if (engine !== undefined && format !== undefined)
    throw usageError(
      say`${option("format")} is about files, and ${option("output")} names a table`,
      "leave one of them out",
    );

  // Where no file says otherwise, whoever says how CSV is written means CSV.
  const named = format ?? (csv !== undefined && output === undefined ? "csv" : undefined);
  const form: Form =
    engine === undefined ? chooseForm(named, output, isTerminal) : { format: engine };
  if (csv !== undefined && form.format !== "csv" && form.format !== "tsv")
    throw usageError(
      say`${option("csv", csv)} is about CSV, not ${form.format}`,
      say`add ${option("format", "csv")}`,
    );

  const columns = fields === undefined ? undefined : parseFields(fields);
  return { output, ...form, fields: columns, excel: csv === "excel", raw: csv === "raw" };
}

/**
 * The target without whom is owned, where that is asked for.
 * @throws CliError exit 2 for what cannot be narrowed
 */
export function narrowed(
  target: Target & { readonly kind: "search" },
  { newAnywhere = false, newOnly = false, withOwned = false }: OutputOptions,
): Target {
  const isFresh = newOnly || newAnywhere;
  if (!isFresh && !withOwned) return target;
  const [fresh, beside] = [option(newAnywhere ? "new_anywhere" : "new_only"), option("with_owned")];
  const one = isFresh ? fresh : beside;

  if (isFresh && withOwned)
    throw usageError(
      say`${fresh} and ${beside} exclude each other`,
      say`${beside} buys only new people too`,
    );

  if (target.union !== undefined || target.except !== undefined) {
    throw usageError(
      say`${one} takes one segment`,
      "give one after the other: whom the first one bought, the next one leaves out",
    );
  }

  if (target.sample !== undefined)
    throw usageError(
      say`${one} and a sample exclude each other`,
      "a sample is drawn from all of a segment",
    );

  if (newAnywhere) return { ...target, owned: "without", anywhere: true };
  return { ...target, owned: newOnly ? "without" : "with" };
}
