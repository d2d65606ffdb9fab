import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { charged, runIds, type User, user } from "../support/export.ts";
import { long } from "../support/long.ts";
import { startTestService, type TestService } from "../support/service.ts";

let service: TestService;
let u: User;
beforeAll(async () => {
  service = await startTestService({ people: 500, credits: 10_000 });
}, 60_000);
afterAll(() => service.close());
beforeEach(() => {
  u = user(service.url, service.key);
});
const SEARCH = ["search", "--department", "Sales", "--limit", "4", "--yes", "--quiet", "--json"];

long("what a command prints with --json goes through jq, also as lines and with a file beside", async () => {
  const { code, stdout } = await u.run(["account", "--json", "--jq", "(.costs | keys[0]), .limits"]);
  expect([code, stdout]).toEqual([0, 'company_employees\n{"per_page_max":1000,"max_depth":null}\n']);
  const rows = await u.run([...SEARCH, "--jq", ".[] | .department"]);
  expect(rows.stdout).toBe("Sales\n".repeat(4));
  const lines = await u.run([...SEARCH, "--format", "ndjson", "--jq=.department"]);
  expect(lines.stdout).toBe("Sales\n".repeat(4));
  const file = await u.run([...SEARCH, "-o", "x.csv", "--jq", ".distinct"]);
  expect(file.stdout).toBe("4\n");
  const csv = await u.run([...SEARCH, "-o", "y.csv", "--format", "csv", "--jq", ".output.format"]);
  expect(csv.stdout).toBe("csv\n");
});

test("an expression that cannot be read costs nothing and asks for nothing", async () => {
  const before = await charged(service, 10_000);
  const { code, stderr, stdout } = await u.run([...SEARCH, "--jq", ".[] |"]);
  expect([code, stdout, runIds(u)]).toEqual([2, "", []]);
  expect(JSON.parse(stderr)).toMatchObject({ error: { code: "invalid_jq", exit_code: 2 } });
  expect(await charged(service, 10_000)).toBe(before);
});

test.each([[".name"], [".[].name.x"]])(
  "%s fails on what was bought: it is kept, and another expression reads it",
  async (jq) => {
    const before = await charged(service, 10_000);
    const { code, stderr, stdout } = await u.run([...SEARCH, "--jq", jq]);
    expect([code, stdout]).toEqual([5, ""]);
    const [run = ""] = runIds(u);
    expect(stderr).toContain(run);
    const again = await u.run(["runs", "export", run, "--json", "--jq", "length"]);
    expect([again.code, again.stdout]).toEqual([0, "4\n"]);
    expect((await charged(service, 10_000)) - before).toBe(4);
  },
);

test("the failure of the command is told, after what it printed before", async () => {
  const { code, stderr, stdout } = await u.run(["doctor", "--json", "--jq", ".ok"], {
    env: { HEADCOUNT_API_KEY: "hc_live_000000000000000000000000" },
  });
  expect([code, stdout]).toEqual([3, "false\n"]);
  expect(JSON.parse(stderr)).toMatchObject({ error: { code: "doctor_failed" } });
});

test.each([
  [["account", "--jq", ".plan"], "--jq goes with --json"],
  [[...SEARCH, "--format", "csv", "--jq", "."], "--jq reads JSON, and --format csv prints none"],
  [[...SEARCH, "--format", "ndjson.gz", "--jq", "."], "prints none"],
  [["completion", "bash", "--json", "--jq", "."], "prints no JSON"],
  [["mcp", "install", "claude", "--json", "--jq", "."], "prints no JSON"],
])("%j is refused", async (argv, why) => {
  const { code, stderr, stdout } = await u.run(argv);
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toContain(why);
  expect(runIds(u)).toEqual([]);
});

test("help is help", async () => {
  const { code, stdout } = await u.run(["account", "--json", "--jq", ".", "--help"]);
  expect(code).toBe(0);
  expect(stdout).toContain("Usage: headcount account");
});
