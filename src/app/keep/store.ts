import { stateDir } from "../../engine/connections/paths.ts";
import { Disk } from "../../engine/runs/disk.ts";
import { RunStore } from "../../engine/runs/run-store.ts";
import type { Context } from "../../shared/context.ts";

/** The runs of this user. */
export const openStore = (context: Context): RunStore => new RunStore(stateDir(context), new Disk());
