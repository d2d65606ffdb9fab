# fish completion for headcount. Generated from the program by `npm run completions`; do not edit.

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
            case '*|-c' '*|--connection' '*|--base-url' '*|--max-wait' 'count|--by' 'count|--values' 'count|--format' 'count|--country' 'count|--state' 'count|--city' 'count|--location' 'count|--title' 'count|--seniority' 'count|--seniority-level' 'count|--functional-area' 'count|--industry' 'count|--first-name' 'count|--last-name' 'count|--name' 'count|--network-url' 'count|--title-prefix' 'count|--headline-prefix' 'count|--location-prefix' 'count|--name-prefix' 'count|--industry-prefix' 'count|--connections-min' 'count|--connections-max' 'count|--followers-min' 'count|--followers-max' 'count|--company-network-url' 'count|--department' 'count|-f' 'count|--filters'
                set skip 1
                continue
            case '*|-*'
                continue
        end
        set -l longer (string trim "$path $word")
        if test $position = 0; and contains -- "$longer" 'count' 'account' 'filters' 'search' 'enrich' 'employees' 'runs' 'resume' 'spend' 'login' 'logout' 'connections' 'connections list' 'connections use' 'connections remove' 'doctor' 'serve' 'service' 'service import' 'service map' 'service generate' 'service keys' 'service credits' 'service plan' 'service verify' 'completion' 'help'
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
    command $program completion --list $argv[1] </dev/null 2>/dev/null
end

complete -c headcount -f
complete -c headcount -n '__headcount_at \'\' 0' -a count -d 'count the people in a segment (free)'
complete -c headcount -n '__headcount_at \'\' 0' -a account -d 'show balance, plan, limits and prices (free)'
complete -c headcount -n '__headcount_at \'\' 0' -a filters -d 'list filter keys and their values (offline)'
complete -c headcount -n '__headcount_at \'\' 0' -a search -d ''
complete -c headcount -n '__headcount_at \'\' 0' -a enrich -d ''
complete -c headcount -n '__headcount_at \'\' 0' -a employees -d ''
complete -c headcount -n '__headcount_at \'\' 0' -a runs -d ''
complete -c headcount -n '__headcount_at \'\' 0' -a resume -d ''
complete -c headcount -n '__headcount_at \'\' 0' -a spend -d ''
complete -c headcount -n '__headcount_at \'\' 0' -a login -d 'store a key for a connection'
complete -c headcount -n '__headcount_at \'\' 0' -a logout -d 'remove a connection\'s key'
complete -c headcount -n '__headcount_at \'\' 0' -a connections -d 'list, use or remove connections'
complete -c headcount -n '__headcount_at \'\' 0' -a doctor -d 'check this machine and a connection (free)'
complete -c headcount -n '__headcount_at \'\' 0' -a serve -d ''
complete -c headcount -n '__headcount_at \'\' 0' -a service -d 'import data, make keys, add credits, verify'
complete -c headcount -n '__headcount_at \'\' 0' -a completion -d 'print a completion script'
complete -c headcount -n '__headcount_at \'\' 0' -a help -d 'help for a command or a topic'
complete -c headcount -s c -l connection -x -a '(__headcount_list connections)' -d 'which connection to use; "sample" is built in'
complete -c headcount -l base-url -x -d 'overrides the connection\'s address'
complete -c headcount -l json -d 'one JSON document on stdout; errors as JSON on stderr'
complete -c headcount -s q -l quiet -d 'no notices and no progress'
complete -c headcount -s v -l verbose -d 'one line per request on stderr'
complete -c headcount -l no-color -d 'no colour (also NO_COLOR, TERM=dumb)'
complete -c headcount -l max-wait -x -d 'longest single wait for a rate limit'
complete -c headcount -l version -d 'print the version'
complete -c headcount -s h -l help -d 'show help'
complete -c headcount -n '__headcount_at \'count\'' -l by -x -a '\'country\' \'state\' \'city\' \'location\' \'title\' \'seniority\' \'seniority_level\' \'functional_area\' \'industry\' \'first_name\' \'last_name\' \'name\' \'network_url\' \'title_prefix\' \'headline_prefix\' \'location_prefix\' \'name_prefix\' \'industry_prefix\' \'connections_min\' \'connections_max\' \'followers_min\' \'followers_max\' \'company_network_url\' \'department\'' -d 'break the segment down by this filter key, with one free count a value'
complete -c headcount -n '__headcount_at \'count\'' -l values -x -d 'the values to break down by (department and seniority-level need none)'
complete -c headcount -n '__headcount_at \'count\'' -l format -x -a '\'table\' \'csv\' \'json\'' -d 'of a breakdown or of several files: table, csv or json'
complete -c headcount -n '__headcount_at \'count\'' -l country -x -d 'country is exactly this, any case'
complete -c headcount -n '__headcount_at \'count\'' -l state -x -d 'state is exactly this, any case'
complete -c headcount -n '__headcount_at \'count\'' -l city -x -d 'city is exactly this, any case'
complete -c headcount -n '__headcount_at \'count\'' -l location -x -d 'location is exactly this, any case'
complete -c headcount -n '__headcount_at \'count\'' -l title -x -d 'title is exactly this, any case'
complete -c headcount -n '__headcount_at \'count\'' -l seniority -x -d 'seniority is exactly this, any case'
complete -c headcount -n '__headcount_at \'count\'' -l seniority-level -x -a '\'owner\' \'partner\' \'c-suite\' \'vp\' \'head\' \'director\' \'manager\' \'senior\' \'entry\' \'intern\'' -d 'seniority level is exactly this, any case'
complete -c headcount -n '__headcount_at \'count\'' -l functional-area -x -d 'functional area is exactly this, any case'
complete -c headcount -n '__headcount_at \'count\'' -l industry -x -d 'industry is exactly this, any case'
complete -c headcount -n '__headcount_at \'count\'' -l first-name -x -d 'first name is exactly this, any case'
complete -c headcount -n '__headcount_at \'count\'' -l last-name -x -d 'last name is exactly this, any case'
complete -c headcount -n '__headcount_at \'count\'' -l name -x -d 'name is exactly this, any case'
complete -c headcount -n '__headcount_at \'count\'' -l network-url -x -d 'network url is exactly this, any case'
complete -c headcount -n '__headcount_at \'count\'' -l title-prefix -x -d 'title begins with this text'
complete -c headcount -n '__headcount_at \'count\'' -l headline-prefix -x -d 'headline begins with this text'
complete -c headcount -n '__headcount_at \'count\'' -l location-prefix -x -d 'location begins with this text'
complete -c headcount -n '__headcount_at \'count\'' -l name-prefix -x -d 'name begins with this text'
complete -c headcount -n '__headcount_at \'count\'' -l industry-prefix -x -d 'industry begins with this text'
complete -c headcount -n '__headcount_at \'count\'' -l connections-min -x -d 'at least this many connections'
complete -c headcount -n '__headcount_at \'count\'' -l connections-max -x -d 'at most this many connections'
complete -c headcount -n '__headcount_at \'count\'' -l followers-min -x -d 'at least this many followers'
complete -c headcount -n '__headcount_at \'count\'' -l followers-max -x -d 'at most this many followers'
complete -c headcount -n '__headcount_at \'count\'' -l company-network-url -x -d 'profile address of the company, or its slug'
complete -c headcount -n '__headcount_at \'count\'' -l department -x -a '\'Administrative\' \'C-Suite\' \'Consulting\' \'Customer Service\' \'Design\' \'Education\' \'Engineering and Technical\' \'Finance & Accounting\' \'Human Resources\' \'Legal\' \'Marketing\' \'Medical\' \'Operations\' \'Other\' \'Product\' \'Project Management\' \'Real Estate\' \'Research\' \'Sales\' \'Trades\'' -d 'one of the 20 departments, any case'
complete -c headcount -n '__headcount_at \'count\'' -s f -l filters -r -F -d 'filters as JSON from a file (- for stdin); flags replace its values'
complete -c headcount -n '__headcount_at \'filters\'' -l schema -d 'print a JSON Schema for filter files, for editors'
complete -c headcount -n '__headcount_at \'filters\' 0' -a '\'country\' \'state\' \'city\' \'location\' \'title\' \'seniority\' \'seniority_level\' \'functional_area\' \'industry\' \'first_name\' \'last_name\' \'name\' \'network_url\' \'title_prefix\' \'headline_prefix\' \'location_prefix\' \'name_prefix\' \'industry_prefix\' \'connections_min\' \'connections_max\' \'followers_min\' \'followers_max\' \'company_network_url\' \'department\''
complete -c headcount -n '__headcount_at \'login\'' -l key-stdin -d 'read the key from stdin instead of asking for it'
complete -c headcount -n '__headcount_at \'login\'' -l insecure-storage -d 'keep the key in a file (mode 0600) instead of the keychain'
complete -c headcount -n '__headcount_at \'login\' 0' -a '(__headcount_list connections)'
complete -c headcount -n '__headcount_at \'logout\' 0' -a '(__headcount_list connections)'
complete -c headcount -n '__headcount_at \'connections\' 0' -a list -d 'list connections and where their keys live (no key is read or shown)'
complete -c headcount -n '__headcount_at \'connections\' 0' -a use -d 'make a connection the one that is used where none is named'
complete -c headcount -n '__headcount_at \'connections\' 0' -a remove -d 'forget a connection: its address and its key'
complete -c headcount -n '__headcount_at \'connections use\' 0' -a '(__headcount_list connections)'
complete -c headcount -n '__headcount_at \'connections remove\' 0' -a '(__headcount_list connections)'
complete -c headcount -n '__headcount_at \'doctor\'' -l offline -d 'check this machine alone, make no call'
complete -c headcount -n '__headcount_at \'service\' 0' -a import -d ''
complete -c headcount -n '__headcount_at \'service\' 0' -a map -d ''
complete -c headcount -n '__headcount_at \'service\' 0' -a generate -d ''
complete -c headcount -n '__headcount_at \'service\' 0' -a keys -d ''
complete -c headcount -n '__headcount_at \'service\' 0' -a credits -d ''
complete -c headcount -n '__headcount_at \'service\' 0' -a plan -d ''
complete -c headcount -n '__headcount_at \'service\' 0' -a verify -d ''
complete -c headcount -n '__headcount_at \'completion\' 0' -a '\'bash\' \'zsh\' \'fish\' \'powershell\''
complete -c headcount -n '__headcount_at \'help\' 0' -a '\'count\' \'account\' \'filters\' \'search\' \'enrich\' \'employees\' \'runs\' \'resume\' \'spend\' \'login\' \'logout\' \'connections\' \'doctor\' \'serve\' \'service\' \'completion\' \'exit-codes\' \'environment\' \'cron\''
