import { randomBytes } from "node:crypto";
import { isAlive, type ProcessIdentity, thisProcess } from "./liveness.ts";
import type { SqliteSession } from "./sqlite-session.ts";

/** Which processes hold money on this ledger, so that what a dead one left can be given back. All inside a transaction. */
export class SqliteInstances {
  /** This instance: the owner of its holds. */
  readonly id = randomBytes(8).toString("hex");
  readonly #self: ProcessIdentity = thisProcess();
  readonly #session: SqliteSession;

  constructor(session: SqliteSession) {
    this.#session = session;
  }

  /** Makes this instance known with its first hold, so that a command that only reads or grants leaves no trace. */
  register(now: number): void {
    this.#session.run(
      `INSERT INTO instances (id, pid, started, machine, heartbeat_at) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET heartbeat_at = excluded.heartbeat_at`,
      this.id,
      this.#self.pid,
      this.#self.started,
      this.#self.machine,
      now,
    );
  }

  isAlive(owner: string, now: number): boolean {
    if (owner === this.id) return true;
    const row = this.#session.read("SELECT pid, started, machine, heartbeat_at FROM instances WHERE id = ?", owner);
    if (row === undefined) return false;
    const identity = { pid: Number(row.pid), started: row.started as string, machine: row.machine as string };
    return isAlive(identity, this.#self, now - Number(row.heartbeat_at));
  }

  /** Forgets dead instances that hold nothing. */
  prune(now: number): void {
    for (const { id } of this.#session.readAll("SELECT id FROM instances")) {
      if (this.isAlive(id as string, now)) continue;
      this.#session.run(
        "DELETE FROM instances WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM holds WHERE owner = ?1 AND state = 'pending')",
        id,
      );
    }
  }

  leave(): void {
    this.#session.run("DELETE FROM instances WHERE id = ?", this.id);
  }
}
