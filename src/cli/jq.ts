import { Writable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import type { Command } from "commander";
import { Child, Overrun } from "../shared/child.ts";
import type { Context, OutputStream } from "../shared/context.ts";
import { harmless, harmlessJson } from "../shared/contract/text.ts";
import { type CliError, failed, usageError } from "../shared/errors.ts";
import { optional, packagePath } from "../shared/packages.ts";
import type { GlobalOptions } from "./options.ts";
import { pathOf } from "./reading.ts";
import { describedPath } from "./schemas/all.ts";

/** The largest JSON value that jq is given: its memory ends a little above. */
const MOST = 32 << 20;
const BATCH = 4 << 20;

/** An expression may go on for ever, or take all memory: that is not ours to wait for. */
const BOUNDS = { deadlineMs: 60_000, memoryMb: 1_024 };
/** How long what is printed after a signal, a receipt say, may take. */
const AFTER_SIGNAL_MS = 2_000;

interface Question {
  readonly json: string;
  readonly expression: string;
  readonly indented?: boolean;
}

interface Result {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Without an input an expression is only read. What follows `--` is an expression, however it begins. */
const TEXT = `
const { loadJq } = require(workerData);
const loading = loadJq();
return async ({ expression, indented, json }) => {
  const jq = await loading;
  const { exitCode, stderr, stdout } = jq.raw(json, expression, [...(json === "" ? [] : ["-c"]), "--"]);
  const shown = (line) => (/^[[{]/.test(line) ? jq.raw(line, ".").stdout : line);
  return { exitCode, stderr, stdout: indented ? stdout.split("\\n").map(shown).join("\\0") : stdout };
};`;

interface JqOptions extends GlobalOptions {
  readonly format?: string;
  readonly output?: string;
}

/** @throws CliError exit 2 where `--jq` can have no effect, or cannot be read */
export async function beginJq(command: Command, options: JqOptions, { stdout }: Context): Promise<void> {
  const { format, jq = "", json, output } = options;
  const path = pathOf(command);
  if (describedPath(path) === undefined)
    throw usageError(`headcount ${path} prints no JSON document that --jq could read`);
  if (json !== true) throw usageError("--jq goes with --json", `headcount ${path} --json --jq EXPR`);
  if (output === undefined && !/^(nd)?json$/.test(format ?? "json")) {
    throw usageError(
      `--jq reads JSON, and --format ${format} prints none`,
      "--format json or ndjson, or -o FILE and the receipt",
    );
  }
  if (stdout instanceof JqOutput) await stdout.begin(jq);
}

/**
 * Stdout behind `--jq`. Once begun, it gives each whole JSON value to jq and hands on the results, a line each. What
 * stdout refuses, whoever wrote is told.
 */
export class JqOutput extends Writable {
  readonly #out: OutputStream;
  readonly #err: OutputStream;
  readonly #interrupted: AbortSignal;
  readonly #values = new Values();
  readonly #decoder = new StringDecoder("utf8");
  #jq: Child<Question, Result> | undefined;
  #expression = "";
  #failed: Error | undefined;

  constructor({ stdout, stderr, interrupted }: Pick<Context, "stdout" | "stderr" | "interrupted">) {
    super();
    this.#out = stdout;
    this.#err = stderr;
    this.#interrupted = interrupted;
  }

  get isTTY(): boolean {
    return this.#jq === undefined && this.#out.isTTY === true;
  }

  get columns(): number {
    return this.#out.columns ?? 80;
  }

  /** @throws CliError exit 2 for an expression that jq does not understand: before the command does anything */
  async begin(expression: string): Promise<void> {
    await optional("jq-wasm", "--jq", import("jq-wasm"), "pipe --json into jq");
    const data = packagePath("jq-wasm");
    this.#jq = new Child({ what: "--jq", text: TEXT, data, signal: this.#soon(), ...BOUNDS });
    const { exitCode, stderr } = await this.#jq.ask({ json: "", expression });
    if (exitCode !== 0) throw notUnderstood(expression, stderr);
    this.#expression = expression;
  }

  /** A signal that follows that of the process: what a command prints as its last word may still be read. */
  #soon(): AbortSignal {
    const late = new AbortController();
    const abort = (): void => late.abort(this.#interrupted.reason);
    this.#interrupted.addEventListener("abort", () => setTimeout(abort, AFTER_SIGNAL_MS).unref(), { once: true });
    return late.signal;
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#through(chunk)
      .then((text) => this.#out.write(text, (error) => done(this.#failed ?? error)))
      .catch((error: Error) => {
        // A stream goes on with what waited behind the write that failed.
        this.#failed = error;
        done(error);
      });
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#jq?.end();
    done(error);
  }

  /** What there is to print; of what fails, nothing. */
  async #through(chunk: Buffer): Promise<Buffer | string> {
    if (this.#failed !== undefined) throw this.#failed;
    if (this.#jq === undefined) return chunk;
    let text = "";
    for (const json of this.#values.whole(this.#decoder.write(chunk))) text += await this.#results(this.#jq, json);
    return text;
  }

  /** @throws CliError exit 5: the output is not whole */
  async #results(jq: Child<Question, Result>, json: string): Promise<string> {
    if (json.length > MOST) throw tooLarge(json.length);
    const indented = this.#out.isTTY === true;
    const { exitCode, stderr, stdout } = await jq
      .ask({ json: paired(json), expression: this.#expression, indented })
      .catch((error: unknown) => {
        if (error instanceof Overrun) throw overrun(error);
        // Out of memory within jq, or the signal.
        throw error === this.#interrupted.reason ? error : tooLarge(json.length);
      });
    // Of several inputs only the last one's failure is in the exit code.
    const failed = stderr.split("\n").find((line) => line.startsWith("jq: error"));
    if (exitCode !== 0 || failed !== undefined) throw failure(failed ?? stderr);
    if (stderr !== "") this.#err.write(`${harmless(stderr)}\n`);
    if (stdout === "") return "";
    return stdout
      .split(indented ? "\0" : "\n")
      .map((line) => `${shown(line, indented)}\n`)
      .join("");
  }
}

/** A result as it is printed: a text bare, anything else as JSON; harmless on a terminal. */
function shown(line: string, terminal: boolean): string {
  const text = line.startsWith('"') ? (JSON.parse(line) as string) : undefined;
  if (!terminal) return text ?? line;
  return text === undefined ? harmlessJson(line) : text.replace(/[^\n\t]+/g, harmless);
}

/** Halves of a surrogate pair, which jq refuses and no UTF-8 has, as what every output shows for them. */
const paired = (json: string): string =>
  json.replace(/\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|u[dD][89a-fA-F]..|.)/gs, (escaped) =>
    /^\\u[dD][89a-fA-F]..$/.test(escaped) ? "\\ufffd" : escaped,
  );

/** Finds the whole objects and lists in a text that comes in pieces; those of one piece together. */
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

const incomplete = (code: string, message: string, hint: string): CliError => failed.incomplete(message, hint, code);

const failure = (stderr: string): CliError =>
  incomplete(
    "jq_failed",
    `--jq: ${harmless(words(stderr))}`,
    "headcount schema COMMAND says what there is; .a? and .[]? pass over what has it not",
  );

const overrun = ({ message }: Overrun): CliError =>
  incomplete("jq_failed", message, "pipe --json into jq, where nothing bounds it");

const noJson = (): CliError =>
  incomplete("jq_failed", "--jq: what the command printed is no JSON", "leave --jq out to see it");

const tooLarge = (length: number): CliError =>
  incomplete(
    "jq_too_large",
    `--jq cannot hold one JSON value of ${Math.ceil(length / (1 << 20))} MB (${MOST >> 20} MB at most)`,
    "write it to a file; --format ndjson goes line by line, however many there are",
  );
