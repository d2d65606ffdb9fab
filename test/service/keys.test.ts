import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  displayPrefix,
  hashOf,
  makeApiKey,
  parseApiKey,
  sameHash,
} from "../../src/service/money/keys.ts";

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

describe("API keys", () => {
  it("have a prefix that tells the mode, 48 digits of secret and 8 of checksum", () => {
    expect(makeApiKey("live").key).toMatch(/^hc_live_[0-9a-f]{56}$/);
    expect(makeApiKey("test").key).toMatch(/^hc_test_[0-9a-f]{56}$/);
  });

  it("are the same text for the same secret: the format is fixed", () => {
    const key = makeApiKey("live", "ff".repeat(24));
    expect(key).toEqual({
      key: "hc_live_fffffffffffffffffffffffffffffffffffffffffffffffff33e6b42",
      mode: "live",
      hash: hashOf("hc_live_fffffffffffffffffffffffffffffffffffffffffffffffff33e6b42"),
      prefix: "hc_live_ffff…6b42",
    });
  });

  it("round-trip for every secret", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 24, maxLength: 24 }),
        fc.constantFrom("live", "test"),
        (bytes, mode) => {
          const made = makeApiKey(mode, Buffer.from(bytes).toString("hex"));
          expect(parseApiKey(made.key)).toEqual({ mode, hash: made.hash });
          // Known by then.
          expect(parseApiKey(made.key)).toEqual({ mode, hash: made.hash });
          expect(made.prefix).not.toContain(made.key.slice(13, -5));
        },
      ),
    );
  });

  it("with one character changed, or two swapped, are refused without a look-up", () => {
    const { key } = makeApiKey("live");
    expect(parseApiKey(key)).toBeDefined();
    const start = "hc_live_".length;
    for (let position = start; position < key.length; position += 1) {
      for (const character of BASE62) {
        if (character === key[position]) continue;
        expect(
          parseApiKey(key.slice(0, position) + character + key.slice(position + 1)),
        ).toBeUndefined();
      }
      const [a, b] = [key[position], key[position + 1]];
      if (a === undefined || b === undefined || a === b) continue;
      expect(parseApiKey(key.slice(0, position) + b + a + key.slice(position + 2))).toBeUndefined();
    }
  });

  it("of another form are refused", () => {
    const { key } = makeApiKey("live");
    const others = [
      "",
      " ",
      `${key} `,
      ` ${key}`,
      `${key}\n`,
      key.slice(0, -1),
      `${key}0`,
      key.toUpperCase(),
      key.replace("hc_", "sk_"),
      key.replace("live", "test"),
      key.replace("live", "prod"),
      key.replace("_", "-"),
      `${key}\u0000`,
      `${key.normalize("NFKD")}\u0301`,
      "hc_live_",
      "hc_live_undefined",
      "null",
      "x".repeat(100_000),
      `Bearer ${key}`,
    ];
    for (const other of others)
      expect([other.slice(0, 80), parseApiKey(other)]).toEqual([other.slice(0, 80), undefined]);
  });

  it("are all different", () => {
    expect(new Set(Array.from({ length: 2000 }, () => makeApiKey("live").key)).size).toBe(2000);
  });

  it("are compared without telling where they differ, and by length", () => {
    expect(sameHash("abc", "abc")).toBe(true);
    expect(sameHash("abc", "abd")).toBe(false);
    expect(sameHash("abc", "ab")).toBe(false);
    expect(sameHash("é", "e")).toBe(false);
  });

  it("show little of themselves", () => {
    const { key } = makeApiKey("test");
    expect(displayPrefix(key)).toBe(`${key.slice(0, 12)}…${key.slice(-4)}`);
  });
});
