#!/usr/bin/env bash
# npm 11 with node@22.12.0 under the alias `node22`: the alias names the folder alone. The command is still linked by the name that the
# package gives it, `node`, and node_modules/.bin comes first on the PATH of scripts: every `npm run` is tried by that Node from then on.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

echo '{"name":"x","version":"1.0.0","scripts":{"which-node":"node --version"}}' > package.json
before=$(npm run --silent which-node)
npm install --no-audit --no-fund --silent node22@npm:node@22.12.0
after=$(npm run --silent which-node)

echo "npm $(npm --version); scripts ran on $before before, on $after after; commands: $(ls node_modules/.bin | xargs)"
[ -d node_modules/node22 ] && [ -e node_modules/.bin/node ] && [ ! -e node_modules/.bin/node22 ] && [ "$after" = v22.12.0 ]
