import { DEPARTMENTS, EXACT_KEYS, PREFIX_KEYS, RANGE_KEYS } from "../contract/vocabulary.ts";

const code = (words: readonly string[]): string => words.map((word) => `\`${word}\``).join(", ");

export const OPENAPI_DESCRIPTION = `A read-only API over a prebuilt dataset of people and companies,
billed in credits per profile actually returned.

Count a segment for free, see what it would cost at most, then page through it. Misses and errors
are never charged. Every answer, whatever its status, is one JSON envelope:

| Field | Type | Meaning |
|---|---|---|
| \`status\` | boolean | true on success, false on error |
| \`detail\` | array of strings | error messages; on success empty, or notices |
| \`result\` | object, array or null | the payload; null on error |
| \`credits_used\` | number | charged by this call; 0 on any error |
| \`credits_remaining\` | number | balance after the call |

## First call

\`\`\`
curl -s "$HEADCOUNT_BASE_URL/v1/person/count" \\
  -H "Authorization: Bearer $HEADCOUNT_API_KEY" -H "Content-Type: application/json" \\
  -d '{"filters": {"department": "Sales"}}'
\`\`\`

## Filters

Separate keys combine with AND, the elements of one array with OR. Text matches in any case and
Unicode form.

| Match | Keys | Value |
|---|---|---|
| Exact | ${code(EXACT_KEYS)} | string or array of strings |
| Prefix | ${code(PREFIX_KEYS)} | string |
| Range | ${code(RANGE_KEYS)} | integer |
| Company | \`company_network_url\` | profile address of the company, or its slug |
| Department | \`department\` | string or array of strings, any case |

Departments: ${DEPARTMENTS.join(", ")}.

An unknown key is a 422 that names it and lists the valid keys. An empty text, an empty array, a
negative or broken number and a \`_min\` above its \`_max\` are 422 as well. A row without a value
never matches a range. A key takes at most 1,000 values, all keys together 2,000, and 100,000
characters in their normal form.

## Credits

- \`account\` and \`count\` are free, always. \`search\` and \`employees\` cost per profile
  returned, \`enrich\` per match. What your plan pays is in \`costs\` of \`/v1/account\`; the
  standard price is 1 credit, and decimals down to a millionth are possible.
- A paid page first **holds** \`per_page\` x cost. The call is then charged for what it returned and
  the rest comes back at once. What is held counts against the balance of every key of the account
  until then.
- A balance below the hold is a 402 before any work is done: ask for fewer, or top up. A key can
  have a cap of its own, which its charges and holds never pass together: also a 402.
- Errors carry \`credits_used\` 0 and are never charged.

## Order of checks

A call is checked in this order, and the first failure answers: key (401), rate limit (429),
suspended account and scope of the key (403), method (405), size and type of the body (413, 415),
parameters and body (422), balance and cap of the key (402), then the work (404 or 200). Nothing of
the dataset is read before the credits are held.

## Rate limits

Limits hold per key, in fixed windows of a minute and of a UTC day. Every answer carries
\`X-RateLimit-Limit\`, \`X-RateLimit-Remaining\` and \`X-RateLimit-Reset\` (epoch seconds) of the
window that binds first; \`X-RateLimit-Window\` says which one that is. A 429 carries
\`Retry-After\` in whole seconds. A refused call does not count; free calls do, one for each hundred
values in their filters where the answer is not known already, and searches that find nobody count
like them. Calls without a valid key have a window of an address: a 401 tells what is left of it,
and beyond it they are a 429. A valid key is let in from any address.

## Paging

\`page\` counts from 1. The order of rows is total and fixed for one version of the dataset,
whatever \`per_page\` is; \`X-Dataset-Version\` names the version. \`X-Total-Count\` tells how many
rows match in all, and \`X-Next-Cursor\` can be sent back as \`cursor\` in place of \`page\`. A
cursor of another version is a 422, so a walk never mixes two datasets.

## Retrying a paid call

\`Idempotency-Key\` is an extension of this service to the three paid calls. Make one key per call
and send it on every retry of that call:

- The same key with the same request within 24 hours brings the stored reply back, byte for byte,
  with \`Idempotent-Replayed: true\`. Nothing is charged again.
- People who were suppressed or forgotten since are not in it; \`X-Suppressed-Count\` tells how
  many. \`credits_used\` stays what was charged.
- The same key with another request is a 422.
- While the first call is still being answered the second gets a 409 with \`Retry-After: 1\`.
- Errors are not stored: a retry after one does the work.

Keys belong to the account and the operation. Without the header a repeated call is a new call, and
is charged. It may be repeated by others than you: many proxies (Varnish, Squid and Caddy among
them) send a GET again by themselves when its reply is lost, and two of the paid calls are GETs.

With a charge the service keeps a mark of each person who was sold, an HMAC of account and id under
a key of its own: its console leaves out whom an account owns. Marks of a person who is forgotten
are deleted.

## Test keys

A key that begins with \`hc_test_\` reaches the same routes over a small fixed dataset of invented
people and companies, with full validation and a simulated balance of its own. Live credits are
never touched. Magic values make a call with a test key fail as you need it:

| Value | In \`count\` and \`search\` | In \`enrich\` and \`employees\` | What happens |
|---|---|---|---|
| \`magic-402\` | \`{"filters": {"name": "magic-402"}}\`, search only | \
\`domain=magic-402.example\` | 402 |
| \`magic-404\` | has no effect | \`domain=magic-404.example\` | 404 |
| \`magic-429\` | \`{"filters": {"name": "magic-429"}}\` | \`domain=magic-429.example\` | 429 \
with \`Retry-After: 1\` |
| \`magic-500\` | \`{"filters": {"name": "magic-500"}}\` | \`domain=magic-500.example\` | 500 |
| \`magic-slow\` | \`{"filters": {"name": "magic-slow"}}\` | \`domain=magic-slow.example\` | an \
answer after 3 seconds |
| \`magic-drop\` | \`{"filters": {"name": ["magic-drop", NAME]}}\` with the name of somebody who \
is found, search only | has no effect | the people of that name are charged, and the connection \
closes without an answer; the same \`Idempotency-Key\` brings the stored one |

For a company the bare value works as \`name\`, \`id\` and slug too.

## Versions

\`/v1\` is stable. A route that will go answers with \`Deprecation\` and \`Sunset\` headers for at
least six months before. Beside \`/v1\` the service answers \`GET /key\` (what the key that asks may
do, and what is left of its cap), \`GET /openapi.json\` (this document), \`GET /docs\` (this
reference), \`GET /docs/collection.json\` (one request an operation, for an API client such as
Postman) and \`GET /healthz\`.

## Large answers, browsers

An answer from 4 KiB on is packed with brotli or gzip where \`Accept-Encoding\` allows; request
bodies are sent unpacked. Pages of other origins may read this document and call nothing: a key in a
page is in the hands of everybody who opens it.
`;
