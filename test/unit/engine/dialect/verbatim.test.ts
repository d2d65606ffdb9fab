import { describe, expect, test } from "vitest";
import { listApart } from "../../../../src/engine/dialect/verbatim.ts";

const items = (text: string, place: string) => {
  const body = Buffer.from(text);
  return listApart(body, place)?.spans.map(([start, end]) => body.toString("utf8", start, end));
};

describe("items of a list as they came", () => {
  test.each([
    ['{"data":[{"a":1.0},{"b":"],é"} ],"total":3}', "data", ['{"a":1.0}', '{"b":"],é"}']],
    [' [ {"a":[1,2]},{} ] ', "", ['{"a":[1,2]}', "{}"]],
    [
      '{"x":[1],"r":{"list":[{"n":12345678901234567890}]},"list":[2]}',
      "r.list",
      ['{"n":12345678901234567890}'],
    ],
    // JSON.parse takes the later one.
    ['{"d":[{}],"d":[{"b":2},{}]}', "d", ['{"b":2}', "{}"]],
    ['{"d":[]}', "d", []],
  ])("%s at %s", (text, place, expected) => {
    expect(items(text, place)).toEqual(expected);
  });

  test.each([
    ["a choice", '{"a":[1]}', "a|b"],
    ["an item", '{"a":[[1]]}', "a[0]"],
    ["no list", '{"a":{"b":1}}', "a"],
    ["nothing there", '{"b":[1]}', "a"],
    ["a member of no object", "[1]", "a"],
    ["no record", '{"a":[{},1]}', "a"],
    ["nobody in a record's place", '{"a":[{},null]}', "a"],
    ["no JSON", '{"a":[{"b":}]}', "a"],
    ["no end", '{"a":[{}', "a"],
  ])("%s is not looked for", (_, text, place) => {
    expect(items(text, place)).toBeUndefined();
  });

  test("what is no UTF-8 is written anew", () => {
    expect(listApart(Buffer.from([0x5b, 0x22, 0xff, 0x22, 0x5d]), "")).toBeUndefined();
  });
});

test("what is around a list is told without it", () => {
  const body = Buffer.from('{"n":1,"d":[{"a":1} ],"next":"x"}');
  expect(listApart(body, "d")).toMatchObject({
    around: '{"n":1,"d":[],"next":"x"}',
    spans: [[12, 19]],
    cells: { keys: ["a"] },
  });
});
