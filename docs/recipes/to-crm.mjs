// Puts people or companies into HubSpot or Salesforce: docs/crm.md says how.
//   node to-crm.mjs WHERE HOW OBJECT KEY PUSHED MAP < rows.ndjson
// WHERE hubspot, salesforce; HOW update, create, upsert; KEY the field of headcount by which a
// record is found (network_url, domain); PUSHED a file of what was pushed, which is never pushed
// again; MAP a JSON object, headcount's field to the CRM's, KEY among them.
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";

const [where, how, object, key, pushedFile, mapText] = process.argv.slice(2);
const map = JSON.parse(mapText ?? "null");
const external = map?.[key];
const base = process.env.CRM_URL;
const token = process.env.CRM_TOKEN;
if (!["update", "create", "upsert"].includes(how) || !external || !base || !token)
  stop("give WHERE HOW OBJECT KEY PUSHED MAP, KEY in MAP, and set CRM_URL and CRM_TOKEN", 2);

function stop(message, code = 1) {
  process.stderr.write(`to-crm: ${message}\n`);
  process.exit(code);
}

/** A call of the CRM, again where it is busy: every call here may be made twice. */
async function call(method, path, body, tries = 5) {
  const response = await fetch(`${base}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if ((response.status === 429 || response.status >= 500) && tries > 1) {
    const seconds = Number(response.headers.get("retry-after") ?? 1);
    await new Promise((go) => setTimeout(go, seconds * 1_000));
    return call(method, path, body, tries - 1);
  }
  const text = await response.text();
  if (!response.ok)
    stop(`${method} ${path} was answered ${response.status}: ${text.slice(0, 300)}`);
  return text === "" ? {} : JSON.parse(text);
}

const CRMS = {
  hubspot: {
    size: 100,
    /** Those of the keys that the CRM has, each with what an update names it by. */
    async find(keys) {
      const inputs = keys.map((id) => ({ id }));
      const body = { idProperty: external, properties: [external], inputs };
      const { results } = await call("POST", `/crm/v3/objects/${object}/batch/read`, body);
      return new Map(results.map(({ properties }) => [properties[external], properties[external]]));
    },
    /** Sends records to be changed and records to be made. */
    async send(changed, made) {
      const path = `/crm/v3/objects/${object}/batch`;
      const inputs = changed.map(({ id, fields }) => ({
        id,
        idProperty: external,
        properties: fields,
      }));
      if (inputs.length > 0) await call("POST", `${path}/update`, { inputs });
      // Made by their key: a lost reply and a second try make no second record.
      const fresh = made.map(({ name, fields }) => ({
        id: name,
        idProperty: external,
        properties: fields,
      }));
      if (fresh.length > 0) await call("POST", `${path}/upsert`, { inputs: fresh });
      return new Set([...changed, ...made].map(({ name }) => name));
    },
  },

  salesforce: {
    size: 200,
    async find(keys) {
      const found = new Map();
      // An address of the query is bounded: so many keys at a time.
      for (let at = 0; at < keys.length; at += 50) {
        const some = keys.slice(at, at + 50).map((each) => `'${each.replace(/[\\']/g, "\\$&")}'`);
        const query = `SELECT Id, ${external} FROM ${object} WHERE ${external} IN (${some})`;
        const path = `/services/data/v61.0/query?q=${encodeURIComponent(query)}`;
        for (const record of (await call("GET", path)).records)
          found.set(record[external], record.Id);
      }
      return found;
    },
    async send(changed, made) {
      const done = new Set();
      const root = "/services/data/v61.0/composite/sobjects";
      const put = async (records, path, fieldsOf) => {
        if (records.length === 0) return;
        const all = records.map((one) => ({ attributes: { type: object }, ...fieldsOf(one) }));
        const results = await call("PATCH", path, { allOrNone: false, records: all });
        for (const [index, { success, errors }] of results.entries()) {
          const { name } = records[index];
          if (success) done.add(name);
          else process.stderr.write(`to-crm: ${name} was refused: ${errors[0]?.message}\n`);
        }
      };
      await put(changed, root, ({ id, fields }) => ({ ...fields, Id: id }));
      await put(made, `${root}/${object}/${external}`, ({ fields }) => fields);
      return done;
    },
  },
};

const crm = CRMS[where] ?? stop(`WHERE is hubspot or salesforce, not ${where}`, 2);
const pushed = new Set(existsSync(pushedFile) ? readFileSync(pushedFile, "utf8").split("\n") : []);

// An empty field is not sent: what the CRM has there stays.
const records = new Map();
let without = 0;
for (const line of readFileSync(0, "utf8").split("\n")) {
  if (line.trim() === "") continue;
  const row = JSON.parse(line);
  const name = row[key];
  const has = ([field]) => row[field] !== null && row[field] !== undefined && row[field] !== "";
  const entries = Object.entries(map)
    .filter(has)
    .map(([field, at]) => [at, row[field]]);
  if (typeof name !== "string" || name === "") without++;
  else if (!pushed.has(name)) records.set(name, { name, fields: Object.fromEntries(entries) });
}

const journal = openSync(pushedFile, "a");
const all = [...records.values()];
let [changes, creations, left] = [0, 0, 0];
for (let at = 0; at < all.length; at += crm.size) {
  const batch = all.slice(at, at + crm.size);
  const found = await crm.find(batch.map(({ name }) => name));
  const there = batch.filter(({ name }) => found.has(name));
  const changed = how === "create" ? [] : there.map((one) => ({ ...one, id: found.get(one.name) }));
  const made = how === "update" ? [] : batch.filter(({ name }) => !found.has(name));
  const done = await crm.send(changed, made);

  // On disk before the next batch: whoever is stopped here goes on where it was.
  if (done.size > 0) writeSync(journal, `${[...done].join("\n")}\n`);
  fsyncSync(journal);
  changes += changed.filter(({ name }) => done.has(name)).length;
  creations += made.filter(({ name }) => done.has(name)).length;
  left += batch.length - done.size;
}
closeSync(journal);
process.stdout.write(
  `${changes} updated, ${creations} created, ${left} left alone, ${without} without ${key}\n`,
);
