import { spawnSync } from "node:child_process";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { tempDir } from "../support/client.ts";

const SQLITE = resolve(import.meta.dirname, "../../dist/engine/library/sqlite.js");

test("rows are read to the end although all is collected, and everybody waits, between two of them", () => {
  const program = `
    import { openToWrite, queryRows } from ${JSON.stringify(SQLITE)};
    const database = await openToWrite(${JSON.stringify(join(tempDir(), "rows.db"))});
    database.exec("CREATE TABLE t (n); WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 100) INSERT INTO t SELECT n FROM c");
    let sum = 0;
    for (const { n } of queryRows(database, "SELECT n FROM t WHERE n > ? ORDER BY n", 0)) {
      gc();
      await new Promise((turn) => setImmediate(turn));
      sum += n;
    }
    console.log(sum);
  `;
  const flags = ["--expose-gc", "--input-type=module", "-e", program];
  const { signal, status, stdout } = spawnSync(process.execPath, flags, { encoding: "utf8" });
  expect({ signal, status, stdout }).toEqual({ signal: null, status: 0, stdout: "5050\n" });
});
