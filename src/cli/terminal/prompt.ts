import { createInterface } from "node:readline";
import { type Readable, Writable } from "node:stream";

type Input = Readable & { readonly isTTY?: boolean; setRawMode?(raw: boolean): unknown };

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
 * The terminal is as it was before, however this ends; the end of input (Ctrl-D) is an empty
 * answer. @throws an error with code SIGINT on Ctrl-C, or the signal's reason
 */
export async function promptOn(
  input: Input,
  output: Writable,
  question: string,
  options: { readonly hidden?: boolean; readonly signal?: AbortSignal | undefined } = {},
): Promise<string> {
  const { signal, hidden = false } = options;
  signal?.throwIfAborted();

  const prompt = question.endsWith(" ") ? question : `${question} `;
  const terminal = input.isTTY === true && input.setRawMode !== undefined;
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });

  // Raw before the question is shown: no key typed at once is echoed, and Ctrl-C is a key.
  const reader = createInterface({
    input,
    output: hidden ? nowhere : output,
    prompt,
    terminal,
    historySize: 0,
  });

  return await new Promise<string>((resolve, reject) => {
    const settle = (finish: () => void, lineEnded = false): void => {
      signal?.removeEventListener("abort", onAbort);
      reader
        .removeAllListeners()
        .on("error", () => undefined)
        .close();
      if (terminal && !lineEnded) output.write("\n");
      finish();
    };

    const onAbort = (): void => settle(() => reject(signal?.reason));

    reader.once("line", (line) => settle(() => resolve(line), !hidden));
    reader.once("close", () => settle(() => resolve("")));

    const interruption = Object.assign(new Error("SIGINT"), { name: "AbortError", code: "SIGINT" });
    reader.once("SIGINT", () => settle(() => reject(interruption)));
    // The input's: the reader hands it on.
    reader.once("error", (error: Error) => settle(() => reject(error)));
    signal?.addEventListener("abort", onAbort, { once: true });
    output.write(prompt);
  });
}
