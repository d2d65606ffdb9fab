# fish completion for headcount. @GENERATED@

# Whether the words before the cursor are the command path $argv[1] and, where given, $argv[2] arguments after it.
function __headcount_at
    set -l path ''
    set -l position 0
    set -l skip 0
    for word in (commandline -opc)[2..-1]
        if test $skip = 1
            set skip 0
            continue
        end
        switch "$path|$word"
            case @VALUED@
                set skip 1
                continue
            case '*|-*'
                continue
        end
        set -l longer (string trim "$path $word")
        if test $position = 0; and contains -- "$longer" @PATHS@
            set path "$longer"
        else
            set position (math $position + 1)
        end
    end
    test "$path" = "$argv[1]"; and begin
        test (count $argv) -lt 2; or test $position = $argv[2]
    end
end

# Values of a list in one word, parted by commas: what is there already stays in front.
function __headcount_commas
    set -l before (string match -r '^.*,' -- (commandline -ct | string replace -r '^--[^=]*=' ''))
    printf '%s\n' "$before"$argv
end

# Names that only headcount knows, each with a description after a tab.
function __headcount_list
    set -l program (commandline -opc)[1]
    # A home on a drive that hangs must not hold the shell.
    if type -q timeout
        command timeout -s KILL 3 $program completion --list $argv </dev/null 2>/dev/null
    else
        command $program completion --list $argv </dev/null 2>/dev/null
    end
end

# Those of the file that is named on the line.
function __headcount_jobs
    set -l words (commandline -opc | string replace -r -- '^--file=(.*)' '--file\n$1' | string split '\n')
    set -l file ''
    if set -l at (contains -i -- --file $words)
        set file $words[(math $at + 1)]
    end
    __headcount_list jobs --prefix "$file"
end

complete -c headcount -f
@LINES@
