import { Writable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import type { Command } from "commander";
import type { Jq } from "jq-wasm";
import { optional } from "../engine/output/optional.ts";
import type { Context, OutputStream } from "../shared/context.ts";
import { harmless, harmlessJson } from "../shared/contract/text.ts";
import { CliError, EXIT, usageError } from "../shared/errors.ts";
import type { GlobalOptions } from "./options.ts";
import { describedPath } from "./schemas/all.ts";
import { pathOf } from "./usage.ts";

/** The largest JSON value that jq is given: its memory ends a little above. */
const MOST = 32 << 20;
/** Values that came together are given to jq together, up to so many characters. */
const BATCH = 4 << 20;

/** What follows is an expression, whatever it begins with. */
const WORDS_ONLY = ["--"];

/** With what says where and how rows are printed, where a command has that. */
interface JqOptions extends GlobalOptions {
  readonly format?: string;
  readonly output?: string;
  readonly template?: string;
}

/** Sets `--jq` up for a command that is about to run. @throws CliError exit 2 where it can have no effect, or cannot be read */
export async function beginJq(command: Command, options: JqOptions, { stdout }: Context): Promise<void> {
  const { format, jq = "", json, output, template } = options;
  const path = pathOf(command);
  if (describedPath(path) === undefined)
    throw usageError(`headcount ${path} prints no JSON document that --jq could read`);
  if (json !== true) throw usageError("--jq goes with --json", `headcount ${path} --json --jq EXPR`);
  if (output === undefined && (template !== undefined || !/^(nd)?json$/.test(format ?? "json"))) {
    const given = template === undefined ? `--format ${format}` : "--template";
    throw usageError(
      `--jq reads JSON, and ${given} prints none`,
      "--format json or ndjson, or -o FILE and the receipt",
    );
  }
  if (stdout instanceof JqOutput) await stdout.begin(jq);
}

/**
 * Stdout behind `--jq`. Until {@link begin} it hands everything on as it comes; from then on it takes JSON, gives each whole value of it
 * to jq, and hands on the results: a line each, texts without quotes. What stdout refuses, whoever wrote is told.
 */
export class JqOutput extends Writable {
  readonly #out: OutputStream;
  readonly #err: OutputStream;
  readonly #values = new Values();
  readonly #decoder = new StringDecoder("utf8");
  #run: ((json: string) => string) | undefined;
  #failed: Error | undefined;

  constructor(out: OutputStream, err: OutputStream) {
    super();
    this.#out = out;
    this.#err = err;
  }

  get isTTY(): boolean {
    return this.#run === undefined && this.#out.isTTY === true;
  }

  get columns(): number {
    return this.#out.columns ?? 80;
  }

  /** @throws CliError exit 2 for an expression that jq does not understand: before the command does anything */
  async begin(expression: string): Promise<void> {
    const { loadJq } = await optional("jq-wasm", "--jq", import("jq-wasm"), "pipe --json into jq");
    const jq = await loadJq();
    // Without an input nothing runs: it is only read.
    const { exitCode, stderr } = jq.raw("", expression, WORDS_ONLY);
    if (exitCode !== 0) throw notUnderstood(expression, stderr);
    this.#run = (json) => this.#results(jq, expression, json);
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    // A stream goes on with what waited behind the write that failed.
    if (this.#failed !== undefined) done(this.#failed);
    else this.#out.write(this.#through(chunk), (error) => done(this.#failed ?? error));
  }

  /** What there is to print; of what fails, nothing. */
  #through(chunk: Buffer): Buffer | string {
    if (this.#run === undefined) return chunk;
    try {
      return this.#values.whole(this.#decoder.write(chunk)).map(this.#run).join("");
    } catch (error) {
      this.#failed = error as Error;
      return "";
    }
  }

  #results(jq: Jq, expression: string, json: string): string {
    const { lines, said } = evaluate(jq, expression, json);
    if (said !== "") this.#err.write(said);
    const terminal = this.#out.isTTY === true;
    return lines.map((line) => `${shown(line, jq, terminal)}\n`).join("");
  }
}

/** A result as it is printed: a text bare, anything else as JSON; indented and harmless on a terminal. */
function shown(line: string, jq: Jq, terminal: boolean): string {
  const text = line.startsWith('"') ? (JSON.parse(line) as string) : undefined;
  if (!terminal) return text ?? line;
  if (text !== undefined) return text.replace(/[^\n\t]+/g, harmless);
  return harmlessJson(/^[[{]/.test(line) ? jq.raw(line, ".").stdout : line);
}

/** @throws CliError exit 5: the output is not whole */
function evaluate(
  jq: Jq,
  expression: string,
  json: string,
): { readonly lines: readonly string[]; readonly said: string } {
  if (json.length > MOST) throw tooLarge(json.length);
  let result: ReturnType<Jq["raw"]>;
  try {
    result = jq.raw(paired(json), expression, ["-c", ...WORDS_ONLY]);
  } catch {
    // Out of memory.
    throw tooLarge(json.length);
  }
  const { exitCode, stderr, stdout } = result;
  // Of several inputs only the last one's failure is in the exit code.
  const failed = stderr.split("\n").find((line) => line.startsWith("jq: error"));
  if (exitCode !== 0 || failed !== undefined) throw failure(failed ?? stderr);
  return { lines: stdout === "" ? [] : stdout.split("\n"), said: stderr === "" ? "" : `${harmless(stderr)}\n` };
}

/** Halves of a surrogate pair, which jq refuses and no UTF-8 has, as what every output shows for them. */
const paired = (json: string): string =>
  json.replace(/\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|u[dD][89a-fA-F]..|.)/gs, (escaped) =>
    /^\\u[dD][89a-fA-F]..$/.test(escaped) ? "\\ufffd" : escaped,
  );

/** Finds the whole objects and lists in a text that comes in pieces; those of one piece together, up to a {@link BATCH}. */
class Values {
  #begun: string[] = [];
  #depth = 0;
  #inText = false;
  #escaped = false;

  whole(text: string): string[] {
    const batches: string[] = [];
    let batch = "";
    let from = 0;
    for (const { 0: token, index } of text.matchAll(/["\\[\]{}]|[^"\\[\]{}]+/g)) {
      if (this.#depth === 0 && !/^(\s+|[[{])$/.test(token)) throw noJson();
      if (!this.#closes(text[index] ?? "")) continue;
      batch += `${this.#begun.join("")}${text.slice(from, index + 1)}\n`;
      this.#begun = [];
      from = index + 1;
      if (batch.length < BATCH) continue;
      batches.push(batch);
      batch = "";
    }
    this.#begun.push(text.slice(from));
    return batch === "" ? batches : [...batches, batch];
  }

  /** Whether a value that nothing else holds ends with this character. */
  #closes(character: string): boolean {
    const escaped = this.#escaped;
    this.#escaped = this.#inText && !escaped && character === "\\";
    if (character === '"' && !escaped) this.#inText = !this.#inText;
    if (this.#inText || character === '"') return false;
    if (character === "{" || character === "[") this.#depth++;
    else if (character === "}" || character === "]") this.#depth--;
    else return false;
    return this.#depth === 0;
  }
}

const words = (stderr: string): string =>
  (stderr.split("\n", 1)[0] ?? "").replace(/^jq: error(?: \(at [^)]*\))?: /, "").replace(/ at <top-level>.*$/, "");

function notUnderstood(expression: string, stderr: string): CliError {
  const [, column] = /column (\d+)/.exec(stderr) ?? [];
  const where = column === undefined ? "" : ` (at character ${column})`;
  return usageError(
    `--jq cannot read "${harmless(expression)}": ${harmless(words(stderr))}${where}`,
    "for example --jq '.[].id'; headcount schema COMMAND says what there is",
    "invalid_jq",
  );
}

const incomplete = (code: string, message: string, hint: string): CliError =>
  new CliError({ code, category: "incomplete", exitCode: EXIT.incomplete, message, hint });

const failure = (stderr: string): CliError =>
  incomplete(
    "jq_failed",
    `--jq: ${harmless(words(stderr))}`,
    "headcount schema COMMAND says what there is; .a? and .[]? pass over what has it not",
  );

const noJson = (): CliError =>
  incomplete("jq_failed", "--jq: what the command printed is no JSON", "leave --jq out to see it");

const tooLarge = (length: number): CliError =>
  incomplete(
    "jq_too_large",
    `--jq cannot hold one JSON value of ${Math.ceil(length / (1 << 20))} MB (${MOST >> 20} MB at most)`,
    "write it to a file; --format ndjson goes line by line, however many there are",
  );
