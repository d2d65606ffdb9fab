#!/usr/bin/env bash
# croner 11.0.1 and cron-parser 5.4.0 with `0 6 */2 * 1`, a line of a crontab: both take a day field with a step for a restricted one, so
# either field will do: 18 days of December 2026. cron itself (Vixie's and Debian's) sets its star flag by the first letter of the field and
# asks for both: the 7th and the 21st. Only croner can be told (`domAndDow`), and then for every line: the caller has to look at the star.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

echo '{"type":"module"}' > package.json
npm install --no-audit --no-fund --silent croner@11.0.1 cron-parser@5.4.0
cat > days.mjs <<'JS'
import { CronExpressionParser } from "cron-parser";
import { Cron } from "croner";

const line = "0 6 */2 * 1";
const from = new Date("2026-12-01T00:00:00Z");
const days = (dates) =>
  dates.filter((date) => date < new Date("2027-01-01T00:00:00Z")).map((date) => date.getUTCDate()).join(" ");
const croner = (more) => days(new Cron(line, { paused: true, timezone: "UTC", ...more }).nextRuns(40, from));
const parser = CronExpressionParser.parse(line, { currentDate: from, tz: "UTC" });
console.log(croner({}));
console.log(days(parser.take(40).map((date) => date.toDate())));
console.log(croner({ domAndDow: true }));
JS
mapfile -t days < <(node days.mjs)

echo "croner 11.0.1: ${days[0]}; cron-parser 5.4.0: ${days[1]}; croner with domAndDow: ${days[2]}"
either="1 3 5 7 9 11 13 14 15 17 19 21 23 25 27 28 29 31"
[ "${days[0]}" = "$either" ] && [ "${days[1]}" = "$either" ] && [ "${days[2]}" = "7 21" ]
