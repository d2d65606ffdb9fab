import { spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { vi } from "vitest";
import type { User } from "./export.ts";

export const BIN = resolve(import.meta.dirname, "../../bin/headcount.js");

export interface Spawned {
  /** Exit code, or 128 + the signal's number. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the built program in a process of its own. */
export function spawnUser(
  of: User,
  argv: readonly string[],
  more: Readonly<Record<string, string>> = {},
  stdoutTo: "pipe" | number = "pipe",
  stderrTo: "pipe" | number = "pipe",
): Promise<Spawned> {
  return new Promise((done, reject) => {
    const child = spawn(process.execPath, [BIN, ...argv], {
      cwd: of.dir,
      env: { PATH: process.env.PATH ?? "", ...of.env, ...more },
      stdio: ["ignore", stdoutTo, stderrTo],
    });
    let stdout = "";
    let stderr = "";
    child.stdout?.on("data", (chunk: Buffer) => {
      stdout += chunk.toString();
    });
    child.stderr?.on("data", (chunk: Buffer) => {
      stderr += chunk.toString();
    });
    child.on("error", reject);
    child.on("close", (code, signal) =>
      done({ code: code ?? (signal === "SIGKILL" ? 137 : 143), stdout, stderr }),
    );
  });
}

/** Starts a command, and ends it by SIGKILL once an expectation holds. */
export async function killedOnce(
  { dir, env }: Pick<User, "dir" | "env">,
  argv: readonly string[],
  holds: () => void,
): Promise<void> {
  const child = spawn(process.execPath, [BIN, ...argv], {
    cwd: dir,
    env: { ...process.env, ...env },
    stdio: "ignore",
  });
  const ended = once(child, "close");
  await vi.waitFor(holds, { timeout: 60_000, interval: 5 });
  child.kill("SIGKILL");
  await ended;
}
