import { existsSync } from "node:fs";
import { open, unlink } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { basename, dirname } from "node:path";
import { env, platform } from "node:process";
import { promisify } from "node:util";
import { isRunning, type ProcessIdentity, systemText, thisProcess } from "../../shared/process.ts";
import { errorCode } from "./disk.ts";

/** `elsewhere`: nobody here can tell, so it counts as living and is never taken over. */
export type Fate = "living" | "gone" | "elsewhere";

const bootedAt = (): number => Number(/^btime (\d+)$/m.exec(systemText("/proc/stat"))?.[1] ?? 0) * 1_000;

/** @param since epoch milliseconds @param sign where its sign of life is */
export async function fateOf(holder: ProcessIdentity, since: number, sign: string): Promise<Fate> {
  const self = thisProcess();
  if (holder.boot !== self.boot) {
    // A name and an id may be shared; nothing here ran before the machine was started.
    const same = holder.machine !== "" && holder.machine === self.machine && holder.host === self.host;
    return same && holder.boot !== "" && since < bootedAt() ? "gone" : "elsewhere";
  }
  // Without /proc a Linux process does not know in which container it is; other systems have none.
  if (self.boot === "" && (holder.host !== self.host || platform === "linux")) return "elsewhere";
  const near = holder.space === self.space && (self.space !== "" || platform !== "linux");
  return near ? await inProcessTable(holder, since) : await askSign(sign);
}

async function inProcessTable(holder: ProcessIdentity, since: number): Promise<Fate> {
  const running = isRunning(holder);
  if (running !== undefined) return running ? "living" : "gone";
  return holder.started === "" && (await startOf(holder.pid)) > since + CLOCK_MS ? "gone" : "living";
}

/** A lock is made after its process; whoever is this much younger than it only got the number again. */
const CLOCK_MS = 60_000;

/** Without /proc, when a process began. @returns epoch milliseconds; NaN where nobody tells */
async function startOf(id: number): Promise<number> {
  const { execFile } = await import("node:child_process");
  const [program, ...words] =
    platform === "win32"
      ? ["powershell", "-NoProfile", "-Command", `(Get-Process -Id ${id}).StartTime.ToString("o")`]
      : ["ps", "-o", "lstart=", "-p", String(id)];
  const options = { env: { ...env, LC_ALL: "C" }, timeout: 10_000, windowsHide: true };
  const told = promisify(execFile)(program, words, options);
  return Date.parse(
    await told.then(
      ({ stdout }) => stdout.trim(),
      () => "",
    ),
  );
}

/** A socket that a process listens on: the kernel tells other PID namespaces when it is gone. @returns what ends it */
export const showLife = (path: string): Promise<(() => Promise<void>) | undefined> =>
  shortly<(() => Promise<void>) | undefined>(path, undefined, (short) => {
    return new Promise((resolve) => {
      const server = createServer((socket) => socket.destroy());
      const end = async (): Promise<void> => {
        await new Promise<void>((closed) => server.close(() => closed()));
        await unlink(path).catch(() => undefined);
      };
      server.on("error", () => resolve(undefined));
      server.listen(short, () => resolve(end));
      server.unref();
    });
  });

/** A refusal means that nobody listens any more. Anything else tells nothing. */
export const askSign = (path: string): Promise<Fate> =>
  shortly<Fate>(path, "elsewhere", (short) => {
    return new Promise((resolve) => {
      const socket = connect(short);
      socket.on("connect", () => {
        socket.destroy();
        resolve("living");
      });
      socket.on("error", (error) => resolve(errorCode(error) === "ECONNREFUSED" ? "gone" : "elsewhere"));
    });
  });

const NAME_BYTES = 100;

/** Where a socket's path is too long, by way of its open folder. @param otherwise where that fails */
async function shortly<Result>(
  path: string,
  otherwise: Result,
  work: (short: string) => Promise<Result>,
): Promise<Result> {
  if (Buffer.byteLength(path) <= NAME_BYTES) return await work(path);
  const folder = await open(dirname(path), "r").catch(() => undefined);
  try {
    const short = `/proc/self/fd/${folder?.fd}/${basename(path)}`;
    if (folder === undefined || Buffer.byteLength(short) > NAME_BYTES || !existsSync(dirname(short))) return otherwise;
    return await work(short);
  } finally {
    await folder?.close();
  }
}
