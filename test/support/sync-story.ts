import { createHash } from "node:crypto";
import { copyFileSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect } from "vitest";
import { charged, runIds, seeded, type User } from "./export.ts";
import { ok } from "./ran.ts";
import type { TestService } from "./service.ts";
import { filesBelow, openedFiles, type Team, teamOf } from "./team.ts";

const MACHINES = ["laptop", "ci", "desk"];
const DEPARTMENTS = ["Sales", "Legal", "Marketing", "Operations", "Trades"];

const REFRESH = ["--max-credits", "60", "--yes"];

type Row = Readonly<Record<"id" | "network_url", string>>;

/** What a story does to whom, one step after the other. */
const STEPS = [
  "search",
  "search",
  "again",
  "more",
  "forget",
  "suppress",
  "let in",
  "remove",
  "refresh",
  "refresh",
  "their list",
  "segment",
  "no segment",
  "sync",
  "sync",
  "sync",
  "stopped sync",
  "torn file",
] as const;

/** People who are owned on a machine and shown there. */
const ownedOn = async (me: User): Promise<Row[]> =>
  (await ok(me, ["owned", "export", "--fields", "id,network_url", "--format", "ndjson"]))
    .split("\n")
    .flatMap((line) => (line === "" ? [] : [JSON.parse(line) as Row]));

const idsOf = (rows: readonly Row[]): Set<string> => new Set(rows.map(({ id }) => id));

/** How a story is played. */
export interface SyncStory {
  /** Default: some dozen. */
  readonly steps?: number;
  /** Default: all three. */
  readonly machines?: number;
  /** The control: who is to be forgotten is not, which the story must notice. */
  readonly isBroken?: boolean;
}

/**
 * One story from a seed: three machines buy, keep lists up to date (also of each other's files),
 * forget, leave out, remove and sync in any order, some
 * syncs are stopped, and files of the folder are torn. Then all sync until nobody writes.
 * @returns what was done, a line a step
 * @throws where one owns less than the union, somebody forgotten is in a file, or is paid for twice
 */
export async function playSyncStory(
  seed: number,
  service: TestService,
  granted: number,
  how: SyncStory = {},
): Promise<readonly string[]> {
  const told: string[] = [];
  try {
    await play(seed, service, granted, how, (line) => told.push(line));
    return told;
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${told.join("\n")}`, { cause: error });
  }
}

async function play(
  seed: number,
  service: TestService,
  granted: number,
  { steps: few, isBroken, machines = MACHINES.length }: SyncStory,
  log: (line: string) => void,
): Promise<void> {
  const random = seeded(seed);
  const below = (count: number): number => Math.floor(random() * count);
  const team = await teamOf(MACHINES.slice(0, machines), service.url, service.key);
  const union = new Map<string, Row>();
  const forgotten = new Map<string, Row>();
  const leftOut = new Set<string>();
  let given = new Set<string>();
  const bought = team.machines.map(() => new Set<string>());
  const known = team.machines.map(() => new Set<string>());

  function learn(at: number, before: ReadonlySet<string>, after: readonly Row[]): readonly Row[] {
    const fresh = after.filter(({ id }) => !before.has(id));
    for (const row of fresh) {
      union.set(row.id, row);
      bought[at]?.add(row.id);
    }
    return fresh;
  }

  async function buys(at: number, argv: readonly string[], mayPayAgain: boolean): Promise<void> {
    const me = team.machines[at] as User;
    const before = idsOf(await ownedOn(me));
    for (const id of known[at] ?? [])
      if (!forgotten.has(id) && !leftOut.has(id)) expect(before).toContain(id);

    const paid = await charged(service, granted);
    await ok(me, argv);
    const cost = (await charged(service, granted)) - paid;
    const fresh = learn(at, before, await ownedOn(me));
    // Of whom nothing is kept nobody knows that the person was bought before.
    if (!mayPayAgain) expect(cost).toBeLessThanOrEqual(fresh.length + forgotten.size);
  }

  const deeds: Record<(typeof STEPS)[number], (at: number, me: User) => Promise<unknown>> = {
    search: (at) => buys(at, [...searchOf(below), "--yes"], false),
    again: (at) => buys(at, [...searchOf(below), "--yes", "--again"], true),
    more: async (at, me) => {
      const own = runIds(me).filter((id) => !isElsewhere(me, id));
      const run = own[below(Math.max(1, own.length))];
      if (run === undefined) return;
      const before = idsOf(await ownedOn(me));
      await me.run(["resume", run, "--limit", "12", "--yes"]);
      learn(at, before, await ownedOn(me));
    },
    forget: async (_, me) => {
      const rows = await ownedOn(me);
      const row = rows[below(rows.length)];
      if (row === undefined) return;
      forgotten.set(row.id, row);
      if (!isBroken) await ok(me, ["forget", below(2) === 0 ? row.id : row.network_url, "--yes"]);
    },
    suppress: async (_, me) => {
      const rows = await ownedOn(me);
      const row = rows[below(rows.length)];
      if (row === undefined) return;
      leftOut.add(row.id);
      await ok(me, ["suppress", "add", below(2) === 0 ? row.id : row.network_url]);
    },
    "let in": async (_, me) => {
      const id = [...leftOut].filter((one) => !forgotten.has(one))[below(4)];
      if (id === undefined) return;
      await me.run(["suppress", "remove", id, union.get(id)?.network_url ?? id]);
    },
    remove: async (_, me) => {
      const theirs = runIds(me).filter((id) => isElsewhere(me, id));
      const run = theirs[below(Math.max(1, theirs.length))];
      if (run !== undefined) await ok(me, ["runs", "remove", run, "--force", "--yes"]);
    },
    refresh: (at) => {
      const department = DEPARTMENTS[below(2)] as string;
      return buys(
        at,
        ["refresh", "--department", department, "-o", `list-${department}.ndjson`, ...REFRESH],
        false,
      );
    },
    "their list": async (at, me) => {
      const from = (at + 1) % machines;
      const other = team.machines[from] as User;
      const department = DEPARTMENTS[below(2)] as string;
      const name = `from-${MACHINES[from]}-${department}.ndjson`;
      const theirs = other.file(`list-${department}.ndjson`);
      if (!existsSync(theirs) || existsSync(me.file(name))) return;
      copyFileSync(theirs, me.file(name));
      const before = idsOf(await ownedOn(me));
      const { code, stderr } = await me.run(["refresh", name, ...REFRESH]);
      learn(at, before, await ownedOn(me));
      // Where its history, or somebody in it, did not come yet, nobody knows it.
      expect([0, 2], stderr).toContain(code);
      if (code === 2) rmSync(me.file(name));
    },
    segment: (_, me) => {
      const department = DEPARTMENTS[below(DEPARTMENTS.length)] as string;
      const name = ["one", "other"][below(2)] as string;
      return ok(me, ["segment", "save", name, "--department", department, "--overwrite"]);
    },
    // Of one that is not there it says so.
    "no segment": (_, me) => me.run(["segment", "remove", "one"]),
    sync: async (at, me) => {
      const { code, stderr } = await me.run(["sync", team.folder]);
      expect([0, 5], stderr).toContain(code);
      for (const id of bought[at] ?? []) given.add(id);
      if (code === 0) for (const id of given) known[at]?.add(id);
    },
    "stopped sync": (_, me) => {
      const kind = ["EIO", "EIO:once", "ENOSPC"][below(3)];
      const env = { HEADCOUNT_FAILPOINT: `${1 + below(70)}:${kind}` };
      return me.run(["sync", team.folder], { env });
    },
    "torn file": async () => {
      const files = filesBelow(team.folder).filter((path) => !path.endsWith(".json"));
      const path = files.sort()[below(Math.max(1, files.length))];
      if (path === undefined) return;
      const whole = readFileSync(path);
      const torn = [whole.subarray(0, below(whole.length)), Buffer.alloc(0), Buffer.alloc(90, 7)];
      // Half of a copy that is on its way under the name that it is to have.
      writeFileSync(path, torn[below(3)] as Buffer);
      given = new Set();
    },
  };

  const steps = few ?? 8 + below(10);
  for (let nth = 0; nth < steps; nth++) {
    const step = nth === 0 ? "search" : (STEPS[below(STEPS.length)] as (typeof STEPS)[number]);
    const at = below(machines);
    log(`${nth} ${MACHINES[at]}: ${step}`);
    await deeds[step](at, team.machines[at] as User);
  }

  await settle(team, log);
  const gone = [...forgotten.values()];
  expect(holdingAny(team, gone)).toEqual([]);
  const shown = await Promise.all(
    team.machines.map(async (me) => [...idsOf(await ownedOn(me))].sort()),
  );
  for (const each of shown) expect(each).toEqual(shown[0]);
  const histories = filesBelow(team.folder).filter((path) => path.includes("/histories/"));
  for (const me of team.machines) {
    const { code, stdout } = await me.run(["sql", "select distinct list from refreshes", "--json"]);
    // Nothing was ever bought, and nothing is there.
    expect(code === 0 ? JSON.parse(stdout).length : 0).toBe(histories.length);
  }
  const segments = team.machines.map(segmentsOf);
  for (const each of segments) expect(each).toEqual(segments[0]);
  const hidden = [...union.keys()].filter((id) => !shown[0]?.includes(id));
  expect(hidden.filter((id) => !forgotten.has(id) && !leftOut.has(id))).toEqual([]);
}

function segmentsOf({ dir }: User): readonly string[] {
  const files = filesBelow(dir).filter((path) => /\/segments\/[^/]+\.json$/.test(path));
  return files.map((path) => `${path.slice(dir.length)} ${readFileSync(path, "utf8")}`).sort();
}

const isElsewhere = (me: User, run: string): boolean => {
  const [id] = me.read(join("state", "machine")).split(" ");
  const { machine } = JSON.parse(me.read(join("state", "runs", run, "plan.json")));
  return machine !== undefined && machine.id !== id;
};

const searchOf = (below: (count: number) => number): string[] => [
  "search",
  "--department",
  DEPARTMENTS[below(DEPARTMENTS.length)] as string,
  "--limit",
  `${1 + below(8)}`,
  "--format",
  "ndjson",
  ...(below(3) === 0 ? ["-o", `out-${below(1_000_000)}.csv${below(3) === 0 ? ".gz" : ""}`] : []),
];

/** All sync in turn until a whole round changes nothing, and the next one writes nothing. */
async function settle(team: Team, log: (line: string) => void): Promise<void> {
  let before = "";
  for (let round = 0; ; round++) {
    for (const me of team.machines) {
      const { code, stderr } = await me.run(["sync", team.folder]);
      if (code !== 0) log(`end, round ${round}: ${code} ${stderr}`);
      if (round > 2) expect({ code, stderr }).toMatchObject({ code: 0 });
    }
    const now = stateOf(team);
    if (now === before) return;
    expect(round, "they do not settle").toBeLessThan(5);
    before = now;
  }
}

/**
 * Contents of what the machines keep, but how SQLite lays out a library; of the folder also whether
 * a file was written again.
 */
function stateOf({ folder, machines }: Team): string {
  const own = machines
    .flatMap(({ dir }) => filesBelow(dir))
    .filter((path) => !path.includes("/state/library/"))
    .map((path) => `${path} ${digest(path)}`);
  const shared = filesBelow(folder).map((path) => {
    const { ino, mtimeMs } = statSync(path);
    return `${path} ${ino} ${mtimeMs}`;
  });
  return [...own, ...shared].sort().join("\n");
}

const digest = (path: string): string =>
  createHash("sha256").update(readFileSync(path)).digest("hex");

/** Files that have one of these people: as they are, packed, in base64 or in hexadecimal. */
function holdingAny(team: Team, people: readonly Row[]): string[] {
  const words = people.flatMap(({ id, network_url }) => [id, network_url.split("/").at(-1) ?? id]);
  const forms = words.flatMap((word) => [
    word,
    Buffer.from(word).toString("hex"),
    ...[0, 1, 2].map((shift) =>
      Buffer.from(" ".repeat(shift) + word)
        .toString("base64")
        .slice(shift === 0 ? 0 : shift + 1)
        .replace(/.{0,2}=*$/, ""),
    ),
  ]);
  const isIn = (text: string): boolean => forms.some((form) => text.includes(form));
  const own = team.machines
    .flatMap(({ dir }) => filesBelow(dir))
    .filter((path) => isIn(unpacked(readFileSync(path))));
  return [...own, ...[...openedFiles(team)].filter(([, text]) => isIn(text)).map(([name]) => name)];
}

const unpacked = (bytes: Buffer): string =>
  (bytes[0] === 0x1f && bytes[1] === 0x8b ? gunzipSync(bytes) : bytes).toString("latin1");
