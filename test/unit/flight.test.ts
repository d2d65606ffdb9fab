import { expect, test } from "vitest";
import { Flight } from "../../src/engine/purchase/flight.ts";
import { creditsOf, newUnit } from "../../src/engine/runs/journal.ts";

test("a change between a look that awaits and the wait after it is not waited for", async () => {
  const flight = new Flight();
  const seen = flight.changes;
  const look = Promise.resolve("wait");
  flight.signal();
  expect(await look).toBe("wait");
  await flight.change(seen);
  let woken = false;
  const next = flight.change(flight.changes).then(() => {
    woken = true;
  });
  await Promise.resolve();
  expect(woken).toBe(false);
  flight.signal();
  await next;
  expect(woken).toBe(true);
});

test("a unit that no cap has room for wakes whoever waits for the page before its own", async () => {
  const flight = new Flight();
  const page = { target: 0, perPage: 10, hold: creditsOf("10"), key: "k", at: 0 };
  const [lost, behind] = [0, 10].map((offset, n) => newUnit({ t: "intent", n, offset, ...page }));
  if (lost === undefined || behind === undefined) throw new Error("two");
  flight.wait(lost);
  expect(flight.hasBefore(behind)).toBe(true);
  const next = flight.change();
  const unit = flight.nextWaiting();
  if (unit !== undefined) flight.shelve(unit);
  expect(flight.hasBefore(behind)).toBe(false);
  await next;
}, 5_000);

test("the first reason to stop counts, and halts what waits", () => {
  const flight = new Flight();
  const first = new Error("first");
  flight.stop(first);
  flight.stop(new Error("second"));
  expect(flight.stopped).toBe(true);
  expect([flight.failure, flight.halt.reason]).toEqual([first, first]);
});

test("a page that is being written is as alone as it was when it came", () => {
  const flight = new Flight();
  const page = { target: 0, perPage: 10, hold: creditsOf("10"), key: "k", at: 0 };
  const [written, ...others] = [0, 10, 20].map((offset, n) =>
    flight.add(newUnit({ t: "intent", n, offset, ...page }), false),
  );
  if (written === undefined) throw new Error("three");
  flight.turn(written, "flying");
  flight.turn(written, "keeping");
  for (const one of others) flight.turn(one, "flying");
  expect([written, ...others].map(({ alone }) => alone)).toEqual([true, false, false]);
});

test("until the books have a reply that bars the way no call goes out, nor once the run is stopped", async () => {
  const flight = new Flight();
  const page = { target: 0, perPage: 10, hold: creditsOf("10"), key: "k", at: 0 };
  const add = (n: number) =>
    flight.add(newUnit({ t: "intent", n, offset: 10 * n, ...page }), false);
  const [read, again] = [add(0), add(1)];
  await flight.unbarred();

  flight.mark(read, { bars: true });
  let isOut = false;
  const out = flight.unbarred().then(() => {
    isOut = true;
  });
  flight.signal();
  await new Promise((wake) => setImmediate(wake));
  expect(isOut).toBe(false);
  flight.remove(read.unit);
  await out;

  flight.mark(again, { bars: true });
  const stopped = expect(flight.unbarred()).rejects.toThrow("the disk is full");
  flight.stop(new Error("the disk is full"));
  await stopped;
});

test.each([
  ["a page of its target before it that is asked for", 0, 0, "flying", true],
  ["one whose reply is being written", 0, 0, "keeping", true],
  ["one that is not asked for yet", 0, 0, "ready", false],
  ["one of its target behind it", 0, 20, "flying", false],
  // A look-up is one page a company; of each company the pages are its own.
  ["one of another target", 1, 0, "flying", false],
] as const)("whether a page lies behind %s", (_, target, offset, phase, isBehind) => {
  const flight = new Flight();
  const page = { perPage: 10, hold: creditsOf("10"), key: "k", at: 0 };
  const [other, own] = [
    { n: 1, target, offset },
    { n: 2, target: 0, offset: 10 },
  ].map((place) => flight.add(newUnit({ t: "intent", ...place, ...page }), false));
  if (other === undefined || own === undefined) throw new Error("two");
  flight.turn(other, phase);
  expect(flight.isBehind(own)).toBe(isBehind);
});
