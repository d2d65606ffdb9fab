import { kill, pid } from "node:process";
import type { DiskStep } from "./disk.ts";

/** For tests: `HEADCOUNT_FAILPOINT=N` kills this process at the Nth durable step, `N:ENOSPC` fails from there on. */
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
