import type { Context } from "../context.ts";
import type { RunStore } from "../runs/run-store.ts";

/** The runs of this user. */
export async function openStore(context: Context): Promise<RunStore> {
  const [{ RunStore }, { Disk }, { stateDir }] = await Promise.all([
    import("../runs/run-store.ts"),
    import("../runs/disk.ts"),
    import("../connections/paths.ts"),
  ]);
  return new RunStore(stateDir(context), new Disk());
}
