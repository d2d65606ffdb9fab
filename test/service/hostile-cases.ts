import {
  EXACT_KEYS,
  FILTER_KEYS,
  PREFIX_KEYS,
  RANGE_KEYS,
} from "../../src/shared/contract/vocabulary.ts";

/** One request that a stranger might send, and the status that it must get. */
export interface HostileCase {
  readonly name: string;
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "HEAD" | "OPTIONS";
  readonly url: string;
  readonly status: number;
  readonly body?: string | Buffer;
  /** Added to the key and the content type; an empty text takes one of them away. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Must occur in `detail`. */
  readonly says?: string;
}

const SEARCH = "/v1/person/search";
const COUNT = "/v1/person/count";
const cases: HostileCase[] = [];

function post(
  url: string,
  name: string,
  body: string | Buffer,
  status: number,
  says?: string,
): void {
  cases.push({
    name: `${name} (${url})`,
    method: "POST",
    url,
    body,
    status,
    ...(says === undefined ? {} : { says }),
  });
}
const both = (name: string, body: string | Buffer, status: number, says?: string): void => {
  post(COUNT, name, body, status, says);
  post(SEARCH, name, body, status, says);
};
const get = (name: string, url: string, status: number, says?: string): void => {
  cases.push({
    name: `${name} (${url.slice(0, 60)})`,
    method: "GET",
    url,
    status,
    ...(says === undefined ? {} : { says }),
  });
};
const filters = (value: unknown): string => JSON.stringify({ filters: value });

// Bodies that are not what a JSON object in UTF-8 is.
both("empty body", "", 422, "empty");
both("blank body", " \r\n\t ", 422, "empty");
both("an array", "[]", 422, "an array");
both("null", "null", 422, "null");
both("a number", "1", 422, "a number");
both("a string", '"filters"', 422, "a string");
both("true", "true", 422, "a boolean");
both("half an object", '{"filters":{"country":"fr', 422, "not valid JSON");
both("trailing comma", '{"filters":{},}', 422, "not valid JSON");
both("two documents", '{"filters":{}}{"filters":{}}', 422, "not valid JSON");
both("single quotes", "{'filters':{}}", 422, "not valid JSON");
both("comment", '{"filters":{}/* all */}', 422, "not valid JSON");
both("NaN", '{"filters":{"connections_min":NaN}}', 422, "not valid JSON");
both("Infinity", '{"filters":{"connections_min":Infinity}}', 422, "not valid JSON");
both("hexadecimal number", '{"filters":{"connections_min":0x10}}', 422, "not valid JSON");
both("leading zero", '{"filters":{"connections_min":010}}', 422, "not valid JSON");
both("raw line break in a string", '{"filters":{"name":"a\nb"}}', 422, "not valid JSON");
both("raw NUL in a string", '{"filters":{"name":"a\u0000b"}}', 422, "not valid JSON");
both("unknown escape", '{"filters":{"name":"\\x41"}}', 422, "not valid JSON");
both("form encoding in a JSON body", "filters[country]=fr", 422, "not valid JSON");
both(
  "XML",
  "<?xml version='1.0'?><!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><x>&e;</x>",
  422,
  "not valid JSON",
);
both("byte order mark", '\ufeff{"filters":{}}', 422, "byte order mark");
both("UTF-16", Buffer.from('{"filters":{}}', "utf16le"), 422, "not valid JSON");
both(
  "invalid UTF-8 in a value",
  Buffer.from('{"filters":{"name":"\xff\xfe"}}', "latin1"),
  422,
  "UTF-8",
);
both("overlong UTF-8", Buffer.from('{"filters":{"name":"\xc0\xaf"}}', "latin1"), 422, "UTF-8");
both(
  "a surrogate in UTF-8",
  Buffer.from('{"filters":{"name":"\xed\xa0\x80"}}', "latin1"),
  422,
  "UTF-8",
);
both("cut UTF-8", Buffer.from('{"filters":{"name":"\xe2\x82', "latin1"), 422, "UTF-8");
both("escaped NUL", '{"filters":{"name":"a\\u0000b"}}', 422, "NUL");
both("escaped NUL in a key", '{"filters":{"na\\u0000me":"a"}}', 422, "NUL");
both("lone high surrogate", '{"filters":{"name":"\\ud83d"}}', 422, "lone surrogate");
both("lone low surrogate", '{"filters":{"name":"\\ude00x"}}', 422, "lone surrogate");
both("swapped surrogates", '{"filters":{"name":"\\ude00\\ud83d"}}', 422, "lone surrogate");
both("a pair of surrogates", '{"filters":{"name":"\\ud83d\\ude00"}}', 200);
both("duplicate filters", '{"filters":{},"filters":{"country":"fr"}}', 422, "duplicate key");
both("duplicate filter key", '{"filters":{"country":"fr","country":"de"}}', 422, "duplicate key");
both(
  "duplicate key written with an escape",
  '{"filters":{"country":"fr","c\\u006funtry":"de"}}',
  422,
  "duplicate key",
);
both("duplicate __proto__", '{"filters":{"__proto__":1,"__proto__":2}}', 422, "duplicate key");
both(
  "500,000 arrays deep",
  `{"filters":${"[".repeat(500_000)}${"]".repeat(500_000)}}`,
  422,
  "levels deep",
);
both(
  "100,000 objects deep",
  `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`,
  422,
  "levels deep",
);
both("half a million open brackets", "[".repeat(500_000), 422, "levels deep");
both("a million spaces", `{"filters":${" ".repeat(1_000_000)}{}}`, 200);
both(
  "a million digits",
  `{"filters":{"connections_min":${"1".repeat(1_000_000)}}}`,
  422,
  "out of range",
);
for (const [where, body] of Object.entries({
  "filters.connections_min: the number 9007199254740992":
    '{"filters":{"country":["fr","de"],"connections_min":9007199254740992}}',
  "filters.country[2]: the number -9007199254740993":
    '{"filters":{"country":["a,b",{"c":[1,2]},-9007199254740993]}}',
  "per_page: the number 1e400": '{"filters":{"name":"x"},"per_page":1e400}',
  "the number 9007199254740993": "9007199254740993",
})) {
  both(
    `a number out of range: ${where}`,
    body,
    422,
    `${where} is out of range: the largest is 9007199254740991`,
  );
}
both("a body of exactly 1 MiB", `{"filters":{}${" ".repeat(1_048_576 - 14)}}`, 200);
both(
  "a body of 1 MiB and a byte",
  `{"filters":{}${" ".repeat(1_048_577 - 14)}}`,
  413,
  "1048576 bytes",
);
both("a body of 2 MiB", `{"filters":{"name":"${"x".repeat(2_097_152)}"}}`, 413);

// The shape of the body.
both("no filters", "{}", 422, "filters is required");
for (const [name, value] of Object.entries({
  null: null,
  string: "x",
  number: 1,
  array: [],
  true: true,
  list: [{}],
})) {
  both(`filters is ${name}`, filters(value), 422, "filters must be an object");
}
for (const name of [
  "Filters",
  "filter",
  "where",
  "limit",
  "offset",
  "per-page",
  "__proto__",
  "constructor",
  "prototype",
  "",
  " ",
]) {
  both(`unknown field "${name}"`, `{"filters":{},${JSON.stringify(name)}:1}`, 422, "unknown field");
}
post(COUNT, "paging on a count", '{"filters":{},"per_page":1}', 422, "valid fields: filters");
both(
  "60,000 unknown fields",
  `{"filters":{},${Array.from({ length: 60_000 }, (_, at) => `"u${at}":1`).join(",")}}`,
  422,
  "more",
);
both(
  "a field of 900,000 characters",
  `{"filters":{},"${"k".repeat(900_000)}":1}`,
  422,
  "unknown field",
);

both(
  "40,000 keys",
  JSON.stringify(Object.fromEntries(Array.from({ length: 40_000 }, (_, i) => [`k${i}`, 1]))),
  422,
  "1000 keys",
);
both("40,000 objects of one key", `{"filters":[${'{"a":1},'.repeat(40_000)}{}]}`, 422, "1000 keys");

// Filter keys.
for (const key of [
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "hasOwnProperty",
  "countries",
  "Country",
  "COUNTRY",
  "country ",
  "",
  "$where",
  "country'--",
  "company_domain",
  "id",
  "\u202ecountry",
  "\u001b[2J",
]) {
  both(
    `unknown filter ${JSON.stringify(key)}`,
    `{"filters":{${JSON.stringify(key)}:"x"}}`,
    422,
    "valid filters: country",
  );
}
both(
  "__proto__ with an escape",
  '{"filters":{"__pr\\u006fto__":{"admin":true}}}',
  422,
  "__proto__",
);
both(
  "constructor.prototype",
  '{"filters":{"constructor":{"prototype":{"admin":true}}}}',
  422,
  "constructor",
);
both(
  "900 unknown filters",
  `{"filters":{${Array.from({ length: 900 }, (_, at) => `"u${at}":1`).join(",")}}}`,
  422,
  "valid filters",
);
both(
  "a filter name of 900,000 characters",
  `{"filters":{"${"k".repeat(900_000)}":1}}`,
  422,
  "valid filters",
);

// Values of text filters.
for (const key of [...EXACT_KEYS, "department", "company_network_url"]) {
  for (const [name, value] of Object.entries({
    null: null,
    number: 1,
    true: true,
    object: { a: 1 },
    "empty text": "",
    blanks: "   ",
    "empty list": [],
    "list with null": [null],
    "nested list": [["x"]],
  })) {
    post(COUNT, `${key} is ${name}`, filters({ [key]: value }), 422, key);
  }
}
for (const key of PREFIX_KEYS) {
  for (const [name, value] of Object.entries({
    list: ["x"],
    null: null,
    number: 1,
    "empty text": "",
    "zero width": "\u2003",
  })) {
    post(COUNT, `${key} is ${name}`, filters({ [key]: value }), 422, key);
  }
}
for (const key of RANGE_KEYS) {
  for (const [name, value] of Object.entries({
    text: '"5"',
    fraction: "1.5",
    negative: "-1",
    null: "null",
    list: "[1]",
    object: "{}",
    true: "true",
    "2^53": "9007199254740992",
    "2^53+1": "9007199254740993",
    "1e400": "1e400",
    "-1e400": "-1e400",
  })) {
    post(COUNT, `${key} is ${name}`, `{"filters":{"${key}":${value}}}`, 422);
  }
  post(COUNT, `${key} is -0`, `{"filters":{"${key}":-0}}`, 200);
  post(COUNT, `${key} is 1e2`, `{"filters":{"${key}":1e2}}`, 200);
  post(COUNT, `${key} is 2^53-1`, `{"filters":{"${key}":9007199254740991}}`, 200);
}
post(
  COUNT,
  "connections min above max",
  filters({ connections_min: 2, connections_max: 1 }),
  422,
  "swap",
);
post(
  COUNT,
  "followers min above max",
  filters({ followers_min: 9, followers_max: 0 }),
  422,
  "swap",
);
post(COUNT, "unknown department", filters({ department: "Saless" }), 422, 'did you mean "Sales"');
post(
  COUNT,
  "one unknown department of two",
  filters({ department: ["Sales", "Wizardry"] }),
  422,
  "Wizardry",
);
post(
  COUNT,
  "1,001 values",
  filters({ name: Array.from({ length: 1_001 }, (_, at) => `n${at}`) }),
  422,
  "at most 1000",
);
post(
  COUNT,
  "1,000 values",
  filters({ name: Array.from({ length: 1_000 }, (_, at) => `n${at}`) }),
  200,
);
post(COUNT, "a value of 1,025 characters", filters({ name: "x".repeat(1_025) }), 422, "1024");
post(
  COUNT,
  "100 values for each of 13 keys",
  filters(
    Object.fromEntries(
      EXACT_KEYS.map((key) => [key, Array.from({ length: 100 }, (_, at) => `v${at}`)]),
    ),
  ),
  200,
);
for (const key of FILTER_KEYS.filter(
  (name) => (EXACT_KEYS as readonly string[]).includes(name) && name !== "network_url",
)) {
  post(COUNT, `SQL in ${key}`, filters({ [key]: "x' OR '1'='1'; DROP TABLE people; --" }), 200);
}
for (const [name, value] of Object.entries({
  percent: "%",
  underscore: "_",
  "percent in front": "%a",
  star: "*",
  question: "?",
  backslash: "\\",
  quote: "'",
  "double quote": '"',
  bracket: "[a-z]",
  "regex bomb": "(a+)+$",
  "right to left": "\u202eabc",
  "zero width joiner": "a\u200db",
  "combining marks": `a${"\u0301".repeat(500)}`,
  "Turkish I": "İSTANBUL",
  decomposed: "Zu\u0308rich",
  emoji: "👩‍👩‍👧‍👦",
  "CR LF": "a\r\nX-Injected: 1",
  "escape sequence": "\u001b[31mred",
  template: "{{7*7}}<%= 7*7 %>",
  path: "../../etc/passwd",
  "null word": "null",
  "private use": "\ue000",
  noncharacter: "\uffff",
})) {
  post(COUNT, `prefix: ${name}`, filters({ name_prefix: value }), 200);
  post(SEARCH, `exact: ${name}`, filters({ name: value }), 200);
}
for (const [value, status] of [
  ["https://user:secret@network.example/company/x", 422],
  ["javascript:alert(1)", 422],
  ["file:///etc/passwd", 422],
  ["ftp://network.example/x", 422],
  ["data:text/html,x", 422],
  ["http://", 422],
  ["https://???", 422],
  ["//", 422],
  ["a b", 422],
  ["../x", 422],
  ["x/../../y", 200],
  ["https://xn--bcher-kva.example/company/x", 200],
  ["https://bücher.example/company/x", 200],
  ["https://network.example:443/company/x", 200],
  ["HTTPS://WWW.NETWORK.EXAMPLE/COMPANY/X/?a=1#b", 200],
  ["http://169.254.169.254/latest/meta-data", 200],
] as const) {
  post(COUNT, `company_network_url ${value}`, filters({ company_network_url: value }), status);
  post(COUNT, `network_url ${value}`, filters({ network_url: value }), status);
}

// Paging.
for (const value of [
  "0",
  "-1",
  "1.5",
  '"1"',
  '""',
  "null",
  "true",
  "[]",
  "{}",
  "1e9",
  "1001",
  "9007199254740993",
  "1e400",
]) {
  post(SEARCH, `per_page ${value}`, `{"filters":{},"per_page":${value}}`, 422);
}
for (const value of [
  "0",
  "-1",
  "1.5",
  '"1"',
  '""',
  "null",
  "true",
  "[]",
  "{}",
  "9007199254740993",
  "1e400",
  "-0",
]) {
  post(SEARCH, `page ${value}`, `{"filters":{},"page":${value}}`, 422);
}
post(
  SEARCH,
  "page 2^53-1 with the largest per_page",
  '{"filters":{},"page":9007199254740991,"per_page":1000}',
  200,
);
for (const value of [
  '""',
  '"x"',
  "1",
  "null",
  "[]",
  '"WyJ2IiwicyIsMF0.AAAAAAAA"',
  JSON.stringify("a".repeat(5_000)),
  '"\\u2028"',
  JSON.stringify("../../x.abcdefgh"),
]) {
  post(SEARCH, `cursor ${value.slice(0, 30)}`, `{"filters":{},"cursor":${value}}`, 422, "cursor");
}

// Content types and encodings.
for (const type of [
  "text/plain",
  "application/xml",
  "application/x-www-form-urlencoded",
  "multipart/form-data; boundary=x",
  "application/jsonx",
  "application/json; charset=latin1",
  "application/json; charset=utf-16",
  "text/json",
  "*/*",
  "application",
  "application/",
  ";",
  "application/vnd.api+json",
  "application/json, text/plain",
]) {
  cases.push({
    name: `content type ${type}`,
    method: "POST",
    url: COUNT,
    body: '{"filters":{}}',
    headers: { "content-type": type },
    status: 415,
  });
}
for (const type of [
  "application/json",
  "APPLICATION/JSON",
  "application/json; charset=utf-8",
  "application/json;charset=UTF-8",
  'application/json; charset="utf-8"',
]) {
  cases.push({
    name: `content type ${type}`,
    method: "POST",
    url: COUNT,
    body: '{"filters":{}}',
    headers: { "content-type": type },
    status: 200,
  });
}
cases.push({
  name: "no content type",
  method: "POST",
  url: COUNT,
  body: '{"filters":{}}',
  headers: { "content-type": "" },
  status: 415,
});
for (const encoding of ["gzip", "br", "deflate", "x"]) {
  cases.push({
    name: `content encoding ${encoding}`,
    method: "POST",
    url: COUNT,
    body: '{"filters":{}}',
    headers: { "content-encoding": encoding },
    status: 415,
  });
}

// Queries.
for (const path of ["/v1/company/enrich", "/v1/company/employees"]) {
  get("no parameter", path, 422, "exactly one");
  get("empty query", `${path}?`, 422, "exactly one");
  get("two ways at once", `${path}?domain=a.example&name=a`, 422, "domain and name");
  get("the same twice", `${path}?domain=a.example&domain=b.example`, 422, "more than once");
  get("unknown parameter", `${path}?url=a.example`, 422, "unknown parameter: url");
  get("unknown beside a known one", `${path}?domain=a.example&debug=1`, 422, "debug");
  get("brackets", `${path}?domain[]=a.example`, 422, "unknown parameter");
  get("__proto__", `${path}?__proto__=1`, 422, "__proto__");
  get("parameter in capitals", `${path}?DOMAIN=a.example`, 422, "unknown parameter");
  get("empty value", `${path}?domain=`, 422, "empty");
  get("no value", `${path}?domain`, 422, "empty");
  get("blank value", `${path}?name=%20%20`, 422, "empty");
  get("plus as blank", `${path}?name=+`, 422, "empty");
  get("no domain", `${path}?domain=localhost`, 422, "not a domain");
  get("domain with user", `${path}?domain=${encodeURIComponent("http://u:p@a.example")}`, 422);
  get("javascript as address", `${path}?company_network_url=javascript:alert(1)`, 422);
  get("broken percent", `${path}?domain=%zz`, 422, "percent-encoding");
  get("cut percent", `${path}?domain=a%`, 422, "percent-encoding");
  get("invalid UTF-8", `${path}?name=%ff`, 422, "percent-encoding");
  get("overlong slash", `${path}?name=%c0%af`, 422, "percent-encoding");
  get("NUL", `${path}?name=a%00b`, 422, "NUL");
  get("CR LF", `${path}?name=a%0d%0aX-Injected:%201`, 404);
  get("SQL", `${path}?name=${encodeURIComponent("' OR 1=1 --")}`, 404);
  get("traversal as id", `${path}?id=..%2f..%2fetc%2fpasswd`, 404);
  get("1,025 characters", `${path}?name=${"x".repeat(1_025)}`, 422, "1024");
  get("private address", `${path}?domain=169.254.169.254`, 422);
}
for (const value of [
  "0",
  "-1",
  "1.5",
  "x",
  "",
  "1e3",
  "0x10",
  "%201",
  "1001",
  "99999999999999999999",
  "NaN",
  "null",
]) {
  get(`per_page=${value}`, `/v1/company/employees?domain=a.example&per_page=${value}`, 422);
  get(
    `page=${value}`,
    `/v1/company/employees?domain=a.example&page=${value}`,
    value === "1001" ? 404 : 422,
  );
}
get("cursor that is none", "/v1/company/employees?domain=a.example&cursor=x", 422, "cursor");
get("page and cursor", "/v1/company/employees?domain=a.example&cursor=x&page=1", 422, "not both");
get("paging on enrich", "/v1/company/enrich?domain=a.example&page=1", 422, "unknown parameter");
get("parameters on account", "/v1/account?x=1", 422, "takes none");
post(`${COUNT}?x=1`, "query on a POST", '{"filters":{}}', 422, "takes none");
post(`${SEARCH}?per_page=1`, "paging in the query of a POST", '{"filters":{}}', 422, "takes none");

// Paths and methods.
for (const path of [
  "/v1",
  "/v1/",
  "/v1/nope",
  "/v1/account/",
  "/v1//account",
  "/v1/Account",
  "/V1/account",
  "/v1/person",
  "/v1/person/search/",
  "/v1/person/search/1",
  "/v1/%2e%2e/account",
  "/v1/..%2f..%2fetc%2fpasswd",
  "/v1/%00",
  "/v1/%zz",
  "/v1/%",
  "/v1/%ff",
  "/v1/account%2f",
  "/v1/account;x=1",
  "/v1/account%20",
  "/v1/__proto__",
  "/v1/constructor",
  "/v2/account",
  "/",
  "/robots.txt",
  "/.env",
  "/admin",
  "/metrics",
  "/docs/%2e%2e%2f",
  "//",
  `/v1/${"x".repeat(4_000)}`,
]) {
  get("unknown path", path, 404, "no such route");
}
const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"] as const;
for (const [path, allowed] of [
  ["/v1/account", "GET"],
  [COUNT, "POST"],
  [SEARCH, "POST"],
  ["/v1/company/enrich", "GET"],
  ["/v1/company/employees", "GET"],
  ["/key", "GET"],
  ["/facets", "POST"],
] as const) {
  for (const method of METHODS) {
    if (method !== allowed)
      cases.push({ name: `${method} ${path}`, method, url: path, status: 405 });
  }
}

// Keys and other headers.
const auth = (name: string, authorization: string, status = 401): void => {
  cases.push({
    name: `key: ${name}`,
    method: "GET",
    url: "/v1/account",
    headers: { authorization },
    status,
  });
};
auth("none", "");
auth("empty bearer", "Bearer ");
auth("another scheme", "Basic aGM6aGM=");
auth("no scheme", `hc_live_${"0".repeat(56)}`);
auth("wrong checksum", `Bearer hc_live_${"0".repeat(56)}`);
auth("too short", "Bearer hc_live_abc");
auth("too long", `Bearer hc_live_${"a".repeat(5_000)}`);
auth("another service's prefix", `Bearer sk_live_${"a".repeat(49)}`);
auth("SQL", "Bearer ' OR '1'='1");
auth("list of two", "Bearer a, Bearer b");
auth("not ASCII", "Bearer hc_live_ü");
for (const [name, value] of Object.entries({
  "256 characters": "k".repeat(256),
  "a blank": "a b",
  empty: " ",
  "not ASCII": "schlüssel",
  "a tab": "a\tb",
})) {
  cases.push({
    name: `idempotency key: ${name}`,
    method: "POST",
    url: SEARCH,
    body: '{"filters":{},"per_page":1}',
    headers: { "idempotency-key": value },
    status: 422,
    says: "Idempotency-Key",
  });
}
for (const [name, value] of Object.entries({
  "with CR LF escaped": "a%0d%0ab",
  "200 characters": "r".repeat(200),
  blanks: "a b",
  markup: "<script>",
  "not ASCII": "ü",
})) {
  cases.push({
    name: `request id: ${name}`,
    method: "GET",
    url: "/v1/account",
    headers: { "x-request-id": value },
    status: 200,
  });
}
for (const header of [
  "x-http-method-override",
  "x-forwarded-for",
  "x-original-url",
  "range",
  "if-none-match",
  "origin",
  "upgrade",
  "te",
  "cookie",
]) {
  cases.push({
    name: `header ${header}`,
    method: "GET",
    url: "/v1/account",
    headers: { [header]: "DELETE, 127.0.0.1, /admin" },
    status: 200,
  });
}

export const HOSTILE_CASES: readonly HostileCase[] = cases;
