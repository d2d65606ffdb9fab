import type { ServiceClient } from "../../engine/client/types.ts";
import type { Filters } from "../../shared/contract/filters.ts";
import { CliError } from "../../shared/errors.ts";
import { hintsFor, Questions } from "./hints.ts";

export interface CountedSegment {
  readonly filters: Filters;
  readonly count?: number | undefined;
  readonly name?: string | undefined;
}

interface Telling {
  readonly strict: boolean;
  readonly session: { readonly client: Pick<ServiceClient, "count" | "facets"> };
  readonly say: ((text: string) => void) | undefined;
}

/**
 * Says why a segment has nobody and which values match nobody. @throws CliError exit 5 with `strict`, where anything
 * does
 */
export async function tellHints(
  segments: readonly CountedSegment[],
  { strict, session, say }: Telling,
  signal: AbortSignal,
): Promise<void> {
  if (say === undefined && !strict) return;
  const questions = new Questions(session.client, signal);
  const problems: string[] = [];
  for (const { filters, count, name } of segments) {
    if (Object.keys(filters).length === 0) continue;
    // What was counted or bought stands, whatever becomes of a free count that would say why.
    const people = count ?? (await questions.count(filters).catch(() => undefined));
    const of = name === undefined ? "" : `${name}: `;
    const { hints, unmatched, unchecked } = await hintsFor(filters, people ?? Number.POSITIVE_INFINITY, questions);
    for (const hint of hints) say?.(`hint: ${of}${hint}`);
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
