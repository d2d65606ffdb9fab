import { expect, test } from "vitest";
import { textOfPackage } from "../../../src/shared/paths.ts";

test("what is missing of an installation is named, and is no path that a user gave", () => {
  expect(JSON.parse(textOfPackage("dialects/pdl.json"))).toMatchObject({ name: "pdl" });
  expect(() => textOfPackage("dialects/no-such.json")).toThrow(
    expect.objectContaining({
      code: "missing_file",
      exitCode: 1,
      hint: "install headcount again",
      message: expect.stringContaining("dialects/no-such.json is missing from the installation"),
    }),
  );
});
