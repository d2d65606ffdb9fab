import { hash } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { kill, pid } from "node:process";

/** One process among all that ever were, also of other boots and containers. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly started: string;
  /** The PID and time namespaces in which `pid` and `started` mean anything. */
  readonly space: string;
  readonly boot: string;
  /** A hash of the machine's id; containers often have none, and copies of a machine share it. */
  readonly machine: string;
  readonly host: string;
}

/** What the system tells about itself; "" where it does not. */
function readTrimmed(read: (path: string) => string, path: string): string {
  try {
    return read(path).trim();
  } catch {
    return "";
  }
}
export const systemText = (path: string): string =>
  readTrimmed((file) => readFileSync(file, "latin1"), path);
const link = (path: string): string => readTrimmed(readlinkSync, path);

/**
 * Fields 3 (state) and 22 (start time) of /proc/PID/stat;
 * the name in field 2 may hold spaces and parentheses.
 */
function statOf(id: number | "self") {
  const text = systemText(`/proc/${id}/stat`);
  const [state = "", ...fields] = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return text === "" ? undefined : { state, started: fields[18] ?? "" };
}

let own: ProcessIdentity | undefined;

export function thisProcess(): ProcessIdentity {
  if (own?.pid === pid) return own;

  const machine = systemText("/etc/machine-id") || systemText("/var/lib/dbus/machine-id");
  own = {
    pid,
    started: statOf("self")?.started ?? "",
    space: `${link("/proc/self/ns/pid")} ${link("/proc/self/ns/time")}`.trim(),
    boot: systemText("/proc/sys/kernel/random/boot_id"),
    machine: machine === "" ? "" : hash("sha256", `headcount ${machine}`).slice(0, 16),
    host: hostname(),
  };

  return own;
}

/**
 * Of a process of this boot and space.
 * @returns undefined where its number is in use, and nobody tells since when
 */
export function isRunning(holder: Pick<ProcessIdentity, "pid" | "started">): boolean | undefined {
  try {
    kill(holder.pid, 0);
  } catch (error) {
    // EPERM: it exists and belongs to somebody else.
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
  }
  if (holder.started === "" || link("/proc/self") !== String(pid)) return undefined;
  const stat = statOf(holder.pid);
  return stat && stat.state !== "Z" && stat.state !== "X" && stat.started === holder.started;
}
