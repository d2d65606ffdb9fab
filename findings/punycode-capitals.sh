#!/usr/bin/env bash
# punycode 2.3.1 (npm): toASCII does not fold letters before it encodes them. "MÜNCHEN.example" becomes "xn--MNCHEN-psa.example", where every
# resolver and browser has "xn--mnchen-3ya.example". Lower case afterwards, which is harmless for any other host, does not mend it: that name decodes to
# "mÜnchen.example", and `new URL` refuses it. The good guess is one name for both spellings, since hosts ignore case.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

npm install --no-audit --no-fund --silent punycode@2.3.1
cat > seen.cjs <<'JS'
const punycode = require("punycode/");

const [capital, small] = ["MÜNCHEN.example", "münchen.example"].map((host) => punycode.toASCII(host));
const lower = capital.toLowerCase();
const isUrl = URL.canParse(`http://${lower}/`);
console.log(`punycode 2.3.1: ${capital}, ${small}; ${lower} is ${punycode.toUnicode(lower)}, an URL: ${isUrl}`);
process.exit(lower === "xn--mnchen-psa.example" && small === "xn--mnchen-3ya.example" && !isUrl ? 0 : 1);
JS
node seen.cjs
