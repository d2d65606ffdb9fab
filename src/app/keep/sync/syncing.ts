// Tested by test/cli/sync.test.ts.
import type { RunStore } from "../../../engine/runs/run-store.ts";
import type { SharedFolder } from "../../../engine/share/folder.ts";
import type { Context } from "../../../shared/context.ts";
import { counted, echo, someOf } from "../../../shared/contract/text.ts";
import { type CliError, failed } from "../../../shared/errors.ts";

/** One state of a segment: never changed, and gone once another one takes its place. */
export interface SegmentFact {
  readonly name: string;
  /** As the file of the segment is; null: it was removed. */
  readonly text: string | null;
  /** The name of the machine that saved it. */
  readonly by: string;
  /** The files of all states before it: one that comes back late is known by them. */
  readonly replaces: readonly string[];
}

export interface KnownSegment {
  readonly file: string;
  /** With SHA-256 in place of the text, which may name somebody who is forgotten by then. */
  readonly fact: SegmentFact;
}

/** What a sync did. */
export interface Synced {
  /** Runs that came, by the names of the machines that bought them. */
  readonly tookIn: Map<string, { readonly ids: readonly string[]; readonly rows: number }>;
  /** Of those in them: whom another machine paid for, too. */
  paidTwice: number;
  gave: number;
  /** Histories of lists that came, and that were given. */
  readonly lists: { came: number; gave: number };
  /** Runs here and in the folder that rows of forgotten people were deleted from. */
  readonly forgotten: Set<string>;
  /** Files of the folder that are not whole or not for this version, and damaged runs here. */
  readonly unread: Map<string, string>;
  /** Segments that two saved otherwise, under the names that the others' got. */
  readonly twins: Set<string>;
  /** What may still have somebody who was forgotten elsewhere, and is left to people. */
  readonly left: Set<string>;
}

/** What this machine knows of a folder, so that a sync reads what is new alone. */
export interface Memory {
  /** Digest of who was forgotten when all files of the folder were last looked through. */
  forgotten: string;
  /** Files of runs that were taken in, or that held nothing more. */
  taken: Set<string>;
  /** By run: how its files, here and there, were when it was given. */
  given: Map<string, string>;
  /** Of the last sync that the folder may show as this machine's. */
  tokens: readonly string[];
  /** By name: the state of a saved segment that is here. */
  readonly segments: Map<string, KnownSegment>;
}

export interface Syncing {
  readonly folder: SharedFolder;
  readonly store: RunStore;
  readonly stateDir: string;
  readonly context: Context;
  readonly memory: Memory;
  readonly synced: Synced;
}

/** What a sync did, in one line. */
export function syncLine({
  tookIn,
  paidTwice,
  gave,
  lists,
  forgotten,
  unread,
  twins,
}: Synced): string {
  const history = (count: number) =>
    count === 0 ? [] : counted(count, "history of a list", "histories of lists");
  const came = [...tookIn].map(
    ([machine, { ids, rows }]) =>
      `${counted(ids.length, "run")} (${counted(rows, "row")}) from ${echo(machine)}`,
  );
  const given = gave === 0 ? [] : counted(gave, "run");

  return [
    `took in ${came.concat(history(lists.came)).join(", ") || "nothing"}`,
    `gave ${[given, history(lists.gave)].flat().join(", ") || "nothing"}`,
    ...(paidTwice === 0
      ? []
      : [`${counted(paidTwice, "person", "people")} paid for by two, who had not synced`]),
    ...(forgotten.size === 0
      ? []
      : [`deleted forgotten people from ${counted(forgotten.size, "run")}`]),
    ...(twins.size === 0
      ? []
      : [`of segments that two saved otherwise kept both: ${someOf([...twins])}`]),
    ...(unread.size === 0 ? [] : [`left ${counted(unread.size, "file")} that cannot be read`]),
  ].join("; ");
}

/** What stays to be done by people, or by the next one; exit 5. */
export function syncProblem({ unread, left }: Synced): CliError | undefined {
  if (unread.size === 0 && left.size === 0) return undefined;

  const said = [
    ...(unread.size === 0 ? [] : [`${someOf([...unread.keys()])} cannot be read`]),
    ...(left.size === 0
      ? []
      : [`${counted(left.size, "place")} here may still have somebody who was forgotten`]),
  ];
  const details = [...[...unread].map(([file, why]) => `${file}: ${why}`), ...left];

  return failed
    .incomplete(
      `the rest is synced: ${said.join("; ")}`,
      "a file that is still on its way is taken in next time; what is damaged is restored from a " +
        "backup or removed; delete or edit the places by hand",
      "sync_left",
    )
    .with({ details });
}
