import { Writable } from "node:stream";
import type { Context } from "../shared/context.ts";

/**
 * The same world, with every line on stderr as JSON, `{"notice"}`: beside an
 * error that is, a program could read none of it.
 */
export function withNotices(context: Context): Context {
  const write = (chunk: Buffer, _encoding: unknown, done: () => void): void => {
    const lines = chunk.toString("utf8").split("\n").filter(Boolean);
    for (const notice of lines) context.stderr.write(`${JSON.stringify({ notice })}\n`);
    done();
  };
  return Object.create(context, { stderr: { value: new Writable({ write }) } }) as Context;
}
