#!/usr/bin/env bash
# Node 20, Python 3.11: subprocess.DEVNULL, and Node's own stdio "ignore", open /dev/null for reading as well, as Node does by itself in place of a stdout that was
# closed before it began: a Node program cannot tell `>&-` from a caller who throws its output away. A shell's `> /dev/null` alone is for writing only. Python prints
# into a closed stdout and ends with 0. The good guess is that a closed stdout fails at the first write, as in C, or that all callers who throw output away look the same.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

# What a program can see of its stdout: whether it is /dev/null, and whether it may be read; then it writes.
cat > look.js <<'JS'
const { fstatSync, readSync, statSync, writeSync, appendFileSync } = require("node:fs");
const isNull = fstatSync(1).rdev === statSync("/dev/null").rdev;
let isRead = true;
try { readSync(1, Buffer.alloc(1)); } catch { isRead = false; }
writeSync(1, "lost\n");
appendFileSync("seen", `${process.argv[2]} ${isNull ? "null" : "other"} ${isRead ? "read+write" : "write"}\n`);
JS
node look.js closed >&-
node look.js shell > /dev/null
python3 -c 'import subprocess; subprocess.run(["node", "look.js", "python"], stdout=subprocess.DEVNULL, check=True)'
node -e 'require("node:child_process").spawnSync("node", ["look.js", "node"], { stdio: ["ignore", "ignore", "inherit"] })'
status=0
python3 -c 'print("lost")' >&- 2> log || status=$?
echo_status=0
/bin/echo lost >&- 2> log || echo_status=$?
echo "node $(node --version), $(python3 --version): $(paste -sd, seen); python ends with $status, /bin/echo with $echo_status"
[ "$(paste -sd, seen)" = "closed null read+write,shell null write,python null read+write,node null read+write" ] && [ "$status $echo_status" = "0 1" ]
