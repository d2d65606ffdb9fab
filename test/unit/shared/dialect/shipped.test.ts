import { Ajv2020 } from "ajv/dist/2020.js";
import { expect, test } from "vitest";
import { shippedNames, shippedVendor } from "../../../../src/app/vendors.ts";
import { dialectSchema } from "../../../../src/shared/dialect/shape.ts";

test.each(shippedNames())(
  "the file of %s is one, names its pages, and that nobody called",
  async (name) => {
    const { file } = await shippedVendor(name);
    expect(file.name).toBe(name);
    expect(file.called).toBe(false);
    expect(file.from?.length).toBeGreaterThan(0);
    expect(new URL(file.base).protocol).toBe("https:");
  },
);

test.each(shippedNames())("the schema for editors takes the file of %s", async (name) => {
  const takes = new Ajv2020({ strict: false, formats: { date: true } }).compile(dialectSchema());
  const { text } = await shippedVendor(name);
  expect(takes(JSON.parse(text)), JSON.stringify(takes.errors)).toBe(true);
  for (const [good, bad] of [
    ['"filters": {', '"filters": { "contry": { "one": { "c": "@value" } },'],
    ['"per":', '"pre":'],
  ] as const)
    expect(takes(JSON.parse(text.replace(good, bad))), bad).toBe(false);
});
