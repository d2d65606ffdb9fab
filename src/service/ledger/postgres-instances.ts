import { randomBytes } from "node:crypto";
import { isAlive, thisProcess } from "./liveness.ts";
import type { PostgresSession } from "./postgres-session.ts";
import type { Row } from "./rows.ts";

/** What {@link PostgresInstances.isAlive} reads of the table `instances i`. */
export const OWNER_COLUMNS = `i.pid AS owner_pid, i.started AS owner_started, i.machine AS owner_machine,
  EXTRACT(EPOCH FROM clock_timestamp() - i.heartbeat_at)::float8 * 1000 AS silent_ms`;

/** Which processes hold money on this ledger, so that what a dead one left can be given back. */
export class PostgresInstances {
  /** This instance: the owner of its holds. */
  readonly id = randomBytes(8).toString("hex");
  readonly #self = thisProcess();
  readonly #session: PostgresSession;

  constructor(session: PostgresSession) {
    this.#session = session;
  }

  /** @param row with `owner` and {@link OWNER_COLUMNS} */
  isAlive(row: Row): boolean {
    if (row.owner === this.id) return true;
    if (row.owner_pid === null) return false;
    const identity = {
      pid: Number(row.owner_pid),
      started: row.owner_started as string,
      machine: row.owner_machine as string,
    };
    return isAlive(identity, this.#self, Number(row.silent_ms));
  }

  /** Says that this instance exists, and from then on that it lives. */
  async beat(): Promise<void> {
    const { pid, started, machine } = this.#self;
    await this.#session.query(
      `INSERT INTO instances (id, pid, started, machine) VALUES ($1, $2, $3, $4)
       ON CONFLICT (id) DO UPDATE SET heartbeat_at = clock_timestamp()`,
      [this.id, pid, started, machine],
    );
  }

  async leave(): Promise<void> {
    await this.#session.query("DELETE FROM instances WHERE id = $1", [this.id]);
  }

  /** Forgets instances that were silent for an hour and hold nothing. */
  async prune(): Promise<void> {
    await this.#session.query(
      `DELETE FROM instances i WHERE heartbeat_at < clock_timestamp() - interval '1 hour'
       AND NOT EXISTS (SELECT 1 FROM holds h WHERE h.owner = i.id AND h.state = 'pending')`,
      [],
    );
  }
}
