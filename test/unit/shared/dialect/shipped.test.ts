import { expect, test } from "vitest";
import { shippedNames, shippedVendor } from "../../../../src/app/vendors.ts";

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
