import { expect, test } from "vitest";
import { openLog } from "../../src/service/http/telemetry.ts";

test("a log that nobody reads is bounded, and what it lacks is said once somebody does", async () => {
  const lines: string[] = [];
  const stream = {
    writableLength: 0,
    write(text: string) {
      lines.push(text);
      this.writableLength += Buffer.byteLength(text);
    },
  };
  const log = await openLog(stream);
  for (let n = 0; n < 3_000; n++) log.event("x".repeat(4_000));
  expect(stream.writableLength).toBeLessThan(6 * 1024 * 1024);
  const before = lines.length;
  stream.writableLength = 0;
  log.event("read again");
  const [lost, next] = lines.slice(before).map((line) => JSON.parse(line));
  expect(lost).toMatchObject({
    level: 40,
    lines: 3_000 - before,
    msg: "log lines dropped: nobody read them",
  });
  expect(next).toMatchObject({ msg: "read again" });
});
