// Tested by test/cli/suppress.test.ts.
import type { SuppressionList } from "../../engine/library/suppression.ts";
import { unwrapped } from "../../shared/contract/naming/address.ts";
import { suppressedName, takenFor } from "../../shared/contract/naming/who.ts";
import {
  FORGOTTEN,
  type SuppressedKind,
  type SuppressedName,
} from "../../shared/contract/suppression.ts";
import { echo } from "../../shared/contract/text.ts";
import { type CliError, command, failed, option, say, usageError } from "../../shared/errors.ts";
import type { keptPeople } from "./forget/find.ts";

const NOTE_LENGTH = 200;

interface Naming {
  /** The people of whom somebody may be meant by a name; undefined: none is looked up. */
  readonly kept: ReturnType<typeof keptPeople> | undefined;
  /** Undefined: as the word looks. */
  readonly kind: SuppressedKind | undefined;
}

/**
 * Leaves people out from now on.
 * @param note why, kept with each entry as it is
 * @returns how many entries are new
 * @throws CliError exit 2 where the note is no line
 */
export async function suppress(
  names: readonly SuppressedName[],
  note: string | undefined,
  list: SuppressionList,
): Promise<number> {
  if (note !== undefined && (note.length > NOTE_LENGTH || /\p{Cc}/u.test(note)))
    throw usageError(say`${option("note")} takes at most ${NOTE_LENGTH} characters on one line`);

  // Whoever has that note is deleted wherever this is synced to.
  if (note === FORGOTTEN)
    throw usageError(say`${option("note", note)} is what ${command("forget")} writes`);

  return list.add(names, note ?? null);
}

/**
 * How somebody is named on the list. What may be the name of many is
 * looked up among the people who are kept, and is the one who has it.
 * @throws CliError exit 6 for what is nobody's form
 */
export async function namesOf(
  word: string,
  { kept, kind }: Naming,
): Promise<readonly SuppressedName[]> {
  const name = suppressedName(word, kind);
  const isForm = name !== undefined && (kind !== undefined || !isAnyWord(word));
  if (isForm && (kind !== undefined || name.kind !== "id" || kept === undefined)) return [name];
  if (kind !== undefined || kept === undefined) throw noForm(word, kind);

  // Of a word that may be an id or the last part of an address, records may tell which it is.
  const learning = kept.learn(word);
  const person = await (isForm ? learning.catch(() => undefined) : learning);
  if (isForm) return [person?.isById === true ? { ...name, address: null } : name];
  if (person?.isKnown !== true) throw noForm(word, kind, await kept.almostCalled(word));
  return person.suppressed;
}

/** Letters alone: a name of many, rather than an id or an address of one. */
export const isAnyWord = (word: string): boolean => /^[\p{L}\p{M}'’]+$/u.test(unwrapped(word));

export const noForm = (word: string, kind: SuppressedKind | undefined, hint?: string): CliError =>
  failed.not_found(
    kind === undefined
      ? `"${echo(word)}" is no profile address, id or domain of anybody: ` +
          `it was taken for ${takenFor(word)}`
      : `"${echo(word)}" is no ${kind}`,
    hint ??
      "several people may have a name: for example network.example/in/ada-lovelace, p_0000000042 " +
        "or northwind.example; --kind id takes a word for an id",
    "bad_name",
  );
