// What every family of figures is measured with: pairs taken in turn, processes run and watched, the machine described.
import { execFileSync, spawn } from "node:child_process";
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
} from "node:fs";
import { cpus, homedir, loadavg, release, tmpdir, totalmem } from "node:os";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { median, ratioOf, summarise, verdict } from "./arithmetic.mjs";

/** The project. `HEADCOUNT_BENCH_ROOT` measures another built copy of it (a release beside the working tree). */
export const ROOT =
  process.env.HEADCOUNT_BENCH_ROOT ?? fileURLToPath(new URL("..", import.meta.url));
export const BENCH = fileURLToPath(new URL(".", import.meta.url));
export const HEADCOUNT = join(ROOT, "bin", "headcount.js");
export const API_KEY = "hc_live_benchbenchbenchbenchbenchbenchbenchbenchbenchbench";

/** Made data is kept here, outside the project, and used again by the next run. */
export const CACHE = join(
  process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"),
  "headcount-bench",
);

export const note = (text) => process.stderr.write(`${text}\n`);

// ---------------------------------------------------------------------------------------------------------------- machine

/** Median milliseconds of a 4 KiB write with fsync in the cache folder, over one second. */
export function fsyncProbe() {
  mkdirSync(CACHE, { recursive: true });
  const path = join(CACHE, `fsync-${process.pid}`);
  const file = openSync(path, "w");
  const block = Buffer.alloc(4_096, 1);
  const samples = [];
  const end = performance.now() + 1_000;
  while (performance.now() < end) {
    const start = performance.now();
    writeSync(file, block);
    fsyncSync(file);
    samples.push(performance.now() - start);
  }
  closeSync(file);
  rmSync(path);
  return median(samples);
}

/** What the figures were taken on, for the reader. */
export function machine() {
  const system = existsSync("/etc/os-release")
    ? /^PRETTY_NAME="?([^"\n]+)/m.exec(readFileSync("/etc/os-release", "utf8"))?.[1]
    : undefined;
  return {
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    cores: cpus().length,
    memory_gib: Math.round(totalmem() / 2 ** 30),
    system: `${system ?? process.platform}, kernel ${release()}`,
    node: process.version,
    commit: gitHead(),
  };
}

function gitHead() {
  try {
    return execFileSync("git", ["rev-parse", "--short", "HEAD"], {
      cwd: BENCH,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }).trim();
  } catch {
    return "unknown";
  }
}

/** What may disturb the figures, taken before each family. */
export const conditions = () => ({ load_1m: round(loadavg()[0]), fsync_ms: round(fsyncProbe()) });

/** Waits until the machine has little else to do, at most so many milliseconds. */
export async function quiet(patienceMs) {
  const end = performance.now() + patienceMs;
  while (loadavg()[0] >= 1 && performance.now() < end)
    await new Promise((resolve) => setTimeout(resolve, 2_000));
}

export const round = (value, digits = 3) =>
  value === undefined ? undefined : Number(value.toPrecision(digits));

/** Where a program is, or undefined. Skips version managers' shims, which cost more than some of what is measured. */
export function findProgram(name) {
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    if (/[\\/]shims$/.test(folder)) continue;
    if (existsSync(join(folder, name))) return join(folder, name);
  }
  return undefined;
}

/** The sentence for a yardstick that cannot run, or undefined where every program is there. */
export function missing(programs) {
  const absent = Object.entries(programs).filter(
    ([name]) => !existsSync(name) && findProgram(name) === undefined,
  );
  if (absent.length === 0) return undefined;
  const packages = [...new Set(absent.map(([, debian]) => debian))];
  return `needs ${absent.map(([name]) => name).join(", ")}: apt-get install ${packages.join(" ")}`;
}

// ------------------------------------------------------------------------------------------------------------------ pairs

/**
 * Takes one sample of each variant in turn, `rounds` times: A B A B A B. Disturbances hit all alike.
 * @param variants functions by name; each returns its sample
 * @param warmups rounds whose samples are thrown away
 */
export async function inTurn(variants, rounds, warmups = 1) {
  const samples = Object.fromEntries(Object.keys(variants).map((name) => [name, []]));
  for (let index = -warmups; index < rounds; index++) {
    for (const [name, sample] of Object.entries(variants)) {
      const value = await sample();
      if (index >= 0) samples[name].push(value);
    }
  }
  return samples;
}

/**
 * One row of the results.
 * @param parts.over which series stands above the line of the ratio: "ours" (at most) or "yardstick" (times faster)
 */
export function ratioRow({
  id,
  part,
  work,
  yardstick,
  target,
  unit = "ms",
  ours,
  theirs,
  over = "ours",
  remark,
}) {
  const ratio = over === "ours" ? ratioOf(ours, theirs) : ratioOf(theirs, ours);
  return {
    id,
    ...(part === undefined ? {} : { part }),
    work,
    yardstick,
    target: `${"atMost" in target ? "<=" : ">="} ${Object.values(target)[0]}x`,
    unit,
    ours: rounded(summarise(ours)),
    theirs: rounded(summarise(theirs)),
    measured: round(ratio.value),
    measured_min: round(ratio.min),
    measured_max: round(ratio.max),
    verdict: verdict(ratio.value, target),
    ...(remark === undefined ? {} : { remark }),
  };
}

/** A row whose figure is not a ratio of two series: a time, a size, a number of faults. */
export function valueRow({
  id,
  part,
  work,
  yardstick = "",
  target,
  unit,
  value,
  ours,
  theirs,
  remark,
  text,
}) {
  return {
    id,
    ...(part === undefined ? {} : { part }),
    work,
    yardstick,
    target: text ?? `${"atMost" in target ? "<=" : ">="} ${Object.values(target)[0]} ${unit}`,
    unit,
    ...(ours === undefined ? {} : { ours: rounded(summarise(ours)) }),
    ...(theirs === undefined ? {} : { theirs: rounded(summarise(theirs)) }),
    measured: round(value),
    verdict: verdict(value, target),
    ...(remark === undefined ? {} : { remark }),
  };
}

/** A row that could not be measured, and why. */
export const absentRow = ({ id, part, work, yardstick, target, reason }) => ({
  id,
  ...(part === undefined ? {} : { part }),
  work,
  yardstick,
  target,
  verdict: "not measured",
  remark: reason,
});

const rounded = (summary) =>
  Object.fromEntries(Object.entries(summary).map(([name, value]) => [name, round(value, 4)]));

// -------------------------------------------------------------------------------------------------------------- processes

/** A folder that is removed at the end of the run. */
export function scratch(name, parent = tmpdir()) {
  mkdirSync(parent, { recursive: true });
  const folder = mkdtempSync(join(parent, `headcount-bench-${name}-`));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const closers = [];
/** Runs when the bench ends, however it ends; last come, first served. */
export const atEnd = (close) => closers.push(close);

export async function closeAll() {
  for (const close of closers.splice(0).reverse()) {
    try {
      await close();
    } catch (error) {
      note(`while closing: ${error.message}`);
    }
  }
}

/** The environment of a user with nothing set up: folders of its own, no proxy, no colour. */
export function userEnvironment(folder, extra = {}) {
  return {
    PATH: process.env.PATH,
    HOME: folder,
    LANG: "C.UTF-8",
    XDG_DATA_HOME: join(folder, "data"),
    XDG_STATE_HOME: join(folder, "state"),
    XDG_CONFIG_HOME: join(folder, "config"),
    XDG_CACHE_HOME: join(folder, "cache"),
    ...extra,
  };
}

/**
 * Runs a program to its end.
 * @returns wall milliseconds from start to exit; where asked for peak memory in MB, user and system time in ms, what it printed
 * Throws when it fails, with what it said.
 */
export function runProgram(
  program,
  args,
  { env, cwd, watch = false, capture = false, allow = [0] } = {},
) {
  return new Promise((resolve, reject) => {
    const start = performance.now();
    const child = spawn(program, args, {
      env,
      cwd,
      stdio: ["ignore", capture ? "pipe" : "ignore", "pipe"],
    });
    const out = [];
    const err = [];
    child.stdout?.on("data", (chunk) => out.push(chunk));
    child.stderr.on("data", (chunk) => err.push(chunk));
    let peakKb = 0;
    let cpu = 0;
    const look = () => {
      peakKb = Math.max(peakKb, memoryHighWater(child.pid));
      // Where it is gone, what it had used at the last look, 10 ms before, stands.
      if (peakKb > 0 && child.exitCode === null && existsSync(`/proc/${child.pid}/stat`))
        cpu = cpuMs(child.pid);
    };
    const timer = watch ? setInterval(look, 10) : undefined;
    let ms = 0;
    child.once("exit", () => {
      ms = performance.now() - start;
    });
    child.once("error", reject);
    child.once("close", (code, signal) => {
      clearInterval(timer);
      const stderr = Buffer.concat(err).toString();
      if (!allow.includes(code)) {
        reject(
          new Error(
            `${program} ${args.join(" ")}: ${signal ?? `exit ${code}`}\n${stderr.slice(-2_000)}`,
          ),
        );
      } else {
        resolve({
          ms,
          code,
          stdout: Buffer.concat(out).toString(),
          stderr,
          ...(watch ? { peakMb: peakKb / 1_024, cpu } : {}),
        });
      }
    });
  });
}

/** User and system time in ms that a program takes, as bash tells it of its children: steadier than wall time on a busy machine. */
export async function cpuOf(program, args, { env }) {
  const script = '"$@" >/dev/null; times';
  const { stdout } = await runProgram("bash", ["-c", script, "bash", program, ...args], {
    env,
    capture: true,
  });
  const [user, system] = stdout.trim().split("\n").at(-1).split(" ").map(minutes);
  return user + system;
}

const minutes = (text) => {
  const [, whole, seconds] = /^(\d+)m([\d.]+)s$/.exec(text);
  return (Number(whole) * 60 + Number(seconds)) * 1_000;
};

/** Runs `headcount` of the build under test. */
export const headcount = (args, options) =>
  runProgram(process.execPath, [HEADCOUNT, ...args], options);

/** Kernel's high-water mark of a process's resident memory in kB; 0 where it is gone. */
function memoryHighWater(pid) {
  try {
    return Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

/** Peak memory of a running process in MB. */
export const peakMb = (pid) => memoryHighWater(pid) / 1_024;

/** User and system time that a running process has used, in ms (ticks of 10 ms). */
export function cpuMs(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/**
 * Starts a server that prints one line of JSON once it listens. It is ended with the bench.
 * @returns that line, the process id and a way to end it early
 */
export async function startServer(program, args, { env } = {}) {
  const child = spawn(program, args, {
    env: env ?? process.env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const err = [];
  child.stderr.on("data", (chunk) => {
    if (err.length < 100) err.push(chunk);
  });
  const ended = new Promise((resolve) => child.once("close", resolve));
  const line = await Promise.race([
    new Promise((resolve) => createInterface({ input: child.stdout }).once("line", resolve)),
    ended.then(() => {
      throw new Error(
        `${args.join(" ")} ended before it listened\n${Buffer.concat(err).toString().slice(-2_000)}`,
      );
    }),
  ]);
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGTERM");
    const timer = setTimeout(() => child.kill("SIGKILL"), 15_000);
    await ended;
    clearTimeout(timer);
  };
  atEnd(stop);
  return { ...JSON.parse(line), pid: child.pid, stop };
}

/** The page server, and how to set its delay. @param tls with a certificate of its own, which nobody trusts */
export async function startPageServer({ tls = false } = {}) {
  const server = await startServer(process.execPath, [
    join(BENCH, "page-server.mjs"),
    ...(tls ? certified() : []),
  ]);
  const setLatency = async (ms) => {
    await fetch(`${server.url}/control?latency=${ms}`, { method: "POST" });
  };
  return { ...server, setLatency };
}

function certified() {
  const folder = scratch("tls");
  const key = [
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:prime256v1",
    "-nodes",
    "-keyout",
    join(folder, "key.pem"),
  ];
  const name = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"];
  execFileSync("openssl", ["req", "-x509", ...key, ...name, "-out", join(folder, "cert.pem")], {
    stdio: "ignore",
  });
  return ["--tls", folder];
}
