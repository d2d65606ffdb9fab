#!/usr/bin/env bash
# validator 13.15.35: isURL holds an address of mail for a web address ("ada" is the user, and no scheme is asked for), and isFQDN a domain with a
# zero-width space inside, which is another name than the one that is seen. The good guess for both is false: a column Website that was cleaned with
# them still has people's addresses of mail in it, and two spellings of one domain.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

npm install --no-audit --no-fund --silent validator@13.15.35
cat > seen.cjs <<'JS'
const { isFQDN, isURL } = require("validator");

const seen = [isURL("ada@acme.com"), isURL("mailto:ada@acme.com"), isFQDN("ac\u200bme.com"), isFQDN("ac me.com")];
console.log(`validator 13.15.35: mail as URL ${seen[0]}, mailto ${seen[1]}; unseen space in a domain ${seen[2]}, a seen one ${seen[3]}`);
process.exit(seen.join() === "true,false,true,false" ? 0 : 1);
JS
node seen.cjs
