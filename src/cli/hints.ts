import { hintsFor, Questions } from "../app/count/hints.ts";
import type { Session } from "../app/session.ts";
import type { Filters } from "../shared/contract/filters.ts";
import { CliError } from "../shared/errors.ts";
import type { Printer } from "./terminal/printer.ts";

/** A segment with what it counts, where that is known. */
export interface Counted {
  readonly filters: Filters;
  readonly count?: number | undefined;
  readonly name?: string | undefined;
}

/**
 * Says on stderr why a segment has nobody and which values of its lists match nobody; with `--quiet` nothing is said, and nobody asked.
 * @throws CliError exit 5 with `--strict`, where there is anything of that kind
 */
export async function tellHints(
  segments: readonly Counted[],
  { strict, session, printer }: { readonly strict: boolean; readonly session: Session; readonly printer: Printer },
  signal: AbortSignal,
): Promise<void> {
  if (printer.quiet && !strict) return;
  const questions = new Questions(session.client, signal);
  const problems: string[] = [];
  for (const { filters, count, name } of segments) {
    if (Object.keys(filters).length === 0) continue;
    // What was counted or bought stands, whatever becomes of a free count that would say why.
    const people = count ?? (await questions.count(filters).catch(() => undefined));
    const of = name === undefined ? "" : `${name}: `;
    const { hints, unmatched, unchecked } = await hintsFor(filters, people ?? Number.POSITIVE_INFINITY, questions);
    for (const hint of hints) printer.note(`hint: ${of}${hint}`);
    if (people === 0) problems.push(`${of}nobody matches`);
    else if (unmatched.length > 0) problems.push(`${of}nobody matches ${unmatched.join(", ")}`);
    else if (unchecked.length > 0) problems.push(`${of}nobody looked at ${unchecked.join(", ")}`);
  }
  const [first, ...others] = problems;
  if (!strict || first === undefined) return;
  throw new CliError({
    ...{ code: "unmatched_value", category: "incomplete", message: `${first} (--strict)`, details: others },
    hint: "correct it, or leave --strict out",
  });
}
