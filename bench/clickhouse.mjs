// I3: people from a Parquet file into a modern ClickHouse (chDB), until they can be served, against chDB's own INSERT SELECT of the same
// file into the same table. Both in one process on the same cores: on a cluster reading and checking are another machine's work.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { median } from "./arithmetic.mjs";
import { absentRow, BENCH, CACHE, note, ratioRow, round, runProgram, scratch } from "./harness.mjs";
import { strangers } from "./import.mjs";

const WORK = "people a second into ClickHouse (chDB): checked, normal form, companies, order";
const YARDSTICK =
  "chDB: INSERT SELECT of the same file into the same table, nothing checked, no order";

export async function measure({ quick, people }) {
  const target = { atLeast: 0.33 };
  if ((await import("chdb/connection").catch(() => undefined)) === undefined) {
    const reason = "needs chdb: npm install --no-save chdb@3.4.0";
    return {
      rows: [absentRow({ id: "I3", work: WORK, yardstick: YARDSTICK, target: ">= 0.33x", reason })],
    };
  }
  const rows = [];
  const points = [];
  for (const size of people ?? (quick ? [300_000] : [1_000_000, 5_000_000])) {
    const file = await strangers(size);
    const samples = { load: [], bare: [] };
    for (let index = 0; index < (size > 1_000_000 ? 1 : 3); index++) {
      note(`I3: ${size.toLocaleString("en")} people, ${index + 1}`);
      for (const mode of ["load", "bare"]) samples[mode].push(await run(mode, file));
    }
    const rate = (mode) => samples[mode].map(({ seconds }) => size / seconds);
    const cpu = (mode) => round((median(samples[mode].map((one) => one.cpu)) * 1e6) / size);
    const part = size.toLocaleString("en");
    const [ours, theirs] = [rate("load"), rate("bare")];
    const remark = `CPU a person ${cpu("load")} us, of the bare insert ${cpu("bare")} us`;
    rows.push(
      ratioRow({
        id: "I3",
        part,
        work: WORK,
        yardstick: YARDSTICK,
        target,
        unit: "rows/s",
        ours,
        theirs,
        remark,
      }),
    );
    points.push({
      size,
      "load, rows/s": round(median(ours)),
      "bare, rows/s": round(median(theirs)),
      "load, CPU us/row": cpu("load"),
      "left, bytes/row": round(samples.load[0].left / size),
      "highest, bytes/row": round(samples.load[0].highest / size),
    });
  }
  return { rows, series: { clickhouse: points } };
}

async function run(mode, file) {
  const folder = scratch("chdb", CACHE);
  try {
    const program = join(BENCH, "chdb.mjs");
    const { stdout } = await runProgram(process.execPath, [program, mode, file, folder], {
      capture: true,
    });
    return JSON.parse(stdout);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
