import { describe, expect, test } from "vitest";
import { listApart, recordsOf, withVendors } from "../../../../src/engine/dialect/verbatim.ts";
import { Page } from "../../../../src/shared/rows/page.ts";

const items = (text: string, place: string) => {
  const body = Buffer.from(text);
  return listApart(body, place)?.spans.map(([start, end]) => body.toString("utf8", start, end));
};

describe("items of a list as they came", () => {
  test.each([
    ['{"data":[{"a":1.0},{"b":"],é"} , null],"total":3}', "data", ['{"a":1.0}', '{"b":"],é"}']],
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
    ["no JSON", '{"a":[{"b":}]}', "a"],
    ["no end", '{"a":[{}', "a"],
  ])("%s is not looked for", (_, text, place) => {
    expect(items(text, place)).toBeUndefined();
  });

  test("what is no UTF-8 is written anew", () => {
    expect(listApart(Buffer.from([0x5b, 0x22, 0xff, 0x22, 0x5d]), "")).toBeUndefined();
  });
});

test("records are read one by one, with all digits, and what is around them without them", () => {
  const body = Buffer.from('{"n":1,"d":[{"id":12345678901234567890},{"é":1.50}],"next":"x"}');
  const listed = listApart(body, "d");
  expect(listed?.around).toBe('{"n":1,"d":[],"next":"x"}');
  expect(listed && recordsOf(body, listed)).toEqual([{ id: 12345678901234567890n }, { é: 1.5 }]);
});

test("rows have the contract's fields, and the vendor's own row byte by byte", () => {
  const body = Buffer.from('{"data":[{"id" : 1, "n":1.50},{"id":2,"t":"a\\nb"}]}');
  const { spans = [] } = listApart(body, "data") ?? {};
  const rows = [
    { id: "1", name: "é\n" },
    { id: "2", name: null },
  ];
  const around = { head: '{"result":[', tail: "]}" };
  const page = withVendors(rows, body, spans, around);
  expect(page.toString()).toBe(
    '{"result":[{"id":"1","name":"é\\n","vendor":{"id" : 1, "n":1.50}},' +
      '{"id":"2","name":null,"vendor":{"id":2,"t":"a\\nb"}}]}',
  );
  expect(Page.read(page, "person").rows()).toEqual([
    { ...rows[0], vendor: { id: 1, n: 1.5 } },
    { ...rows[1], vendor: { id: 2, t: "a\nb" } },
  ]);
  expect(withVendors([], body, [], around).toString()).toBe('{"result":[]}');
});
