import { symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
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

test("a path that cannot be opened is refused in words, and not in those of the system", async () => {
  const { context, dir } = testContext();
  const socket = createServer().listen(join(dir, "socket"));
  symlinkSync("circle", join(dir, "circle"));
  writeFileSync(join(dir, "file"), "");

  for (const [file, why] of [
    ["file/x", "what its path leads through is a file, not a directory"],
    ["circle", "its symbolic links lead in a circle"],
    ["socket", "it is a socket, or a device that is not there"],
    ["x".repeat(300), "its name is longer than the system allows"],
  ] as const) {
    await expect(readBytes(context, file, "values", 100)).rejects.toThrow(
      `cannot read values from ${file}: ${why}`,
    );
  }
  socket.close();
});

test("what is no file is not read to its end", async () => {
  await expect(sha256Of("/dev/null")).rejects.toThrow("/dev/null is no regular file");
  expect(await sha256Of("/nowhere/at/all")).toBeUndefined();
});
