import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { readView, type ViewFlags } from "../../src/cli/arguments/export-options.ts";
import * as count from "../../src/cli/commands/count/count.ts";
import * as employees from "../../src/cli/commands/employees.ts";
import * as enrich from "../../src/cli/commands/enrich.ts";
import * as search from "../../src/cli/commands/search.ts";
import { Command } from "../../src/cli/options.ts";
import type { ParsedPurchase } from "../../src/cli/purchase/purchase.ts";
import type { Context, OutputStream } from "../../src/shared/context.ts";
import { tempDir, testContext } from "../support/client.ts";

type Register<Request, Result> = (
  program: Command,
  context: Context,
  run: (request: Request, context: Context) => Promise<Result>,
) => void;

/** What a command line asks for, without doing it. */
async function parsed<Request, Result>(
  register: Register<Request, Result>,
  ...argv: readonly string[]
): Promise<Request> {
  const program = new Command("headcount").option("--json").option("-q, --quiet").exitOverride();
  program.configureOutput({ writeErr: () => undefined });
  let request: Request | undefined;
  register(program, testContext().context, async (asked) => {
    request = asked;
    return {} as Result;
  });
  for (const command of program.commands)
    command.exitOverride().configureOutput({ writeErr: () => undefined });
  await program.parseAsync(argv, { from: "user" });
  if (request === undefined) throw new Error("the command was not run");
  return request;
}

describe("parsing alone: no key, no service, no run", () => {
  test("count", async () => {
    expect(await parsed(count.register, "count", "--department", "sales")).toMatchObject({
      kind: "one",
      segment: { filters: { department: "sales" } },
    });
    expect(
      await parsed(
        count.register,
        "count",
        "--by",
        "country=France",
        "--by=country=france",
        "--by=country=spain",
      ),
    ).toMatchObject({
      kind: "parts",
      by: { spec: { key: "country" }, values: ["france", "spain"] },
    });
    await expect(parsed(count.register, "count", "--by", "followers_min")).rejects.toThrow(
      "it is a range",
    );
  });

  test("what is bought, from where and in which form", async () => {
    const bought = (purchase: ParsedPurchase) => [
      purchase.order.target.kind,
      purchase.order.format,
      purchase.show !== undefined,
    ];
    expect(
      bought(await parsed(search.register, "search", "--country", "france", "-o", "p.csv")),
    ).toEqual(["search", "csv", false]);
    expect(
      bought(await parsed(employees.register, "employees", "acme", "--per-company", "3")),
    ).toEqual(["employees", "ndjson", false]);
    expect(bought(await parsed(enrich.register, "enrich", "acme.com"))).toEqual([
      "enrich",
      "ndjson",
      true,
    ]);
    expect(bought(await parsed(enrich.register, "enrich", "acme.com", "b.com"))).toEqual([
      "enrich",
      "ndjson",
      false,
    ]);
    await expect(parsed(search.register, "search", "-o", "p.csv")).rejects.toMatchObject({
      code: "unfiltered",
    });
    await expect(
      parsed(search.register, "search", "--country", "x", "--csv", "excel", "--json"),
    ).rejects.toThrow("CSV");
    await expect(
      parsed(employees.register, "employees", "acme", "--per-company", "0"),
    ).rejects.toMatchObject({
      exitCode: 2,
    });
  });
});

test("rows that a shell writes to a file are said to be NDJSON, to a person who did not say what they are to be", () => {
  const file = join(tempDir(), "people.csv");
  const fd = openSync(file, "w");
  const told = (
    flags: Partial<ViewFlags>,
    to: Partial<OutputStream> = { fd },
    isTTY = true,
  ): string => {
    let text = "";
    const write = (line: string): void => {
      text += line;
    };
    const stderr = { isTTY, write };
    readView({ ...testContext().context, stdout: to, stderr } as never, flags as ViewFlags);
    return text;
  };
  expect(told({})).toBe("notice: the rows are NDJSON; CSV with --format csv, or -o people.csv\n");
  const piped: OutputStream = new PassThrough();
  const silent = [
    told({ format: "ndjson" }),
    told({ output: "x.csv" }),
    told({ json: true }),
    told({ quiet: true }),
    told({}, { fd }, false),
    told({}, piped),
  ];
  closeSync(fd);
  expect(silent.join("")).toBe("");
});
