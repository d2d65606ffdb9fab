import * as sdk from "@modelcontextprotocol/server";
import { afterEach, expect, test, vi } from "vitest";
import { questionCodec } from "../../src/app/agents/consent.ts";
import { QUOTE_MS, quoteBook } from "../../src/app/agents/world.ts";

const offered = {} as Parameters<ReturnType<typeof quoteBook>["keep"]>[0];

test("a quote is good for ten minutes and one use", () => {
  let now = 1_000;
  const book = quoteBook(() => now);
  const [a, b] = [book.keep(offered), book.keep(offered)];
  now += QUOTE_MS - 1;
  expect(book.take(a.id).id).toBe(a.id);
  expect(() => book.take(a.id)).toThrow("nothing was spent");
  now += 1;
  expect(() => book.find(b.id)).toThrow("older than ten minutes");
});

test("a question is answered once, by its own answer, and the last one counts", () => {
  const book = quoteBook(() => 0);
  const [a, b] = [book.keep(offered), book.keep(offered)];
  const [first, second, other] = [book.ask(a.id), book.ask(a.id), book.ask(b.id)];
  expect(book.answers(a.id, first)).toBe(false);
  expect(book.answers(a.id, other)).toBe(false);
  expect(book.answers(a.id, second)).toBe(true);
  expect(book.answers(a.id, second)).toBe(false);
  book.drop(b.id);
  expect(book.answers(b.id, other)).toBe(false);
});

afterEach(() => vi.useRealTimers());

test("a question that is signed is good for ten minutes, for the call that it was asked in, and in its own process", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const begun = Date.UTC(2026, 0, 15, 12);
  vi.setSystemTime(begun);
  const inCall = (method: string) => ({ mcpReq: { method } }) as unknown as sdk.ServerContext;
  const codec = questionCodec(sdk);
  const question = { quote: "q_1", question: "a" };
  const state = await codec.mint(question, inCall("tools/call"));
  vi.setSystemTime(begun + QUOTE_MS - 1_000);
  expect(await codec.verify(state, inCall("tools/call"))).toEqual(question);
  await expect(codec.verify(state, inCall("resources/read"))).rejects.toThrow();
  await expect(questionCodec(sdk).verify(state, inCall("tools/call"))).rejects.toThrow();
  vi.setSystemTime(begun + QUOTE_MS + 1_000);
  await expect(codec.verify(state, inCall("tools/call"))).rejects.toThrow("expired");
});
