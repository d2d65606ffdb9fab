import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import type { User } from "../../support/export.ts";
import { BIN } from "../../support/spawned.ts";

/** What a program told the system, in order. */
export type Event =
  /** Bytes were appended to a file. Files are named as the folder sees them in which the program ran. */
  | { readonly kind: "append"; readonly file: string; readonly data: Buffer }
  | { readonly kind: "truncate"; readonly file: string; readonly size: number }
  /** A sync of a file ended well: it covers what was written before the event with this number. */
  | { readonly kind: "synced"; readonly file: string; readonly before: number }
  /** A folder or a file was made, or a file got another name. */
  | { readonly kind: "named"; readonly file: string; readonly from?: string }
  /** A paid request went out. */
  | { readonly kind: "sent"; readonly key: string }
  /** Bytes went to stdout. */
  | { readonly kind: "printed"; readonly data: Buffer };

export interface Recorded {
  readonly events: readonly Event[];
  readonly code: number | null;
  readonly stderr: string;
}

const CALLS =
  "trace=write,writev,pwrite64,pwritev,fsync,fdatasync,ftruncate,openat,mkdir,rename,link";
const unhexed = (escaped: string): Buffer => Buffer.from(escaped.replaceAll("\\x", ""), "hex");

/** Runs the built program under strace and records its writes with their bytes, its syncs, and its paid requests. */
export async function record(of: User, argv: readonly string[]): Promise<Recorded> {
  const folder = mkdtempSync(join(tmpdir(), "headcount-trace-"));
  const trace = join(folder, "trace");
  try {
    const args = [
      "-f",
      "-y",
      "-xx",
      "-s",
      "4000000",
      "-e",
      CALLS,
      "-o",
      trace,
      process.execPath,
      BIN,
      ...argv,
    ];
    const child = spawn("strace", args, {
      cwd: of.dir,
      env: { PATH: process.env.PATH ?? "", ...of.env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    child.stdout.resume();
    let stderr = "";
    child.stderr.on("data", (chunk: Buffer) => {
      stderr += chunk.toString();
    });
    const code = await new Promise<number | null>((done) => child.on("close", done));
    return { events: parse(readFileSync(trace, "utf8"), of.dir), code, stderr };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The lines of a trace. A call that another thread interrupts stands on two lines, its beginning and its end. */
function parse(trace: string, folder: string): Event[] {
  const events: Event[] = [];
  const begun = new Map<string, { readonly text: string; readonly before: number }>();
  for (const line of trace.split("\n")) {
    const [, thread = "", rest = ""] = /^(\d+)\s+(.*)$/.exec(line) ?? [];
    const unfinished = /^(.*?)\s*<unfinished \.\.\.>$/.exec(rest);
    if (unfinished !== null) {
      begun.set(thread, { text: unfinished[1] ?? "", before: events.length });
      continue;
    }
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(rest);
    const start = resumed === null ? undefined : begun.get(thread);
    const call = `${start?.text ?? ""}${resumed === null ? rest : resumed[1]}`;
    const event = namedIn(call, folder) ?? eventOf(call, start?.before ?? events.length, folder);
    if (event !== undefined) events.push(event);
  }
  return events;
}

const within = (folder: string, escaped: string): string | undefined => {
  const path = unhexed(escaped).toString();
  return path === folder || path.startsWith(`${folder}/`) ? relative(folder, path) : undefined;
};

function namedIn(call: string, folder: string): Event | undefined {
  const opened = /^openat\(.*O_CREAT.*= \d+<([^>]*)>$/.exec(call)?.[1];
  const [, name = "", first = "", second = ""] =
    /^(mkdir|rename|link)\("([^"]*)"(?:, "([^"]*)")?.*= 0$/.exec(call) ?? [];
  const [path, old] = name === "mkdir" ? [first] : name === "" ? [opened ?? ""] : [second, first];
  const file = within(folder, path);
  const from = old === undefined ? undefined : within(folder, old);
  return file === undefined
    ? undefined
    : { kind: "named", file, ...(from === undefined ? {} : { from }) };
}

function eventOf(call: string, before: number, folder: string): Event | undefined {
  const [, name = "", number = "", path = "", args = "", result = ""] =
    /^(\w+)\((\d+)<([^>]*)>(.*)\)\s+= (\d+)/.exec(call) ?? [];
  const file = within(folder, path);
  if (name === "fsync" || name === "fdatasync")
    return file === undefined ? undefined : { kind: "synced", file, before };
  if (name === "ftruncate") {
    return file === undefined
      ? undefined
      : { kind: "truncate", file, size: Number(args.replace(/^, /, "")) };
  }
  if (!name.includes("write")) return undefined;
  const parts = [...args.matchAll(/"((?:\\x[0-9a-f]{2})*)"/g)].map(([, escaped = ""]) =>
    unhexed(escaped),
  );
  const data = Buffer.concat(parts).subarray(0, Number(result));
  if (file !== undefined) return { kind: "append", file, data };
  if (number === "1") return { kind: "printed", data };
  const key = /^POST \/v1\/person\/search [\s\S]*?\r\nidempotency-key: ([\w-]+)\r\n/i.exec(
    data.toString("latin1"),
  )?.[1];
  return key === undefined ? undefined : { kind: "sent", key };
}

/**
 * What a power failure could take although the program relies on it: bytes that are not on the disk when they get a name,
 * and names that are not when a paid request goes out, when something is printed, and at the end. @param counts which names
 */
export function losses(
  events: readonly Event[],
  counts: (file: string) => boolean,
): readonly string[] {
  const found = new Set<string>();
  const bytes = new Map<string, number>();
  const names = new Map<string, number>();
  const rely = (): void => {
    for (const file of names.keys()) found.add(`the name ${file}`);
  };
  for (const [number, event] of events.entries()) {
    if (event.kind === "append") bytes.set(event.file, number);
    else if (event.kind === "synced") {
      if ((bytes.get(event.file) ?? number) < event.before) bytes.delete(event.file);
      for (const [file, at] of names)
        if (at < event.before && folderOf(file) === event.file) names.delete(file);
    } else if (event.kind === "named") {
      const { file, from } = event;
      if (from !== undefined && counts(file) && bytes.has(from)) found.add(`the bytes of ${file}`);
      names.delete(from ?? "");
      if (counts(file)) names.set(file, number);
    } else if (event.kind !== "truncate") rely();
  }
  rely();
  return [...found];
}

/** As {@link Event} names it: the folder of all is "". */
const folderOf = (file: string): string => (dirname(file) === "." ? "" : dirname(file));

const SECTOR = 512;

/** What becomes of one unsynced write: nothing of it, all of it, or those of its sectors that the function picks. */
export type Fate = "gone" | "whole" | (() => boolean);

/** A file that is only appended to: what of it is on the disk for sure, and what may be. */
export class AppendedFile {
  durable: Buffer = Buffer.alloc(0);
  #pending: {
    readonly at: number;
    readonly event: Extract<Event, { kind: "append" | "truncate" }>;
  }[] = [];

  apply(event: Event, number: number): void {
    if (event.kind === "append" || event.kind === "truncate")
      this.#pending.push({ at: number, event });
    if (event.kind !== "synced") return;
    const covered = this.#pending.filter(({ at }) => at < event.before);
    this.#pending = this.#pending.filter(({ at }) => at >= event.before);
    for (const { event: write } of covered) this.durable = extended(this.durable, write, "whole");
  }

  get isSynced(): boolean {
    return this.#pending.length === 0;
  }

  /** The file as a power failure could leave it now. */
  image(fate: () => Fate): Buffer {
    let image = this.durable;
    let length = image.length;
    for (const { event } of this.#pending) {
      const outcome = fate();
      if (event.kind === "truncate") {
        if (outcome !== "gone") image = image.subarray(0, event.size);
        length = event.size;
        continue;
      }
      // What is gone in the middle is a hole of zeros as long as something after it is there.
      if (outcome !== "gone") image = extended(padded(image, length), event, outcome);
      length += event.data.length;
    }
    return image;
  }
}

const padded = (image: Buffer, length: number): Buffer =>
  image.length >= length ? image : Buffer.concat([image, Buffer.alloc(length - image.length)]);

function extended(
  image: Buffer,
  event: Extract<Event, { kind: "append" | "truncate" }>,
  fate: Fate,
): Buffer {
  if (event.kind === "truncate") return image.subarray(0, event.size);
  const whole = Buffer.concat([image, event.data]);
  if (typeof fate !== "function") return whole;
  for (let start = image.length; start < whole.length; ) {
    const end = Math.min(whole.length, start + SECTOR - (start % SECTOR));
    if (!fate()) whole.fill(0, start, end);
    start = end;
  }
  return whole;
}
