// E1-E5: exports from a server that answers at once or after 50 ms, against what a user would write instead.
import { createReadStream, rmSync } from "node:fs";
import { join } from "node:path";
import { spread } from "./arithmetic.mjs";
import {
  API_KEY,
  absentRow,
  BENCH,
  findProgram,
  headcount,
  inTurn,
  missing,
  note,
  ratioRow,
  runProgram,
  scratch,
  startPageServer,
  userEnvironment,
  valueRow,
} from "./harness.mjs";

export const name = "export";

const PYTHON = { python3: "python3" };
const SHELL = { curl: "curl", jq: "jq", bash: "bash" };

export async function measure({ quick }) {
  const exporter = await prepareExports();
  const { server, ours, discard, python, shell } = exporter;
  const rows = [];
  const rounds = quick ? 3 : 5;
  // A minute and a half a round in the full form, and each sample 500 pages long.
  const longRounds = 3;
  // The loop of curl and jq takes ten times as long as everything else.
  const shellRounds = 2;

  const latencyRows = quick ? 100_000 : 500_000;
  await server.setLatency(50);
  note(`E1, E2: ${latencyRows} people, 50 ms a page`);
  const noPython = missing(PYTHON);
  const slow = await inTurn(
    {
      one: () => ours(latencyRows, 1_000, { concurrency: 1 }),
      discard: () => discard(latencyRows, 1_000),
      four: () => ours(latencyRows, 1_000, { concurrency: 4 }),
      ...(noPython === undefined ? { python: () => python(latencyRows, 1_000) } : {}),
    },
    longRounds,
    0,
  );
  await server.setLatency(0);
  const count = latencyRows.toLocaleString("en");
  rows.push(
    ratioRow({
      id: "E1",
      work: `CSV of ${count} people, 50 ms a page, pages of 1,000, one in flight, kept and synced`,
      yardstick: "undici: the same pages, bodies discarded",
      target: { atMost: 1.1 },
      ours: slow.one,
      theirs: slow.discard,
    }),
    slow.python === undefined
      ? absentRow({
          id: "E2",
          work: "four pages in flight",
          yardstick: "python",
          target: ">= 3.5x",
          reason: noPython,
        })
      : ratioRow({
          id: "E2",
          work: `the same ${count} people with four pages in flight`,
          yardstick: "python3 urllib + csv",
          target: { atLeast: 3.5 },
          ours: slow.four,
          theirs: slow.python,
          over: "yardstick",
        }),
  );

  const noShell = missing(SHELL);
  for (const [perPage, people, versusPython, versusShell] of [
    [1_000, quick ? 100_000 : 200_000, 1.2, 4],
    [100, quick ? 40_000 : 200_000, 1.3, 12],
  ]) {
    note(`E3: ${people} people, pages of ${perPage}, no latency`);
    const fast = await inTurn(
      {
        ours: () => ours(people, perPage),
        ...(noPython === undefined ? { python: () => python(people, perPage) } : {}),
      },
      rounds,
      0,
    );
    const beside =
      noShell === undefined
        ? await inTurn(
            { ours: () => ours(people, perPage), shell: () => shell(people, perPage) },
            shellRounds,
            0,
          )
        : {};
    for (const [yardstick, ourSeries, series, atLeast, reason] of [
      ["python3 urllib + csv", fast.ours, fast.python, versusPython, noPython],
      ["bash: curl + jq -r @csv", beside.ours, beside.shell, versusShell, noShell],
    ]) {
      const row = {
        id: "E3",
        part: `pages of ${perPage.toLocaleString("en")}, ${yardstick.split(/[ :]/)[0]}`,
        work: `CSV of ${people.toLocaleString("en")} people, no latency, pages of ${perPage.toLocaleString("en")}`,
        yardstick,
      };
      rows.push(
        series === undefined
          ? absentRow({ ...row, target: `>= ${atLeast}x`, reason })
          : ratioRow({
              ...row,
              target: { atLeast },
              ours: ourSeries,
              theirs: series,
              over: "yardstick",
            }),
      );
    }
  }

  note("E4: NDJSON, no latency");
  const lines = quick ? 100_000 : 200_000;
  const ndjson = {
    id: "E4",
    work: `NDJSON of ${lines.toLocaleString("en")} people, no latency, pages of 1,000`,
    yardstick: "python3 urllib + json",
  };
  if (noPython !== undefined)
    rows.push(absentRow({ ...ndjson, target: ">= 2.5x", reason: noPython }));
  else {
    const both = await inTurn(
      {
        ours: () => ours(lines, 1_000, { format: "ndjson" }),
        python: () => python(lines, 1_000, "ndjson"),
      },
      rounds,
      0,
    );
    rows.push(
      ratioRow({
        ...ndjson,
        target: { atLeast: 2.5 },
        ours: both.ours,
        theirs: both.python,
        over: "yardstick",
      }),
    );
  }

  const { points, rows: memory } = await measureMemory(exporter, quick);
  rows.push(...memory);
  await server.stop();
  return { rows, series: { export: points } };
}

/** E5, and the series of the growth of exports. */
export async function measureMemory({ watched }, quick) {
  const sizes = quick ? [10_000, 100_000, 300_000] : [10_000, 100_000, 1_000_000];
  const points = [];
  for (const size of sizes) {
    note(`E5: ${size} people, peak memory`);
    const { peakMb, ms } = await watched(size, 1_000);
    points.push({ size, ms, peak_mb: peakMb });
  }
  const peaks = points.map(({ peak_mb }) => peak_mb);
  const text = points
    .map(({ size, peak_mb }) => `${size.toLocaleString("en")}: ${peak_mb.toFixed(0)} MB`)
    .join(", ");
  const work = `peak memory of a CSV export, ${sizes[0].toLocaleString("en")} to ${sizes.at(-1).toLocaleString("en")} people`;
  return {
    points,
    rows: [
      valueRow({
        id: "E5",
        part: "flat",
        work,
        yardstick: "itself",
        target: { atMost: 15 },
        unit: "%",
        value: spread(peaks) * 100,
        ours: peaks,
        remark: text,
      }),
      valueRow({
        id: "E5",
        part: "ceiling",
        work,
        target: { atMost: 105 },
        unit: "MB",
        value: Math.max(...peaks),
        ours: peaks,
      }),
    ],
  };
}

/** The server and one function for each way to export; every function returns milliseconds and checks the file it made. */
export async function prepareExports() {
  const server = await startPageServer();
  const folder = scratch("export");
  const env = userEnvironment(folder, {
    HEADCOUNT_API_KEY: API_KEY,
    HEADCOUNT_BASE_URL: server.url,
  });
  const python3 = findProgram("python3") ?? "python3";

  const checked = async (file, expected, run) => {
    rmSync(file, { force: true });
    const result = await run();
    const lines = await countLines(file);
    if (lines !== expected) throw new Error(`${file} has ${lines} lines, not ${expected}`);
    rmSync(file);
    return result;
  };

  let serial = 0;
  const search = (people, perPage, { concurrency, format = "csv", watch = false } = {}) => {
    const file = join(folder, `ours-${serial++}.${format}`);
    // Runs of earlier samples would be found again and cost nothing; every sample buys from the beginning.
    rmSync(join(folder, "state"), { recursive: true, force: true });
    const args = [
      "search",
      "--department",
      "Sales",
      "--max-credits",
      String(people),
      "--per-page",
      String(perPage),
    ];
    if (concurrency !== undefined) args.push("--concurrency", String(concurrency));
    args.push("--quiet", "-o", file);
    return checked(file, people + (format === "csv" ? 1 : 0), () =>
      headcount(args, { env, watch }),
    );
  };
  const script = (program, file, people, perPage, format) => {
    const out = join(folder, `theirs.${format}`);
    const args = [file, server.url, API_KEY, String(people / perPage), String(perPage), out];
    const header = format === "csv" && program === python3 ? 1 : 0;
    return checked(out, people + header, () => runProgram(program, args, { env })).then(
      ({ ms }) => ms,
    );
  };

  return {
    server,
    env,
    folder,
    ours: async (people, perPage, options) => (await search(people, perPage, options)).ms,
    watched: (people, perPage, options) => search(people, perPage, { ...options, watch: true }),
    discard: async (people, perPage) => {
      const args = [
        join(BENCH, "yardsticks/discard.mjs"),
        server.url,
        API_KEY,
        String(people / perPage),
        String(perPage),
      ];
      return (await runProgram(process.execPath, args, { env })).ms;
    },
    python: (people, perPage, format = "csv") =>
      script(python3, join(BENCH, `yardsticks/export_${format}.py`), people, perPage, format),
    shell: (people, perPage) =>
      script("bash", join(BENCH, "yardsticks/export_curl_jq.sh"), people, perPage, "csv"),
  };
}

async function countLines(file) {
  let lines = 0;
  for await (const chunk of createReadStream(file, { highWaterMark: 1 << 20 })) {
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines++;
  }
  return lines;
}
