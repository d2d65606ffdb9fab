import type { Readable, Writable } from "node:stream";

/** A terminal's input as prompts need it; without `setRawMode` the echo cannot be turned off. */
interface Input extends Readable {
  readonly isTTY?: boolean;
  setRawMode?(raw: boolean): unknown;
}

const CTRL_C = "\u0003";
const CTRL_D = "\u0004";
const CTRL_U = "\u0015";
// A terminal in bracketed-paste mode puts these round what is pasted; they are no part of a key.
const PASTE_MARKS = /\u001b\[20[01]~/g;
const ESCAPE_SEQUENCE = /\u001b(?:\[[0-9;?]*[ -/]*[@-~]|O.|.)?/g;

const interruption = (): Error => Object.assign(new Error("SIGINT"), { name: "AbortError", code: "SIGINT" });

/**
 * Asks a yes/no question on `output`; anything but y or yes, and the end of input, is no.
 * @param signal ends the question
 * @throws an error with code SIGINT on Ctrl-C, or the signal's reason
 */
export async function confirmOn(
  input: Input,
  output: Writable,
  question: string,
  signal?: AbortSignal,
): Promise<boolean> {
  const answer = await promptOn(input, output, question, { signal });
  return /^(y|yes)$/i.test(answer.trim());
}

/**
 * Asks for a line on `output`. With `hidden` nothing of it is shown. The terminal is as it was before, however this ends.
 * The end of input answers with what was typed so far.
 * @throws an error with code SIGINT on Ctrl-C, or the signal's reason
 */
export async function promptOn(
  input: Input,
  output: Writable,
  question: string,
  options: { readonly hidden?: boolean; readonly signal?: AbortSignal | undefined } = {},
): Promise<string> {
  const { signal, hidden = false } = options;
  signal?.throwIfAborted();
  const text = question.endsWith(" ") ? question : `${question} `;
  if (input.isTTY !== true || input.setRawMode === undefined) {
    output.write(text);
    return await listen(input, signal, (chunk, line) => {
      const end = chunk.search(/[\r\n]/);
      return end < 0 ? { line: line + chunk } : { line: line + chunk.slice(0, end), done: true };
    });
  }
  // Raw before the question is shown: what is typed at once would otherwise be echoed, and Ctrl-C would be a signal that a
  // program which first settles what it bought does not end by.
  input.setRawMode(true);
  try {
    output.write(text);
    return await listen(input, signal, (chunk, line) =>
      keys(chunk, line, hidden ? () => undefined : (echo) => output.write(echo)),
    );
  } finally {
    input.setRawMode(false);
    output.write("\n");
  }
}

/** What keys make of a line: the editing that a terminal's own line mode has. */
function keys(chunk: string, before: string, show: (echo: string) => unknown): Progress {
  let line = before;
  for (const key of chunk.replace(PASTE_MARKS, "").replace(ESCAPE_SEQUENCE, "")) {
    if (key === CTRL_C) throw interruption();
    if (key === "\r" || key === "\n" || key === CTRL_D) return { line, done: true };
    if (key === "\u007f" || key === "\b") {
      if (line !== "") show("\b \b");
      line = [...line].slice(0, -1).join("");
    } else if (key === CTRL_U) {
      show("\b \b".repeat([...line].length));
      line = "";
    } else if (key >= " ") {
      show(key);
      line += key;
    }
  }
  return { line };
}

interface Progress {
  readonly line: string;
  readonly done?: boolean;
}

/** Feeds what is typed to `take` until it is done; input is paused afterwards, so that it does not keep the process alive. */
function listen(
  input: Input,
  signal: AbortSignal | undefined,
  take: (text: string, line: string) => Progress,
): Promise<string> {
  return new Promise((resolve, reject) => {
    let line = "";
    const settle = (finish: () => void): void => {
      input.off("data", onData);
      input.off("end", onEnd);
      input.off("error", onError);
      signal?.removeEventListener("abort", onAbort);
      input.pause();
      finish();
    };
    const onEnd = (): void => settle(() => resolve(line));
    const onAbort = (): void => settle(() => reject(signal?.reason));
    const onError = (error: Error): void => settle(() => reject(error));
    const onData = (chunk: Buffer | string): void => {
      try {
        const progress = take(chunk.toString(), line);
        line = progress.line;
        if (progress.done === true) settle(() => resolve(line));
      } catch (error) {
        settle(() => reject(error));
      }
    };
    input.on("data", onData);
    input.once("end", onEnd);
    input.once("error", onError);
    signal?.addEventListener("abort", onAbort, { once: true });
    if (input.readableEnded) onEnd();
    else input.resume();
  });
}
