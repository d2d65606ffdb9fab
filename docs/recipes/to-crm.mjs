// Puts people or companies into HubSpot or Salesforce: docs/how-to/crm.md says how.
//   node to-crm.mjs WHERE HOW OBJECT KEY PUSHED MAP < rows.ndjson
// WHERE hubspot, salesforce; HOW update, create, upsert; KEY the field of headcount by which a
// record is found (network_url, domain); PUSHED a file of what was pushed, which is never pushed
// again; MAP a JSON object, headcount's field to the CRM's, KEY among them. Of the lines that
// hand_to gives, who was removed is left alone, and who changed is pushed again.
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

let refusals = 0;
function refused(name, why) {
  process.stderr.write(`to-crm: ${name} was refused: ${why}\n`);
  refusals++;
}

/** A CRM gives a key back as somebody once wrote it: `A.Example` is `a.example`. */
const folded = (text) => String(text).toLowerCase();

/**
 * A call of the CRM, again where it is busy or not reached: every call here may be made twice.
 * A refusal (400, 409) of the records themselves is `{ refused: why }`.
 */
async function call(method, path, body, tries = 5) {
  const sent = {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  };
  const response = await fetch(`${base}${path}`, sent).catch((error) => error);
  const isDown = response instanceof Error || response.status === 429 || response.status >= 500;
  if (isDown && tries > 1) {
    const seconds = Number(response.headers?.get("retry-after") ?? 1);
    await new Promise((go) => setTimeout(go, seconds * 1_000));
    return call(method, path, body, tries - 1);
  }
  if (response instanceof Error)
    stop(`${method} ${base}${path}: ${response.cause?.message ?? response.message}`);

  const text = await response.text();
  if (response.ok) return text === "" ? {} : JSON.parse(text);
  const why = `${method} ${path} was answered ${response.status}: ${text.slice(0, 300)}`;
  if (body !== undefined && [400, 409].includes(response.status)) return { refused: why };
  return stop(why);
}

const CRMS = {
  hubspot: {
    size: 100,
    /** Those of the keys that the CRM has, each with its id there. */
    async find(keys) {
      const inputs = keys.map((id) => ({ id }));
      const body = { idProperty: external, properties: [external], inputs };
      const said = await call("POST", `/crm/v3/objects/${object}/batch/read`, body);
      if (said.refused) stop(said.refused);
      return new Map(said.results.map(({ id, properties }) => [folded(properties[external]), id]));
    },

    /** Sends records to be changed and records to be made; the names of those that it took. */
    async send(changed, made) {
      const done = new Set();
      // One bad record has the whole batch refused: in halves, until it stands alone.
      const put = async (records, verb, inputOf) => {
        if (records.length === 0) return;
        const inputs = records.map((one) => ({
          ...inputOf(one),
          objectWriteTraceId: one.name,
          properties: one.fields,
        }));
        const path = `/crm/v3/objects/${object}/batch/${verb}`;
        const { refused: why, errors = [] } = await call("POST", path, { inputs });
        if (why !== undefined && records.length === 1) return refused(records[0].name, why);
        if (why !== undefined) {
          const half = Math.ceil(records.length / 2);
          await put(records.slice(0, half), verb, inputOf);
          return put(records.slice(half), verb, inputOf);
        }

        const bad = new Map(
          errors.flatMap(({ context, message }) =>
            (context?.objectWriteTraceId ?? []).map((name) => [name, message]),
          ),
        );
        for (const { name } of records) {
          if (bad.has(name)) refused(name, bad.get(name));
          else if (errors.length > 0 && bad.size === 0) refused(name, errors[0].message);
          else done.add(name);
        }
      };

      await put(changed, "update", ({ id }) => ({ id }));
      if (how === "create") await put(made, "create", () => ({}));
      // Made by their key: a lost reply and a second try make no second record.
      else await put(made, "upsert", ({ name }) => ({ id: name, idProperty: external }));
      return done;
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
          found.set(folded(record[external]), record.Id);
      }
      return found;
    },

    async send(changed, made) {
      const done = new Set();
      const root = "/services/data/v61.0/composite/sobjects";
      const put = async (records, method, path, fieldsOf) => {
        if (records.length === 0) return;
        const all = records.map((one) => ({ attributes: { type: object }, ...fieldsOf(one) }));
        const results = await call(method, path, { allOrNone: false, records: all });
        if (results.refused) stop(results.refused);
        for (const [index, { success, errors }] of results.entries()) {
          const { name } = records[index];
          if (success) done.add(name);
          else refused(name, errors[0]?.message);
        }
      };

      await put(changed, "PATCH", root, ({ id, fields }) => ({ ...fields, Id: id }));
      // Of `create` a record that somebody made meanwhile is refused, and stays as it is.
      if (how === "create") await put(made, "POST", root, ({ fields }) => fields);
      else await put(made, "PATCH", `${root}/${object}/${external}`, ({ fields }) => fields);
      return done;
    },
  },
};

const crm = CRMS[where] ?? stop(`WHERE is hubspot or salesforce, not ${where}`, 2);
const before = existsSync(pushedFile) ? readFileSync(pushedFile, "utf8") : "";
const pushed = new Set(before.split("\n").map(folded));

// An empty field is not sent: what the CRM has there stays.
const records = new Map();
let without = 0;
for (const line of readFileSync(0, "utf8").split("\n")) {
  if (line.trim() === "") continue;
  const said = JSON.parse(line);
  if (said.change === "removed") continue;
  const row = said.person ?? said;
  const name = row[key];
  const has = ([field]) => row[field] !== null && row[field] !== undefined && row[field] !== "";
  const entries = Object.entries(map)
    .filter(has)
    .map(([field, at]) => [at, row[field]]);
  if (typeof name !== "string" || name === "") without++;
  else if (said.change === "changed" || !pushed.has(folded(name)))
    records.set(folded(name), { name, fields: Object.fromEntries(entries) });
}

const journal = openSync(pushedFile, "a");
const all = [...records.values()];
let [changes, creations, left] = [0, 0, 0];
for (let at = 0; at < all.length; at += crm.size) {
  const batch = all.slice(at, at + crm.size);
  const found = await crm.find(batch.map(({ name }) => name));
  const there = batch.filter(({ name }) => found.has(folded(name)));
  const changed =
    how === "create" ? [] : there.map((one) => ({ ...one, id: found.get(folded(one.name)) }));
  const made = how === "update" ? [] : batch.filter(({ name }) => !found.has(folded(name)));
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
if (refusals > 0) process.exitCode = 5;
