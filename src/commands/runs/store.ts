import { stateDir } from "../../connections/paths.ts";
import type { Context } from "../../context.ts";
import { Disk } from "../../runs/disk.ts";
import { RunStore } from "../../runs/run-store.ts";

/** The runs of this user. */
export const openStore = (context: Context): RunStore => new RunStore(stateDir(context), new Disk());
