import { kill, pid } from "node:process";
import type { DiskStep } from "./disk.ts";

/** For tests of what is durable: `HEADCOUNT_FAILPOINT=N` kills this process with SIGKILL at the Nth step of a durable write,
 * `HEADCOUNT_FAILPOINT=N:ENOSPC` fails that step and every later one as a full disk does. @returns undefined where the
 * variable is not set, which is always outside such tests */
export function failpoint(env: Readonly<Record<string, string | undefined>>): DiskStep | undefined {
  const [, at, code] = /^(\d+)(?::([A-Z]+))?$/.exec(env.HEADCOUNT_FAILPOINT ?? "") ?? [];
  if (at === undefined) return undefined;
  let step = 0;
  return () => {
    step++;
    if (code === undefined && step === Number(at)) kill(pid, "SIGKILL");
    if (code !== undefined && step >= Number(at)) {
      throw Object.assign(new Error(`${code}: failpoint`), { code, syscall: "write" });
    }
  };
}
