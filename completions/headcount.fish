# fish completion for headcount: the program itself says what may stand at the cursor.

function __headcount_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct | string replace -ra '[\\\\"\']' '')
    # A home on a drive that hangs must not hold the shell.
    set -l limit
    type -q timeout; and set limit timeout -s KILL 3
    set -l lines (printf '%s\n' $words[2..-1] "$current" | command $limit $words[1] completion --words 2>/dev/null)
    set -l kind (string split \t -- "$lines[1]")
    set -l typed (string sub -s (math 1 + (string length -- "$kind[2]")) -- "$current")
    switch "$kind[1]"
        case files
            set lines '' (__fish_complete_path "$typed")
        case directories
            set lines '' (__fish_complete_directories "$typed")
    end
    printf '%s\n' "$kind[2]"$lines[2..-1]
end

complete -c headcount -f -k -a '(__headcount_complete)'
