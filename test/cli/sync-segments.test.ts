import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { User } from "../support/export.ts";
import { ok } from "../support/ran.ts";
import { testService } from "../support/serving.ts";
import { filesBelow, teamOf } from "../support/team.ts";

const service = testService({ people: 50, credits: 100 });

const save = (me: User, department: string) =>
  ok(me, ["segment", "save", "legal", "--department", department, "--overwrite"]);

async function shown(me: User): Promise<Record<string, unknown>> {
  const { segments } = JSON.parse(await ok(me, ["segment", "list", "--json"]));
  return Object.fromEntries(
    segments.map(({ name, filters }: { name: string; filters: { department: string } }) => [
      name,
      filters.department,
    ]),
  );
}

describe("headcount sync, saved segments", () => {
  const team = async () => {
    const { folder, machines } = await teamOf(["laptop", "ci"], service.url, service.key);
    const [laptop, ci] = machines as [User, User];
    const sync = async (...who: User[]) => {
      let last = "";
      for (const me of who) last = await ok(me, ["sync", folder]);
      return last;
    };
    return { folder, laptop, ci, sync };
  };

  test("travel, as they are changed and removed, and what is the same is written once", async () => {
    const { folder, laptop, ci, sync } = await team();
    await save(laptop, "Legal");
    await save(ci, "Legal");
    await sync(laptop, ci);
    expect(readdirSync(join(folder, "segments"))).toHaveLength(1);

    await save(ci, "Sales");
    await sync(ci, laptop);
    expect(await shown(laptop)).toEqual({ legal: "Sales" });
    await ok(laptop, ["segment", "remove", "legal"]);
    await sync(laptop, ci);
    expect(await shown(ci)).toEqual({});

    await save(ci, "Legal");
    await sync(ci, laptop);
    expect(await shown(laptop)).toEqual({ legal: "Legal" });
    const before = filesBelow(folder).map((path) => `${path} ${statSync(path).mtimeMs}`);
    await sync(laptop, ci);
    expect(filesBelow(folder).map((path) => `${path} ${statSync(path).mtimeMs}`)).toEqual(before);
  });

  test("of one that two saved otherwise both stay, on both alike", async () => {
    const { laptop, ci, sync } = await team();
    await save(laptop, "Legal");
    await save(ci, "Sales");
    await sync(laptop);
    expect(await sync(ci)).toMatch(/of segments that two saved otherwise kept both: legal-\w+/);
    await sync(laptop, ci, laptop);
    expect(await shown(ci)).toEqual(await shown(laptop));
    expect(Object.values(await shown(ci)).sort()).toEqual(["Legal", "Sales"]);

    // Whoever changes what another one removes keeps it.
    await save(ci, "Trades");
    await ok(laptop, ["segment", "remove", "legal"]);
    await sync(laptop, ci, laptop);
    expect(await shown(laptop)).toMatchObject({ legal: "Trades" });
  });

  test("once it is changed or removed on all, what it said before is nowhere", async () => {
    const { folder, laptop, ci, sync } = await team();
    const person = "network.example/in/zoe-quill";
    const named = (me: User): string[] =>
      filesBelow(me.dir).filter((path) => readFileSync(path, "latin1").includes(person));
    await ok(laptop, ["segment", "save", "legal", "--network-url", person]);
    await sync(laptop, ci);
    expect([named(laptop), named(ci)]).toEqual([
      [join(laptop.dir, "config/segments/legal.json")],
      [join(ci.dir, "config/segments/legal.json")],
    ]);

    await save(ci, "Sales");
    await save(laptop, "Design");
    await sync(ci, laptop, ci, laptop);
    expect(await shown(ci)).toEqual(await shown(laptop));
    expect([named(laptop), named(ci)]).toEqual([[], []]);
    expect(readdirSync(join(folder, "segments"))).toHaveLength(2);

    await ok(ci, ["segment", "remove", "legal"]);
    await sync(ci, laptop, ci);
    expect(Object.keys(await shown(laptop))).toEqual([
      expect.stringMatching(/^legal-(?:ci|laptop)$/),
    ]);
    // Of what was removed it stays known that it was.
    expect(readdirSync(join(folder, "segments"))).toHaveLength(2);
  });

  test("a torn file takes nothing back, and is made whole", async () => {
    const { folder, laptop, ci, sync } = await team();
    await save(laptop, "Legal");
    await sync(laptop, ci);
    const [first = ""] = readdirSync(join(folder, "segments"));
    await save(laptop, "Sales");
    await sync(laptop);
    const second = readdirSync(join(folder, "segments")).find((name) => name !== first) ?? "";
    const path = join(folder, "segments", second);
    const whole = readFileSync(path);
    writeFileSync(path, whole.subarray(0, 40));
    await ci.ends(5, ["sync", folder]);
    expect(await shown(ci)).toEqual({ legal: "Legal" });

    await sync(laptop, ci);
    expect(await shown(laptop)).toEqual({ legal: "Sales" });
    expect(await shown(ci)).toEqual({ legal: "Sales" });
    // What is replaced is missed by nobody.
    writeFileSync(join(folder, "segments", first), "");
    await sync(laptop, ci);
  });
});
