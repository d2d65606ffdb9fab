import { closeSync, existsSync, openSync } from "node:fs";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { asTyped } from "../support/as-typed.ts";
import { runIds, type User, user } from "../support/export.ts";
import { type ForeignService, startForeignService } from "../support/foreign-service.ts";
import { type Spawned, spawnUser } from "../support/spawned.ts";

describe.skipIf(!existsSync("/dev/full"))(
  "rows that stdout does not take are paid for, kept, and said",
  () => {
    let full: number;
    let service: ForeignService;
    let u: User;
    beforeAll(() => {
      full = openSync("/dev/full", "w");
    });
    afterAll(() => closeSync(full));
    beforeEach(async () => {
      service = await startForeignService({ people: 30 });
      u = user(service.url, service.key);
    });
    afterEach(() => service.close());

    const toFull = (...argv: string[]): Promise<Spawned> => spawnUser(u, argv, {}, full);

    test.each(["csv", "json", "table"])(
      "search as %s: exit 5, and resume writes them without buying again",
      async (format) => {
        const ran = await toFull("search", "--country", "x", "--yes", "--format", format);
        const [run] = runIds(u);
        expect(ran.code).toBe(5);
        expect(ran.stderr).not.toContain("Exported");
        expect(ran.stderr).toContain("the disk is full");
        expect(ran.stderr).toContain(`30 of 30 rows are paid for and kept in run ${run}`);
        expect(ran.stderr).toContain(`headcount resume ${run}`);
        const resumed = await u.run(["resume"]);
        expect({
          code: resumed.code,
          rows: resumed.stdout.length > 0,
          charged: service.charged(),
        }).toEqual({
          code: 0,
          rows: true,
          charged: 30,
        });
      },
    );

    test.each([
      ["a single look-up", ["enrich", "globex.example", "--yes", "--json"]],
      ["a receipt", ["search", "--country", "x", "--yes", "-o", "o.csv", "--json"]],
    ])("%s: exit 5, and the hint writes it", async (_, argv) => {
      const ran = await toFull(...argv);
      const [run = ""] = runIds(u);
      expect(ran.code).toBe(5);
      expect(ran.stderr).toContain(`kept in run ${run}`);
      expect(ran.stderr).toContain(`headcount runs export ${run}`);
      expect(ran.stderr).not.toContain("run it again");
      const spent = service.charged();
      expect((await u.run(["runs", "export", run, "--format", "ndjson"])).code).toBe(0);
      expect(service.charged()).toBe(spent);
    });

    test("what stderr does not take ends nothing: the export is whole, and so is the exit code", async () => {
      const argv = asTyped`search --country x --yes -o o.csv --per-page 10 --verbose`;
      const ran = await spawnUser(u, argv, {}, "pipe", full);
      expect({ code: ran.code, charged: service.charged() }).toEqual({ code: 0, charged: 30 });
      expect(u.read("o.csv").match(/^\d+,/gm)?.length).toBe(30);
    });

    test("what was paid for and could not be written goes elsewhere for nothing", async () => {
      service.options.version = () => "v1";
      const argv = ["search", "--country", "x", "--max-credits", "30"];
      expect([(await toFull(...argv)).code, service.charged()]).toEqual([5, 30]);
      const ran = await u.run([...argv, "-o", "o.csv"]);
      expect([ran.code, service.charged()], ran.stderr).toEqual([0, 30]);
      expect(u.read("o.csv").match(/^\d+,/gm)?.length).toBe(30);
    });
  },
);
