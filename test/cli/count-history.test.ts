import { execFile } from "node:child_process";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { keepCount, pastCounts } from "../../src/app/count/history.ts";
import { checkFilters, type Filters } from "../../src/shared/contract/filters.ts";
import { fakeClock, testContext } from "../support/client.ts";
import { user } from "../support/export.ts";
import { startTestService, type TestService } from "../support/service.ts";

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ people: 500 });
});
afterAll(() => service.close());

const BIN = resolve(import.meta.dirname, "../../bin/headcount.js");
const someone = (): ReturnType<typeof user> => user(service.url, service.key);
const canonical = (filters: Filters) => {
  const checked = checkFilters(filters);
  if (!checked.ok) throw new Error("bad filters");
  return checked.canonical;
};
const filesOf = (u: { readonly env: Readonly<Record<string, string>> }): string[] => {
  const counts = join(u.env.HEADCOUNT_STATE_DIR ?? "", "counts");
  return readdirSync(counts).flatMap((folder) =>
    readdirSync(join(counts, folder)).map((name) => join(counts, folder, name)),
  );
};

describe("count --history", () => {
  test("every whole count of a segment is kept, whichever way it is asked for, for its owner alone", async () => {
    const u = someone();
    const days = [0, 1, 8].map((day) => fakeClock(Date.UTC(2026, 0, 1 + day)));
    writeFileSync(u.file("sales.json"), '{"department":"sales"}');
    await u.run(["count", "--department", "Sales"], { clock: days[0] as never });
    await u.run(["count", "-f", "sales.json", "--json"], { clock: days[1] as never });
    await u.run(["count", "-f", "sales.json", "-f", "sales.json", "--title", "x"], { clock: days[1] as never });
    const last = await u.run(["count", "--department", "SALES"], { clock: days[2] as never });
    const shown = await u.run(["count", "--department", "Sales", "--history"]);
    const { headers } = await service.call("/v1/person/count", { body: { filters: {} } });
    const version = headers.get("x-dataset-version");
    expect(shown).toEqual({
      code: 0,
      stdout: `at,count,dataset_version\n${["01", "02", "09"].map((day) => `2026-01-${day}T00:00:00.000Z,${last.stdout.trim()},${version}\n`).join("")}`,
      stderr: "",
    });
    for (const file of filesOf(u)) {
      expect(statSync(file).mode & 0o777).toBe(0o600);
      expect(readFileSync(file, "utf8")).not.toMatch(/sales/i);
    }
    const json = JSON.parse(
      (await u.run(["count", "--department", "Sales", "--history", "--top", "1", "--json"])).stdout,
    );
    expect(json).toMatchObject({
      service: service.url,
      filters: { department: "Sales" },
      history: [{ at: "2026-01-09T00:00:00.000Z" }],
    });
  });

  test.each([
    ["listed by the service", ["--by", "country"]],
    ["given", ["--by", "country=france"]],
    ["a matrix", ["--by", "seniority-level", "--by", "country"]],
  ])("a breakdown counts the whole too: %s", async (_, by) => {
    const u = someone();
    const { stdout: whole } = await u.run(["count", "--department", "Sales"], { env: { HEADCOUNT_STATE_DIR: "" } });
    await u.run(["count", "--department", "Sales", ...by]);
    const { stdout } = await u.run(["count", "--department", "Sales", "--history", "--json"]);
    const version = (await service.call("/v1/person/count", { body: { filters: {} } })).headers.get(
      "x-dataset-version",
    );
    expect(JSON.parse(stdout).history).toMatchObject([{ count: Number(whole), dataset_version: version }]);
  });

  test("a terminal gets bars and changes that fit; what was never counted is said; nobody is asked", async () => {
    const u = someone();
    const where = { serviceId: service.url, mode: "live" as const };
    const test = testContext({ env: u.env });
    for (const [day, count] of [1_000, 1_500, 1_500, 40].entries()) {
      keepCount(test.context, where, canonical({}), { at: Date.UTC(2026, 2, 1 + day), count, version: null });
    }
    for (const columns of [60, 80, 140]) {
      const { stdout } = await u.run(["count", "--history"], { tty: true, columns, env: { NO_COLOR: "1" } });
      const lines = stdout.trimEnd().split("\n");
      expect(lines.map((line) => line.replace(/[ █▏▎▍▌▋▊▉]+$/, "").replace(/ +/g, " "))).toEqual([
        "when people change",
        "2026-03-01 00:00 UTC 1,000",
        "2026-03-02 00:00 UTC 1,500 +500",
        "2026-03-03 00:00 UTC 1,500 =",
        "2026-03-04 00:00 UTC 40 -1,460",
      ]);
      for (const line of lines) expect(line.length).toBeLessThanOrEqual(columns);
    }
    const none = await u.run(["count", "--country", "peru", "--history"]);
    expect(none).toMatchObject({ code: 0, stdout: "at,count,dataset_version\n" });
    expect(none.stderr).toContain("nobody counted this segment");
  });

  test("bounded: the newest thousand and room for as many, and the segments that were counted last", () => {
    const test = testContext();
    const where = { serviceId: "http://x", mode: "live" as const };
    for (let at = 1; at <= 5_000; at++)
      keepCount(test.context, where, canonical({}), { at, count: at, version: "v".repeat(30) });
    const kept = pastCounts(test.context, where, canonical({}));
    expect(kept.length).toBeGreaterThanOrEqual(1_000);
    expect(kept.length).toBeLessThan(4_000);
    expect(kept.at(-1)?.at).toBe(5_000);
    expect(kept.map(({ at }) => at)).toEqual(kept.map((_, index) => 5_001 - kept.length + index));
    for (let city = 0; city < 1_010; city++)
      keepCount(test.context, where, canonical({ city: `c${city}` }), { at: 1, count: 1, version: null });
    const counts = join(test.context.env.HEADCOUNT_STATE_DIR ?? "", "counts");
    expect(readdirSync(join(counts, readdirSync(counts)[0] ?? "")).length).toBeLessThanOrEqual(1_000);
  });

  test("many at once lose none, and a state folder that cannot be written loses nothing else", async () => {
    const u = someone();
    const all = Array.from({ length: 8 }, () =>
      promisify(execFile)(process.execPath, [BIN, "count", "--department", "Legal"], {
        env: { PATH: process.env.PATH, ...u.env },
      }),
    );
    await Promise.all(all);
    const lines = (await u.run(["count", "--department", "Legal", "--history"])).stdout.trim().split("\n");
    expect(lines).toHaveLength(9);
    writeFileSync(u.file("flat"), "");
    const flat = await u.run(["count", "--department", "Legal"], { env: { HEADCOUNT_STATE_DIR: u.file("flat") } });
    expect(flat.code).toBe(0);
    expect(flat.stdout).toBe(`${lines.at(-1)?.split(",")[1]}\n`);
  });

  test.each([
    [["-f", "a.json", "-f", "b.json"], "--history is of one segment"],
    [["--by", "department"], "--by does not go with --history"],
    [["--owned"], "--owned does not go with --history"],
  ])("%j is refused", async (argv, message) => {
    const u = someone();
    for (const name of ["a.json", "b.json"]) writeFileSync(u.file(name), "{}");
    const { code, stderr } = await u.run(["count", ...argv, "--history"]);
    expect({ code, stderr: stderr.includes(message) }).toEqual({ code: 2, stderr: true });
  });
});
