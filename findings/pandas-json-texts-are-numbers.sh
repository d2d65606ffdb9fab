#!/usr/bin/env bash
# pandas 2.3.3: read_json makes numbers of JSON texts. "00123" is 123 and "+49301234" is 49301234, where every text of a column has digits alone, and texts
# in columns whose names end with _at are times. JSON says which is a text, and the CSV reader is the one that guesses: the good guess is that NDJSON keeps
# ids with zeros, and phone numbers, whole. dtype=False keeps them; convert_dates=False the times.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

python3 -m venv own
own/bin/pip install --quiet --disable-pip-version-check pandas==2.3.3
cat > seen.py <<'PY'
import io, json, sys
import pandas

people = [{"id": "00123", "phone": "+49301234", "updated_at": "2026-04-29"}, {"id": "00456", "phone": "+49309999", "updated_at": "2026-01-11"}]
lines = "\n".join(map(json.dumps, people))
read = lambda **more: pandas.read_json(io.StringIO(lines), lines=True, **more)
usual = read()
exact = read(dtype=False, convert_dates=False)
print(f"pandas 2.3.3: {usual.iloc[0].tolist()}; with dtype=False, convert_dates=False {exact.iloc[0].tolist()}")
guessed = usual["id"].tolist() == [123, 456] and usual["phone"].tolist() == [49301234, 49309999] and usual["updated_at"].dtype.kind == "M"
sys.exit(0 if guessed and exact.to_dict("records") == people else 1)
PY
own/bin/python seen.py
