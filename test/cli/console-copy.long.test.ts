import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { main } from "../../src/cli/main.ts";
import {
  countCommand,
  curlCommand,
  fragmentOf,
  inWords,
  placeInAddress,
  searchCommand,
} from "../../src/console/segment.ts";
import { canonicalJson, checkFilters } from "../../src/shared/contract/filters.ts";
import {
  DEPARTMENTS,
  FILTER_SPECS,
  type Filters,
  SENIORITY_LEVELS,
} from "../../src/shared/contract/vocabulary.ts";
import { shellWord } from "../../src/shared/errors.ts";
import { type RawServer, rawServer, testContext } from "../support/client.ts";
import { long } from "../support/long.ts";

const nasty = fc.constantFrom(
  "@file",
  "@@file",
  "@",
  "-x",
  "--all",
  "$(id)",
  "`id`",
  "a'b",
  'a"b',
  "a\\b",
  "!!",
  "~root",
  "*",
  "a b",
  "#x",
  "a;b",
  "a|b",
  "a&b",
  "%s",
  "\\n",
  "é 名",
  "\u202e",
  "=cmd",
  "{a,b}",
  "[x]",
  "<b>",
  "a=b",
  "a,b",
  "+",
  "%",
);
const text = fc.oneof(nasty, fc.string({ minLength: 1, maxLength: 12, unit: "grapheme" }));
const unique = (each: fc.Arbitrary<string>) => fc.uniqueArray(each, { minLength: 1, maxLength: 4 });

/** Filters that the contract takes, every key of them, with values that a shell or a program could misread. */
const filters: fc.Arbitrary<Filters> = fc
  .record(
    Object.fromEntries(
      FILTER_SPECS.map(({ key, list, match }) => {
        if (match === "range") return [key, fc.nat({ max: 1e9 })];
        if (key === "department")
          return [key, fc.subarray([...DEPARTMENTS], { minLength: 1, maxLength: 3 })];
        if (key === "seniority_level")
          return [key, fc.subarray([...SENIORITY_LEVELS], { minLength: 1 })];
        return [key, list ? unique(text) : text];
      }),
    ),
    { requiredKeys: [] },
  )
  .filter((given) => checkFilters(given).ok) as fc.Arbitrary<Filters>;

const canonical = (given: unknown): string => {
  const check = checkFilters(given);
  if (!check.ok) throw new Error(JSON.stringify(check.issues));
  return canonicalJson(check.canonical);
};

/** The words that a shell makes of each command, by a program of that name. */
function words(commands: readonly string[]): readonly (readonly string[])[] {
  const tell = `() { printf '%s\\000' "$@"; printf '\\036\\000'; }`;
  const script = `headcount${tell}\ncurl${tell}\n${commands.join("\n")}\n`;
  const { status, stderr, stdout } = spawnSync("/bin/sh", ["-c", script], { encoding: "utf8" });
  expect([status, stderr]).toEqual([0, ""]);
  const all: string[][] = [[]];
  for (const word of stdout.split("\0").slice(0, -1)) {
    if (word === "\u001e") all.push([]);
    else all.at(-1)?.push(word);
  }
  return all.slice(0, -1);
}

describe("what the console prints to copy", () => {
  let server: RawServer;
  beforeAll(async () => {
    server = await rawServer((_, response) => {
      response.writeHead(200, { "content-type": "application/json; charset=utf-8" });
      response.end(
        '{"status":true,"detail":[],"result":{"count":7},"credits_used":0,"credits_remaining":9}',
      );
    });
  });
  afterAll(() => server.close());

  const sent = async (argv: readonly string[], file?: string): Promise<string> => {
    const test = testContext({
      env: { HEADCOUNT_API_KEY: "hc_live_x", HEADCOUNT_BASE_URL: server.url },
    });
    if (file !== undefined) writeFileSync(join(test.dir, "segment.json"), file);
    const before = server.seen.length;
    expect([argv, test.stderr(), await main(argv, test.context)]).toEqual([argv, "", 0]);
    // What comes after it are the counts of single values, of which one may match nobody.
    expect(server.seen.length).toBeGreaterThan(before);
    return server.seen[before]?.body ?? "";
  };

  long("the command, the file and the request ask for the very same people", async () => {
    await fc.assert(
      fc.asyncProperty(filters, async (given) => {
        const origin = "http://127.0.0.1:8787";
        const [command = [], curl = [], search = []] = words([
          countCommand(given),
          curlCommand(given, origin),
          searchCommand(given, 25),
        ]);
        const byCommand = await sent(command);
        const byFile = await sent(["count", "-f", "segment.json"], JSON.stringify(given, null, 2));
        const wanted = canonical(given);
        expect(canonical(JSON.parse(byCommand).filters)).toBe(wanted);
        expect(canonical(JSON.parse(byFile).filters)).toBe(wanted);
        expect(canonical(JSON.parse(curl.at(-1) ?? "").filters)).toBe(wanted);
        // The command that buys says the filters in the same words.
        const options = command.slice(1);
        const bought = options.length === 0 ? ["--all"] : options;
        expect(search).toEqual(["search", ...bought, "--max-credits", "25", "-o", "people.csv"]);
      }),
      { numRuns: 60 },
    );
  });

  test("any text stays one word of a shell", () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.string({ unit: "binary" }).filter((each) => !/[\0\u001e\ud800-\udfff]/.test(each)),
          { minLength: 1, maxLength: 20 },
        ),
        (texts) => {
          const [found] = words([`headcount ${texts.map(shellWord).join(" ")}`]);
          expect(found).toEqual(texts);
        },
      ),
      { numRuns: 40 },
    );
  });

  test("an address says the segment again, as it was", () => {
    const place = fc.record({
      page: fc.constantFrom("segment", "exports", "account"),
      mode: fc.constantFrom("test" as const, undefined),
      filters,
    });
    fc.assert(
      fc.property(place, (given) => {
        expect(placeInAddress(fragmentOf(given))).toEqual(given);
        expect(
          placeInAddress(new URL(fragmentOf(given), "http://localhost/console/").hash),
        ).toEqual(given);
      }),
    );
    // What is no filter is kept, so that the service refuses it by its name, and nobody is shown everybody.
    const typo = placeInAddress(
      `#/segment?f=${encodeURIComponent('{"departmnt":["Sales"],"country":"france","title":7}')}`,
    );
    expect(typo.filters).toEqual({ departmnt: ["Sales"], country: ["france"], title: ["7"] });
    for (const junk of ["{", "[]", "null", "7"]) {
      const { filters: unread } = placeInAddress(`#/segment?f=${encodeURIComponent(junk)}`);
      expect([unread, inWords(unread)]).toEqual([{ "this address": junk }, "this address"]);
    }
    fc.assert(
      fc.property(fc.string(), (junk) => typeof placeInAddress(`#${junk}`).page === "string"),
    );
  });
});
