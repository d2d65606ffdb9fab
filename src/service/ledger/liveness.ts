import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { kill, pid } from "node:process";

/** What tells one process from every other, also from a later one with the same number. */
export interface ProcessIdentity {
  readonly pid: number;
  /** When the system started it, in the system's own unit; empty where the system does not tell. */
  readonly started: string;
  /** Host, boot and process-number space: only within the same one does `pid` mean anything. */
  readonly machine: string;
}

/** How long a process on another machine may be silent before its holds are given back. */
export const SILENCE_MS = 60_000;

/** Fields 3 (state) and 22 (start time) of /proc/PID/stat; the name in field 2 may hold spaces and parentheses. */
function processStat(id: number): { readonly state: string; readonly started: string } | undefined {
  try {
    const text = readFileSync(`/proc/${id}/stat`, "latin1");
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return { state: fields[0] ?? "", started: fields[19] ?? "" };
  } catch {
    return undefined;
  }
}

function firstOf(...readers: readonly (() => string)[]): string {
  for (const read of readers) {
    try {
      return read().trim();
    } catch {
      // Not Linux, or no /proc: the next reader, or nothing.
    }
  }
  return "";
}

export function thisProcess(): ProcessIdentity {
  const boot = firstOf(() => readFileSync("/proc/sys/kernel/random/boot_id", "latin1"));
  const space = firstOf(() => readlinkSync("/proc/self/ns/pid"));
  return { pid, started: processStat(pid)?.started ?? "", machine: `${hostname()}|${boot}|${space}` };
}

/**
 * Whether the process that `owner` names still lives. A stopped process lives. On the same machine the process table decides;
 * a machine that was rebooted since has nothing left; from elsewhere only the heartbeat can be judged.
 * @param silentMs time since the owner's last heartbeat
 */
export function isAlive(owner: ProcessIdentity, self: ProcessIdentity, silentMs: number): boolean {
  if (owner.machine !== self.machine) {
    const [ownerHost, ownerBoot] = owner.machine.split("|");
    const [host, boot] = self.machine.split("|");
    if (ownerHost === host && ownerBoot !== boot) return false;
    return silentMs <= SILENCE_MS;
  }
  try {
    kill(owner.pid, 0);
  } catch (error) {
    // EPERM: it exists and belongs to somebody else.
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
  const stat = processStat(owner.pid);
  if (stat === undefined) return true;
  return stat.state !== "Z" && stat.state !== "X" && (owner.started === "" || stat.started === owner.started);
}
