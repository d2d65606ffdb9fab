import { describe, expect, test } from "vitest";
import { rateLimitOf, retryAfterOf } from "../../src/engine/client/rate-limit.ts";

const NOW = Date.UTC(2026, 0, 15, 12, 0, 0);
const httpDate = (ahead: number): string => new Date(NOW + ahead).toUTCString();

describe("Retry-After", () => {
  test.each([
    ["30", 30_000],
    ["0", 0],
    ["1.5", 1_500],
    ["30s", 30_000],
    ["1500ms", 1_500],
    [String((NOW + 30_000) / 1000), 30_000],
    [String(NOW + 30_000), 30_000],
    ["90000", 90_000],
    ["1800000", 1_800_000],
    [httpDate(30_000), 30_000],
    [new Date(NOW + 30_000).toISOString(), 30_000],
    [httpDate(-30_000), 0],
  ])("%s", (value, expected) => {
    expect(retryAfterOf({ "retry-after": value }, NOW)).toBe(expected);
  });

  test("in milliseconds by a header of its own", () => {
    expect(retryAfterOf({ "retry-after-ms": "250", "retry-after": "1" }, NOW)).toBe(250);
  });

  test.each(["", "soon", "-5", "NaN", "9999999999999999", "99999999999"])(
    "nonsense counts as none: %j",
    (value) => {
      expect(retryAfterOf({ "retry-after": value }, NOW)).toBeUndefined();
    },
  );

  test("where our clock is hours off, the service's own is what a date is measured against", () => {
    const hours = 48 * 3_600_000;
    const headers = { date: httpDate(hours), "retry-after": httpDate(hours + 20_000) };
    expect(retryAfterOf(headers, NOW)).toBe(20_000);
  });

  test.each([-20, -10, -1, 1, 10, 20])("and where it is %s minutes off", (minutes) => {
    const off = minutes * 60_000;
    const headers = { date: httpDate(off), "retry-after": httpDate(off + 20_000) };
    expect(retryAfterOf(headers, NOW)).toBe(20_000);
  });
});

describe("X-RateLimit-*", () => {
  const limits = (reset: string | undefined, more: Record<string, string> = {}) =>
    rateLimitOf(
      {
        "x-ratelimit-limit": "60",
        "x-ratelimit-remaining": "12",
        ...(reset === undefined ? {} : { "x-ratelimit-reset": reset }),
        ...more,
      },
      NOW,
    );

  test.each([
    [String((NOW + 30_000) / 1000), 30_000],
    [String(NOW + 30_000), 30_000],
    ["30", 30_000],
    [httpDate(30_000), 30_000],
    [undefined, 60_000],
    ["nonsense", 60_000],
  ])("reset as %s", (reset, ahead) => {
    expect(limits(reset)).toEqual({
      limit: 60,
      remaining: 12,
      resetAt: NOW + ahead,
      window: undefined,
    });
  });

  test("the window where it is named; other spellings; missing ones", () => {
    expect(limits("30", { "x-ratelimit-window": "Day" })?.window).toBe("day");
    expect(rateLimitOf({ "ratelimit-remaining": "3", "ratelimit-reset": "9" }, NOW)).toMatchObject({
      limit: 3,
      remaining: 3,
    });
    expect(rateLimitOf({}, NOW)).toBeUndefined();
    expect(rateLimitOf({ "x-ratelimit-remaining": "many" }, NOW)).toBeUndefined();
  });

  test.each([
    ["99999999999", "seconds of the year 5138"],
    ["1790847060000000", "microseconds"],
    [new Date(Date.UTC(9999, 0, 1)).toUTCString(), "a date in 9999"],
    [String((NOW + 30 * 86_400_000) / 1000), "a month"],
  ])("a reset that cannot be true is not believed: %s (%s)", (reset) => {
    expect(limits(reset)).toEqual({
      limit: 60,
      remaining: 12,
      resetAt: NOW + 60_000,
      window: undefined,
    });
    expect(limits(reset, { "x-ratelimit-window": "day" })).toMatchObject({
      resetAt: NOW + 60_000,
      window: "day",
    });
  });

  test("a minute window is never longer than a minute, however far off our clock is", () => {
    const off = 600_000;
    const limit = limits(String((NOW + off + 30_000) / 1000), {
      "x-ratelimit-window": "minute",
      date: httpDate(off),
    });
    expect(limit?.resetAt).toBe(NOW + 30_000);
  });
});
