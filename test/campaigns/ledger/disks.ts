import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import {
  checkLedger,
  type Life,
  type LifeOptions,
  type LifeStart,
  type Line,
  parseLines,
  runLife,
  seeded,
} from "./rig.ts";

/** One system call of the recorded life, in order. */
type Event =
  | {
      readonly kind: "write";
      readonly file: string;
      readonly offset: number;
      readonly data: Buffer;
    }
  | { readonly kind: "truncate"; readonly file: string; readonly size: number }
  | { readonly kind: "sync"; readonly file: string }
  | { readonly kind: "unlink"; readonly file: string }
  | { readonly kind: "lines"; readonly lines: readonly Line[] };

const SECTOR = 512;

const bytes = (escaped: string): Buffer => Buffer.from(escaped.replaceAll("\\x", ""), "hex");

/** Records a life whole: every write with its bytes, every sync, and when what was acknowledged. */
export async function recordLife(
  options: LifeOptions,
  start: LifeStart = {},
): Promise<{ events: Event[]; life: Life }> {
  const trace = "trace=pwrite64,write,fsync,fdatasync,ftruncate,unlink";
  const life = await runLife(options, [trace], ["-y", "-xx", "-s", "1000000"], start);
  const events: Event[] = [];
  for (const line of life.trace.split("\n")) {
    const call = /^\d+\s+(\w+)\((?:\d+<([^>]*)>|"([^"]*)")(.*)\)\s+= (\d+)$/.exec(line);
    if (call === null) {
      if (line !== "")
        throw new Error(
          `the trace has a line that the replay does not know: ${line.slice(0, 200)}`,
        );
      continue;
    }
    const [, name, descriptor, path, rest = ""] = call;
    const file = basename(bytes(descriptor ?? path ?? "").toString());
    if (name === "fsync" || name === "fdatasync") events.push({ kind: "sync", file });
    else if (name === "ftruncate")
      events.push({ kind: "truncate", file, size: Number(rest.replace(/^, /, "")) });
    else if (name === "unlink") events.push({ kind: "unlink", file });
    else {
      const [, data = "", tail = ""] = /^, "([^"]*)"(.*)$/.exec(rest) ?? [];
      const written = bytes(data);
      if (file === "ack") events.push({ kind: "lines", lines: parseLines(written.toString()) });
      else events.push({ kind: "write", file, offset: Number(tail.split(", ")[2]), data: written });
    }
  }
  return { events, life };
}

class VirtualFile {
  durable: Buffer | undefined;
  pending: Extract<Event, { kind: "write" | "truncate" }>[] = [];

  sync(): void {
    this.durable = this.imageWith(() => "whole");
    this.pending = [];
  }

  /** @param fate of each unsynced call, the `n`th of them: gone, whole, or torn at sectors by the function given */
  imageWith(fate: (n: number) => "gone" | "whole" | (() => boolean)): Buffer | undefined {
    let image = this.durable;
    for (const [n, call] of this.pending.entries()) {
      const outcome = fate(n);
      if (outcome === "gone") continue;
      image ??= Buffer.alloc(0);
      if (call.kind === "truncate") {
        image = call.size <= image.length ? image.subarray(0, call.size) : grown(image, call.size);
        continue;
      }
      // A copy: the durable image must not change with one possible future.
      image = grown(image, Math.max(image.length, call.offset + call.data.length));
      for (let start = 0; start < call.data.length; ) {
        const end = Math.min(call.data.length, start + SECTOR - ((call.offset + start) % SECTOR));
        if (outcome === "whole" || outcome())
          call.data.copy(image, call.offset + start, start, end);
        start = end;
      }
    }
    return image;
  }
}

function grown(image: Buffer, size: number): Buffer {
  const copy = Buffer.alloc(size);
  image.copy(copy);
  return copy;
}

export interface PowerLossFigures {
  states: number;
  /** States with an acknowledged change missing. */
  statesWithLoss: number;
  losses: number;
  /** Contradictions of any other kind: corruption, a broken invariant. */
  broken: string[];
}

/**
 * Rebuilds the disk as a power failure could leave it after each recorded call: once with every unsynced write gone, once with all
 * of them, and `random` times with each of them gone, whole or torn by chance; then recovers it and looks for what is missing.
 */
export async function replay(
  events: readonly Event[],
  options: {
    random: number;
    seed: number;
    every: number;
    /** Only after the last so many calls. */
    last?: number;
    /** The folder that the life went on with. */
    from?: string;
    /** What was acknowledged of it. */
    before?: readonly Line[];
  },
): Promise<PowerLossFigures> {
  const chance = seeded(options.seed);
  const root = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();
  const folder = mkdtempSync(join(root, "headcount-power-"));
  const figures: PowerLossFigures = { states: 0, statesWithLoss: 0, losses: 0, broken: [] };
  const files = new Map<string, VirtualFile>();
  const lines: Line[] = [...(options.before ?? [])];
  const fileOf = (name: string): VirtualFile => {
    const known = files.get(name) ?? new VirtualFile();
    files.set(name, known);
    return known;
  };
  for (const name of options.from === undefined ? [] : readdirSync(options.from)) {
    // Its seal was broken, for good, before anything was written.
    if (!name.endsWith("-seal"))
      fileOf(name).durable = readFileSync(join(options.from ?? "", name));
  }
  const fates: ((n: number) => "gone" | "whole" | (() => boolean))[] = [
    () => "gone",
    () => "whole",
  ];
  for (let n = 0; n < options.random; n += 1) {
    fates.push(() => {
      const draw = chance();
      return draw < 0.4 ? "gone" : draw < 0.7 ? "whole" : () => chance() < 0.5;
    });
  }
  try {
    for (const [position, event] of events.entries()) {
      if (event.kind === "lines") lines.push(...event.lines);
      else if (event.kind === "sync") fileOf(event.file).sync();
      else if (event.kind === "unlink") files.delete(event.file);
      else fileOf(event.file).pending.push(event);
      if (
        position % options.every !== 0 ||
        position < events.length - (options.last ?? Number.POSITIVE_INFINITY)
      )
        continue;
      const unsynced = [...files.values()].some((file) => file.pending.length > 0);
      for (const [n, fate] of fates.entries()) {
        // With nothing unsynced there is one possible disk.
        if (n > 0 && !unsynced) break;
        const state = join(folder, String(figures.states));
        mkdirSync(state);
        for (const [name, file] of files) {
          const image = file.imageWith(fate);
          if (image !== undefined) writeFileSync(join(state, name), image, { mode: 0o600 });
        }
        figures.states += 1;
        const problems = await checkLedger(join(state, "ledger.db"), lines, false).catch(
          (error: unknown) => [String(error)],
        );
        const losses = problems.filter((problem) => problem.startsWith("LOST"));
        figures.losses += losses.length;
        if (losses.length > 0) figures.statesWithLoss += 1;
        for (const problem of problems) {
          if (!problem.startsWith("LOST"))
            figures.broken.push(`after call ${position}: ${problem}`);
        }
        rmSync(state, { recursive: true, force: true });
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return figures;
}
