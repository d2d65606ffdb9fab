import { Transform, type TransformCallback } from "node:stream";

/** The one revision that has batches. Over HTTP a request that names no revision is of this one. */
const WITH_BATCHES = "2025-03-26";

const INVALID_REQUEST = -32_600;

/** More than the library takes in one line, which it is left to tell. */
const MOST_BYTES = 1 << 24;

export interface Refusal {
  readonly jsonrpc: "2.0";
  readonly id: null;
  readonly error: { readonly code: number; readonly message: string };
}

const refusal = (message: string): Refusal => ({ jsonrpc: "2.0", id: null, error: { code: INVALID_REQUEST, message } });

const isMessage = (message: unknown): message is { readonly jsonrpc: "2.0"; readonly method?: unknown } =>
  (message as { readonly jsonrpc?: unknown } | null)?.jsonrpc === "2.0";

/** @param revision what was agreed on. @returns why none of these messages is read */
function refusalOf(messages: readonly unknown[], revision: string | undefined): Refusal | undefined {
  if (revision !== WITH_BATCHES)
    return refusal(`batches are of revision ${WITH_BATCHES} only; send each message alone`);
  if (messages.length === 0) return refusal("an empty batch asks nothing; send a message");
  if (!messages.every(isMessage)) return refusal("a batch has nothing but messages of JSON-RPC 2.0");
  if (messages.some(({ method }) => method === "initialize"))
    return refusal("initialize is sent alone, not in a batch");
  return undefined;
}

/** @param header of the request: MCP-Protocol-Version. @returns why the batch that it may be is not read */
export function httpRefusalOf(body: Buffer, header: string | null): Refusal | undefined {
  const messages = batchIn(body.toString());
  return messages && refusalOf(messages, header ?? WITH_BATCHES);
}

/** What is no JSON is left to the library, which tells it. */
function batchIn(text: string): readonly unknown[] | undefined {
  if (!/^\s*\[/.test(text)) return undefined;
  try {
    return JSON.parse(text) as readonly unknown[];
  } catch {
    return undefined;
  }
}

/**
 * Lines on their way to a transport that reads single messages only: a batch becomes its messages, or is refused.
 * @param refuse is told why, for whoever sent it
 */
export class UnpackedBatches extends Transform {
  readonly #refuse: (refusal: Refusal) => void;
  #rest: Buffer[] = [];
  #held = 0;
  #revision: string | undefined;

  constructor(refuse: (refusal: Refusal) => void) {
    super();
    this.#refuse = refuse;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    let from = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      this.#rest.push(chunk.subarray(from, end + 1));
      this.#line(Buffer.concat(this.#rest));
      this.#rest = [];
      from = end + 1;
    }
    if (from < chunk.length) this.#rest.push(chunk.subarray(from));
    this.#held = from === 0 ? this.#held + chunk.length : chunk.length - from;
    if (this.#held > MOST_BYTES) this.#passOn();
    done();
  }

  override _flush(done: TransformCallback): void {
    this.#passOn();
    done();
  }

  #passOn(): void {
    for (const part of this.#rest.splice(0)) this.push(part);
  }

  #line(line: Buffer): void {
    const text = line.toString();
    const messages = batchIn(text);
    if (messages === undefined) {
      this.#revision ??= agreedOn(text);
      this.push(line);
      return;
    }
    const refused = refusalOf(messages, this.#revision);
    if (refused) this.#refuse(refused);
    else for (const message of messages) this.push(`${JSON.stringify(message)}\n`);
  }
}

/** The revision that an initialize asks for: of those that have one, each is served as asked. */
function agreedOn(line: string): string | undefined {
  if (!line.includes('"initialize"')) return undefined;
  try {
    const { method, params } = JSON.parse(line) as {
      readonly method?: unknown;
      readonly params?: { readonly protocolVersion?: unknown };
    };
    const revision = method === "initialize" ? params?.protocolVersion : undefined;
    return typeof revision === "string" ? revision : undefined;
  } catch {
    return undefined;
  }
}
