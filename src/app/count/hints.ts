import type { CompanyQuery } from "../../engine/client/dialect.ts";
import type { ServiceClient } from "../../engine/client/types.ts";
import {
  type Counted,
  type FreeAnswers,
  hintsFor,
  questionsTo,
  type Speech,
} from "../../shared/contract/hints.ts";
import { normalForm } from "../../shared/contract/normalise.ts";
import { counted } from "../../shared/contract/text.ts";
import { failed, option, say as sentence } from "../../shared/errors.ts";

/**
 * What a look-up that found nothing may have meant, by a free count; undefined where there is none.
 */
export async function nearCompany(
  { by, value }: CompanyQuery,
  { client }: { readonly client: Pick<ServiceClient, "count"> },
  signal: AbortSignal,
): Promise<string | undefined> {
  const text = by === "domain" ? (value.split(".", 1)[0] ?? "") : by === "id" ? "" : value;
  const slug = normalForm(text.replace(/^.*\//s, ""))
    .replace(/&/g, " ")
    .replace(/[^\p{L}\p{N}]+/gu, "-")
    .replace(/^-|-$/g, "");
  if (slug === "" || slug === value) return undefined;

  try {
    const { count } = await client.count({ company_network_url: slug }, signal);
    return count === 0
      ? undefined
      : `did you mean ${slug}? a company of this slug has ${counted(count, "person", "people")}`;
  } catch {
    return undefined;
  }
}

export interface CountedSegment extends Counted {
  readonly name?: string | undefined;
}

interface Telling {
  readonly strict: boolean;
  readonly session: { readonly client: FreeAnswers };
  readonly say: ((text: string) => void) | undefined;
  readonly words?: Speech | undefined;
}

/** @throws CliError exit 5 with `strict`, where a segment has nobody or a value matches nobody */
export async function tellHints(
  segments: readonly CountedSegment[],
  { strict, session, say, words }: Telling,
  signal: AbortSignal,
): Promise<void> {
  if (say === undefined && !strict) return;

  const questions = questionsTo(session.client, signal, words);
  const problems: string[] = [];
  for (const { name, ...segment } of segments) {
    const { filters } = segment;
    if (Object.keys(filters).length === 0) continue;

    // What was counted or bought stands, whatever becomes of a free count that would say why.
    const told =
      segment.count === undefined ? await questions.told(filters).catch(() => undefined) : segment;
    const people = told?.count;
    const of = name === undefined ? "" : `${name}: `;
    const { hints, unmatched, unchecked } = await hintsFor({ ...told, filters }, questions);
    for (const hint of hints) say?.(`hint: ${of}${hint}`);

    if (people === 0) problems.push(`${of}nobody matches`);
    else if (unmatched.length > 0) problems.push(`${of}nobody matches ${unmatched.join(", ")}`);
    else if (unchecked.length > 0) problems.push(`${of}nobody looked at ${unchecked.join(", ")}`);
  }

  const [first, ...others] = problems;
  if (!strict || first === undefined) return;

  const failure = failed.incomplete(
    sentence`${first} (${option("strict")})`,
    sentence`correct it, or leave ${option("strict")} out`,
    "unmatched_value",
  );
  throw failure.with({ details: others });
}
