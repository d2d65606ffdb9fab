import { execFile, spawn } from "node:child_process";
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { asTyped } from "./as-typed.ts";
import { postgresBinaries } from "./database.ts";
import { freePort } from "./free-port.ts";
import { RUN_FOLDER } from "./once-a-run.ts";

const run = promisify(execFile);
const PASSWORD = "only-for-this-test";

/** PostgreSQL refuses to run as root: then as the user that the package made. */
function serverUser(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const line = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .find((each) => each.startsWith("postgres:"));
  const [, , uid, gid] = line?.split(":") ?? [];
  if (uid === undefined || gid === undefined)
    throw new Error("there is no user postgres to run the server as");
  return { uid: Number(uid), gid: Number(gid) };
}

export interface PostgresCluster {
  readonly url: string;
  readonly folder: string;
  readonly port: number;
  /** The postmaster's process id. */
  readonly pid: () => number;
  start(): Promise<void>;
  /** SIGKILL to the postmaster: no shutdown, no checkpoint. Its children notice and end. */
  kill(): Promise<void>;
  stop(): Promise<void>;
  /** SIGSTOP (SIGCONT) to the postmaster and all its children: connections stay open and nothing is answered. */
  hang(): void;
  /** SIGSTOP to one of the processes that work for a client; `chance` chooses it. */
  hangOne(chance: () => number): void;
  resume(): void;
  /** Stops and removes everything. */
  remove(): Promise<void>;
}

/** What initdb makes takes a second and is the same each time: once a run. @returns its folder, to be copied */
async function freshData(bin: string, user: { uid?: number; gid?: number }): Promise<string> {
  const shared = join(RUN_FOLDER, "postgres-data");
  if (existsSync(shared)) return shared;

  const making = mkdtempSync(join(RUN_FOLDER, "making-"));
  if (user.uid !== undefined) await run("chown", [`${user.uid}:${user.gid}`, making]);
  const [made, password] = [join(making, "data"), join(making, "password")];
  writeFileSync(password, PASSWORD, { mode: 0o644 });
  const initdb = asTyped`-D ${made} -U headcount -A scram-sha-256 --pwfile=${password}`;
  const options = { ...user, cwd: making, env: { PATH: process.env.PATH ?? "", LC_ALL: "C" } };
  await run(join(bin, "initdb"), [...initdb, "--no-sync", "-E", "UTF8"], options);
  try {
    renameSync(made, shared);
  } catch (error) {
    // Another file of tests was quicker.
    if (!existsSync(shared)) throw error;
  }
  return shared;
}

/** A private cluster on a loopback port, with syncs on, in a folder of its own below `home`. */
export async function startCluster(home = tmpdir()): Promise<PostgresCluster> {
  const bin = postgresBinaries();
  if (bin === undefined) throw new Error("no PostgreSQL is installed");
  const user = serverUser();
  const folder = mkdtempSync(join(home, "headcount-pg-"));
  if (user.uid !== undefined) await run("chown", [`${user.uid}:${user.gid}`, folder]);
  const data = join(folder, "data");
  const options = { ...user, cwd: folder, env: { PATH: process.env.PATH ?? "", LC_ALL: "C" } };
  await run("cp", ["-a", await freshData(bin, user), data]);
  const port = await freePort();
  writeFileSync(
    join(data, "postgresql.auto.conf"),
    `port = ${port}\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = ''\nmax_connections = 60\nshared_buffers = '16MB'\n`,
  );
  const control = async (...args: string[]): Promise<void> => {
    // Output goes to a file: a server that inherits a pipe would keep it open.
    const child = spawn(
      join(bin, "pg_ctl"),
      ["-D", data, "-w", "-l", join(folder, "log"), ...args],
      {
        ...options,
        stdio: "ignore",
      },
    );
    const code = await new Promise<number | null>((resolve, reject) => {
      child.on("error", reject);
      child.on("exit", resolve);
    });
    if (code !== 0)
      throw new Error(
        `pg_ctl ${args.join(" ")} failed: ${readFileSync(join(folder, "log"), "utf8")}`,
      );
  };
  const pid = (): number =>
    Number(readFileSync(join(data, "postmaster.pid"), "utf8").split("\n")[0]);
  const children = (): number[] => {
    const postmaster = pid();
    return readdirSync("/proc")
      .filter((each) => /^\d+$/.test(each))
      .flatMap((name) => {
        try {
          const stat = readFileSync(`/proc/${name}/stat`, "latin1");
          return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]) === postmaster
            ? [Number(name)]
            : [];
        } catch {
          // It has ended meanwhile.
          return [];
        }
      });
  };
  const signalTo = (processes: readonly number[], signal: NodeJS.Signals): void => {
    for (const each of processes) {
      try {
        process.kill(each, signal);
      } catch {
        // It has ended meanwhile.
      }
    }
  };
  const isForClient = (child: number): boolean => {
    try {
      return readFileSync(`/proc/${child}/cmdline`, "latin1").startsWith("postgres: headcount ");
    } catch {
      return false;
    }
  };
  const cluster: PostgresCluster = {
    url: `postgres://headcount:${PASSWORD}@127.0.0.1:${port}/postgres`,
    folder,
    port,
    pid,
    start: async () => {
      for (let attempt = 1; ; attempt += 1) {
        try {
          await control("start");
          return;
        } catch (error) {
          // After a kill the children of the old postmaster take a moment to notice; until then a new one refuses.
          if (attempt === 20) throw error;
          await new Promise((resolve) => setTimeout(resolve, 100));
        }
      }
    },
    kill: async () => {
      process.kill(pid(), "SIGKILL");
    },
    stop: () => control("stop", "-m", "fast"),
    hang: () => signalTo([pid(), ...children()], "SIGSTOP"),
    hangOne: (chance) => {
      const some = children().filter(isForClient);
      signalTo(some.slice(Math.floor(chance() * some.length)).slice(0, 1), "SIGSTOP");
    },
    resume: () => signalTo([pid(), ...children()], "SIGCONT"),
    remove: async () => {
      await control("stop", "-m", "immediate").catch(() => undefined);
      rmSync(folder, { recursive: true, force: true });
    },
  };
  await cluster.start();
  return cluster;
}
