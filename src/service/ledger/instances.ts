import { randomBytes } from "node:crypto";
import { isRunning, type ProcessIdentity, thisProcess } from "../../shared/process.ts";
import { change, type Row, type Steps } from "./database.ts";

interface InstanceIdentity extends Pick<ProcessIdentity, "pid" | "started"> {
  /**
   * Machine id, host, boot and process-number space: only
   * where all are the same does `pid` mean anything.
   */
  readonly machine: string;
}

export const SILENCE_MS = 60_000;

export function thisInstance(): InstanceIdentity {
  const { boot, host, machine, pid, space, started } = thisProcess();
  return { pid, started, machine: [machine, host, boot, space.split(" ", 1)[0]].join("|") };
}

/** The process-number space of a whole machine. A container has its own. */
const WHOLE_MACHINE = "pid:[4026531836]";

/**
 * Whether `owner` ran on this very machine before it
 * was started anew. Many machines share a host name.
 */
function wasRebooted(owner: string, self: string): boolean {
  const [ownerId, ownerHost, ownerBoot, ownerSpace] = owner.split("|");
  const [id, host, boot, space] = self.split("|");
  const sameMachine = id !== "" && ownerId === id && ownerHost === host;
  return (
    sameMachine && ownerSpace === WHOLE_MACHINE && space === WHOLE_MACHINE && ownerBoot !== boot
  );
}

/**
 * The process table decides; from elsewhere only the heartbeat. A stopped process lives.
 * @param silentMs since its heartbeat
 * @param local whether all its processes are on one
 * machine: then one that ran before its last start is gone
 */
export function isAlive(
  owner: InstanceIdentity,
  self: InstanceIdentity,
  silentMs: number,
  local: boolean,
): boolean {
  if (owner.machine !== self.machine) {
    return !(local && wasRebooted(owner.machine, self.machine)) && silentMs <= SILENCE_MS;
  }
  return isRunning(owner) ?? true;
}

export type Instances = ReturnType<typeof instancesBy>;

/**
 * Which processes hold money. One is made known before its
 * first hold: who only reads or grants leaves no trace.
 * @param clock SQL for the database's own time in ms,
 * where processes with other clocks meet; else `NULL`
 */
export function instancesBy(clock: string) {
  const id = randomBytes(8).toString("hex");
  const columns = `h.owner, i.pid, i.started, i.machine, i.heartbeat_at, ${clock} AS clock`;
  const self = thisInstance();

  const isOwnerAlive = (row: Row, now: number): boolean => {
    if (row.owner === id) return true;
    if (row.pid === null) return false;

    const identity = {
      pid: Number(row.pid),
      started: row.started as string,
      machine: row.machine as string,
    };
    const silentMs = Number(row.clock ?? now) - Number(row.heartbeat_at);
    // Machines that are copies of one image share host
    // names and machine ids; behind one database they meet.
    return isAlive(identity, self, silentMs, clock === "NULL");
  };

  function* beat(now: number): Steps<void> {
    const { machine, pid, started } = self;
    yield* change(
      `INSERT INTO instances (id, pid, started, machine, heartbeat_at)
        VALUES ($1, $2, $3, $4, COALESCE(${clock}, $5))
       ON CONFLICT (id) DO UPDATE SET heartbeat_at = excluded.heartbeat_at`,
      id,
      pid,
      started,
      machine,
      now,
    );
  }

  function* leave(): Steps<void> {
    yield* change("DELETE FROM instances WHERE id = $1", id);
  }

  /** What says nothing any more: of processes that are gone, and hold no money. */
  const idle = `SELECT id AS owner, pid, started, machine, heartbeat_at, ${clock} AS clock
    FROM instances i
    WHERE NOT EXISTS (SELECT 1 FROM holds h WHERE h.owner = i.id AND h.state = 'pending')`;

  function* forget(gone: readonly Row[]): Steps<void> {
    for (const { owner } of gone) yield* change("DELETE FROM instances WHERE id = $1", owner);
  }

  return { id, columns, idle, isAlive: isOwnerAlive, beat, leave, forget };
}
