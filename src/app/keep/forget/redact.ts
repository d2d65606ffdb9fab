// Tested by test/cli/sync.test.ts.
import { shelfOfPlan } from "../../../engine/library/take-in.ts";
import { kindOf } from "../../../engine/output/distinct.ts";
import type { RunCopy } from "../../../engine/runs/run-store.ts";
import { linesOf, rewrittenCopy } from "../../../engine/share/packet.ts";
import type { Suppression } from "../../../shared/contract/suppression.ts";
import { identityIn, PersonMatcher, type Sighting } from "../../../shared/person.ts";
import { Page } from "../../../shared/rows/page.ts";
import { forgettingOf, isAskedFor, serviceName } from "./find.ts";

/**
 * Those of these people who were forgotten on whatever machine, by every name that rows tell.
 * @returns undefined where nobody was
 */
export function forgottenAmong(
  all: readonly Sighting[],
  forgotten: Suppression,
): PersonMatcher | undefined {
  const person = new PersonMatcher();
  for (let fresh = true; fresh; ) {
    fresh = false;
    for (const { who, service } of all) {
      const isMeant = person.is(who, service) || forgotten.forgets(who, serviceName(service));
      if (isMeant) fresh = person.add(who, service) || fresh;
    }
  }
  if (!person.isKnown) return undefined;

  for (const { who, service } of all) if (!person.is(who, service)) person.addOther(who);
  return person;
}

/** What of a run that is not here yet may be written here. */
interface Redacted {
  /** Undefined: it was bought by the name of somebody who is forgotten, and goes whole. */
  readonly copy: RunCopy | undefined;
  /** Whoever was found in it; undefined: nobody, and it is as it was. */
  readonly person: PersonMatcher | undefined;
}

export function redacted(copy: RunCopy, forgotten: Suppression, stateDir: string): Redacted {
  const { plan } = copy;
  const service = shelfOfPlan(stateDir, plan)?.path;
  if (service === undefined || kindOf({ plan }) !== "person") return { copy, person: undefined };

  const lines = linesOf(copy);
  const rows = lines.flatMap(({ body }) => {
    if (body === undefined) return [];
    const page = Page.read(body, "person");
    return [...page.rows(), ...page.partlyRead()].flatMap((row) => identityIn(row) ?? []);
  });
  const person = forgottenAmong(
    rows.map((who) => ({ who, service })),
    forgotten,
  );
  if (person === undefined) return { copy, person };

  const divisions = lines.flatMap(({ record }) => (record.t === "divided" ? record : []));
  const asked = [plan, ...divisions.map((division) => ({ ...plan, ...division }))];
  if (asked.some((one) => isAskedFor(person, one, service))) return { copy: undefined, person };

  const journal = rewrittenCopy(copy, forgettingOf(person, service)) ?? copy.journal;
  const gone = rows.filter((who) => person.is(who, service)).length;
  const { forgotten: before = 0, ...receipt } = (copy.receipt ?? {}) as { forgotten?: number };
  const after = copy.receipt === undefined ? undefined : { ...receipt, forgotten: before + gone };
  return { copy: { plan, receipt: after, journal }, person };
}
