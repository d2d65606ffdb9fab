#!/usr/bin/env bash
# node-cron 4.6.0 with `0 6 13 * 1`: in crontab(5) that means the 13th and every Monday. node-cron asks for both fields always, star or
# not, and calls the line valid: in 2026 and 2027 it comes four times (13 April, 13 July 2026; 13 September, 13 December 2027). A job that
# was copied from a crontab, where it ran five times in December 2026, does not run in that month at all. croner reads it as cron.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

echo '{"type":"module"}' > package.json
npm install --no-audit --no-fund --silent node-cron@4.6.0
cat > days.mjs <<'JS'
import cron from "node-cron";

const task = cron.createTask("0 6 13 * 1", () => {}, { timezone: "UTC" });
const first = Date.UTC(2026, 0, 1, 6);
const days = Array.from({ length: 730 }, (_, day) => new Date(first + day * 86_400_000));
console.log(days.filter((day) => task.match(day)).map((day) => day.toISOString().slice(0, 10)).join(" "));
process.exit();
JS
days=$(node days.mjs)

echo "node-cron 4.6.0, valid: $(node -e 'import("node-cron").then(({ default: cron }) => console.log(cron.validate("0 6 13 * 1")))'); 2026 and 2027: $days"
[ "$days" = "2026-04-13 2026-07-13 2027-09-13 2027-12-13" ]
