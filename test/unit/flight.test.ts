import { expect, test } from "vitest";
import { Flight } from "../../src/engine/purchase/flight.ts";

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
