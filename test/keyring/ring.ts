import { type ChildProcess, execFile, execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import { tempDir } from "../support/client.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const has = (program: string): boolean =>
  spawnSync("sh", ["-c", `command -v ${program}`]).status === 0;

/** Whether this machine can run the tests. */
export const available =
  process.platform === "linux" &&
  has("dbus-daemon") &&
  has("dbus-send") &&
  has("gnome-keyring-daemon");

/** Whether this machine can run those of KeePassXC, which shows its windows to nobody here. */
export const hasKeePassXc = available && has("keepassxc") && has("keepassxc-cli");

/** The group of its database that it gives out is known by these bytes. */
const GROUP = "11111111-1111-1111-1111-111111111111";
const DATABASE = `<?xml version="1.0" encoding="UTF-8"?>
<KeePassFile><Meta><CustomData><Item>
  <Key>FDO_SECRETS_EXPOSED_GROUP</Key><Value>{${GROUP}}</Value>
</Item></CustomData></Meta><Root><Group>
  <UUID>${Buffer.from(GROUP.replaceAll("-", ""), "hex").toString("base64")}</UUID><Name>Root</Name>
</Group></Root></KeePassFile>`;

/** Nobody is asked whether a program may read or delete, or to unlock: what is locked says that it has nothing. */
const SETTINGS = `[General]
ConfigVersion=2
[FdoSecrets]
Enabled=true
ConfirmAccessItem=false
ConfirmDeleteItem=false
UnlockBeforeSearch=false
[GUI]
CheckForUpdates=false
`;

/** A bus with nothing on it: no program is started by being asked for, so no dialog can pop up on anybody's desktop. */
const busConfig = (
  folder: string,
): string => `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:dir=${folder}</listen>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/>
  </policy>
</busconfig>`;

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly elapsedMs: number;
}

export interface Ring {
  /** Environment of programs on this bus: HOME and all folders are throw-away ones. */
  readonly env: NodeJS.ProcessEnv;
  readonly configDir: string;
  /** Process id of the keyring's daemon. */
  readonly pid: number | undefined;
  lock(): Promise<void>;
  /** The built headcount, or another one, in a process of its own on this bus. */
  run(
    argv: readonly string[],
    options?: {
      readonly stdin?: string;
      readonly env?: NodeJS.ProcessEnv;
      readonly program?: string;
    },
  ): Promise<Outcome>;
  /** The built headcount, told to end by a signal once a silent bus hears of it: so long it took to, from then on. */
  signalled(argv: readonly string[], signal: NodeJS.Signals): Promise<Outcome>;
  /** Operations of the keychain itself, one after the other: what each answered, or the code of its error. */
  operate(...operations: readonly (readonly [string, ...string[]])[]): Promise<readonly unknown[]>;
  /** Ends what was started. */
  close(): void;
}

export type Kind =
  | "gnome-keyring"
  | "keepassxc"
  | "no collection"
  | "no provider"
  | "no bus"
  | "silent bus";

/**
 * A D-Bus session of the test's own, with a real, unlocked gnome-keyring on it, with nothing on it, or no bus at all. Programs
 * on it are processes of their own: the D-Bus library keeps to the first bus that a process ever saw.
 */
export async function openRing(kind: Kind): Promise<Ring> {
  const home = tempDir("headcount-ring-");
  for (const folder of ["data", "cache", "run"]) mkdirSync(join(home, folder), { mode: 0o700 });
  const configDir = join(home, "config");
  const env: NodeJS.ProcessEnv = {
    PATH: process.env.PATH,
    HOME: home,
    XDG_DATA_HOME: join(home, "data"),
    XDG_CACHE_HOME: join(home, "cache"),
    XDG_RUNTIME_DIR: join(home, "run"),
    HEADCOUNT_CONFIG_DIR: configDir,
    HEADCOUNT_STATE_DIR: join(home, "state"),
  };
  const started: ChildProcess[] = [];
  const closers: (() => void)[] = [];
  const close = (): void => {
    for (const end of closers) end();
    for (const child of started.reverse()) child.kill("SIGKILL");
  };
  const collection = `/org/freedesktop/secrets/collection/${kind === "keepassxc" ? "ring" : "login"}`;
  // One KeePassXC runs for each folder of temporary files: not that of whoever runs the tests.
  const own = () => ({ ...env, TMPDIR: home, QT_QPA_PLATFORM: "offscreen" });
  let pid: number | undefined;
  let heard = (): void => undefined;
  try {
    if (kind === "silent bus") {
      const path = join(home, "run", "silent");
      const held = createServer((socket) => {
        socket.on("error", () => undefined);
        heard();
      });
      await new Promise<void>((done) => held.listen(path, done));
      closers.push(() => held.close());
      env.DBUS_SESSION_BUS_ADDRESS = `unix:path=${path}`;
    } else if (kind !== "no bus") {
      const config = join(home, "session.conf");
      writeFileSync(config, busConfig(join(home, "run")));
      const argv = [`--config-file=${config}`, "--nofork", "--print-address=1"];
      const bus = spawn("dbus-daemon", argv, { env, stdio: ["ignore", "pipe", "ignore"] });
      started.push(bus);
      env.DBUS_SESSION_BUS_ADDRESS = await firstLine(bus);
    }
    if (kind === "gnome-keyring" || kind === "no collection") {
      const unlock = kind === "gnome-keyring" ? ["--unlock"] : [];
      const argv = ["--foreground", ...unlock, "--components=secrets"];
      const daemon = spawn("gnome-keyring-daemon", argv, {
        env,
        stdio: ["pipe", "ignore", "ignore"],
      });
      started.push(daemon);
      daemon.stdin?.end("password");
      pid = daemon.pid;
      await onTheBus(env);
    }
    if (kind === "keepassxc") {
      const [xml, database, settings] = ["ring.xml", "ring.kdbx", "keepassxc.ini"].map((name) =>
        join(home, name),
      ) as [string, string, string];
      writeFileSync(xml, DATABASE);
      writeFileSync(settings, SETTINGS);
      const input = "password\npassword\n";
      execFileSync("keepassxc-cli", ["import", "-p", xml, database], {
        env: own(),
        input,
        stdio: "pipe",
      });
      const argv = ["--config", settings, "--localconfig", `${settings}.local`];
      const stdio = ["pipe", "ignore", "ignore"] as const;
      const program = spawn("keepassxc", [...argv, "--pw-stdin", database], {
        env: own(),
        stdio: [...stdio],
      });
      started.push(program);
      program.stdin?.write("password\n");
      pid = program.pid;
      await isLocked(env, collection, false);
    }
  } catch (error) {
    close();
    throw error;
  }
  return {
    env,
    configDir,
    pid,
    close,
    async lock() {
      const to = ["--session", "--print-reply", "--dest=org.freedesktop.secrets"];
      const what = ["org.freedesktop.Secret.Service.Lock", `array:objpath:${collection}`];
      const argv = [...to, "/org/freedesktop/secrets", ...what];
      // KeePassXC asks first, in a window.
      if (kind === "keepassxc")
        execFileSync("keepassxc", ["--lock"], { env: own(), stdio: "ignore" });
      else execFileSync("dbus-send", argv, { env, stdio: "ignore" });
      await isLocked(env, collection, true);
    },
    run: (argv, { program = join(ROOT, "bin/headcount.js"), stdin = "", ...options } = {}) =>
      node([program, ...argv], { ...env, ...options.env }, stdin),
    async signalled(argv, signal) {
      let heardAt = Infinity;
      const outcome = await node([join(ROOT, "bin/headcount.js"), ...argv], env, "", (child) => {
        heard = () => {
          heardAt = Math.min(heardAt, performance.now());
          child.kill(signal);
        };
      });
      return { ...outcome, elapsedMs: performance.now() - heardAt };
    },
    async operate(...operations) {
      const outcome = await node(
        ["--input-type=module", "-e", OPERATE, JSON.stringify(operations)],
        env,
        "",
      );
      if (outcome.code !== 0) throw new Error(outcome.stderr);
      return JSON.parse(outcome.stdout) as unknown[];
    },
  };
}

const OPERATE = `
import { openKeychain } from ${JSON.stringify(join(ROOT, "dist/engine/connections/keychain.js"))};
const keychain = openKeychain({ platform: "linux", env: process.env });
const answers = [];
for (const [operation, ...words] of JSON.parse(process.argv[1])) {
  answers.push(await keychain[operation](...words).then((value) => value ?? null, (error) => ({ error: error.code, exit: error.exitCode, hint: error.hint })));
}
console.log(JSON.stringify(answers));
`;

function node(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
  stdin: string,
  onStart: (child: ChildProcess) => void = () => undefined,
): Promise<Outcome> {
  const startedAt = performance.now();
  return new Promise((done) => {
    const child = execFile(
      process.execPath,
      argv,
      { env, timeout: 30_000 },
      (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
        done({ code, stdout, stderr, elapsedMs: performance.now() - startedAt });
      },
    );
    onStart(child);
    child.stdin?.on("error", () => undefined);
    child.stdin?.end(stdin);
  });
}

function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((done, fail) => {
    let text = "";
    child.stdout?.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      if (text.includes("\n")) done(text.split("\n", 1)[0] ?? "");
    });
    child.once("error", fail);
    child.once("exit", () => fail(new Error("dbus-daemon did not start")));
  });
}

/** Waits until the daemon owns its name. */
const onTheBus = (env: NodeJS.ProcessEnv): Promise<void> =>
  says(
    env,
    "true",
    ["--dest=org.freedesktop.DBus", "/org/freedesktop/DBus"],
    ["org.freedesktop.DBus.NameHasOwner", "string:org.freedesktop.secrets"],
  );

/** Waits until a collection is open, or locked. */
const isLocked = (env: NodeJS.ProcessEnv, collection: string, locked: boolean): Promise<void> =>
  says(
    env,
    String(locked),
    ["--dest=org.freedesktop.secrets", collection],
    [
      "org.freedesktop.DBus.Properties.Get",
      "string:org.freedesktop.Secret.Collection",
      "string:Locked",
    ],
  );

async function says(
  env: NodeJS.ProcessEnv,
  word: string,
  to: readonly string[],
  what: readonly string[],
): Promise<void> {
  const argv = ["--session", "--print-reply", ...to, ...what];
  for (let attempt = 0; attempt < 200; attempt++) {
    const { stdout } = spawnSync("dbus-send", argv, { env, encoding: "utf8" });
    if (stdout.includes(`boolean ${word}`)) return;
    await new Promise((done) => setTimeout(done, 25));
  }
  throw new Error(`the keyring did not come to say ${word}`);
}
