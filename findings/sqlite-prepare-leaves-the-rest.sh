#!/usr/bin/env bash
# @photostructure/sqlite 1.2.1, which stands in for node:sqlite: `prepare("select …; select …")` answers the first query and says nothing of
# the second, as node:sqlite does. `sourceSQL`, which in node:sqlite (Node 22.23) is the first statement alone, is the whole text
# here; `expandedSQL` is the first statement in both, so what stands behind its length was never asked.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

npm init -y >/dev/null
npm install --no-audit --no-fund --silent @photostructure/sqlite@1.2.1 node22@npm:node@22.23.3
cat > two.cjs <<'JS'
const { DatabaseSync } = require(process.argv[2]);
const statement = new DatabaseSync(":memory:").prepare("select 1 as a; select 2 as b");
const { sourceSQL, expandedSQL } = statement;
console.log(JSON.stringify([statement.all(), sourceSQL, expandedSQL]));
JS
own=$(node two.cjs @photostructure/sqlite)
built_in=$(node_modules/node22/bin/node --no-warnings two.cjs node:sqlite)

echo "@photostructure/sqlite 1.2.1: $own"
echo "node:sqlite of Node 22.23.3: $built_in"
[ "$own" = '[[{"a":1}],"select 1 as a; select 2 as b","select 1 as a;"]' ] &&
  [ "$built_in" = '[[{"a":1}],"select 1 as a;","select 1 as a;"]' ]
