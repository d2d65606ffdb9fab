#!/usr/bin/env bash
# pycountry 26.2.16: search_fuzzy("Niger"), the exact name of a country, gives Nigeria first, since it looks for parts of names and puts the more frequent before
# the exact one; "UK" gives the United Kingdom, but Uganda, Ukraine and Japan as well, and "Oman" Romania. The usual `[0]` of it, in a column of a CRM, makes Nigerians of people
# in Niger. The good guess is that an exact name comes first, as it does with Guinea and Mali; lookup() has it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

python3 -m venv own
own/bin/pip install --quiet --disable-pip-version-check pycountry==26.2.16
cat > seen.py <<'PY'
import sys
from pycountry import countries

found = {word: [country.name for country in countries.search_fuzzy(word)] for word in ("Niger", "Oman", "Guinea")}
exact = countries.lookup("Niger").name
print(f"pycountry 26.2.16: Niger {found['Niger']}, by lookup {exact}; Oman {found['Oman']}; Guinea {found['Guinea'][:1]}")
sys.exit(0 if found["Niger"] == ["Nigeria", "Niger"] and exact == "Niger" and found["Oman"][0] == "Oman" and "Romania" in found["Oman"] and found["Guinea"][0] == "Guinea" else 1)
PY
own/bin/python seen.py
