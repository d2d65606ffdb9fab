import { stateDir } from "../../engine/connections/paths.ts";
import { Register } from "../../engine/output/register.ts";
import { Disk } from "../../engine/runs/disk.ts";
import { RunStore } from "../../engine/runs/run-store.ts";
import type { Context } from "../../shared/context.ts";

/** What this user's commands ever wrote. */
export const registerOf = (context: Context, disk = new Disk()): Register =>
  new Register(stateDir(context), disk, context.now);

/** The runs of this user. */
export const openRuns = (context: Context): RunStore => new RunStore(stateDir(context), new Disk());
