# bash completion for headcount. @GENERATED@
# shellcheck shell=bash

# Sets commands, flags, valued (flags that take a value) and many (those that take several) for the command path $1.
__headcount_tree() {
  case "$1" in
@TREE@
  esac
}

# Sets source, and values where they are known here, for the flag or the argument (#1, #2, ...) $2 of the command path $1.
__headcount_values() {
  source=text
  case "$1 $2" in
@VALUES@
  esac
}

# Names that only the program knows. A home on a drive that hangs must not hold the shell.
__headcount_ask() {
  local program="$1"
  shift
  if type -P timeout >/dev/null; then
    timeout -s KILL 3 "$program" completion --list "$@" 2>/dev/null </dev/null
  else
    "$program" completion --list "$@" 2>/dev/null </dev/null
  fi
}

# Offers those of the values that begin with the current word, in any case, quoted as the word is.
__headcount_offer() {
  local value text="$cur" quoted='' head='' nocase=''
  case "$text" in
  \"* | \'*) quoted=1 text="${text#?}" ;;
  *) text="${text//\\/}" ;;
  esac
  if [ "$source" = commas ]; then
    case "$text" in *,*) head="${text%,*}," text="${text##*,}" ;; esac
    compopt -o nospace 2>/dev/null
  fi
  shopt -q nocasematch || nocase=1
  shopt -s nocasematch
  for value in "${values[@]}"; do
    if [[ $value == "$text"* ]]; then
      [ -n "$quoted" ] || printf -v value %q "$value"
      COMPREPLY+=("$before$head$value")
    fi
  done
  [ -z "$nocase" ] || shopt -u nocasematch
}

_headcount() {
  local cur="${COMP_WORDS[COMP_CWORD]}" path='' commands='' flags='' valued='' many=''
  local source='' typed='' word='' pending='' literal='' before='' index=1 position=0
  local -a values
  values=()
  COMPREPLY=()
  __headcount_tree ''
  while [ "$index" -lt "$COMP_CWORD" ]; do
    word="${COMP_WORDS[index]}"
    index=$((index + 1))
    if [ -n "$pending" ] && [ "$word" = '=' ]; then
      continue
    elif [ -n "$pending" ] && [[ $word != -* || " $many " != *" $pending "* ]]; then
      # A flag that takes several values takes every word up to the next flag.
      [[ " $many " == *" $pending "* ]] || pending=''
    elif [ -n "$literal" ]; then
      position=$((position + 1))
    elif [ "$word" = -- ]; then
      literal=1 pending=''
    elif [[ $word == -* ]]; then
      pending=''
      [[ " $valued " == *" $word "* ]] && pending="$word"
    elif [ "$position" -eq 0 ] && [[ " $commands " == *" $word "* ]]; then
      path="${path:+$path }$word"
      __headcount_tree "$path"
    else
      position=$((position + 1))
    fi
  done
  if [ -n "$pending" ] && [ "$cur" = '=' ]; then
    cur=''
  elif [[ -z $literal && $cur == --*=* ]]; then
    pending="${cur%%=*}" before="${cur%%=*}=" cur="${cur#*=}"
  fi
  if [ -n "$pending" ] && [[ $cur != -* || " $many " != *" $pending "* ]]; then
    __headcount_values "$path" "$pending"
  elif [[ -z $literal && $cur == -* ]]; then
    source=list
    read -r -a values <<<"$flags"
  elif [ "$position" -eq 0 ] && [ -n "$commands" ]; then
    source=list
    read -r -a values <<<"$commands"
  else
    __headcount_values "$path" "#$((position + 1))"
  fi
  case "$source" in
  file) return ;;
  directory)
    compopt +o bashdefault +o default -o dirnames 2>/dev/null
    return ;;
  jobs)
    # Those of the file that is named on the line.
    for ((index = 1; index < COMP_CWORD; index++)); do
      [ "${COMP_WORDS[index]}" != --file ] || typed="${COMP_WORDS[index + 1]}"
      [ "${COMP_WORDS[index]}" != = ] || [ "${COMP_WORDS[index - 1]}" != --file ] || typed="${COMP_WORDS[index + 1]}"
    done
    while IFS=$'\t' read -r word _; do
      [ -z "$word" ] || values+=("$word")
    done < <(__headcount_ask "${COMP_WORDS[0]}" jobs --prefix "${typed//\\/}") ;;
  connections | runs | segments)
    while IFS=$'\t' read -r word _; do
      [ -z "$word" ] || values+=("$word")
    done < <(__headcount_ask "${COMP_WORDS[0]}" "$source") ;;
  listed)
    source="${values[0]}" values=() typed="${cur#[\'\"]}"
    while IFS=$'\t' read -r word _; do
      [ -z "$word" ] || values+=("$word")
    done < <(__headcount_ask "${COMP_WORDS[0]}" "$source" --prefix "${typed//\\/}") ;;
  esac
  # Without this bash would offer files where a name or a number is wanted.
  compopt +o bashdefault +o default 2>/dev/null
  __headcount_offer
}

complete -o bashdefault -o default -F _headcount headcount
