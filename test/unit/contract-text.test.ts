import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { nearest } from "../../src/shared/contract/suggest.ts";
import {
  counted,
  echo,
  grouped,
  harmless,
  harmlessJson,
  harmlessLine,
  isDay,
  momentMs,
  spanMs,
  waitSeconds,
  whole,
  withoutPassword,
} from "../../src/shared/contract/text.ts";
import { asTyped } from "../support/as-typed.ts";

const HARMFUL =
  "\u0000\u001b\u007f\u0085\u009b\u061c\u200b\u200e\u200f\u202a\u202e\u2060\u2066\u206f\ufeff\ud800";

describe("text from outside", () => {
  test("nothing harmful is left, and it stays on one line", () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...HARMFUL, "a", "é", "\n", "\u2028", "\u200d")),
        (letters) => {
          const text = letters.join("");
          for (const made of [harmless(text), harmlessLine(text), echo(text)])
            expect(made).toMatch(/^(?:[ aé\ufffd]|\u200d)*$/u);
        },
      ),
    );
    expect(harmless("a\r\n\tb\u2029c")).toBe("a b c");
    expect(harmless("نمی\u200cخواهم")).toBe("نمی\u200cخواهم");
  });

  test("JSON stays the same value", () => {
    fc.assert(
      fc.property(
        fc.jsonValue(),
        fc.string({ unit: fc.constantFrom(...HARMFUL.slice(1, -1), "x") }),
        (value, text) => {
          const document = { value, text };
          const made = harmlessJson(JSON.stringify(document, undefined, 2));
          expect(JSON.parse(made)).toEqual(JSON.parse(JSON.stringify(document)));
          expect(harmlessJson(made)).toBe(made);
        },
      ),
    );
    expect(harmlessJson('"\u009b\u202e"')).toBe('"\\u009b\\u202e"');
  });

  test("it is bounded", () => {
    expect(echo("x".repeat(1e6))).toBe(`${"x".repeat(64)}…`);
    expect(harmlessLine("x".repeat(1e6), 10)).toBe(`${"x".repeat(10)}…`);
    expect(echo({ a: 1 })).toBe('{"a":1}');
  });

  test("a number is quoted as it is, beyond what JSON has too", () => {
    expect(
      [Number("1e400"), Number("-1e400"), Number.NaN, 5n, true, null, undefined].map(echo),
    ).toEqual(asTyped`Infinity -Infinity NaN 5 true null undefined`);
  });
});

test.each([
  ["https://user:pa/SECRET@x", "https://***@x"],
  ["user:SECRET@127.0.0.1:1", "***@127.0.0.1:1"],
  ["mysql://u:PG/SEC@RET@h/db", "mysql://***@h/db"],
  ["https://api.example.com", "https://api.example.com"],
])("no password in %s", (address, shown) => {
  expect(withoutPassword(address)).toBe(shown);
});

test.each([
  ["https://user:SECRET@acme.example/a", "https://***@acme.example/a"],
  ["https://user:pa/SECRET@ss@acme.example", "https://***@acme.example"],
  ["https://SECRET@acme.example", "https://***@acme.example"],
  ["user:SECRET@acme.example", "***@acme.example"],
  ["--base-url=https://u:SECRET@h", "--base-url=https://***@h"],
  ["unknown option '--url=u:SECRET@h'", "unknown option '--url=***@h'"],
  [{ to: "postgres://u:SECRET@h/db" }, '{"to":"postgres://***@h/db"}'],
  ["hc_live_0123456789abcdef", "hc_live_***"],
  [`https://u:${"SECRET".repeat(40)}@h`, "https://***@h"],
  ["ada@acme.example", "ada@acme.example"],
  ["mailto:ada@acme.example", "mailto:ada@acme.example"],
  ["https://medium.example/@ada", "https://medium.example/@ada"],
  ["https://acme.example:8443/a", "https://acme.example:8443/a"],
  ["eu_test_segment", "eu_test_segment"],
  ["/home/ada/https:/u:SECRET@h/x.csv", "/home/ada/https:/***@h/x.csv"],
])("what is quoted of %j has no secret", (value, quoted) => {
  expect(echo(value)).toBe(quoted);
});

test("numbers with separators", () => {
  expect([0, 999, 1_000, 1_234_567, 12_345n, "1234.5678", -1_234].map(grouped)).toEqual(
    ["0", "999", "1,000", "1,234,567", "12,345", "1,234.5678", "-1,234"], // the same in every locale
  );
  expect([
    counted(1, "profile"),
    counted(2, "profile"),
    counted(1_000, "person", "people"),
  ]).toEqual(["1 profile", "2 profiles", "1,000 people"]);
});

test("whole numbers, and nothing that is nearly one", () => {
  expect(["7", " 7 ", 7, "0007"].map((value) => whole(value))).toEqual([7, 7, 7, 7]);
  for (const value of [
    "",
    "-1",
    "1.0",
    "1e3",
    "0x1",
    "9007199254740993",
    1.5,
    -1,
    Number.NaN,
    null,
    [],
    "１",
  ])
    expect(whole(value), JSON.stringify(value)).toBeUndefined();
  expect([whole("5", 6), whole("5", 0, 4), whole("5", 5, 5)]).toEqual([undefined, undefined, 5]);
});

test("spans of time", () => {
  expect(["2m", "12h", "30d", "8w"].map(spanMs)).toEqual([
    120_000, 43_200_000, 2_592_000_000, 4_838_400_000,
  ]);
  for (const text of ["", "30", "d", "30 d", "30s", "-1d", "1.5h", "123456d"])
    expect(spanMs(text)).toBeUndefined();
});

test("a wait is seconds or a span, and a week at most", () => {
  expect(["0", "0.5", "90", "2m", "7d", "604800"].map(waitSeconds)).toEqual([
    0, 0.5, 90, 120, 604_800, 604_800,
  ]);
  for (const text of ["", "-1", "1e3", "604801", "8d", "2s", "soon"])
    expect(waitSeconds(text)).toBeUndefined();
});

describe("the calendar", () => {
  test("has each day once, and none that it only counts on to", () => {
    fc.assert(
      fc.property(fc.date({ min: new Date(0), noInvalidDate: true }), (date) => {
        const day = date.toISOString().slice(0, 10);
        expect(isDay(day)).toBe(/^\d{4}-/.test(day));
      }),
    );
    for (const day of [
      "2026-02-29",
      "2026-04-31",
      "2026-00-10",
      "2026-13-01",
      "+012345-01",
      "2026-1-1",
    ])
      expect([day, isDay(day)]).toEqual([day, false]);
    expect(isDay("2028-02-29")).toBe(true);
  });

  test("has a moment where its day is one", () => {
    expect(
      ["1970-01-01", "2026-01-31T10:03Z", "2026-01-31T10:03:04.5+01:00"].map(momentMs),
    ).toEqual([0, 1_769_853_780_000, 1_769_850_184_500]);
    for (const text of [
      "",
      "2026-02-30",
      "2026-02-30T10:00Z",
      "2026-01-31T10:03",
      "2026-01-31T25:00Z",
    ])
      expect([text, momentMs(text)]).toEqual([text, Number.NaN]);
  });
});

test("what was likely meant", () => {
  expect(nearest("Salse", ["Sales", "Legal"])).toBe("Sales");
  expect(nearest("dept", ["except", "department"])).toBe("department");
  expect(nearest("engineering", ["Engineering and Technical", "Legal"])).toBe(
    "Engineering and Technical",
  );
  expect(nearest("x".repeat(1e6), ["Sales"])).toBeUndefined();
});
