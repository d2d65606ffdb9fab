import fc from "fast-check";
import { afterAll, beforeEach, expect, test, vi } from "vitest";
import { answerTo, type Finding, patience, segmentInquiry } from "../../src/console/answer.ts";

/** What can happen, in any order: somebody types, the service answers or fails, time goes by. */
type Event =
  | {
      readonly kind: "type";
      readonly of: string;
      readonly waitMs: number;
      readonly isLate: boolean;
    }
  | { readonly kind: "answer" | "limit" | "refuse" | "away"; readonly nth: number }
  | { readonly kind: "wait"; readonly ms: number }
  | { readonly kind: "leave" };

const nth = fc.nat(5);
const typed = fc.record({
  kind: fc.constant("type" as const),
  of: fc.constantFrom("Sales", "Salse", "Legal"),
  waitMs: fc.constantFrom(0, 0, 120),
  // The screen has it at once, and it is asked a moment later: something may come in between.
  isLate: fc.boolean(),
});
const reply = fc.constantFrom(
  "answer" as const,
  "answer" as const,
  "limit" as const,
  "refuse" as const,
  "away" as const,
);
const events: fc.Arbitrary<Event> = fc.oneof(
  { weight: 4, arbitrary: typed },
  { weight: 6, arbitrary: fc.record({ kind: reply, nth }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("wait" as const),
      ms: fc.constantFrom(50, 500, 3_000, 60_000),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: "leave" as const }) },
);

interface Asked {
  readonly of: string;
  readonly resolve: (value: string) => void;
  readonly reject: (error: unknown) => void;
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"], now: 0 });
});
afterAll(() => {
  vi.useRealTimers();
});

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const refusal = (status: number, retryMs?: number): Error =>
  Object.assign(new Error("refused"), { status, retryMs });
const LIMITED = refusal(429, 2_000);

async function play(story: readonly Event[]): Promise<void> {
  vi.clearAllTimers();
  const open: Asked[] = [];
  let last: Finding<string> = { of: "" };
  const inquiry = segmentInquiry<string>(
    (of) => new Promise((resolve, reject) => open.push({ of, resolve, reject })),
    (answer) => (last = answer),
  );
  let screen = "";
  let late: (() => void) | undefined;
  for (const event of story) {
    const before = answerTo(screen, last).value;
    if (event.kind === "type") {
      screen = event.of;
      late = () => inquiry.ask(event.of, event.waitMs);
      if (event.isLate) {
        expect(answerTo(screen, last).of).toBe(screen);
        continue;
      }
    }
    late?.();
    late = undefined;
    if (event.kind === "type") {
      // It is asked.
    } else if (event.kind === "wait") await vi.advanceTimersByTimeAsync(event.ms);
    else if (event.kind === "leave") inquiry.stop();
    else {
      const [asked] = open.splice(event.nth % Math.max(1, open.length), 1);
      if (event.kind === "answer") asked?.resolve(`people of ${asked.of}`);
      else if (event.kind === "limit") asked?.reject(LIMITED);
      else if (event.kind === "away") asked?.reject(new TypeError("fetch failed"));
      else asked?.reject(refusal(422));
    }
    await settled();
    const { again, error, of, value } = answerTo(screen, last);
    expect(of).toBe(screen);
    // What comes late takes nothing away.
    if (event.kind !== "type" && before !== undefined) expect(value ?? error).toBeDefined();
    if (value !== undefined) expect(value).toBe(`people of ${screen}`);
    // Void, it says why; and what ends by itself says when.
    expect(value === undefined || error === undefined).toBe(true);
    if (error === LIMITED || error instanceof TypeError) expect(again).toBeGreaterThan(0);
  }
}

test("whatever comes in whatever order, what is shown belongs to the segment on the screen", async () => {
  await fc.assert(fc.asyncProperty(fc.array(events, { maxLength: 30, size: "max" }), play), {
    numRuns: 500,
  });
});

test("a limit ends by itself: the same question is asked again when the service said, and once", async () => {
  const open: Asked[] = [];
  const told: Finding<string>[] = [];
  const ask = (of: string): Promise<string> =>
    new Promise((resolve, reject) => open.push({ of, resolve, reject }));
  const inquiry = segmentInquiry<string>(ask, (answer) => told.push(answer));
  inquiry.ask("Sales");
  open[0]?.reject(LIMITED);
  await settled();
  expect(told.at(-1)).toEqual({ of: "Sales", error: LIMITED, again: 2_000 });
  await vi.advanceTimersByTimeAsync(1_999);
  expect(open).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(open).toHaveLength(2);
  open[1]?.resolve("5,292");
  await settled();
  expect(told.at(-1)).toEqual({ of: "Sales", value: "5,292" });
  expect(vi.getTimerCount()).toBe(0);
});

test("a day's limit is not waited for, and a refusal neither", () => {
  expect(patience(refusal(429, 3_600_000))).toBeUndefined();
  expect(patience(refusal(422))).toBeUndefined();
  expect(patience(new Error("bug"))).toBeUndefined();
});
