import { kill, pid } from "node:process";
import type { DiskStep } from "./disk.ts";

/**
 * For tests of crash safety: `HEADCOUNT_FAILPOINT=N` kills this process with SIGKILL at the Nth step of a durable write.
 * @returns undefined where the variable is not set, which is always outside such tests
 */
export function failpoint(env: Readonly<Record<string, string | undefined>>): DiskStep | undefined {
  const at = Number(env.HEADCOUNT_FAILPOINT);
  if (!Number.isInteger(at) || at < 1) return undefined;
  let step = 0;
  return () => {
    if (++step === at) kill(pid, "SIGKILL");
  };
}
