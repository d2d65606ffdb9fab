import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { isLeftOut } from "../support/tools.ts";
import { courseOf, refusalOf } from "./campaign.ts";
import { CAMPAIGNS } from "./campaigns.ts";
import { removeCluster } from "./ledger/cluster.ts";

// Of each campaign a short run of one seed, and its control: with what it watches over left out it must be red, and say why.
// `npm run campaign NAME` plays one of them whole.
afterAll(removeCluster);

const asked = process.env.HEADCOUNT_CAMPAIGN;
const isWhole = process.env.HEADCOUNT_LONG === "1";

for (const campaign of CAMPAIGNS.filter(({ name }) => asked === undefined || name === asked)) {
  const { canRun = true, control, name } = campaign;

  describe.skipIf(isLeftOut(canRun))(`the campaign ${name}`, () => {
    test(`is red without this: ${control.without}`, async () => {
      const course = { ...courseOf(campaign, false), isBroken: true };
      expect(await refusalOf(campaign.run(course))).toMatch(control.seen);
    });

    test("is green", async () => {
      const course = courseOf(campaign, isWhole);
      const figures = await campaign.run(course);
      const { seed, share } = course;
      if (isWhole)
        process.stderr.write(`${JSON.stringify({ campaign: name, seed, share, ...figures })}\n`);
    });
  });
}

describe.skipIf(isWhole)("the campaigns", () => {
  test("are all played here", () => {
    const modules = readdirSync(import.meta.dirname, { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts"))
      .map((name) => readFileSync(join(import.meta.dirname, name), "utf8"))
      .filter((text) => text.includes(": Campaign = {\n"));
    expect(CAMPAIGNS).toHaveLength(modules.length);
  });

  test("are listed by the command without a name; another name is an error that lists them", () => {
    const run = (...words: string[]) =>
      spawnSync(process.execPath, [resolve(import.meta.dirname, "run.mjs"), ...words], {
        encoding: "utf8",
      });
    const listed = run();
    expect(listed).toMatchObject({ status: 0, stderr: "" });
    for (const { name } of CAMPAIGNS)
      expect(listed.stdout).toMatch(new RegExp(`^${name} .+; `, "m"));

    const unknown = run("nothing");
    expect(unknown).toMatchObject({ status: 2, stdout: "" });
    expect(unknown.stderr).toContain(listed.stdout);
  });
});
