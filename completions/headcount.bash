# bash completion for headcount: the program itself says what may stand at the cursor.
# shellcheck shell=bash

__headcount_ask() {
  local word limit=''
  # A home on a drive that hangs must not hold the shell.
  type -P timeout >/dev/null && limit='timeout -s KILL 3'
  for word in "${COMP_WORDS[@]:1:COMP_CWORD}"; do
    printf '%s\n' "${word//[\\\"\']/}"
  done | $limit "${COMP_WORDS[0]}" completion --words 2>/dev/null
}

_headcount() {
  local kind='' head='' value='' quoted=''
  case "${COMP_WORDS[COMP_CWORD]}" in \"* | \'*) quoted=1 ;; esac
  COMPREPLY=()
  {
    IFS=$'\t' read -r kind head
    [ "$kind" = files ] && return
    # Without this bash would offer files where a name or a number is wanted.
    compopt +o bashdefault +o default 2>/dev/null
    case "$kind" in
    directories) compopt -o dirnames 2>/dev/null ;;
    list) compopt -o nospace 2>/dev/null ;;
    esac
    while IFS=$'\t' read -r value _; do
      [ -n "$quoted" ] || printf -v value %q "$value"
      COMPREPLY+=("$head$value")
    done
  } < <(__headcount_ask)
}

complete -o bashdefault -o default -F _headcount headcount
