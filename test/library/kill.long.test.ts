import { spawn } from "node:child_process";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { type Library, totalsOf } from "../../src/engine/library/library.ts";
import { libraryPath } from "../../src/engine/library/path.ts";
import { openLibrary } from "../../src/engine/library/take-in.ts";
import { Disk } from "../../src/engine/runs/disk.ts";
import { RunStore } from "../../src/engine/runs/run-store.ts";
import { tempDir } from "../support/client.ts";

const DIST = resolve(import.meta.dirname, "../../dist/engine");
const SERVICE = "https://api.example.com";
const PAGES = 24;
const ROWS = 500;

const TAKE_IN = `
const [{ openLibrary }, { libraryPath }, { RunStore }, { Disk }] = await Promise.all(
  ["library/take-in.js", "library/path.js", "runs/run-store.js", "runs/disk.js"].map((name) => import(${JSON.stringify(DIST)} + "/" + name)));
const [dir] = process.argv.slice(1);
process.stdout.write("go");
const opened = await openLibrary({ path: libraryPath(dir, ${JSON.stringify(SERVICE)}, "live"), serviceId: ${JSON.stringify(SERVICE)}, mode: "live" }, new RunStore(dir, new Disk()));
opened.library.close();
process.stdout.write("done");
`;

/** Takes in, in a process of its own that is killed after so many milliseconds. @returns whether it had come to the end */
const killedAfter = (dir: string, ms: number): Promise<boolean> =>
  new Promise((done) => {
    const child = spawn(process.execPath, ["--input-type=module", "-e", TAKE_IN, dir]);
    let said = "";
    child.stdout.on("data", (chunk) => {
      if (said === "") setTimeout(() => child.kill("SIGKILL"), ms);
      said += String(chunk);
    });
    child.on("close", () => done(said.endsWith("done")));
  });

const everythingIn = (library: Library) => {
  const totals = totalsOf(library.database);
  const everybody = library.count({ exact: {}, prefix: {}, range: {} });
  library.close();
  return { ...totals, everybody };
};

test("a process that is killed while it takes in leaves whole pages only, and the next one goes on", async () => {
  const dir = tempDir("headcount-library-kill-");
  const store = new RunStore(dir, new Disk());
  const at = Date.UTC(2026, 0, 15);
  const lock = { now: () => at, sleep: async () => {}, what: "the run" };
  const run = await store.create(
    {
      command: "search",
      connection: "work",
      base_url: SERVICE,
      account_id: null,
      key_mode: "live",
      target: { kind: "search", filters: {}, canonical: "{}" },
      dataset_version: null,
      unit_price: "1",
      matches: null,
      paging: "page",
      output: null,
      view: { format: "csv", fields: null, excel: false, raw: false },
      per_page: null,
      misses: null,
      receipt: null,
    },
    at,
    lock,
  );
  for (let n = 1; n <= PAGES; n++) {
    // Every third person comes again in the next page.
    const rows = Array.from({ length: ROWS }, (_, index) => ({
      id: `p${n * ROWS + index - (index % 3 === 0 ? ROWS : 0)}`,
      title: `t${n}`,
    }));
    await run.append({
      t: "intent",
      n,
      target: 0,
      offset: 0,
      perPage: ROWS,
      key: `k${n}`,
      hold: "1",
      at,
    });
    const body = Buffer.from(JSON.stringify({ status: true, detail: [], result: rows }));
    await run.settle({ t: "settled", n, rows: ROWS, used: String(ROWS), at: at + n }, body);
  }
  await store.finish(run, at + PAGES);
  await run.close();
  const shelf = {
    path: libraryPath(dir, SERVICE, "live"),
    serviceId: SERVICE,
    mode: "live" as const,
  };

  let ended = false;
  for (let kill = 0; kill < 12 && !ended; kill++) ended = await killedAfter(dir, 20 + 60 * kill);
  const opened = await openLibrary(shelf, store);
  if (opened === undefined) throw new Error("there is no library");
  expect(opened.taken.unread).toEqual([]);
  const found = everythingIn(opened.library);

  const other = { ...shelf, path: join(dir, "library", "beside.db") };
  const whole = await openLibrary(other, store);
  if (whole === undefined) throw new Error("there is no library");
  expect(found).toEqual(everythingIn(whole.library));
  expect(found.purchases).toBe(PAGES * ROWS);
  expect(found.everybody).toBe(found.people);
});
