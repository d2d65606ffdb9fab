"""The loop a Python user writes for NDJSON: urllib for the pages, json for the lines. No third-party package.

usage: export_ndjson.py BASE_URL KEY PAGES PER_PAGE FILE
"""
import json
import sys
import urllib.request

base_url, key, pages, per_page, path = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
headers = {"Authorization": "Bearer " + key, "Content-Type": "application/json"}

with open(path, "w") as file:
    for page in range(1, pages + 1):
        body = json.dumps({"filters": {"department": "Sales"}, "page": page, "per_page": per_page}).encode()
        request = urllib.request.Request(base_url + "/v1/person/search", data=body, headers=headers)
        with urllib.request.urlopen(request) as reply:
            rows = json.load(reply)["result"]
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False))
            file.write("\n")
