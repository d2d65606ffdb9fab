import type { EventEmitter } from "node:events";
import { promises } from "node:fs";
import { syncBuiltinESMExports } from "node:module";

// A file that is opened and not closed is closed by the garbage collector, one day: with a warning
// today, and with an error in a Node to come. Here it is said who opened it. The run does not fail
// by it: when garbage is collected is chance.

const patched = Symbol.for("headcount.handles");
const { open } = promises;

if (!(patched in open)) {
  const lost = new FinalizationRegistry<Error>((opened) => {
    process.stderr.write(`${opened.stack}\n`);
  });

  const watched: typeof open = async (path, flags, mode) => {
    const opened = new Error(`${path} was opened here and never closed`);
    const file = await open(path, flags, mode);
    lost.register(file, opened, opened);
    // Its types do not say that it is one.
    (file as unknown as EventEmitter).once("close", () => lost.unregister(opened));
    return file;
  };
  promises.open = Object.assign(watched, { [patched]: true });
  syncBuiltinESMExports();
}
