import { Writable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { type Context, isClosed, written } from "../../shared/context.ts";
import { harmless, harmlessJson } from "../../shared/contract/text.ts";
import { usageError } from "../../shared/errors.ts";
import type { Documents } from "../schemas/all.ts";
import { hasColor, hasUnicode, type Style, styleFor, widthOfStream } from "./style.ts";
import type { Entries, TextColumn } from "./table.ts";

type TsvValue = string | number | bigint | boolean | null | undefined;

/**
 * Rows as lines: no header, nothing shortened; tabs and line breaks inside a value become spaces.
 */
export const tsv = (rows: readonly (readonly TsvValue[])[]): string =>
  rows.map((row) => `${row.map(tsvCell).join("\t")}\n`).join("");

const tsvCell = (value: TsvValue): string =>
  String(value ?? "")
    .toWellFormed()
    .replace(/[\t\r\n\u2028\u2029]+/g, " ");

type Paper = Pick<Context, "stdout" | "stderr" | "env" | "platform">;

export interface PrintOptions {
  readonly json?: boolean | undefined;
  readonly quiet?: boolean | undefined;
  readonly color?: boolean | undefined;
}

// Tabs stay: they part the columns of TSV.
const harmlessLines = (text: string): string => text.replace(/[^\n\t]+/g, harmless);

/**
 * It alone knows whether stdout is a terminal or a pipe, how wide it is and whether it has colour.
 */
export class Printer {
  readonly terminal: boolean;
  readonly json: boolean;
  readonly quiet: boolean;
  readonly style: Style;
  readonly noteStyle: Style;
  readonly #paper: Paper;

  constructor(paper: Paper, options: PrintOptions = {}) {
    this.#paper = paper;
    this.terminal = paper.stdout.isTTY === true;
    this.json = options.json === true;
    this.quiet = options.quiet === true;
    this.style = styleFor(hasColor(paper.stdout, paper.env, options.color));
    this.noteStyle = styleFor(hasColor(paper.stderr, paper.env, options.color));
  }

  get width(): number {
    return widthOfStream(this.#paper.stdout);
  }

  get unicode(): boolean {
    return hasUnicode(this.#paper.env, this.#paper.platform);
  }

  text(text: string): void {
    this.#paper.stdout.write(text);
  }

  /**
   * One line in a pipe, indented and harmless on a terminal.
   * Without a path tests alone hold it against its schema.
   */
  document<Path extends keyof Documents = never>(
    value: [Path] extends [never] ? object : Documents[Path],
  ): void {
    this.text(
      this.terminal
        ? `${harmlessJson(JSON.stringify(value, undefined, 2))}\n`
        : `${JSON.stringify(value)}\n`,
    );
  }

  /** Before rows or receipts are made for stdout. @throws CliError exit 2 where none come out */
  requireOpen(): void {
    if (!isClosed(this.#paper.stdout)) return;
    throw usageError(
      "stdout leads nowhere, and the answer goes there; nothing was spent",
      "> FILE keeps it",
      "no_stdout",
    );
  }

  /** Into a pipe byte by byte as they are, onto a terminal without what would act on it. */
  dataStream(format: string): Writable {
    const { stdout } = this.#paper;
    if (!this.terminal || format === "table") return stdout;
    const clean = /json$/.test(format) ? harmlessJson : harmlessLines;
    const decoder = new StringDecoder("utf8");
    return new Writable({
      write: (chunk: Buffer, _encoding, done) =>
        void stdout.write(clean(decoder.write(chunk)), done),
    });
  }

  /** Resolves once stdout has taken everything. @throws what kept it from that */
  drain(): Promise<void> {
    return written(this.#paper.stdout);
  }

  note(text: string): void {
    if (!this.quiet) this.say(text);
  }

  say(text: string): void {
    this.#paper.stderr.write(`${text}\n`);
  }

  lines(rows: readonly (readonly TsvValue[])[]): void {
    this.text(tsv(rows));
  }

  async table(columns: readonly TextColumn[], rows: readonly (readonly string[])[]): Promise<void> {
    const { renderTable } = await import("./table.ts");
    this.text(renderTable(columns, rows, this));
  }

  async card(entries: Entries, indent = 0): Promise<void> {
    const { renderCard } = await import("./table.ts");
    this.text(renderCard(entries, { width: this.width, style: this.style, indent }));
  }

  async noteCard(entries: Entries): Promise<void> {
    const { renderCard } = await import("./table.ts");
    const layout = { width: widthOfStream(this.#paper.stderr), style: this.noteStyle, indent: 2 };
    this.#paper.stderr.write(renderCard(entries, layout));
  }

  /** A document as `name.inner TAB value` lines: every leaf of it, nothing for null. */
  leaves(value: unknown, name = ""): void {
    if (typeof value !== "object" || value === null)
      this.lines([[name, value === null ? null : harmless(String(value))]]);
    else
      for (const [key, inner] of Object.entries(value))
        this.leaves(inner, name === "" ? key : `${name}.${key}`);
  }

  async rowsTable() {
    const { createRowsTable } = await import("./table.ts");
    return (columns: readonly string[], always: number) => createRowsTable(columns, always, this);
  }
}

export interface Desk<Options> {
  readonly options: Options;
  readonly printer: Printer;
  readonly context: Context;
}

/** For `does`: the work at a desk, with the arguments behind it. */
export const atDesk =
  <Options extends PrintOptions, Args extends unknown[], Result>(
    context: Context,
    work: (desk: Desk<Options>, ...args: Args) => Result,
  ) =>
  (options: Options, ...args: Args): Result =>
    work({ options, printer: new Printer(context, options), context }, ...args);
