import { expect } from "vitest";
import { user } from "../support/export.ts";
import { long } from "../support/long.ts";
import { ok } from "../support/ran.ts";
import { testService } from "../support/serving.ts";

const service = testService({ people: 400, credits: 1_000_000 });

const FIELDS = ["--fields", "first_name,last_name,title"];

long("a row without any key is gone from every output that is as it was written", async () => {
  const me = user(service.url, service.key);
  const all = (await ok(me, ["search", "--department", "Sales", "--yes", "--format", "ndjson"]))
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  const canary = all[2];
  const has = (line: string): boolean =>
    [canary.first_name, canary.last_name].every((name) => line.includes(name));
  await ok(me, ["search", "--department", "Sales", "--yes", "--again", "-o", "s.csv", ...FIELDS]);
  for (const form of ["csv", "ndjson", "xlsx", "parquet"]) {
    await ok(me, ["runs", "export", "last", "-o", `r.${form}`, ...FIELDS]);
    await ok(me, ["owned", "export", "-o", `o.${form}`, ...FIELDS]);
  }
  const { code, stdout } = await me.run(["forget", canary.id, "--yes"]);
  expect(code).toBe(0);
  expect(stdout.match(/^(?:rows taken out|written again): /gm)).toHaveLength(9);

  const others = all.filter(({ id }) => id !== canary.id);
  for (const name of ["s.csv", "r.csv", "o.csv", "r.ndjson", "o.ndjson"]) {
    const lines = me.read(name).trim().split("\n");
    expect(lines.length, name).toBe(others.length + (name.endsWith(".csv") ? 1 : 0));
    expect(lines.filter(has), name).toEqual([]);
  }
});
