import { join } from "node:path";
import { type Disk, jsonText } from "./disk.ts";
import {
  apply,
  bounded,
  intend,
  type JournalRecord,
  replay,
  type SettledRecord,
  type Unit,
} from "./journal.ts";
import type { Lock } from "./lock.ts";
import { checksum, Log } from "./log.ts";
import type { Plan } from "./plan.ts";
import { journalOf, RunReader } from "./reader.ts";

type RunParts = Readonly<{ disk: Disk; lock: Lock; log: Log<JournalRecord> }>;

export class Run extends RunReader {
  readonly #parts: RunParts;
  #lastNumber = 0;

  private constructor(read: RunReader, parts: RunParts) {
    super(read.path, read.plan, read.state);
    this.#parts = parts;
  }

  static async open(disk: Disk, path: string, plan: Plan, lock: Lock): Promise<Run> {
    const { log, decoded } = await Log.open<JournalRecord>(disk, journalOf(path), "journal");
    return new Run(new RunReader(path, plan, replay(decoded.entries)), { disk, lock, log });
  }

  async append(...records: readonly JournalRecord[]): Promise<void> {
    await this.#parts.log.append(...records);
    for (const record of records) apply(this.state, record);
  }

  nextNumber(): number {
    this.#lastNumber = Math.max(this.#lastNumber + 1, this.state.nextN);
    return this.#lastNumber;
  }

  /** It is not to be sent yet, and shares the sync of what is appended next. */
  async intend(unit: Unit): Promise<void> {
    intend(this.state, unit);
    await this.#parts.log.appendLater(unit.intent);
  }

  /** What it may cost counts at once, as of an intent. */
  async sendAgain(record: JournalRecord): Promise<void> {
    apply(this.state, record);
    await this.#parts.log.append(record);
  }

  hurry(): void {
    this.#parts.log.hurry();
  }

  /** Both are on the disk when this resolves, or neither counts. */
  async settle(settled: SettledRecord, body: Buffer | undefined): Promise<SettledRecord> {
    const record = bounded(settled);
    if (body === undefined || body.length === 0) {
      await this.append(record);
      return record;
    }
    const whole: SettledRecord = { ...record, follows: body.length, crc: checksum(body) };
    apply(this.state, whole, await this.#parts.log.appendWith(whole, body));
    return whole;
  }

  override readReply(unit: Unit): Buffer {
    return this.replyOf(unit, (at, length) => this.#parts.log.read(at, length));
  }

  async writeReceipt(receipt: unknown): Promise<void> {
    await this.#parts.disk.replaceFile(
      join(this.path, "receipt.json"),
      jsonText(receipt),
      "receipt",
    );
  }

  async keepInput(text: string): Promise<void> {
    await this.#parts.disk.replaceFile(join(this.path, "input"), text, "input");
  }

  async close(): Promise<void> {
    try {
      await this.#parts.log.close();
    } finally {
      await this.#parts.lock.release();
    }
  }
}
