import { Writable } from "node:stream";
import type { Command } from "commander";
import type { Context } from "../context.ts";
import type { ExportOptions } from "../purchase/purchase.ts";
import type { Target } from "../runs/plan.ts";
import { type CompanyFlags, readCompanies } from "./company-args.ts";
import { addExportOptions, type ExportFlags, readExportOptions } from "./export-options.ts";

export interface EnrichOptions extends ExportFlags, CompanyFlags {
  readonly misses?: string;
}

export function register(program: Command, context: Context): void {
  const command = program
    .command("enrich")
    .argument("[company...]", "domain, profile address or slug of a company")
    .summary("look companies up")
    .description(
      "Look companies up. A match is charged, a miss is free. One company is looked up at once; for several the price is shown and agreed to first, as with search.",
    )
    .option("--input <file>", "more companies from a file (- for stdin): one a line, CSV or NDJSON")
    .option("--column <name>", "the column of the file that names the company")
    .option("--name", "the arguments are names of companies")
    .option("--id", "the arguments are ids of companies")
    .option("--misses <file>", "list the companies that are not known in a file");
  addExportOptions(command, "companies")
    .addHelpText(
      "after",
      `
Examples:
  $ headcount -c sample enrich zephyr-pulse-co.example
  $ headcount -c sample enrich zephyr-pulse-co --json
  $ echo zephyr-pulse-co.example | headcount -c sample enrich --input - --max-credits 5 -o companies.csv --overwrite`,
    )
    .action(async (companies: readonly string[], _: unknown, self: Command) => {
      await run(companies, self.optsWithGlobals<EnrichOptions>(), context);
    });
}

async function run(names: readonly string[], flags: EnrichOptions, context: Context): Promise<void> {
  const companies = await readCompanies(context, names, flags);
  const options = await readExportOptions(context, flags, "company");
  const target: Target = { kind: "enrich", companies };
  const [only, ...others] = companies;
  const single = only !== undefined && others.length === 0 && flags.input === undefined && flags.dryRun !== true;
  if (single && isLookUp(flags)) return lookUp(target, options, flags, context);
  const [{ withSession }, { runExport }, { exportTerminal, COMPANIES, printResult }] = await Promise.all([
    import("./session.ts"),
    import("../purchase/purchase.ts"),
    import("./export-run.ts"),
  ]);
  await withSession(context, flags, async (session) => {
    // One company costs one match at most: naming it is consent enough.
    const consent = single ? { ...flags, yes: true } : flags;
    const terminal = await exportTerminal(session, context, consent, COMPANIES);
    try {
      const result = await runExport("enrich", target, options, terminal.deps);
      terminal.stop();
      await printResult(result, target, options, flags, context, COMPANIES);
    } finally {
      terminal.stop();
    }
  });
}

/** One company for a person or as one JSON document, rather than an export with a file or a format of its own. */
const isLookUp = (flags: EnrichOptions): boolean => flags.output === undefined && flags.format === undefined;

/** Looks one company up: a card to a terminal, its record as JSON otherwise. */
async function lookUp(target: Target, options: ExportOptions, flags: EnrichOptions, context: Context): Promise<void> {
  const [{ withSession }, { runExport }, { exportTerminal, COMPANIES, printResult }] = await Promise.all([
    import("./session.ts"),
    import("../purchase/purchase.ts"),
    import("./export-run.ts"),
  ]);
  await withSession(context, flags, async (session) => {
    const { deps } = await exportTerminal(session, context, { ...flags, yes: true, quiet: true }, COMPANIES);
    let text = "";
    const stdout = new Writable({
      decodeStrings: false,
      write: (chunk: string | Buffer, _, done) => {
        text += chunk.toString();
        done();
      },
    });
    const card = context.stdout.isTTY === true && flags.json !== true;
    const result = await runExport(
      "enrich",
      target,
      { ...options, format: "ndjson", fresh: true },
      { ...deps, stdout },
    );
    context.stdout.write(card ? await cardOf(text, flags, context) : text);
    await printResult(result, target, { ...options, format: "ndjson" }, { ...flags, json: false }, context, COMPANIES);
  });
}

async function cardOf(json: string, flags: EnrichOptions, context: Context): Promise<string> {
  const [{ renderCard }, { hasColor, styleFor, widthOfStream }] = await Promise.all([
    import("../terminal/table.ts"),
    import("../terminal/style.ts"),
  ]);
  const record = JSON.parse(json) as Readonly<Record<string, unknown>>;
  const style = styleFor(hasColor(context.stdout, context.env, flags.color));
  const { name, ...fields } = record;
  const entries = Object.entries(fields).map(([field, value]): [string, string | undefined] => [
    field.replaceAll("_", " "),
    value === null || value === undefined ? undefined : Array.isArray(value) ? value.join(", ") : textOf(value),
  ]);
  const width = widthOfStream(context.stdout);
  return `${renderCard([["name", textOf(name)]], { width, style })}${renderCard(entries, { width, style, indent: 2 })}`;
}

const textOf = (value: unknown): string => (typeof value === "object" ? JSON.stringify(value) : String(value));
