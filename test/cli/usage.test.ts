import { describe, expect, test } from "vitest";
import { main } from "../../src/cli/main.ts";
import { type Command, collect } from "../../src/cli/options.ts";
import { buildProgram } from "../../src/cli/program.ts";
import { pathOf } from "../../src/cli/reading.ts";
import { testContext } from "../support/client.ts";
import { long } from "../support/long.ts";

async function run(...argv: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const tested = testContext({
    env: {
      HEADCOUNT_API_KEY: "hc_live_aaaaaaaaaaaaaaaa",
      HEADCOUNT_BASE_URL: "http://127.0.0.1:1",
    },
  });
  const code = await main(argv, { ...tested.context, argv });
  return { code, stdout: tested.stdout(), stderr: tested.stderr() };
}

test("HEADCOUNT_JSON=1 makes errors JSON as --json does, and nothing else of it", async () => {
  const told = async (argv: readonly string[], env: Readonly<Record<string, string>>) => {
    const tested = testContext({ env, argv });
    return {
      code: await main(argv, tested.context),
      stdout: tested.stdout(),
      stderr: tested.stderr(),
    };
  };
  const [plain, asked, set] = [
    await told(["filters", "contry"], { HEADCOUNT_JSON: "0" }),
    await told(["filters", "contry", "--json"], {}),
    await told(["filters", "contry"], { HEADCOUNT_JSON: "1" }),
  ];
  expect(plain.stderr).toMatch(/^error: /);
  expect(set).toEqual(asked);
  expect(JSON.parse(set.stderr)).toMatchObject({ error: { code: "unknown_filter", exit_code: 2 } });
  expect((await told(["filters", "country"], { HEADCOUNT_JSON: "1" })).stdout).toMatch(
    /^key\tcountry/,
  );
});

long("an option that takes one value is refused where it has two, by every command", async () => {
  const whole = await buildProgram(testContext().context, ["--help-all"], "all");
  const every = (command: Command): Command[] => [command, ...command.commands.flatMap(every)];
  const commands = every(whole);
  for (const command of commands) command.action(() => undefined);

  let tried = 0;
  for (const command of commands.filter((each) => each.commands.length === 0)) {
    const path = pathOf(command).split(" ");
    const given = command.registeredArguments.map(() => "1");
    for (const option of path[0] === "search"
      ? [...whole.options, ...command.options]
      : command.options) {
      const { long, argChoices = ["1", "2"], parseArg, required, variadic } = option;
      if (!required || long == null || (parseArg === collect && path[0] !== "search")) continue;
      const [first = "", second = ""] = argChoices;
      const parsed = async (...words: readonly string[]): Promise<string> =>
        whole
          .parseAsync([...path, ...given, ...words], { from: "user" })
          .then(() => "taken", String);
      const isList = variadic || parseArg === collect;
      const told = isList
        ? "taken"
        : `CliError: ${long} takes one value, and is given "${first}" and "${second}"`;
      const both = await parsed(long, first, long, second);
      // What it does not take alone it does not take twice either.
      if (both !== told) expect(await parsed(long, first), `${path.join(" ")} ${both}`).toBe(both);
      else tried++;
    }
  }
  expect(tried).toBeGreaterThan(150);
});

test("two values of one option are both named; the same again says the same", async () => {
  expect((await run("filters", "-c", "one", "contry", "-c", "one")).stderr).toContain("contry");
  const ran = await run("search", "-c", "one", "--limit", "5", "-c", "two");
  expect([ran.code, ran.stderr]).toEqual([
    2,
    'error: --connection takes one value, and is given "one" and "two"\nhint: give it once\n',
  ]);
});

long(
  "what is read or written nowhere, and a name that is none, are told without a secret",
  async () => {
    const url = "https://u:SECRET@nowhere.example/x.csv";
    for (const argv of [
      ["count", "-f", url],
      ["count", "--country", `@${url}`],
      ["enrich", "--input", url],
      ["jobs", "check", "--file", url],
      ["count", "-s", "hc_live_SECRET0123456789"],
      ["connections", "use", url],
      ["filters", url],
      ["resume", url],
      ["sync", url],
      ["sync", url, "--dry-run"],
      ["service", "import", "--people", url, "--data", "data"],
      ["service", "import", "--people", `${url}/*.csv`, "--data", "data"],
    ]) {
      const ran = await run(...argv);
      expect([argv, ran.code]).toEqual([argv, 2]);
      expect(ran.stderr).not.toMatch(/secret/i);
    }
  },
);

describe("a word with no place", () => {
  test.each([
    [
      ["count", "--country", "germany", "france"],
      /"france" is one word too many for headcount count: --country takes one value\nhint: give it again \(--country germany --country france\), or quote .*\(--country 'germany france'\)/,
    ],
    [
      ["count", "--by", "country", "--city", "a", "b"],
      /--city takes one value\nhint: give it again \(--city a --city b\)/,
    ],
    [
      ["count", "germany"],
      /"germany" is one word too many for headcount count\nhint: values have flags: --country germany; headcount help count/,
    ],
    [["count", "Sales"], /hint: values have flags: --department Sales;/],
    [["count", "VP"], /hint: values have flags: --seniority-level vp;/],
    // What names no file is not one: the flag would be an error when copied.
    [["count", "acme.example"], /hint: headcount help count shows how it is called/],
    [["count", "segment.json"], /hint: values have flags: --filters segment\.json;/],
    [["count", "blue sky"], /hint: headcount help count shows how it is called/],
    [["count", "cto"], /hint: values have flags: --title 'chief technology officer';/],
    [
      ["count", "vp sales in germany"],
      /values have flags: --seniority-level vp --department Sales --country germany;/,
    ],
    [
      ["count", "-f", "a.json", "b.json"],
      /-f takes one value\nhint: give it again \(-f a\.json -f b\.json\)/,
    ],
    [
      ["service", "import", "crm.csv"],
      /hint: values have flags: --people crm\.csv or --companies crm\.csv/,
    ],
    [
      ["runs", "exprot", "last"],
      /runs has no command "exprot"\nhint: did you mean headcount runs export\?/,
    ],
    [
      ["runs", "nothing"],
      /runs has no command "nothing"\nhint: headcount help runs lists its commands/,
    ],
    [["buy"], /unknown command 'buy'\nhint: that is headcount search/],
    [["quote", "--department", "Legal"], /hint: that is headcount search --dry-run/],
    [["account", "now"], /one word too many for headcount account\nhint: headcount help account/],
    // As an editor, a chat or a web page has two dashes.
    [
      ["count", "\u2014country", "germany"],
      /"\u2014country" begins with a long dash: .*\nhint: write --country\n/,
    ],
    [["count", "\u2013-country=germany"], /\nhint: write --country=germany\n/],
    [["search", "\u2014limt", "5"], /\nhint: did you mean --limit\?\n/],
  ])("%j", async (argv, expected) => {
    const ran = await run(...argv);
    expect(ran).toMatchObject({ code: 2, stdout: "" });
    expect(ran.stderr).toMatch(expected);
  });
});

describe("hints name the command", () => {
  test.each([
    [
      ["runs", "show"],
      /missing required argument 'run'\nhint: headcount help runs show shows how it is called/,
    ],
    [
      ["spend", "--by", "xml"],
      /Allowed choices are day, run, connection, job, machine\.\nhint: headcount help spend/,
    ],
    [["search", "--limit"], /argument missing\nhint: headcount help search/],
    [["count", "--departmnt", "x"], /hint: Did you mean --department\?/],
    [["count", "--dept", "x"], /hint: Did you mean --department\?/],
    // Which no short help lists.
    [["supress", "list"], /hint: Did you mean suppress\?/],
    [["search", "--concurency", "2"], /hint: Did you mean --concurrency\?/],
    [
      ["count", "--department", "Sales, legal"],
      /"Sales, legal" \(several in one: give each by itself\); valid/,
    ],
  ])("%j", async (argv, expected) => {
    const ran = await run(...argv);
    expect(ran.code).toBe(2);
    expect(ran.stderr).toMatch(expected);
    expect(ran.stderr).not.toContain("COMMAND");
  });
});

describe("help", () => {
  test("of a command of a command, as --help of it", async () => {
    const asked = await run("help", "runs", "export");
    expect(asked).toMatchObject({ code: 0, stderr: "" });
    expect(asked.stdout).toContain("Usage: headcount runs export");
    expect(asked.stdout).toBe((await run("runs", "export", "--help")).stdout);
  });

  test("of a word that is one below: where it is", async () => {
    const ran = await run("help", "prune");
    expect(ran).toMatchObject({ code: 0, stderr: "" });
    expect(ran.stdout).toContain("headcount runs prune\n  headcount help runs prune\n");
    expect((await run("help", "runs", "exprot")).stderr).toContain(
      "did you mean headcount help runs export?",
    );
  });

  test.each([
    ["nosuch", "-h"],
    ["runs", "nosuch", "--help"],
    ["service", "nosuch", "-h"],
  ])("of what is not there: an error, %s %s", async (...argv) => {
    expect(await run(...argv)).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining("unknown command 'nosuch'"),
    });
  });

  test("-h names what the first hour needs", async () => {
    const { stdout } = await run("-h");
    const named = [...stdout.matchAll(/^ {2}([a-z]+) {2,}/gm)].map(([, name]) => name);
    const needed = ["count", "filters", "segment", "search", "resume", "forget", "sql", "runs"];
    expect(named).toEqual(expect.arrayContaining(needed));
  });

  test("version, -V and --version are one", async () => {
    const { stdout } = await run("--version");
    expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect((await run("version")).stdout).toBe(stdout);
    expect((await run("-V")).stdout).toBe(stdout);
  });
});
