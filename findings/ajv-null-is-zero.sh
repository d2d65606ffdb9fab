#!/usr/bin/env bash
# ajv 8.17.1 with coerceTypes, which frameworks for HTTP and agents turn on: null is 0 where a number stands, false where a truth stands, and true is 1, so that
# {"max_credits": null}, "no bound" for whoever wrote it, arrives as a bound of 0, and {"limit": true} as 1. An empty text is refused. The good guess is that
# only texts of digits become numbers, and that null is left out or refused.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

npm install --no-audit --no-fund --silent ajv@8.17.1
cat > seen.mjs <<'JS'
import Ajv from "ajv";

const properties = { max_credits: { type: "number" }, limit: { type: "integer", minimum: 1 }, again: { type: "boolean" } };
const isValid = new Ajv({ coerceTypes: true }).compile({ type: "object", properties });
const seen = [{ max_credits: null }, { limit: true }, { again: null }, { max_credits: "" }, { limit: "5" }].map((given) => {
  const taken = structuredClone(given);
  return isValid(taken) ? JSON.stringify(taken) : "refused";
});
console.log(`ajv 8.17.1, coerceTypes: null, true, null, "" and "5" arrive as ${seen.join(" ")}`);
process.exit(seen.join() === '{"max_credits":0},{"limit":1},{"again":false},refused,{"limit":5}' ? 0 : 1);
JS
node seen.mjs
