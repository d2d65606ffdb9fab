import { Line } from "./network.ts";
import { Play } from "./play.ts";
import type { Breakage } from "./service.ts";
import { type Story, USERS } from "./story.ts";
import { Datasets } from "./world.ts";

// One seed, the whole system: three users' commands, the network, the service, its ledger and two versions of a dataset, all of it the real
// code in this process. Clients, calls in the service and waits stop at every step, and a story from fast-check says who goes on and what
// befalls him (scheduler.ts); the next one moves when all that follows from the last move has come to a stop, so no thread has a say in the order.
// Not simulated: bytes that a power failure takes from the disk, a kill within a write, limits of time, PostgreSQL. The other campaigns have those.

/** Within the process only. */
const PORT = 61_001;

/** Where stories are played, one after the other. */
export class Stage {
  readonly #datasets: Datasets;
  readonly #lines: readonly Line[];

  private constructor(datasets: Datasets) {
    this.#datasets = datasets;
    this.#lines = USERS.map((name, at) => new Line(name, PORT + at));
  }

  static async make(): Promise<Stage> {
    return new Stage(await Datasets.make());
  }

  /** @returns what happened, in words. @throws what a check found, and what happened */
  async play(told: Story, breakage?: Breakage): Promise<readonly string[]> {
    const play = new Play(told, this.#datasets, this.#lines, breakage);
    try {
      await play.play();
    } catch (error) {
      throw new Error(`${(error as Error).message}\n  ${play.scheduler.transcript.join("\n  ")}`, {
        cause: error,
      });
    }
    return play.scheduler.transcript;
  }

  async close(): Promise<void> {
    await this.#datasets.engine.close();
  }
}
