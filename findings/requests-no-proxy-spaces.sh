#!/usr/bin/env bash
# requests 2.34.2: NO_PROXY="a.example b.example" is one host, a.exampleb.example, so that both are reached through the proxy: spaces are taken out before the
# text is cut at commas. curl and undici read the same variable as two hosts; Python's own urllib finds neither of them either. The good guess is that spaces part hosts,
# or that one space too many does nothing: "a.example, b.example" is right in all of them.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

python3 -m venv own
own/bin/pip install --quiet --disable-pip-version-check requests==2.34.2
cat > seen.py <<'PY'
import sys
from urllib.request import proxy_bypass_environment
from requests.utils import should_bypass_proxies

lists = ["a.example,b.example", "a.example, b.example", "a.example b.example"]
seen = [[should_bypass_proxies(f"https://{host}", no_proxy=text) for host in ("a.example", "b.example")] for text in lists]
own = [bool(proxy_bypass_environment(host, {"no": lists[2]})) for host in ("a.example", "b.example")]
joined = should_bypass_proxies("https://a.exampleb.example", no_proxy=lists[2])
print(f"requests 2.34.2: commas {seen[0]}, comma and space {seen[1]}, space {seen[2]}, a.exampleb.example {joined}; urllib, space {own}")
sys.exit(0 if seen == [[True, True], [True, True], [False, False]] and joined and own == [False, False] else 1)
PY
own/bin/python seen.py
