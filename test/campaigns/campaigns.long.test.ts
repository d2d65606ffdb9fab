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
