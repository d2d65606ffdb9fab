#!/usr/bin/env bash
# linkifyjs 4.4.0: in a text with "acme_works.com" it finds a link to works.com, a site of somebody else: an underscore is no part of a host for it, and the
# rest is one by itself. The same with a character that nobody sees: "ac<U+200B>me.com" links me.com. The good guess is no link, or one to
# what stands there: browsers open hosts with an underscore, and mail finders (the same package) keep "a_b@acme.com" whole.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

npm install --no-audit --no-fund --silent linkifyjs@4.4.0
cat > seen.mjs <<'JS'
import { find } from "linkifyjs";

const texts = ["see acme_works.com", "see ac\u200bme.com", "see a_b@acme.com"];
const seen = texts.map((text) => find(text).map(({ href }) => href).join(" ")).join(", ");
console.log(`linkifyjs 4.4.0: ${seen}`);
process.exit(seen === "http://works.com, http://me.com, mailto:a_b@acme.com" ? 0 : 1);
JS
node seen.mjs
