// Tested by test/cli/sync.test.ts.
import type { JournalRecord } from "../runs/journal.ts";
import { checksum, type LogSource, scanLog, undamaged } from "../runs/log.ts";
import type { Machine } from "../runs/machine.ts";
import { damagedRun } from "../runs/reader.ts";
import { rewrittenLog } from "../runs/rewrite.ts";
import type { RunCopy } from "../runs/run-store.ts";

/** A run as one file: a line of JSON, and its journal as it is. */
export function packetOf({ plan, receipt, journal }: RunCopy): Buffer {
  const head = Buffer.from(`${JSON.stringify({ plan, receipt })}\n`);
  return Buffer.concat([head, journal]);
}

export function runInPacket(packet: Buffer): RunCopy {
  const end = packet.indexOf(10);
  const { plan, receipt } = JSON.parse(packet.subarray(0, end).toString()) as Omit<
    RunCopy,
    "journal"
  >;
  return { plan, receipt, journal: packet.subarray(end + 1) };
}

const sourceOf =
  (bytes: Buffer): LogSource =>
  (at, length) =>
    bytes.subarray(at, at + length);

const entriesOf = (journal: Buffer, name: string) =>
  undamaged(scanLog<JournalRecord>(sourceOf(journal), journal.length, name)).entries;

/** Its lines, and the replies that follow them. @throws CliError exit 5 where it is damaged */
export const linesOf = ({ journal, plan: { id } }: RunCopy) =>
  entriesOf(journal, `run ${id}`).map((entry) => {
    const { follows, crc } = entry.record;
    if (follows === undefined) return { ...entry, body: undefined };

    const body = journal.subarray(entry.end, entry.end + follows);
    if (checksum(body) === crc) return { ...entry, body };
    throw damagedRun(`a page of run ${id} is damaged: its rows cannot be read`);
  });

/** The journal with other lines; undefined where none becomes another. */
export const rewrittenCopy = (
  { journal, plan: { id } }: RunCopy,
  forgetting: Parameters<typeof rewrittenLog>[3],
): Buffer | undefined => rewrittenLog(sourceOf(journal), journal.length, `run ${id}`, forgetting);

/** What a run holds of itself without paths, which mean files of its own machine. */
export function withoutPaths(copy: RunCopy, machine: Machine): RunCopy {
  const { plan, receipt } = copy;
  const { target } = plan;
  const isList = target.kind === "search" && target.list !== undefined;
  const own = isList ? { ...target, list: "elsewhere" } : target;
  const journal = rewrittenCopy(copy, {
    change: () => undefined,
    facts: (record) =>
      record.t === "done" && record.problem !== undefined
        ? { ...record, problem: "its output was not written" }
        : record,
  });

  const { sha256 } = (receipt as { output?: { sha256?: string } } | undefined)?.output ?? {};

  return {
    plan: {
      machine,
      ...plan,
      target: own,
      output: null,
      misses: null,
      receipt: null,
      ...(sha256 ? { wrote: sha256 } : {}),
    },
    receipt: receipt === undefined ? receipt : { ...(receipt as object), output: null },
    journal: journal ?? copy.journal,
  };
}

/** What stays of each line whatever is forgotten: two states of one run begin alike. */
const chainOf = (copy: RunCopy): string[] =>
  linesOf(copy).map(({ record }) => {
    const { t, n, key, at } = record as { t: string; n?: number; key?: string; at?: number };
    return `${t} ${n} ${key} ${at}`;
  });

/** How two states of a run stand to each other; `apart`: each has what the other has not. */
export function comparedTo(one: RunCopy, other: RunCopy): "less" | "same" | "more" | "apart" {
  const [mine, theirs] = [chainOf(one), chainOf(other)];
  const most = Math.min(mine.length, theirs.length);
  if (mine.slice(0, most).join("\n") !== theirs.slice(0, most).join("\n")) return "apart";
  if (mine.length === theirs.length) return "same";
  return mine.length < theirs.length ? "less" : "more";
}
