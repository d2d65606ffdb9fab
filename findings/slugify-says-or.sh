#!/usr/bin/env bash
# slugify 1.6.9: a bar is spelled out as a word, "or" (with a locale in its language: "oder"), and angle brackets as "less" and "greater", also with
# { strict: true }: "Acme|Works" becomes "acmeorworks", "Ada <ada@acme.example>" "ada-lessadaacmeexamplegreater". The good guess is a hyphen, or nothing:
# a slash or square brackets are just left out. A slug of a title with a bar is another company's word.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

npm install --no-audit --no-fund --silent slugify@1.6.9
cat > seen.cjs <<'JS'
const slugify = require("slugify");

const names = ["Acme|Works", "Acme/Works", "Acme[Works]", "Ada <ada@acme.example>"];
const seen = names.map((name) => slugify(name, { lower: true, strict: true })).join(" ");
const german = slugify("Acme|Works", { lower: true, locale: "de" });
console.log(`slugify 1.6.9: ${seen}; German ${german}`);
const isSeen = german === "acmeoderworks" && seen === "acmeorworks acmeworks acmeworks ada-lessadaacmeexamplegreater";
process.exit(isSeen ? 0 : 1);
JS
node seen.cjs
