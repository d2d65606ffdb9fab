import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { World, type WorldPerson } from "../../bench/world.mjs";
import { importDataset } from "../../src/dataset/build/import.ts";
import { ReloadingEngine } from "../../src/dataset/embedded/reloading-engine.ts";
import { readPointer } from "../../src/dataset/layout.ts";
import { rollBack } from "../../src/dataset/versions.ts";
import type { Person } from "../../src/shared/contract/records.ts";
import { SMALL, sleep, tempFolder } from "../support/dataset.ts";
import { NOBODY } from "./service.ts";
import { COMPANIES } from "./story.ts";

const PEOPLE = 220;
export const START = Date.UTC(2026, 3, 1, 8);

/** Made-up people this week and the next: two versions of one dataset, of which either can be served. */
export class Datasets {
  readonly engine: ReloadingEngine;
  /** Names of the largest departments in the first week. */
  readonly segments: readonly string[];
  readonly #folder: string;
  /** By version, by department or company: ids, in the order in which they are sold. */
  readonly #members: ReadonlyMap<string, ReadonlyMap<string, ReadonlySet<string>>>;
  readonly #first: string;
  readonly #clock: { time: number };

  private constructor(parts: {
    engine: ReloadingEngine;
    folder: string;
    members: ReadonlyMap<string, ReadonlyMap<string, ReadonlySet<string>>>;
    first: string;
    clock: { time: number };
  }) {
    this.engine = parts.engine;
    this.#folder = parts.folder;
    this.#members = parts.members;
    this.#first = parts.first;
    this.#clock = parts.clock;
    const groups = [...(parts.members.get(parts.first) ?? [])].sort(
      (a, b) => b[1].size - a[1].size,
    );
    this.segments = groups.flatMap(([name]) => (COMPANY.test(name) ? [] : [name])).slice(0, 6);
  }

  static async make(): Promise<Datasets> {
    const folder = await tempFolder("headcount-simulation-");
    const datasetDir = join(folder, "dataset");
    const world = new World(PEOPLE, { seed: 5 });
    const members = new Map<string, ReadonlyMap<string, ReadonlySet<string>>>();
    let first = "";
    for (const week of [0, 1]) {
      if (week === 1) {
        world.drift({ job: 0.05 });
        for (const [at, id] of [...world.people.keys()].entries())
          if (at % 25 === 3) world.people.delete(id);
        for (let born = 0; born < 10; born++) world.add();
      }
      const people = [...world.people.values()];
      await writeFile(
        join(folder, "people.ndjson"),
        people.map((person) => `${lineOf(person)}\n`).join(""),
      );
      await importDataset(
        {
          people: ["people.ndjson"],
          companies: [],
          cwd: folder,
          rejects: join(folder, "rejects.ndjson"),
        },
        { datasetDir, now: () => START - 1_000_000 + week * 1_000, sleep, resources: SMALL },
      );
      const version = (await readPointer(datasetDir))?.version ?? "";
      members.set(version, await groupsOf(datasetDir));
      first ||= version;
    }
    const clock = { time: 0 };
    const engine = await ReloadingEngine.open(datasetDir, { now: () => clock.time });
    return new Datasets({ engine, folder: datasetDir, members, first, clock });
  }

  get version(): string {
    return this.engine.info().version;
  }

  /** Of a department, or of companies. */
  members(version: string, groups: readonly string[]): ReadonlySet<string> {
    return new Set(groups.flatMap((name) => [...(this.#members.get(version)?.get(name) ?? [])]));
  }

  /** The other version is served from now on. */
  async reload(): Promise<void> {
    await rollBack(undefined, { datasetDir: this.#folder, sleep });
    this.#clock.time += 10_000;
    await this.engine.current();
  }

  async rewind(): Promise<void> {
    if (this.version !== this.#first) await this.reload();
  }
}

const COMPANY = /^c\d$/;

/** Whoever changes jobs changes companies, too. */
function lineOf(person: WorldPerson): string {
  const company = `c${(Number(person.id.slice(1)) + (person.department?.length ?? 0)) % COMPANIES}`;
  const address = `network.example/company/${company}`;
  return JSON.stringify({ ...person, company_name: company, company_network_url: address });
}

async function groupsOf(datasetDir: string): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const engine = await ReloadingEngine.open(datasetDir, { now: () => 0 });
  const { records } = await engine.people(
    { exact: {}, prefix: {}, range: {} },
    { offset: 0, limit: 2 * PEOPLE },
  );
  await engine.close();
  const groups = new Map<string, Set<string>>();
  for (const record of records) {
    const { company_name: company, department, id } = JSON.parse(record.toString("utf8")) as Person;
    for (const name of [company, department]) {
      if (name) groups.set(name, (groups.get(name) ?? new Set()).add(id));
    }
  }
  return groups;
}

/** After a kill: whatever says that this process holds it is of one that is gone. */
export function leaveLocks(folder: string): void {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    try {
      const lock = JSON.parse(readFileSync(path, "utf8")) as { pid?: number };
      if (lock.pid === process.pid) writeFileSync(path, JSON.stringify({ ...lock, pid: NOBODY }));
    } catch {
      // Not a lock of ours.
    }
  }
}
