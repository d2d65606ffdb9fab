import { readFileSync } from "node:fs";
import { join } from "node:path";
import { main } from "../../src/cli/main.ts";
import { readSpend } from "../../src/engine/runs/spend.ts";
import { swiftClock, tempDir, testContext } from "./client.ts";
import { startVendor, type VendorName } from "./vendors/index.ts";
import type { RunningVendor } from "./vendors/shared.ts";

/** A user with a connection by the file of a vendor, and that vendor. */
export async function vendorUser<Name extends VendorName>(
  name: Name,
  options: NonNullable<Parameters<typeof startVendor<Name>>[1]> = {},
  dialect: string = name,
) {
  const vendor = await startVendor(name, options);
  return userOfVendor(vendor, dialect, name === "apollo" ? "/api" : "");
}

/** The same with any vendor. @param dialect name of a file, or where it is */
export async function userOfVendor<Own, Vendor extends RunningVendor<Own>>(
  vendor: Vendor,
  dialect: string,
  path = "",
) {
  const dir = tempDir("headcount-vendor-");
  const env = {
    HOME: dir,
    HEADCOUNT_CONFIG_DIR: join(dir, "config"),
    HEADCOUNT_STATE_DIR: join(dir, "state"),
    HEADCOUNT_API_KEY: vendor.key,
  };

  const clock = swiftClock();
  const run = async (line: string, interrupt?: number) => {
    const argv = line.split(" ").map((word) => word.replaceAll("_", " "));
    const ran = testContext({ cwd: dir, env, argv, clock, random: () => 0.01 });
    if (interrupt !== undefined) setTimeout(() => ran.interrupt(), interrupt);
    const code = await main(argv, ran.context);
    return { code, stdout: ran.stdout(), stderr: ran.stderr() };
  };

  const added = await run(`connections add v --dialect ${dialect} --base-url ${vendor.url}${path}`);

  /** Credits that our books have, in millionths: those that are sure, and those that may be. */
  const spend = async () => {
    const { runs } = await readSpend(join(dir, "state", "runs"));
    const days = runs.flatMap((each) => each.days);
    const sum = (kind: "settled" | "uncertain" | "foreign"): bigint =>
      days.reduce((total, day) => total + day[kind], 0n);
    return { settled: sum("settled"), uncertain: sum("uncertain"), foreign: sum("foreign") };
  };
  /** What calls that no answer came to yet may have cost beside that, in millionths. */
  const pending = async (): Promise<bigint> => {
    const { runs } = await readSpend(join(dir, "state", "runs"));
    return runs.reduce((total, each) => total + each.pending, 0n);
  };
  const rows = (file: string): readonly Record<string, unknown>[] =>
    readFileSync(join(dir, file), "utf8")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as Record<string, unknown>);

  return { vendor, dir, env, clock, run, added, spend, pending, rows };
}
