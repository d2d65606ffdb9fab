#!/usr/bin/env bash
# The shell of SQLite 3.40 (Debian 12), `.import --csv` into a table that is not there yet: of two columns Website none keeps its name: they
# are Website_1 and Website_2, and a column without a name is `?`. Short rows are NULL at the end, an empty cell is ''. The guess would be
# that the first keeps its name (as with PapaParse, DuckDB and pandas), so that a query for Website goes on.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

printf 'Website,Website,\na.example,b.example,c\n,x\n' > t.csv
columns=$(sqlite3 :memory: ".import --csv t.csv t" "SELECT group_concat(name, ' ') FROM pragma_table_info('t')" 2> log)
cells=$(sqlite3 :memory: ".import --csv t.csv t" "SELECT group_concat(quote(\"Website_1\") || quote(\"?\"), ' ') FROM t" 2> log)
echo "sqlite3 $(sqlite3 --version | cut -d' ' -f1): columns $columns; cells $cells"
[ "$columns" = "Website_1 Website_2 ?" ] && [ "$cells" = "'a.example''c' ''NULL" ]
