import { join } from "node:path";
import type { DatasetInfo, Engine } from "../engine.ts";
import { readPointer } from "../layout.ts";
import { fileStamp } from "../stamp.ts";
import type { EmbeddedEngineOptions } from "./engine.ts";
import { openDataset } from "./open.ts";

export interface ReloadOptions extends EmbeddedEngineOptions {
  readonly now: () => number;
  /** How often CURRENT is looked at, at most, in milliseconds. Default 1,000. */
  readonly everyMs?: number;
  readonly onReload?: (info: DatasetInfo) => void;
  /**
   * Told when a new version cannot be opened; the old
   * one goes on serving and the next look tries again.
   */
  readonly onError?: (error: unknown) => void;
}

export interface DatasetPlace {
  stamp(): Promise<string>;
  version(): Promise<string>;
  open(): Promise<Engine>;
}

const folderPlace = (datasetDir: string, options: EmbeddedEngineOptions): DatasetPlace => ({
  stamp: async () => fileStamp(join(datasetDir, "CURRENT")),

  async version() {
    const pointer = await readPointer(datasetDir);
    if (!pointer)
      throw new Error(`${datasetDir} has lost its dataset; the one that is open goes on`);
    return pointer.version;
  },

  open: () => openDataset(datasetDir, options),
});

/**
 * The first call `everyMs` after the last look opens a new
 * version. Calls on the old one end on it; then it is closed.
 */
export class ReloadingEngine implements Engine {
  readonly #place: DatasetPlace;
  readonly #options: ReloadOptions;
  #engine: Engine;
  #stamp: string;
  #lookedAt: number;
  #looking: Promise<void> | undefined;
  readonly #retired = new Set<Promise<void>>();
  #closed = false;

  private constructor(place: DatasetPlace, options: ReloadOptions, engine: Engine, stamp: string) {
    this.#place = place;
    this.#options = options;
    this.#engine = engine;
    this.#stamp = stamp;
    this.#lookedAt = options.now();
  }

  static open(datasetDir: string, options: ReloadOptions): Promise<ReloadingEngine> {
    return ReloadingEngine.follow(folderPlace(datasetDir, options), options);
  }

  static async follow(place: DatasetPlace, options: ReloadOptions): Promise<ReloadingEngine> {
    // The stamp is taken first: a version that comes
    // while we open is then noticed at the next look.
    const stamp = await place.stamp();
    return new ReloadingEngine(place, options, await place.open(), stamp);
  }

  info(): DatasetInfo {
    void this.#look();
    return this.#engine.info();
  }

  get looksUp(): boolean | undefined {
    return this.#engine.looksUp;
  }

  get damage(): readonly string[] | undefined {
    return this.#engine.damage;
  }

  current(): Promise<void> {
    return this.#look();
  }

  readonly count: Engine["count"] = async (...args) => (await this.#latest()).count(...args);
  readonly facet: Engine["facet"] = async (...args) => (await this.#latest()).facet(...args);
  readonly people: Engine["people"] = async (...args) => (await this.#latest()).people(...args);
  readonly company: Engine["company"] = async (...args) => (await this.#latest()).company(...args);
  readonly employees: Engine["employees"] = async (...args) =>
    (await this.#latest()).employees(...args);
  readonly verify: Engine["verify"] = async () => (await this.#latest()).verify();

  async #latest(): Promise<Engine> {
    await this.#look();
    return this.#engine;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#looking;
    await this.#engine.close();
    await Promise.all(this.#retired);
  }

  /**
   * Never rejects: what goes wrong with a new version is
   * reported and must not fail a call on the old one.
   */
  #look(): Promise<void> {
    if (this.#looking) return this.#looking;

    const now = this.#options.now();
    if (this.#closed || now - this.#lookedAt < (this.#options.everyMs ?? 1_000))
      return Promise.resolve();

    this.#lookedAt = now;
    this.#looking = this.#follow()
      .catch((error: unknown) => this.#options.onError?.(error))
      .finally(() => {
        this.#looking = undefined;
      });

    return this.#looking;
  }

  async #follow(): Promise<void> {
    const stamp = await this.#place.stamp();
    if (stamp === this.#stamp) return;

    if ((await this.#place.version()) !== this.#engine.info().version) {
      const old = this.#engine;
      this.#engine = await this.#place.open();
      const retired = old
        .close()
        .catch((error: unknown) => this.#options.onError?.(error))
        .finally(() => this.#retired.delete(retired));
      this.#retired.add(retired);
      this.#options.onReload?.(this.#engine.info());
    }

    this.#stamp = stamp;
  }
}
