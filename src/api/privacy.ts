import { keptPeople } from "../app/keep/forget/find.ts";
import { findTraces, forgetTraces, shownTraces } from "../app/keep/forget/forget.ts";
import { suppressionHere } from "../app/keep/store.ts";
import { namesOf, suppress } from "../app/keep/suppress.ts";
import { usageError } from "../shared/errors.ts";
import type { Connected } from "./connected.ts";
import { given } from "./given.ts";
import type { Headcount } from "./index.ts";

const HOW = {
  dryRun: "boolean",
  confirmed: "boolean",
} as const;

const requireText = (value: unknown, what: string): void => {
  if (typeof value !== "string") throw usageError(`${what} must be a text`);
};

/** Of the whole state folder, as the commands of these names. */
export const privacyAt = (desk: Connected): Pick<Headcount, "forget" | "suppress"> => ({
  forget: (who, how) =>
    desk.ask(async () => {
      requireText(who, "who is forgotten");
      const { dryRun = false, confirmed = false } = given<object>(
        Object(how),
        "what is agreed to",
        HOW,
      ) as { readonly dryRun?: boolean; readonly confirmed?: boolean };
      if (!dryRun && !confirmed)
        throw usageError(
          "nobody agreed to forget somebody, which cannot be taken back",
          "confirmed: true agrees, dryRun: true only tells what there is",
          "consent_needed",
        );

      const traces = await findTraces(who, desk.context);
      if (!dryRun) {
        const { left } = await forgetTraces(traces, desk.context);
        if (left !== undefined) throw left;
      }
      return shownTraces(traces);
    }),

  suppress: (who, note) =>
    desk.ask(async () => {
      requireText(who, "who is left out");
      if (note !== undefined) requireText(note, "a note");

      const kept = keptPeople(desk.context);
      const names = await namesOf(who, { kept, kind: undefined });
      const added = await suppress(names, note, suppressionHere(desk.context));
      return {
        added,
        hidden: (await kept.hiddenBy(names)) ?? null,
      };
    }),
});
