// How much CPU the thread of an event loop takes from one turn to the next (Linux). In a process that is measured from outside
// (`node --import bench/loop-watch.mjs`, HEADCOUNT_BENCH_LOOP=FILE) SIGUSR2 begins to watch, and ends it and writes the file.
import { readFileSync, renameSync, writeFileSync } from "node:fs";

/** What it waited for a core is not in it. @returns how to stop, which gives the five longest in ms */
export function watchOwnWork() {
  const longest = [];
  let before = ownCpu();
  let stopped = false;
  const look = () => {
    const now = ownCpu();
    longest.push(now - before);
    longest.sort((a, b) => b - a).splice(5);
    before = now;
    if (!stopped) setImmediate(() => setTimeout(look, 1));
  };
  look();
  return {
    stop: () => {
      stopped = true;
      look();
      return longest;
    },
  };
}

function ownCpu() {
  return (
    Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, "latin1").split(" ")[0]) / 1e6
  );
}

const file = process.env.HEADCOUNT_BENCH_LOOP;
if (file !== undefined) {
  let watching;
  process.on("SIGUSR2", () => {
    if (watching === undefined) {
      watching = watchOwnWork();
      return;
    }
    writeFileSync(`${file}.new`, JSON.stringify(watching.stop()));
    renameSync(`${file}.new`, file);
    watching = undefined;
  });
}
