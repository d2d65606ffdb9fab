import { test } from "vitest";

/** What a test is called on: `test`, or what `test.each(…)` and the like give back. */
type Declare = (...given: unknown[]) => unknown;

/** The same declaration, of a test that has the tag `long`; its options may stand before or behind its function. */
function tagged([name, second, third]: readonly unknown[]): unknown[] {
  if (typeof second !== "function") return [name, { ...(second ?? {}), tags: ["long"] }, third];

  const options = typeof third === "number" ? { timeout: third } : third;
  return [name, { ...(options ?? {}), tags: ["long"] }, second];
}

const tagging = (declare: Declare): Declare =>
  new Proxy(declare, {
    apply: (target, self, given) => Reflect.apply(target, self, tagged(given)),
  });

/**
 * A test that takes longer than half a second or so: `npm run check` leaves it out, `npm run check:long` runs it (vitest.config.ts).
 * Used like `test`, with `each`, `for` and `skipIf`.
 */
export const long = new Proxy(test, {
  apply: (target, self, given) => Reflect.apply(target, self, tagged(given)),
  get(target, key) {
    const member: unknown = Reflect.get(target, key);
    if (typeof member !== "function") return member;

    return (...given: unknown[]) => tagging(Reflect.apply(member, target, given));
  },
});
