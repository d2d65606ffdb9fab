#!/bin/sh
# Installs headcount from a folder or an https address that holds a release (headcount-VERSION.tgz, headcount-service-VERSION.tgz, SHA256SUMS).
#   sh install.sh --from PLACE [--version VERSION] [--prefix FOLDER] [--client-only]
#   sh install.sh --uninstall [--prefix FOLDER]
# Nothing is installed whose sum is not the one in SHA256SUMS. Needs node 20.19 or newer and npm; no root where the prefix is yours.
set -eu

usage() { sed -n '2,5s/^# \{0,1\}//p' "$0"; exit 2; }
fail() { printf 'error: %s\nhint: %s\n' "$1" "$2" >&2; exit "${3:-2}"; }

from='' version='' prefix=${HOME:?HOME is not set}/.local packages='headcount headcount-service' uninstall=''
while [ $# -gt 0 ]; do
  case $1 in
    --from) [ $# -ge 2 ] || usage; from=$2; shift 2 ;;
    --version) [ $# -ge 2 ] || usage; version=$2; shift 2 ;;
    --prefix) [ $# -ge 2 ] || usage; prefix=$2; shift 2 ;;
    --client-only) packages=headcount; shift ;;
    --uninstall) uninstall=yes; shift ;;
    -h|--help) usage ;;
    *) fail "$1 is no option of this script" 'sh install.sh --help' ;;
  esac
done
command -v npm >/dev/null 2>&1 || fail 'npm is not installed' 'install Node.js 20.19 or newer'
if [ -n "$uninstall" ]; then
  npm uninstall --global --prefix "$prefix" headcount headcount-service >/dev/null
  printf 'removed from %s; what was bought stays in its folders (headcount data, before this, says where)\n' "$prefix"
  exit 0
fi
[ -n "$from" ] || usage

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
fetch() {
  case $from in
    http://*) fail "$from is not encrypted, so who is between could change sums and files alike" 'name an https address, or a folder' ;;
    https://*)
      if command -v curl >/dev/null 2>&1; then curl -fsSL --proto =https --retry 3 -o "$work/$1" "${from%/}/$1"
      else wget -q -O "$work/$1" "${from%/}/$1"; fi ;;
    *) cp "$from/$1" "$work/$1" ;;
  esac || fail "$from has no $1" 'look at the address and the version'
}
sum() {
  if command -v sha256sum >/dev/null 2>&1; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d ' ' -f 1
}

fetch SHA256SUMS
files=
for package in $packages; do
  # "headcount-0.1.0.tgz" and not "headcount-service-0.1.0.tgz"; a name of these letters is in no other folder.
  versions=$(sed -n "s/^[0-9a-f]\{64\}  $package-\([0-9][0-9A-Za-z.+-]*\)\.tgz\$/\1/p" "$work/SHA256SUMS")
  # The newest release where no version is asked for: 0.10.0 is newer than 0.9.0, and what is tried before a release is not meant.
  if [ -n "$version" ]; then taken=$(printf '%s\n' "$versions" | grep -Fx -e "$version") || true
  else taken=$(printf '%s\n' "$versions" | sed '/[^0-9.]/d' | sort -t . -k 1,1n -k 2,2n -k 3,3n | tail -n 1); fi
  file=${taken:+$package-$taken.tgz}
  [ -n "$file" ] || fail "SHA256SUMS of $from names no $package${version:+ $version}" 'look at the address and the version'
  fetch "$file"
  expected=$(grep -F -e "  $file" "$work/SHA256SUMS" | grep -x "[0-9a-f]\{64\}  .\{${#file}\}" | cut -d ' ' -f 1)
  [ "$(sum "$work/$file")" = "$expected" ] || fail "$file is not the file of SHA256SUMS" 'fetch it again; if it stays, do not install it' 1
  files="$files $work/$file"
done
# shellcheck disable=SC2086 # names of our own making, without blanks
npm install --global --prefix "$prefix" --no-audit --no-fund $files >/dev/null
printf 'installed %s in %s\n' "$("$prefix/bin/headcount" --version)" "$prefix/bin"
# shellcheck disable=SC2016 # meant for the reader's shell
case :$PATH: in *:"$prefix/bin":*) ;; *) printf 'add it to your PATH: export PATH="%s/bin:$PATH"\n' "$prefix" ;; esac
