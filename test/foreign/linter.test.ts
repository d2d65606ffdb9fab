import { execFile } from "node:child_process";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { asTyped } from "../support/as-typed.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const run = promisify(execFile);

test("the document passes the linter without a warning", async () => {
  const linter = join(ROOT, "node_modules/@redocly/cli/bin/cli.js");
  const args = asTyped`${linter} lint docs/openapi.json --extends recommended --format json`;
  const env = { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" };
  const { stdout } = await run(process.execPath, args, { cwd: ROOT, env }).catch(
    (error: { stdout: string }) => error,
  );
  const { problems, totals } = JSON.parse(stdout.slice(stdout.indexOf("{"))) as {
    problems: unknown[];
    totals: object;
  };
  expect(problems).toEqual([]);
  expect(totals).toMatchObject({ errors: 0, warnings: 0 });
});
