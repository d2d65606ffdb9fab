// Tested by test/cli/sync.test.ts.
import { randomBytes } from "node:crypto";
import { copyFileSync, linkSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { makeFolder } from "../../shared/folder.ts";

/** Whose state folder this is: a run is gone on with by the one that began it alone. */
export interface Machine {
  /** 32 hexadecimal digits. */
  readonly id: string;
  /** For people: two may have the same. */
  readonly name: string;
}

const machineFile = (stateDir: string): string => join(stateDir, "machine");

/** Made where the folder has none yet. @throws Error where it cannot be read or written */
export function machineOf(stateDir: string): Machine {
  const file = machineFile(stateDir);
  return readMachine(file) ?? makeMachine(stateDir, file);
}

function readMachine(file: string): Machine | undefined {
  try {
    const [id = "", name = ""] = readFileSync(file, "utf8").trim().split(" ");
    return /^[0-9a-f]{32}$/.test(id) ? { id, name } : undefined;
  } catch {
    return undefined;
  }
}

/** Of a folder that was copied from another machine's: what it holds stays, as the other's. */
export function renewMachine(stateDir: string): void {
  rmSync(machineFile(stateDir));
  machineOf(stateDir);
}

function makeMachine(stateDir: string, file: string): Machine {
  const machine = { id: randomBytes(16).toString("hex"), name: hostname().replace(/\s/g, "-") };
  makeFolder(stateDir);
  const draft = `${file}.${machine.id}`;
  writeFileSync(draft, `${machine.id} ${machine.name}\n`, { mode: 0o600, flush: true });
  try {
    linkSync(draft, file);
  } catch {
    // Another process made it meanwhile, or there are no links here.
    if (readMachine(file) === undefined) copyFileSync(draft, file);
  }
  rmSync(draft, { force: true });
  return readMachine(file) ?? machine;
}
