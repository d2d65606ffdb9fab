#!/usr/bin/env bash
# The loop a shell user writes: one curl and one jq a page.
# usage: export_curl_jq.sh BASE_URL KEY PAGES PER_PAGE FILE
set -euo pipefail
base_url=$1 key=$2 pages=$3 per_page=$4 file=$5
for ((page = 1; page <= pages; page++)); do
  curl -sS -X POST "$base_url/v1/person/search" \
    -H "Authorization: Bearer $key" -H 'Content-Type: application/json' \
    -d "{\"filters\":{\"department\":\"Sales\"},\"page\":$page,\"per_page\":$per_page}" |
    jq -r '.result[] | [.[]] | @csv'
done >"$file"
