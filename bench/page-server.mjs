// A server that hands out pages made beforehand as fast as it can, so that what is measured is the client. It speaks the three
// calls that an export makes (account, count, search) by the contract; ids are unique over any number of pages.
// usage: page-server.mjs [--matches N] [--tls FOLDER]   prints {"url"} once it listens; POST /control?latency=MS sets the delay of each
// answer; --tls speaks https with cert.pem and key.pem of a folder
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { personRecord } from "./people.mjs";

const { values } = parseArgs({
  options: { matches: { type: "string", default: "10000000" }, tls: { type: "string" } },
});
const matches = Number(values.matches);
/** Distinct people before they come again under other ids. */
const POOL = 20_000;
const ID_LENGTH = 10;
const records = Array.from({ length: POOL }, (_, index) =>
  Buffer.from(JSON.stringify(personRecord(index))),
);
const HEAD = Buffer.from('{"status":true,"detail":[],"result":[');
const COMMA = Buffer.from(",");
const templates = new Map();

let latency = 0;
let balance = 1_000_000_000_000;
let requests = 0;

/** A page as it is made once, with the places where the ids of its people stand. */
function template(first, size) {
  const start = first % POOL;
  const name = `${start}/${size}`;
  const known = templates.get(name);
  if (known !== undefined) return known;
  const parts = [HEAD];
  const places = [];
  let length = HEAD.length;
  for (let index = 0; index < size; index++) {
    if (index > 0) {
      parts.push(COMMA);
      length += COMMA.length;
    }
    const record = records[(start + index) % POOL];
    const found = [];
    for (let at = record.indexOf("#ID#"); at >= 0; at = record.indexOf("#ID#", at + ID_LENGTH))
      found.push(length + at);
    places.push(found);
    parts.push(record);
    length += record.length;
  }
  const made = { bytes: Buffer.concat(parts), places };
  if (templates.size > 512) templates.clear();
  templates.set(name, made);
  return made;
}

function page(first, size) {
  const { bytes, places } = template(first, size);
  const copy = Buffer.from(bytes);
  for (let index = 0; index < places.length; index++) {
    const id = String(first + index).padStart(ID_LENGTH, "0");
    for (const place of places[index]) copy.latin1Write(id, place, ID_LENGTH);
  }
  return copy;
}

const headers = () => ({
  "content-type": "application/json; charset=utf-8",
  "x-ratelimit-limit": "100000000",
  "x-ratelimit-remaining": "99999999",
  "x-ratelimit-reset": String(Math.floor(Date.now() / 60_000) * 60 + 60),
  "x-request-id": `req-${requests}`,
  "x-dataset-version": "bench-1",
});

const account = () => ({
  account: { id: "bench", name: "bench" },
  key: { id: "key-1", name: "bench", mode: "live", prefix: "hc_live_...." },
  plan: { name: "bench" },
  credits: { remaining: balance, held: 0, used_today: 0 },
  rate_limits: { per_minute: 100_000_000, per_day: 1_000_000_000 },
  costs: { account: 0, person_count: 0, person_search: 1, company_enrich: 1, company_employees: 1 },
  limits: { per_page_max: 1_000, max_depth: null, count_cache_seconds: 300 },
  dataset: { version: "bench-1", people: matches, companies: 1 },
});

const envelope = (result) =>
  JSON.stringify({ status: true, detail: [], result, credits_used: 0, credits_remaining: balance });

/** @returns status, extra headers and the parts of the body */
function answer(request, body) {
  const { pathname } = new URL(request.url, "http://page-server");
  if (pathname === "/v1/account") return { parts: [Buffer.from(envelope(account()))] };
  if (pathname === "/v1/person/count") {
    const result = { count: matches, cached: false, as_of: new Date().toISOString() };
    return { parts: [Buffer.from(envelope(result))] };
  }
  if (pathname === "/v1/person/search") {
    const { page: number = 1, per_page: perPage = 10 } = JSON.parse(body);
    const first = (number - 1) * perPage;
    const size = Math.max(0, Math.min(perPage, matches - first));
    balance -= size;
    const tail = Buffer.from(`],"credits_used":${size},"credits_remaining":${balance}}`);
    const extra = {
      "x-total-count": String(matches),
      "x-page": String(number),
      "x-per-page": String(perPage),
    };
    return { extra, parts: [page(first, size), tail] };
  }
  return {
    status: 404,
    parts: [
      Buffer.from('{"status":false,"detail":["no such route"],"result":null,"credits_used":0}'),
    ],
  };
}

const certificate = (folder) => ({
  cert: readFileSync(join(folder, "cert.pem")),
  key: readFileSync(join(folder, "key.pem")),
});
const server =
  values.tls === undefined ? createServer(serve) : createTlsServer(certificate(values.tls), serve);

function serve(request, response) {
  requests++;
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    if (request.url.startsWith("/control")) {
      latency = Number(new URL(request.url, "http://page-server").searchParams.get("latency") ?? 0);
      response.end();
      return;
    }
    const { status = 200, extra = {}, parts } = answer(request, Buffer.concat(chunks).toString());
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    const send = () => {
      response.writeHead(status, { ...headers(), ...extra, "content-length": length });
      for (const part of parts.slice(0, -1)) response.write(part);
      response.end(parts.at(-1));
    };
    if (latency > 0) setTimeout(send, latency);
    else send();
  });
}

server.listen(0, "127.0.0.1", () => {
  process.stdout.write(
    `${JSON.stringify({ url: `http${values.tls === undefined ? "" : "s"}://127.0.0.1:${server.address().port}` })}\n`,
  );
});
process.on("SIGTERM", () => process.exit(0));
