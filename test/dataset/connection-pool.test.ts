import { expect, test } from "vitest";
import { acquireDuckDb } from "../../src/dataset/duckdb.ts";
import { ConnectionPool } from "../../src/dataset/embedded/connection-pool.ts";
import { OutOfTimeError } from "../../src/dataset/engine.ts";
import { SMALL } from "../support/dataset.ts";

/** Would take days. */
const ENDLESS = "SELECT count(*) FROM range(1000000000) a, range(1000000000) b WHERE a.range + b.range = 7";

test("a statement that is out of time is stopped in DuckDB, and its connection goes on", async () => {
  const pool = new ConnectionPool(await acquireDuckDb(SMALL), SMALL, 1, 60_000);
  const one = () => pool.use(async (connection) => (await connection.runAndReadAll("SELECT 1")).getRows());
  await expect(pool.use((connection) => connection.runAndReadAll(ENDLESS), 30)).rejects.toThrow(OutOfTimeError);
  // Were it still at work, this would wait for it.
  expect(await one()).toEqual([[1]]);
  await pool.close();
});

test("who waits in line for too long is told so, and does not take a turn that others wait for", async () => {
  const pool = new ConnectionPool(await acquireDuckDb(SMALL), SMALL, 1, 60_000);
  let stop = (): void => undefined;
  const busy = pool.use(async (connection) => {
    stop = () => connection.interrupt();
    return connection.runAndReadAll(ENDLESS);
  });
  let worked = false;
  const late = pool.use(async () => {
    worked = true;
  }, 30);
  const patient = pool.use(async (connection) => (await connection.runAndReadAll("SELECT 2")).getRows());
  await expect(late).rejects.toThrow("no answer from the dataset within 30 ms");
  stop();
  await expect(busy).rejects.toThrow(/interrupt/i);
  expect(await patient).toEqual([[2]]);
  expect(worked).toBe(false);
  await pool.close();
});

test("what fails by itself in time is told as it is", async () => {
  const pool = new ConnectionPool(await acquireDuckDb(SMALL), SMALL, 1, 60_000);
  await expect(pool.use((connection) => connection.run("SELECT no_such_column"))).rejects.toThrow(/no_such_column/);
  await pool.close();
});
