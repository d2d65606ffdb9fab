import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { widthOf } from "../../src/cli/terminal/width.ts";
import type { Engine } from "../../src/dataset/engine.ts";
import { long } from "../support/long.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { runInTerminal, type TerminalRun } from "../support/terminal.ts";

const SPINNER = /[⠀-⣿]/;
const COUNTED = / {2}counted {2}\S+ \(from the service's cache\)\n$/;
const HIDE_CURSOR = "\u001b[?25l";
const SHOW_CURSOR = "\u001b[?25h";

let service: TestService;
let slow: TestService;
beforeAll(async () => {
  service = await startTestService({ people: 2000, credits: 1000 });
  slow = await startTestService({
    people: 2000,
    wrapEngine: (engine) => slowly(engine, 150),
  });
});
afterAll(async () => {
  await service.close();
  await slow.close();
});

/** The engine with every count taking this many milliseconds longer. */
const slowly = (engine: Engine, ms: number): Engine =>
  new Proxy(engine, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      if (name !== "count") return value.bind(target) as unknown;
      return async (...args: unknown[]): Promise<unknown> => {
        await new Promise((resolve) => setTimeout(resolve, ms));
        return value.apply(target, args) as unknown;
      };
    },
  });

const run = (
  argv: readonly string[],
  { env, ...options }: TerminalRun = {},
  at: TestService = service,
) =>
  runInTerminal(argv, {
    ...options,
    env: { HEADCOUNT_API_KEY: at.key, HEADCOUNT_BASE_URL: at.url, ...env },
  });

const balance = async (): Promise<number> =>
  (await service.call("/v1/account")).json.credits_remaining;

describe("on a real terminal", () => {
  test("one that was given no size shows progress as one of 80 columns does, and ends", async () => {
    const argv = ["count", "--by", "department", "--country", "france"];
    const { code, screen } = await run(argv, { columns: 0, deadline: 20_000 }, slow);
    expect(code).toBe(0);
    expect(screen).toMatch(SPINNER);
    expect(screen).toContain("Sales");
  });

  test("count has colour, price and balance; NO_COLOR and TERM=dumb have no escape at all", async () => {
    const colored = await run(["count", "--department", "Sales"]);
    expect(colored.code).toBe(0);
    expect(colored.screen).toMatch(/^\u001b\[1m\d+\u001b\[22m people\n/);
    const plain = stripVTControlCharacters(colored.screen);
    expect(plain).toMatch(
      /^\d+ people\n {2}price {4}1 credit a profile\n {2}at most {2}\d+ credits\n {2}balance {2}1,000 credits\n/,
    );
    for (const env of [{ NO_COLOR: "1" }, { TERM: "dumb" }]) {
      const { screen } = await run(["count", "--department", "Sales"], { env });
      expect(screen).toBe(`${plain}${COUNTED.exec(screen)?.[0] ?? "nothing"}`);
    }
    expect((await run(["count", "--department", "Sales", "--no-color"])).screen).not.toContain(
      "\u001b",
    );
  });

  test("every line fits, wide or narrow, with wide and right-to-left names aligned", async () => {
    for (const columns of [60, 120]) {
      const { code, screen } = await run(["search", "--all", "--limit", "40", "--yes"], {
        columns,
        env: { NO_COLOR: "1" },
      });
      expect(code).toBe(0);
      const lines = screen.split("\n");
      const end = lines.findIndex((line) => line.startsWith("Exported"));
      expect(lines[0]).toMatch(/^name +title +company_name/);
      expect(end).toBe(41);
      const title = widthOf(lines[0]?.slice(0, lines[0].indexOf("title")) ?? "");
      for (const line of lines.slice(1, end)) {
        const bare = line.replace(/[\u2068\u2069]/g, "");
        expect(widthOf(bare), line).toBeLessThanOrEqual(columns);
        // Two spaces before the second column, whatever the first one holds.
        expect(widthOf(bare.slice(0, cut(bare, title))), line).toBe(title);
        expect(bare.slice(0, cut(bare, title)), line).toMatch(/ {2}$/);
      }
    }
  });

  test("a purchase is quoted and asked for; no is exit 10, yes buys", async () => {
    const before = await balance();
    const argv = ["search", "--department", "Legal", "--limit", "3", "-o", "people.csv"];
    const declined = await run(argv, { type: [[/\[y\/N\] $/, "n\n"]] });
    expect(declined.code).toBe(10);
    expect(stripVTControlCharacters(declined.screen)).toMatch(/to buy +3 \(--limit\)\n/);
    expect(readdirSync(declined.dir)).not.toContain("people.csv");
    expect(await balance()).toBe(before);
    const agreed = await run(argv, {
      type: [[/Export 3 profiles for 3 credits\? \[y\/N\] $/, "y\n"]],
    });
    expect(agreed.code).toBe(0);
    expect(readFileSync(join(agreed.dir, "people.csv"), "utf8").split("\n")).toHaveLength(5);
    expect(await balance()).toBe(before - 3);
  });

  test("Ctrl-C at the question buys nothing and exits 130", async () => {
    const before = await balance();
    const { code, screen } = await run(["search", "--department", "Legal", "-o", "people.csv"], {
      type: [[/\[y\/N\] $/, "\u0003"]],
      deadline: 10_000,
    });
    expect({ code, screen: screen.slice(screen.indexOf("[y/N]")) }).toMatchObject({ code: 130 });
    expect(screen).toContain("error: interrupted; nothing was spent\n");
    expect(await balance()).toBe(before);
  });

  test("Ctrl-D at the question is no, whether something was typed or not", async () => {
    for (const keys of ["\u0004", "\u007f\u0004"]) {
      const { code, screen } = await run(["search", "--department", "Legal", "-o", "people.csv"], {
        type: [[/\[y\/N\] $/, keys]],
        deadline: 10_000,
      });
      expect({ code, screen }).toMatchObject({
        code: 10,
        screen: expect.stringContaining("declined; nothing was spent"),
      });
    }
  });

  test("a key that is typed is never shown", async () => {
    const { code, screen, dir } = await runInTerminal(
      ["login", "work", "--insecure-storage", "--base-url", service.url],
      {
        type: [[/[Kk]ey.*: $/, `${service.key}\r`]],
      },
    );
    expect(code, screen).toBe(0);
    expect(screen).not.toContain(service.key.slice(-20));
    expect(readFileSync(join(dir, "config", "credentials.json"), "utf8")).toContain(service.key);
  });

  test("a key that is pasted has no marks of the terminal in it", async () => {
    const { code, screen, dir } = await runInTerminal(
      ["login", "work", "--insecure-storage", "--base-url", service.url],
      { type: [[/[Kk]ey.*: $/, `\u001b[200~${service.key}\u001b[201~\r`]] },
    );
    expect(code, screen).toBe(0);
    expect(screen).not.toContain(service.key.slice(-20));
    expect(readFileSync(join(dir, "config", "credentials.json"), "utf8")).toContain(
      `"${service.key}"`,
    );
  });

  long(
    "what takes its time shows a spinner, takes it away, and gives the cursor back",
    async () => {
      const { code, screen } = await run(["count", "--by", "department"], {}, slow);
      expect(code).toBe(0);
      expect(screen).toMatch(SPINNER);
      expect(screen).toMatch(/\d+% {2}\d+ of 21 counts/);
      expect(screen.lastIndexOf(SHOW_CURSOR)).toBeGreaterThan(screen.lastIndexOf(HIDE_CURSOR));
      // The last the terminal shows is the table alone.
      const table = screen.slice(screen.lastIndexOf("department  "));
      expect(table).not.toMatch(SPINNER);
      expect(stripVTControlCharacters(table)).toMatch(/2,000 people in all\n$/);
      const quiet = await run(["count", "--by", "department", "--quiet"], {}, slow);
      expect(quiet.screen).not.toMatch(SPINNER);
    },
  );

  test("text from data does nothing to the terminal", async () => {
    const { screen } = await run(["count", "--country", "\u001b]0;owned\u0007\u202eX"]);
    expect(screen).not.toContain("\u001b]0;");
    expect(screen).not.toContain("\u202e");
  });
});

/** The index in `line` at which `columns` columns are full. */
function cut(line: string, columns: number): number {
  let used = 0;
  let index = 0;
  for (const character of line) {
    if (used >= columns) break;
    used = widthOf(line.slice(0, index + character.length));
    index += character.length;
  }
  return index;
}
