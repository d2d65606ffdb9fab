import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { sha256Of } from "../../../src/engine/output/paths.ts";
import { readBytes } from "../../../src/shared/input.ts";
import { testContext } from "../../support/client.ts";

test("who waits for stdin ends where it is interrupted", async () => {
  const { context, interrupt } = testContext();
  const silent = { ...context, stdin: Object.assign(new PassThrough(), { isTTY: false }) };
  const read = readBytes(silent, "-", "values", 100);
  interrupt("SIGTERM");
  await expect(read).rejects.toMatchObject({ name: "AbortError", code: "SIGTERM" });
});

test("what is no file is not read to its end", async () => {
  await expect(sha256Of("/dev/null")).rejects.toThrow("/dev/null is no regular file");
  expect(await sha256Of("/nowhere/at/all")).toBeUndefined();
});
