import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { ASKED, FILE, pagesFile } from "../../packaging/pages.mjs";
import { main } from "../../src/cli/main.ts";
import { testContext } from "../support/client.ts";

// `headcount help WORD`: what users ask, in words of their own, and where that is answered.

const ROOT = resolve(import.meta.dirname, "../..");

/** The first place that is named. */
async function answered(phrase: string) {
  const tested = testContext({});
  const code = await main(["help", ...phrase.split(" ")], tested.context);
  const [, place = ""] = tested.stdout().split("\n");
  return { code, place: place.trim(), stderr: tested.stderr() };
}

test("completions/pages.json is what the docs and the commands say (npm run completions)", () => {
  const tree = JSON.parse(readFileSync(join(ROOT, "completions/tree.json"), "utf8"));
  expect(readFileSync(FILE, "utf8") === pagesFile(tree), "stale: npm run completions").toBe(true);
  const entries: readonly (readonly string[])[] = JSON.parse(readFileSync(FILE, "utf8"));
  const places = entries
    .map(([, place = ""]) => place)
    .filter((place) => place.startsWith("docs/"));
  expect(places.filter((place) => !existsSync(join(ROOT, place.split("#")[0] ?? "")))).toEqual([]);
  // Every page says what it is asked for.
  const pages = [...new Set(places.map((place) => place.split("#")[0] ?? ""))];
  expect(pages.filter((page) => !ASKED.test(readFileSync(join(ROOT, page), "utf8")))).toEqual([]);
});

test.each([
  ["budget", "docs/how-to/jobs.md"],
  ["GDPR", "docs/how-to/personal-data.md"],
  ["my own csv", "docs/how-to/enrich.md"],
  ["new laptop", "docs/how-to/move.md"],
  ["charged twice", "docs/reference/troubleshooting.md"],
  ["headless server", "docs/how-to/server.md"],
  ["agent budget", "docs/how-to/agents.md"],
  ["pagerduty", "docs/how-to/notify.md"],
  ["downtime", "docs/operate/operating.md"],
  ["self-signed certificate", "docs/how-to/proxy.md"],
  ["Kubernetes", "docs/how-to/kubernetes.md"],
  ["slack", "docs/how-to/notify.md"],
  ["proxies", "docs/how-to/proxy.md"],
  ["colleagues", "docs/how-to/team.md"],
  ["rows missing", "docs/how-to/fewer-rows.md"],
  ["exit 5", "docs/how-to/exit-5.md"],
  ["laptop sleeps", "docs/how-to/resume.md"],
  ["excel", "docs/how-to/spreadsheets.md"],
  ["crontba", "docs/how-to/jobs.md"],
  ["every monday", "docs/how-to/jobs.md"],
  ["cancel", "docs/how-to/resume.md"],
  ["duplicates", "docs/how-to/new-only.md"],
  ["change the API key", "docs/how-to/server.md"],
  ["rotate key", "docs/how-to/server.md"],
  ["spend this month", "docs/reference/runs.md"],
  // A phrase of which most is found is one that somebody asks in words of their own.
  ["delete my whole data", "docs/how-to/personal-data.md"],
  ["strange umlauts in excel", "docs/how-to/spreadsheets.md"],
])("help %s names %s first", async (phrase, place) => {
  expect(await answered(phrase)).toEqual({ code: 0, place, stderr: "" });
});

test("a command is found by its last word; what nobody says gets the nearest that somebody does", async () => {
  const tested = testContext({});
  expect(await main(["help", "rollback"], tested.context)).toBe(0);
  expect(tested.stdout()).toContain("\n  headcount help service dataset rollback\n");
  for (const [phrase, near] of [
    ["serch", "did you mean headcount help search?"],
    ["conections", "did you mean headcount help connections?"],
    ["xyzzy", "headcount --help lists the commands"],
    ["xyzzy frob budget", "headcount --help lists the commands"],
  ] as const) {
    const { code, stderr } = await answered(phrase);
    expect([code, stderr]).toEqual([2, expect.stringContaining(`hint: ${near}\n`)]);
  }
});

test("an unknown command leads to what the docs say, and to no other word that means something else", async () => {
  const { context, stderr } = testContext({});
  expect(await main(["budget"], context)).toBe(2);
  expect(stderr()).toBe(
    "error: unknown command 'budget'\nhint: headcount help budget looks in the docs\n",
  );
});
