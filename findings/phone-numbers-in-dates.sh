#!/usr/bin/env bash
# libphonenumber-js 1.13.16, default country DE: dates and addresses of machines in a text are found as phone numbers, which it holds to be valid:
# 2026-11-28 is +4920261128 and 192.168.0.1 is +4919216801, since German numbers have no fixed length. The finder is said to give valid numbers only, and
# with US the same texts have none: the good guess is that a column of notes has as many numbers as people wrote.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

npm install --no-audit --no-fund --silent libphonenumber-js@1.13.16
cat > seen.mjs <<'JS'
import { findPhoneNumbersInText } from "libphonenumber-js";

const texts = ["called on 2026-11-28", "seen 12.05.2026", "from 192.168.0.1"];
const found = (country) =>
  texts.flatMap((text) => findPhoneNumbersInText(text, country).map(({ number }) => `${number.number} ${number.isValid()}`));
const [german, american] = [found("DE"), found("US")].map((each) => each.join(", "));
console.log(`libphonenumber-js 1.13.16: DE ${german || "none"}; US ${american || "none"}`);
process.exit(german === "+4920261128 true, +4912052026 true, +4919216801 true" && american === "" ? 0 : 1);
JS
node seen.mjs
