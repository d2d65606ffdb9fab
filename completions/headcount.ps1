# PowerShell completion for headcount. Generated from the program by `npm run completions`; do not edit.

$headcountTree = @{
  '' = @{
    Commands = [ordered]@{
      'count' = 'count the people in a segment (free)'
      'account' = 'show key, balance, plan, limits and prices (free)'
      'filters' = 'list filter keys and their values (offline)'
      'segment' = 'save a segment under a name, list, show, remove'
      'search' = 'export the people of a segment'
      'enrich' = 'look companies up'
      'employees' = 'export the people of a company'
      'refresh' = 'bring a list up to date: pay for who is new'
      'mcp' = 'let an agent count, quote and buy within a cap'
      'runs' = 'list, show, resume, export or remove paid exports'
      'resume' = 'continue an unfinished export'
      'spend' = 'show what was spent, from the runs that are kept'
      'owned' = 'what you own: everybody ever bought, once (offline)'
      'sql' = 'ask the people you own with SQL (offline)'
      'suppress' = 'leave people out of every output (offline)'
      'forget' = 'delete a person from all that is kept (offline)'
      'data' = 'what is kept of people, and for how long (offline)'
      'jobs' = 'run exports on a schedule, within a budget'
      'login' = 'store a key for a connection'
      'logout' = 'remove a connection''s key'
      'connections' = 'list, use or remove connections'
      'doctor' = 'check this machine and a connection (free)'
      'serve' = 'run the API over a dataset of your own'
      'service' = 'import data, make accounts and keys, add credits, verify'
      'schema' = 'print what a command''s --json looks like'
      'completion' = 'print a completion script'
      'help' = 'help for a command or a topic'
    }
    Flags = [ordered]@{
      '-c' = @{ Text = 'which connection to use; "sample" is built in (env: HEADCOUNT_CONNECTION)'; Value = @{ Kind = 'connections' } }
      '--connection' = @{ Text = 'which connection to use; "sample" is built in (env: HEADCOUNT_CONNECTION)'; Value = @{ Kind = 'connections' } }
      '--base-url' = @{ Text = 'overrides the connection''s address (env: HEADCOUNT_BASE_URL)'; Value = @{ Kind = 'text' } }
      '--paging' = @{ Text = 'how the service pages, where it is not known (env: HEADCOUNT_PAGING)'; Value = @{ Kind = 'list'; Values = @('page', 'page0', 'offset', 'cursor') } }
      '--json' = @{ Text = 'one JSON document on stdout; errors as JSON on stderr'; Value = $null }
      '--jq' = @{ Text = 'with --json: print what a jq expression finds in it'; Value = @{ Kind = 'text' } }
      '-q' = @{ Text = 'no notices and no progress; what was bought is still a line'; Value = $null }
      '--quiet' = @{ Text = 'no notices and no progress; what was bought is still a line'; Value = $null }
      '-v' = @{ Text = 'one line per request on stderr'; Value = $null }
      '--verbose' = @{ Text = 'one line per request on stderr'; Value = $null }
      '--no-color' = @{ Text = 'no colour (also NO_COLOR, TERM=dumb)'; Value = $null }
      '--max-wait' = @{ Text = 'longest wait of one call for a rate limit'; Value = @{ Kind = 'text' } }
      '-V' = @{ Text = 'print the version'; Value = $null }
      '--version' = @{ Text = 'print the version'; Value = $null }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'count' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--by' = @{ Text = 'break it down by a filter key, or by KEY=VALUE again and again; two keys make a matrix'; Value = @{ Kind = 'list'; Values = @('country', 'state', 'city', 'location', 'title', 'seniority', 'seniority_level', 'functional_area', 'industry', 'first_name', 'last_name', 'name', 'network_url', 'title_prefix', 'headline_prefix', 'location_prefix', 'name_prefix', 'industry_prefix', 'connections_min', 'connections_max', 'followers_min', 'followers_max', 'company_network_url', 'department') } }
      '--top' = @{ Text = 'with --by: the n most frequent values (20); with --history: the last n'; Value = @{ Kind = 'text' } }
      '--history' = @{ Text = 'show how often this segment was counted before, offline, and how it changed'; Value = $null }
      '--union' = @{ Text = 'one count of several segments: whoever is in at least one of them'; Value = $null }
      '--department' = @{ Text = 'one of the 20 departments, any case'; Value = @{ Kind = 'list'; Values = @('Administrative', 'C-Suite', 'Consulting', 'Customer Service', 'Design', 'Education', 'Engineering and Technical', 'Finance & Accounting', 'Human Resources', 'Legal', 'Marketing', 'Medical', 'Operations', 'Other', 'Product', 'Project Management', 'Real Estate', 'Research', 'Sales', 'Trades') } }
      '--country' = @{ Text = 'country is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('country') } }
      '--seniority-level' = @{ Text = 'step of the ladder: owner, partner, c-suite, vp, head, director, manager, senior, entry, intern'; Value = @{ Kind = 'list'; Values = @('owner', 'partner', 'c-suite', 'vp', 'head', 'director', 'manager', 'senior', 'entry', 'intern') } }
      '--title' = @{ Text = 'title is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('title') } }
      '--title-prefix' = @{ Text = 'title begins with this text'; Value = @{ Kind = 'text' } }
      '--industry' = @{ Text = 'industry is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('industry') } }
      '-f' = @{ Text = 'filters as JSON from a file (- for stdin, or a pattern); flags replace its values'; Value = @{ Kind = 'file' } }
      '--filters' = @{ Text = 'filters as JSON from a file (- for stdin, or a pattern); flags replace its values'; Value = @{ Kind = 'file' } }
      '-s' = @{ Text = 'saved segment (or pattern); flags replace its values'; Value = @{ Kind = 'segments' } }
      '--segment' = @{ Text = 'saved segment (or pattern); flags replace its values'; Value = @{ Kind = 'segments' } }
      '--state' = @{ Text = 'state is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('state') } }
      '--city' = @{ Text = 'city is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('city') } }
      '--location' = @{ Text = 'location is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('location') } }
      '--seniority' = @{ Text = 'the seniority as the title says it (Head, Director), any case'; Value = @{ Kind = 'listed'; Values = @('seniority') } }
      '--functional-area' = @{ Text = 'functional area is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('functional_area') } }
      '--first-name' = @{ Text = 'first name is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('first_name') } }
      '--last-name' = @{ Text = 'last name is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('last_name') } }
      '--name' = @{ Text = 'name is exactly this, any case'; Value = @{ Kind = 'text' } }
      '--network-url' = @{ Text = 'network url is exactly this, any case'; Value = @{ Kind = 'text' } }
      '--headline-prefix' = @{ Text = 'headline begins with this text'; Value = @{ Kind = 'text' } }
      '--location-prefix' = @{ Text = 'location begins with this text'; Value = @{ Kind = 'text' } }
      '--name-prefix' = @{ Text = 'name begins with this text'; Value = @{ Kind = 'text' } }
      '--industry-prefix' = @{ Text = 'industry begins with this text'; Value = @{ Kind = 'text' } }
      '--connections-min' = @{ Text = 'at least this many connections'; Value = @{ Kind = 'text' } }
      '--connections-max' = @{ Text = 'at most this many connections'; Value = @{ Kind = 'text' } }
      '--followers-min' = @{ Text = 'at least this many followers'; Value = @{ Kind = 'text' } }
      '--followers-max' = @{ Text = 'at most this many followers'; Value = @{ Kind = 'text' } }
      '--company-network-url' = @{ Text = 'profile address of the company, or its slug'; Value = @{ Kind = 'text' } }
      '--except' = @{ Text = 'leave out who is in this saved segment or filter file; again for more'; Value = @{ Kind = 'segments' } }
      '--strict' = @{ Text = 'end with 5 where nobody matches, or nobody matches one of several values of a filter'; Value = $null }
      '--format' = @{ Text = 'of a breakdown or of several segments: table, csv or json'; Value = @{ Kind = 'list'; Values = @('table', 'csv', 'json') } }
      '--owned' = @{ Text = 'count who you own instead: offline'; Value = $null }
      '--mode' = @{ Text = 'what live keys bought, or test keys (default: as the key in use)'; Value = @{ Kind = 'list'; Values = @('live', 'test') } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'account' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'filters' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--prefix' = @{ Text = 'values of the key that begin with this, in any case, with their people'; Value = @{ Kind = 'text' } }
      '--top' = @{ Text = 'so many values, the most frequent first (20)'; Value = @{ Kind = 'text' } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'list'; Values = @('country', 'state', 'city', 'location', 'title', 'seniority', 'seniority_level', 'functional_area', 'industry', 'first_name', 'last_name', 'name', 'network_url', 'title_prefix', 'headline_prefix', 'location_prefix', 'name_prefix', 'industry_prefix', 'connections_min', 'connections_max', 'followers_min', 'followers_max', 'company_network_url', 'department') })
    Many = $false
  }
  'segment' = @{
    Commands = [ordered]@{
      'list' = 'list the saved segments'
      'save' = 'keep filters under a name'
      'show' = 'print a segment''s filters, as -f reads them'
      'remove' = 'forget segments'
    }
    Flags = [ordered]@{
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'segment list' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'segment save' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--department' = @{ Text = 'one of the 20 departments, any case'; Value = @{ Kind = 'list'; Values = @('Administrative', 'C-Suite', 'Consulting', 'Customer Service', 'Design', 'Education', 'Engineering and Technical', 'Finance & Accounting', 'Human Resources', 'Legal', 'Marketing', 'Medical', 'Operations', 'Other', 'Product', 'Project Management', 'Real Estate', 'Research', 'Sales', 'Trades') } }
      '--country' = @{ Text = 'country is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('country') } }
      '--seniority-level' = @{ Text = 'step of the ladder: owner, partner, c-suite, vp, head, director, manager, senior, entry, intern'; Value = @{ Kind = 'list'; Values = @('owner', 'partner', 'c-suite', 'vp', 'head', 'director', 'manager', 'senior', 'entry', 'intern') } }
      '--title' = @{ Text = 'title is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('title') } }
      '--title-prefix' = @{ Text = 'title begins with this text'; Value = @{ Kind = 'text' } }
      '--industry' = @{ Text = 'industry is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('industry') } }
      '-f' = @{ Text = 'filters as JSON from a file (- for stdin, or a pattern); flags replace its values'; Value = @{ Kind = 'file' } }
      '--filters' = @{ Text = 'filters as JSON from a file (- for stdin, or a pattern); flags replace its values'; Value = @{ Kind = 'file' } }
      '-s' = @{ Text = 'saved segment (or pattern); flags replace its values'; Value = @{ Kind = 'segments' } }
      '--segment' = @{ Text = 'saved segment (or pattern); flags replace its values'; Value = @{ Kind = 'segments' } }
      '--state' = @{ Text = 'state is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('state') } }
      '--city' = @{ Text = 'city is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('city') } }
      '--location' = @{ Text = 'location is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('location') } }
      '--seniority' = @{ Text = 'the seniority as the title says it (Head, Director), any case'; Value = @{ Kind = 'listed'; Values = @('seniority') } }
      '--functional-area' = @{ Text = 'functional area is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('functional_area') } }
      '--first-name' = @{ Text = 'first name is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('first_name') } }
      '--last-name' = @{ Text = 'last name is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('last_name') } }
      '--name' = @{ Text = 'name is exactly this, any case'; Value = @{ Kind = 'text' } }
      '--network-url' = @{ Text = 'network url is exactly this, any case'; Value = @{ Kind = 'text' } }
      '--headline-prefix' = @{ Text = 'headline begins with this text'; Value = @{ Kind = 'text' } }
      '--location-prefix' = @{ Text = 'location begins with this text'; Value = @{ Kind = 'text' } }
      '--name-prefix' = @{ Text = 'name begins with this text'; Value = @{ Kind = 'text' } }
      '--industry-prefix' = @{ Text = 'industry begins with this text'; Value = @{ Kind = 'text' } }
      '--connections-min' = @{ Text = 'at least this many connections'; Value = @{ Kind = 'text' } }
      '--connections-max' = @{ Text = 'at most this many connections'; Value = @{ Kind = 'text' } }
      '--followers-min' = @{ Text = 'at least this many followers'; Value = @{ Kind = 'text' } }
      '--followers-max' = @{ Text = 'at most this many followers'; Value = @{ Kind = 'text' } }
      '--company-network-url' = @{ Text = 'profile address of the company, or its slug'; Value = @{ Kind = 'text' } }
      '--overwrite' = @{ Text = 'replace the segment of this name'; Value = $null }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'connections' })
    Many = $false
  }
  'segment show' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'segments' })
    Many = $false
  }
  'segment remove' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'segments' })
    Many = $true
  }
  'search' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--department' = @{ Text = 'one of the 20 departments, any case'; Value = @{ Kind = 'list'; Values = @('Administrative', 'C-Suite', 'Consulting', 'Customer Service', 'Design', 'Education', 'Engineering and Technical', 'Finance & Accounting', 'Human Resources', 'Legal', 'Marketing', 'Medical', 'Operations', 'Other', 'Product', 'Project Management', 'Real Estate', 'Research', 'Sales', 'Trades') } }
      '--country' = @{ Text = 'country is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('country') } }
      '--seniority-level' = @{ Text = 'step of the ladder: owner, partner, c-suite, vp, head, director, manager, senior, entry, intern'; Value = @{ Kind = 'list'; Values = @('owner', 'partner', 'c-suite', 'vp', 'head', 'director', 'manager', 'senior', 'entry', 'intern') } }
      '--title' = @{ Text = 'title is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('title') } }
      '--title-prefix' = @{ Text = 'title begins with this text'; Value = @{ Kind = 'text' } }
      '--industry' = @{ Text = 'industry is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('industry') } }
      '-f' = @{ Text = 'filters as JSON from a file (- for stdin, or a pattern); flags replace its values'; Value = @{ Kind = 'file' } }
      '--filters' = @{ Text = 'filters as JSON from a file (- for stdin, or a pattern); flags replace its values'; Value = @{ Kind = 'file' } }
      '-s' = @{ Text = 'saved segment (or pattern); flags replace its values'; Value = @{ Kind = 'segments' } }
      '--segment' = @{ Text = 'saved segment (or pattern); flags replace its values'; Value = @{ Kind = 'segments' } }
      '--state' = @{ Text = 'state is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('state') } }
      '--city' = @{ Text = 'city is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('city') } }
      '--location' = @{ Text = 'location is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('location') } }
      '--seniority' = @{ Text = 'the seniority as the title says it (Head, Director), any case'; Value = @{ Kind = 'listed'; Values = @('seniority') } }
      '--functional-area' = @{ Text = 'functional area is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('functional_area') } }
      '--first-name' = @{ Text = 'first name is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('first_name') } }
      '--last-name' = @{ Text = 'last name is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('last_name') } }
      '--name' = @{ Text = 'name is exactly this, any case'; Value = @{ Kind = 'text' } }
      '--network-url' = @{ Text = 'network url is exactly this, any case'; Value = @{ Kind = 'text' } }
      '--headline-prefix' = @{ Text = 'headline begins with this text'; Value = @{ Kind = 'text' } }
      '--location-prefix' = @{ Text = 'location begins with this text'; Value = @{ Kind = 'text' } }
      '--name-prefix' = @{ Text = 'name begins with this text'; Value = @{ Kind = 'text' } }
      '--industry-prefix' = @{ Text = 'industry begins with this text'; Value = @{ Kind = 'text' } }
      '--connections-min' = @{ Text = 'at least this many connections'; Value = @{ Kind = 'text' } }
      '--connections-max' = @{ Text = 'at most this many connections'; Value = @{ Kind = 'text' } }
      '--followers-min' = @{ Text = 'at least this many followers'; Value = @{ Kind = 'text' } }
      '--followers-max' = @{ Text = 'at most this many followers'; Value = @{ Kind = 'text' } }
      '--company-network-url' = @{ Text = 'profile address of the company, or its slug'; Value = @{ Kind = 'text' } }
      '--except' = @{ Text = 'leave out who is in this saved segment or filter file; again for more'; Value = @{ Kind = 'segments' } }
      '--dry-run' = @{ Text = 'show the quote and buy nothing'; Value = $null }
      '--max-credits' = @{ Text = 'spend at most this, all told (decimals allowed)'; Value = @{ Kind = 'text' } }
      '--limit' = @{ Text = 'buy at most so many profiles'; Value = @{ Kind = 'text' } }
      '-y' = @{ Text = 'buy without asking'; Value = $null }
      '--yes' = @{ Text = 'buy without asking'; Value = $null }
      '--again' = @{ Text = 'begin anew, and pay again for what you own already'; Value = $null }
      '--require-complete' = @{ Text = 'exit 5 where a limit or cap left something out'; Value = $null }
      '--strict' = @{ Text = 'buy nothing where nobody matches one of several values of a filter (exit 5)'; Value = $null }
      '--all' = @{ Text = 'buy without any filter: the whole dataset, up to --limit or --max-credits'; Value = $null }
      '--per-page' = @{ Text = 'rows a request'; Value = @{ Kind = 'text' } }
      '--concurrency' = @{ Text = 'pages in flight'; Value = @{ Kind = 'text' } }
      '--on-new-dataset' = @{ Text = 'where an unfinished run''s dataset is gone: begin anew, or end with 10'; Value = @{ Kind = 'list'; Values = @('fresh', 'fail') } }
      '--receipt' = @{ Text = 'write the receipt (counts, credits, SHA-256) as JSON'; Value = @{ Kind = 'file' } }
      '-o' = @{ Text = 'write a file, or a table: duckdb:FILE#TABLE, postgres://HOST/DB#TABLE (default: stdout)'; Value = @{ Kind = 'file' } }
      '--output' = @{ Text = 'write a file, or a table: duckdb:FILE#TABLE, postgres://HOST/DB#TABLE (default: stdout)'; Value = @{ Kind = 'file' } }
      '--format' = @{ Text = 'csv, tsv, ndjson, json, xlsx, parquet, template, table; csv.gz, ndjson.zst and the like compress (default: by the file''s ending)'; Value = @{ Kind = 'list'; Values = @('csv', 'tsv', 'ndjson', 'json', 'xlsx', 'parquet', 'template', 'table') } }
      '--fields' = @{ Text = 'only these, in this order; all: in a table too'; Value = @{ Kind = 'commas'; Values = @('id', 'network_url', 'name', 'first_name', 'last_name', 'headline', 'title', 'seniority', 'seniority_level', 'functional_area', 'department', 'industry', 'country', 'state', 'city', 'location', 'connections', 'followers', 'company_name', 'company_domain', 'company_network_url', 'updated_at', 'all') } }
      '--template' = @{ Text = 'a text for every row: a Mustache template such as ''{{name}}, {{title}}'', or @FILE'; Value = @{ Kind = 'text' } }
      '--csv' = @{ Text = 'for spreadsheets, with byte order mark and CRLF; without the guard against formulas'; Value = @{ Kind = 'list'; Values = @('excel', 'raw') } }
      '--overwrite' = @{ Text = 'replace an existing file, once the new one is whole'; Value = $null }
      '--max-shrink' = @{ Text = 'exit 5 and keep the file where it would lose more'; Value = @{ Kind = 'text' } }
      '--min-rows' = @{ Text = 'exit 5 and keep the file where fewer rows come; 0: none may replace some'; Value = @{ Kind = 'text' } }
      '--sample' = @{ Text = 'buy so many by chance; KEY:N: so many of each value'; Value = @{ Kind = 'text' } }
      '--seed' = @{ Text = 'draw a sample again (default: another each time)'; Value = @{ Kind = 'text' } }
      '--new-only' = @{ Text = 'buy only whom you do not own: finds them by free counts, after you agreed'; Value = $null }
      '--with-owned' = @{ Text = 'the same, and write those you own beside them at 0 credits'; Value = $null }
      '--max-calls' = @{ Text = 'free counts that --new-only may make (default: 5000)'; Value = @{ Kind = 'text' } }
      '--if-older-than' = @{ Text = 'do nothing where the file is younger (12h, 6d, 8w)'; Value = @{ Kind = 'text' } }
      '--log' = @{ Text = 'append one JSON line about how it went'; Value = @{ Kind = 'file' } }
      '--notify' = @{ Text = 'shell command for a failure or a changed file; gets that line on its stdin'; Value = @{ Kind = 'text' } }
      '--wait' = @{ Text = 'wait for another run at the same output instead of ending with exit 9'; Value = $null }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'enrich' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--input' = @{ Text = 'more companies: a file or - (lines, CSV, NDJSON)'; Value = @{ Kind = 'file' } }
      '--column' = @{ Text = 'the column of the file that names the company'; Value = @{ Kind = 'text' } }
      '--by' = @{ Text = 'what companies are given by, where it is no domain, address or slug'; Value = @{ Kind = 'list'; Values = @('name', 'id') } }
      '--keep-input' = @{ Text = 'write the file''s own rows and columns, with what is bought beside them'; Value = $null }
      '--prefix' = @{ Text = 'with --keep-input: what the names of our columns begin with (hc_)'; Value = @{ Kind = 'text' } }
      '--dry-run' = @{ Text = 'show the quote and buy nothing'; Value = $null }
      '--max-credits' = @{ Text = 'spend at most this, all told (decimals allowed)'; Value = @{ Kind = 'text' } }
      '--limit' = @{ Text = 'look up at most so many companies'; Value = @{ Kind = 'text' } }
      '-y' = @{ Text = 'buy without asking'; Value = $null }
      '--yes' = @{ Text = 'buy without asking'; Value = $null }
      '--again' = @{ Text = 'begin anew, and pay again for what you own already'; Value = $null }
      '--require-complete' = @{ Text = 'exit 5 where a limit or cap left something out'; Value = $null }
      '--per-page' = @{ Text = 'rows a request'; Value = @{ Kind = 'text' } }
      '--concurrency' = @{ Text = 'pages in flight'; Value = @{ Kind = 'text' } }
      '--on-new-dataset' = @{ Text = 'where an unfinished run''s dataset is gone: begin anew, or end with 10'; Value = @{ Kind = 'list'; Values = @('fresh', 'fail') } }
      '--receipt' = @{ Text = 'write the receipt (counts, credits, SHA-256) as JSON'; Value = @{ Kind = 'file' } }
      '-o' = @{ Text = 'write a file, or a table: duckdb:FILE#TABLE, postgres://HOST/DB#TABLE (default: stdout)'; Value = @{ Kind = 'file' } }
      '--output' = @{ Text = 'write a file, or a table: duckdb:FILE#TABLE, postgres://HOST/DB#TABLE (default: stdout)'; Value = @{ Kind = 'file' } }
      '--format' = @{ Text = 'csv, tsv, ndjson, json, xlsx, parquet, template, table; csv.gz, ndjson.zst and the like compress (default: by the file''s ending)'; Value = @{ Kind = 'list'; Values = @('csv', 'tsv', 'ndjson', 'json', 'xlsx', 'parquet', 'template', 'table') } }
      '--fields' = @{ Text = 'only these, in this order; all: in a table too'; Value = @{ Kind = 'commas'; Values = @('id', 'name', 'domain', 'company_network_url', 'industry', 'type', 'size_range', 'employee_count', 'founded_year', 'description', 'country', 'state', 'city', 'location', 'followers', 'specialties', 'updated_at', 'all') } }
      '--template' = @{ Text = 'a text for every row: a Mustache template such as ''{{name}}, {{title}}'', or @FILE'; Value = @{ Kind = 'text' } }
      '--csv' = @{ Text = 'for spreadsheets, with byte order mark and CRLF; without the guard against formulas'; Value = @{ Kind = 'list'; Values = @('excel', 'raw') } }
      '--misses' = @{ Text = 'list the companies that are not known in a file'; Value = @{ Kind = 'file' } }
      '--overwrite' = @{ Text = 'replace an existing file, once the new one is whole'; Value = $null }
      '--max-shrink' = @{ Text = 'exit 5 and keep the file where it would lose more'; Value = @{ Kind = 'text' } }
      '--min-rows' = @{ Text = 'exit 5 and keep the file where fewer rows come; 0: none may replace some'; Value = @{ Kind = 'text' } }
      '--if-older-than' = @{ Text = 'do nothing where the file is younger (12h, 6d, 8w)'; Value = @{ Kind = 'text' } }
      '--log' = @{ Text = 'append one JSON line about how it went'; Value = @{ Kind = 'file' } }
      '--notify' = @{ Text = 'shell command for a failure or a changed file; gets that line on its stdin'; Value = @{ Kind = 'text' } }
      '--wait' = @{ Text = 'wait for another run at the same output instead of ending with exit 9'; Value = $null }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'text' })
    Many = $true
  }
  'employees' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--input' = @{ Text = 'more companies: a file or - (lines, CSV, NDJSON)'; Value = @{ Kind = 'file' } }
      '--column' = @{ Text = 'the column of the file that names the company'; Value = @{ Kind = 'text' } }
      '--by' = @{ Text = 'what companies are given by, where it is no domain, address or slug'; Value = @{ Kind = 'list'; Values = @('name', 'id') } }
      '--keep-input' = @{ Text = 'write the file''s own rows and columns, with what is bought beside them'; Value = $null }
      '--prefix' = @{ Text = 'with --keep-input: what the names of our columns begin with (hc_)'; Value = @{ Kind = 'text' } }
      '--per-company' = @{ Text = 'at most so many people of each company'; Value = @{ Kind = 'text' } }
      '--title-ladder' = @{ Text = '''cro; vp sales'': the best title somebody has'; Value = @{ Kind = 'text' } }
      '--department' = @{ Text = 'one of the 20 departments, any case'; Value = @{ Kind = 'list'; Values = @('Administrative', 'C-Suite', 'Consulting', 'Customer Service', 'Design', 'Education', 'Engineering and Technical', 'Finance & Accounting', 'Human Resources', 'Legal', 'Marketing', 'Medical', 'Operations', 'Other', 'Product', 'Project Management', 'Real Estate', 'Research', 'Sales', 'Trades') } }
      '--country' = @{ Text = 'country is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('country') } }
      '--seniority-level' = @{ Text = 'step of the ladder: owner, partner, c-suite, vp, head, director, manager, senior, entry, intern'; Value = @{ Kind = 'list'; Values = @('owner', 'partner', 'c-suite', 'vp', 'head', 'director', 'manager', 'senior', 'entry', 'intern') } }
      '--title' = @{ Text = 'title is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('title') } }
      '--title-prefix' = @{ Text = 'title begins with this text'; Value = @{ Kind = 'text' } }
      '--industry' = @{ Text = 'industry is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('industry') } }
      '-f' = @{ Text = 'filters as JSON from a file (- for stdin, or a pattern); flags replace its values'; Value = @{ Kind = 'file' } }
      '--filters' = @{ Text = 'filters as JSON from a file (- for stdin, or a pattern); flags replace its values'; Value = @{ Kind = 'file' } }
      '-s' = @{ Text = 'saved segment (or pattern); flags replace its values'; Value = @{ Kind = 'segments' } }
      '--segment' = @{ Text = 'saved segment (or pattern); flags replace its values'; Value = @{ Kind = 'segments' } }
      '--state' = @{ Text = 'state is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('state') } }
      '--city' = @{ Text = 'city is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('city') } }
      '--location' = @{ Text = 'location is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('location') } }
      '--seniority' = @{ Text = 'the seniority as the title says it (Head, Director), any case'; Value = @{ Kind = 'listed'; Values = @('seniority') } }
      '--functional-area' = @{ Text = 'functional area is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('functional_area') } }
      '--first-name' = @{ Text = 'first name is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('first_name') } }
      '--last-name' = @{ Text = 'last name is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('last_name') } }
      '--name' = @{ Text = 'name is exactly this, any case'; Value = @{ Kind = 'text' } }
      '--network-url' = @{ Text = 'network url is exactly this, any case'; Value = @{ Kind = 'text' } }
      '--headline-prefix' = @{ Text = 'headline begins with this text'; Value = @{ Kind = 'text' } }
      '--location-prefix' = @{ Text = 'location begins with this text'; Value = @{ Kind = 'text' } }
      '--name-prefix' = @{ Text = 'name begins with this text'; Value = @{ Kind = 'text' } }
      '--industry-prefix' = @{ Text = 'industry begins with this text'; Value = @{ Kind = 'text' } }
      '--connections-min' = @{ Text = 'at least this many connections'; Value = @{ Kind = 'text' } }
      '--connections-max' = @{ Text = 'at most this many connections'; Value = @{ Kind = 'text' } }
      '--followers-min' = @{ Text = 'at least this many followers'; Value = @{ Kind = 'text' } }
      '--followers-max' = @{ Text = 'at most this many followers'; Value = @{ Kind = 'text' } }
      '--company-network-url' = @{ Text = 'profile address of the company, or its slug'; Value = @{ Kind = 'text' } }
      '--dry-run' = @{ Text = 'show the quote and buy nothing'; Value = $null }
      '--max-credits' = @{ Text = 'spend at most this, all told (decimals allowed)'; Value = @{ Kind = 'text' } }
      '--limit' = @{ Text = 'buy at most so many profiles'; Value = @{ Kind = 'text' } }
      '-y' = @{ Text = 'buy without asking'; Value = $null }
      '--yes' = @{ Text = 'buy without asking'; Value = $null }
      '--again' = @{ Text = 'begin anew, and pay again for what you own already'; Value = $null }
      '--require-complete' = @{ Text = 'exit 5 where a limit or cap left something out'; Value = $null }
      '--per-page' = @{ Text = 'rows a request'; Value = @{ Kind = 'text' } }
      '--concurrency' = @{ Text = 'pages in flight'; Value = @{ Kind = 'text' } }
      '--on-new-dataset' = @{ Text = 'where an unfinished run''s dataset is gone: begin anew, or end with 10'; Value = @{ Kind = 'list'; Values = @('fresh', 'fail') } }
      '--receipt' = @{ Text = 'write the receipt (counts, credits, SHA-256) as JSON'; Value = @{ Kind = 'file' } }
      '-o' = @{ Text = 'write a file, or a table: duckdb:FILE#TABLE, postgres://HOST/DB#TABLE (default: stdout)'; Value = @{ Kind = 'file' } }
      '--output' = @{ Text = 'write a file, or a table: duckdb:FILE#TABLE, postgres://HOST/DB#TABLE (default: stdout)'; Value = @{ Kind = 'file' } }
      '--format' = @{ Text = 'csv, tsv, ndjson, json, xlsx, parquet, template, table; csv.gz, ndjson.zst and the like compress (default: by the file''s ending)'; Value = @{ Kind = 'list'; Values = @('csv', 'tsv', 'ndjson', 'json', 'xlsx', 'parquet', 'template', 'table') } }
      '--fields' = @{ Text = 'only these, in this order; all: in a table too'; Value = @{ Kind = 'commas'; Values = @('id', 'network_url', 'name', 'first_name', 'last_name', 'headline', 'title', 'seniority', 'seniority_level', 'functional_area', 'department', 'industry', 'country', 'state', 'city', 'location', 'connections', 'followers', 'company_name', 'company_domain', 'company_network_url', 'updated_at', 'all') } }
      '--template' = @{ Text = 'a text for every row: a Mustache template such as ''{{name}}, {{title}}'', or @FILE'; Value = @{ Kind = 'text' } }
      '--csv' = @{ Text = 'for spreadsheets, with byte order mark and CRLF; without the guard against formulas'; Value = @{ Kind = 'list'; Values = @('excel', 'raw') } }
      '--misses' = @{ Text = 'list the companies that are not known in a file'; Value = @{ Kind = 'file' } }
      '--overwrite' = @{ Text = 'replace an existing file, once the new one is whole'; Value = $null }
      '--max-shrink' = @{ Text = 'exit 5 and keep the file where it would lose more'; Value = @{ Kind = 'text' } }
      '--min-rows' = @{ Text = 'exit 5 and keep the file where fewer rows come; 0: none may replace some'; Value = @{ Kind = 'text' } }
      '--new-only' = @{ Text = 'buy only whom you do not own: finds them by free counts, after you agreed'; Value = $null }
      '--with-owned' = @{ Text = 'the same, and write those you own beside them at 0 credits'; Value = $null }
      '--max-calls' = @{ Text = 'free counts that --new-only may make (default: 5000)'; Value = @{ Kind = 'text' } }
      '--if-older-than' = @{ Text = 'do nothing where the file is younger (12h, 6d, 8w)'; Value = @{ Kind = 'text' } }
      '--log' = @{ Text = 'append one JSON line about how it went'; Value = @{ Kind = 'file' } }
      '--notify' = @{ Text = 'shell command for a failure or a changed file; gets that line on its stdin'; Value = @{ Kind = 'text' } }
      '--wait' = @{ Text = 'wait for another run at the same output instead of ending with exit 9'; Value = $null }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'text' })
    Many = $true
  }
  'refresh' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--verify-fields' = @{ Text = 'find who no longer has these values, by free counts'; Value = @{ Kind = 'commas'; Values = @('country', 'state', 'city', 'location', 'title', 'seniority', 'seniority_level', 'functional_area', 'industry', 'first_name', 'last_name', 'department', 'company') } }
      '--buy-changed' = @{ Text = 'buy those again whose verified fields changed'; Value = $null }
      '--department' = @{ Text = 'one of the 20 departments, any case'; Value = @{ Kind = 'list'; Values = @('Administrative', 'C-Suite', 'Consulting', 'Customer Service', 'Design', 'Education', 'Engineering and Technical', 'Finance & Accounting', 'Human Resources', 'Legal', 'Marketing', 'Medical', 'Operations', 'Other', 'Product', 'Project Management', 'Real Estate', 'Research', 'Sales', 'Trades') } }
      '--country' = @{ Text = 'country is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('country') } }
      '--seniority-level' = @{ Text = 'step of the ladder: owner, partner, c-suite, vp, head, director, manager, senior, entry, intern'; Value = @{ Kind = 'list'; Values = @('owner', 'partner', 'c-suite', 'vp', 'head', 'director', 'manager', 'senior', 'entry', 'intern') } }
      '--title' = @{ Text = 'title is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('title') } }
      '--title-prefix' = @{ Text = 'title begins with this text'; Value = @{ Kind = 'text' } }
      '--industry' = @{ Text = 'industry is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('industry') } }
      '-f' = @{ Text = 'filters as JSON from a file (- for stdin, or a pattern); flags replace its values'; Value = @{ Kind = 'file' } }
      '--filters' = @{ Text = 'filters as JSON from a file (- for stdin, or a pattern); flags replace its values'; Value = @{ Kind = 'file' } }
      '-s' = @{ Text = 'saved segment (or pattern); flags replace its values'; Value = @{ Kind = 'segments' } }
      '--segment' = @{ Text = 'saved segment (or pattern); flags replace its values'; Value = @{ Kind = 'segments' } }
      '--state' = @{ Text = 'state is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('state') } }
      '--city' = @{ Text = 'city is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('city') } }
      '--location' = @{ Text = 'location is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('location') } }
      '--seniority' = @{ Text = 'the seniority as the title says it (Head, Director), any case'; Value = @{ Kind = 'listed'; Values = @('seniority') } }
      '--functional-area' = @{ Text = 'functional area is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('functional_area') } }
      '--first-name' = @{ Text = 'first name is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('first_name') } }
      '--last-name' = @{ Text = 'last name is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('last_name') } }
      '--name' = @{ Text = 'name is exactly this, any case'; Value = @{ Kind = 'text' } }
      '--network-url' = @{ Text = 'network url is exactly this, any case'; Value = @{ Kind = 'text' } }
      '--headline-prefix' = @{ Text = 'headline begins with this text'; Value = @{ Kind = 'text' } }
      '--location-prefix' = @{ Text = 'location begins with this text'; Value = @{ Kind = 'text' } }
      '--name-prefix' = @{ Text = 'name begins with this text'; Value = @{ Kind = 'text' } }
      '--industry-prefix' = @{ Text = 'industry begins with this text'; Value = @{ Kind = 'text' } }
      '--connections-min' = @{ Text = 'at least this many connections'; Value = @{ Kind = 'text' } }
      '--connections-max' = @{ Text = 'at most this many connections'; Value = @{ Kind = 'text' } }
      '--followers-min' = @{ Text = 'at least this many followers'; Value = @{ Kind = 'text' } }
      '--followers-max' = @{ Text = 'at most this many followers'; Value = @{ Kind = 'text' } }
      '--company-network-url' = @{ Text = 'profile address of the company, or its slug'; Value = @{ Kind = 'text' } }
      '--dry-run' = @{ Text = 'show what there is to do and buy nothing'; Value = $null }
      '--max-credits' = @{ Text = 'spend at most this (decimals allowed)'; Value = @{ Kind = 'text' } }
      '-y' = @{ Text = 'buy without asking'; Value = $null }
      '--yes' = @{ Text = 'buy without asking'; Value = $null }
      '--again' = @{ Text = 'buy the whole segment again, and pay again for whom you own'; Value = $null }
      '--per-page' = @{ Text = 'rows a request'; Value = @{ Kind = 'text' } }
      '-o' = @{ Text = 'write the list there (default: to the file that is named)'; Value = @{ Kind = 'file' } }
      '--output' = @{ Text = 'write the list there (default: to the file that is named)'; Value = @{ Kind = 'file' } }
      '--format' = @{ Text = 'csv, tsv, ndjson, json, xlsx, parquet, template, table; csv.gz, ndjson.zst and the like compress (default: by the file''s ending)'; Value = @{ Kind = 'list'; Values = @('csv', 'tsv', 'ndjson', 'json', 'xlsx', 'parquet', 'template', 'table') } }
      '--fields' = @{ Text = 'only these, in this order; all: in a table too'; Value = @{ Kind = 'commas'; Values = @('id', 'network_url', 'name', 'first_name', 'last_name', 'headline', 'title', 'seniority', 'seniority_level', 'functional_area', 'department', 'industry', 'country', 'state', 'city', 'location', 'connections', 'followers', 'company_name', 'company_domain', 'company_network_url', 'updated_at', 'all') } }
      '--template' = @{ Text = 'a text for every row: a Mustache template such as ''{{name}}, {{title}}'', or @FILE'; Value = @{ Kind = 'text' } }
      '--csv' = @{ Text = 'for spreadsheets, with byte order mark and CRLF; without the guard against formulas'; Value = @{ Kind = 'list'; Values = @('excel', 'raw') } }
      '--overwrite' = @{ Text = 'replace an existing file, once the new one is whole'; Value = $null }
      '--max-shrink' = @{ Text = 'exit 5 and keep the file where it would lose more'; Value = @{ Kind = 'text' } }
      '--min-rows' = @{ Text = 'exit 5 and keep the file where fewer rows come; 0: none may replace some'; Value = @{ Kind = 'text' } }
      '--max-calls' = @{ Text = 'make at most so many free calls'; Value = @{ Kind = 'text' } }
      '--wait' = @{ Text = 'wait for another command at the same list instead of ending with exit 9'; Value = $null }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'file' })
    Many = $false
  }
  'mcp' = @{
    Commands = [ordered]@{
      'install' = 'print the entry that a client''s config needs, with the cap in it, the file that it belongs into and the line that adds it'
    }
    Flags = [ordered]@{
      '--budget' = @{ Text = 'the budget''s name: one name is one budget (mcp)'; Value = @{ Kind = 'text' } }
      '--ask-over' = @{ Text = 'ask nobody for up to so many credits (0)'; Value = @{ Kind = 'text' } }
      '--port' = @{ Text = 'serve on this machine''s loopback instead (0 picks a port); prints URL and token'; Value = @{ Kind = 'text' } }
      '--max-credits' = @{ Text = 'let it buy, at most for this a day (UTC), /session or /total; else nothing'; Value = @{ Kind = 'text' } }
      '-o' = @{ Text = 'let it write runs as files into this folder'; Value = @{ Kind = 'directory' } }
      '--output' = @{ Text = 'let it write runs as files into this folder'; Value = @{ Kind = 'directory' } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'mcp install' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--budget' = @{ Text = 'the budget''s name: one name is one budget (mcp)'; Value = @{ Kind = 'text' } }
      '--ask-over' = @{ Text = 'ask nobody for up to so many credits (0)'; Value = @{ Kind = 'text' } }
      '--max-credits' = @{ Text = 'let it buy, at most for this a day (UTC), /session or /total; else nothing'; Value = @{ Kind = 'text' } }
      '-o' = @{ Text = 'let it write runs as files into this folder'; Value = @{ Kind = 'directory' } }
      '--output' = @{ Text = 'let it write runs as files into this folder'; Value = @{ Kind = 'directory' } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'list'; Values = @('claude', 'claude-desktop', 'codex', 'cursor', 'gemini', 'jetbrains', 'opencode', 'vscode', 'windsurf', 'zed', 'skill') })
    Many = $false
  }
  'runs' = @{
    Commands = [ordered]@{
      'list' = 'list runs, the newest first'
      'show' = 'show one run'
      'remove' = 'remove runs with everything that they keep'
      'prune' = 'remove runs that are over and that nothing happened to for a while'
      'export' = 'write a run again, in another format or with other fields'
    }
    Flags = [ordered]@{
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'runs list' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--limit' = @{ Text = 'so many at most'; Value = @{ Kind = 'text' } }
      '--since' = @{ Text = 'those at work since then: 12h, 30d, 8w, a date such as 2026-01-31, or all'; Value = @{ Kind = 'text' } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'runs show' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'runs' })
    Many = $false
  }
  'runs remove' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--force' = @{ Text = 'also unfinished ones'; Value = $null }
      '-y' = @{ Text = 'do not ask'; Value = $null }
      '--yes' = @{ Text = 'do not ask'; Value = $null }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'runs' })
    Many = $true
  }
  'runs prune' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--dry-run' = @{ Text = 'only say which'; Value = $null }
      '--force' = @{ Text = 'also unfinished ones'; Value = $null }
      '-y' = @{ Text = 'do not ask'; Value = $null }
      '--yes' = @{ Text = 'do not ask'; Value = $null }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'text' })
    Many = $false
  }
  'runs export' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '-o' = @{ Text = 'write a file, or a table: duckdb:FILE#TABLE, postgres://HOST/DB#TABLE (default: stdout)'; Value = @{ Kind = 'file' } }
      '--output' = @{ Text = 'write a file, or a table: duckdb:FILE#TABLE, postgres://HOST/DB#TABLE (default: stdout)'; Value = @{ Kind = 'file' } }
      '--format' = @{ Text = 'csv, tsv, ndjson, json, xlsx, parquet, template, table; csv.gz, ndjson.zst and the like compress (default: by the file''s ending)'; Value = @{ Kind = 'list'; Values = @('csv', 'tsv', 'ndjson', 'json', 'xlsx', 'parquet', 'template', 'table') } }
      '--fields' = @{ Text = 'only these, in this order; all: in a table too'; Value = @{ Kind = 'commas'; Values = @('id', 'network_url', 'name', 'first_name', 'last_name', 'headline', 'title', 'seniority', 'seniority_level', 'functional_area', 'department', 'industry', 'country', 'state', 'city', 'location', 'connections', 'followers', 'company_name', 'company_domain', 'company_network_url', 'updated_at', 'domain', 'type', 'size_range', 'employee_count', 'founded_year', 'description', 'specialties', 'all') } }
      '--template' = @{ Text = 'a text for every row: a Mustache template such as ''{{name}}, {{title}}'', or @FILE'; Value = @{ Kind = 'text' } }
      '--csv' = @{ Text = 'for spreadsheets, with byte order mark and CRLF; without the guard against formulas'; Value = @{ Kind = 'list'; Values = @('excel', 'raw') } }
      '--overwrite' = @{ Text = 'replace an existing file, once the new one is whole'; Value = $null }
      '--min-rows' = @{ Text = 'exit 5 and keep the file where fewer rows come; 0: none may replace some'; Value = @{ Kind = 'text' } }
      '--max-shrink' = @{ Text = 'exit 5 and keep the file where it would lose more'; Value = @{ Kind = 'text' } }
      '--require-complete' = @{ Text = 'exit 5 and write nothing where the run is not finished'; Value = $null }
      '--force' = @{ Text = 'leave out what was damaged on the disk, and say how much'; Value = $null }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'runs' })
    Many = $false
  }
  'resume' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--max-credits' = @{ Text = 'spend at most this, all told (decimals allowed)'; Value = @{ Kind = 'text' } }
      '--limit' = @{ Text = 'buy at most so many rows'; Value = @{ Kind = 'text' } }
      '-y' = @{ Text = 'buy without asking'; Value = $null }
      '--yes' = @{ Text = 'buy without asking'; Value = $null }
      '--require-complete' = @{ Text = 'exit 5 where a limit or cap left something out'; Value = $null }
      '--per-page' = @{ Text = 'rows a request'; Value = @{ Kind = 'text' } }
      '--concurrency' = @{ Text = 'pages in flight'; Value = @{ Kind = 'text' } }
      '--overwrite' = @{ Text = 'replace an existing file, once the new one is whole'; Value = $null }
      '--max-shrink' = @{ Text = 'exit 5 and keep the file where it would lose more'; Value = @{ Kind = 'text' } }
      '--min-rows' = @{ Text = 'exit 5 and keep the file where fewer rows come; 0: none may replace some'; Value = @{ Kind = 'text' } }
      '--wait' = @{ Text = 'wait for another run at the same output instead of ending with exit 9'; Value = $null }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'runs' })
    Many = $false
  }
  'spend' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--since' = @{ Text = 'how far back: 12h, 30d, 8w, a date such as 2026-01-31, or all'; Value = @{ Kind = 'text' } }
      '--by' = @{ Text = 'one line for each'; Value = @{ Kind = 'list'; Values = @('day', 'run', 'connection', 'job') } }
      '--mode' = @{ Text = 'live credits, or the simulated ones of test keys'; Value = @{ Kind = 'list'; Values = @('live', 'test') } }
      '--format' = @{ Text = 'table, csv or json'; Value = @{ Kind = 'list'; Values = @('table', 'csv', 'json') } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'owned' = @{
    Commands = [ordered]@{
      'status' = 'say how many people are owned, what they cost, and what was paid for somebody who was owned already'
      'show' = 'show what is owned of a person, named by id, profile address or its slug, or whole name'
      'export' = 'write the newest record of everybody you own who matches, in any format'
      'import' = 'take in people that you own already'
      'diff' = 'say who is in one run and not in another, and whose record differs'
      'rebuild' = 'make the library again from the runs'
    }
    Flags = [ordered]@{
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'owned status' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--mode' = @{ Text = 'what live keys bought, or test keys (default: as the key in use)'; Value = @{ Kind = 'list'; Values = @('live', 'test') } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'owned show' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--mode' = @{ Text = 'what live keys bought, or test keys (default: as the key in use)'; Value = @{ Kind = 'list'; Values = @('live', 'test') } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'text' })
    Many = $false
  }
  'owned export' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--department' = @{ Text = 'one of the 20 departments, any case'; Value = @{ Kind = 'list'; Values = @('Administrative', 'C-Suite', 'Consulting', 'Customer Service', 'Design', 'Education', 'Engineering and Technical', 'Finance & Accounting', 'Human Resources', 'Legal', 'Marketing', 'Medical', 'Operations', 'Other', 'Product', 'Project Management', 'Real Estate', 'Research', 'Sales', 'Trades') } }
      '--country' = @{ Text = 'country is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('country') } }
      '--seniority-level' = @{ Text = 'step of the ladder: owner, partner, c-suite, vp, head, director, manager, senior, entry, intern'; Value = @{ Kind = 'list'; Values = @('owner', 'partner', 'c-suite', 'vp', 'head', 'director', 'manager', 'senior', 'entry', 'intern') } }
      '--title' = @{ Text = 'title is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('title') } }
      '--title-prefix' = @{ Text = 'title begins with this text'; Value = @{ Kind = 'text' } }
      '--industry' = @{ Text = 'industry is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('industry') } }
      '-f' = @{ Text = 'filters as JSON from a file (- for stdin, or a pattern); flags replace its values'; Value = @{ Kind = 'file' } }
      '--filters' = @{ Text = 'filters as JSON from a file (- for stdin, or a pattern); flags replace its values'; Value = @{ Kind = 'file' } }
      '-s' = @{ Text = 'saved segment (or pattern); flags replace its values'; Value = @{ Kind = 'segments' } }
      '--segment' = @{ Text = 'saved segment (or pattern); flags replace its values'; Value = @{ Kind = 'segments' } }
      '--state' = @{ Text = 'state is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('state') } }
      '--city' = @{ Text = 'city is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('city') } }
      '--location' = @{ Text = 'location is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('location') } }
      '--seniority' = @{ Text = 'the seniority as the title says it (Head, Director), any case'; Value = @{ Kind = 'listed'; Values = @('seniority') } }
      '--functional-area' = @{ Text = 'functional area is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('functional_area') } }
      '--first-name' = @{ Text = 'first name is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('first_name') } }
      '--last-name' = @{ Text = 'last name is exactly this, any case'; Value = @{ Kind = 'listed'; Values = @('last_name') } }
      '--name' = @{ Text = 'name is exactly this, any case'; Value = @{ Kind = 'text' } }
      '--network-url' = @{ Text = 'network url is exactly this, any case'; Value = @{ Kind = 'text' } }
      '--headline-prefix' = @{ Text = 'headline begins with this text'; Value = @{ Kind = 'text' } }
      '--location-prefix' = @{ Text = 'location begins with this text'; Value = @{ Kind = 'text' } }
      '--name-prefix' = @{ Text = 'name begins with this text'; Value = @{ Kind = 'text' } }
      '--industry-prefix' = @{ Text = 'industry begins with this text'; Value = @{ Kind = 'text' } }
      '--connections-min' = @{ Text = 'at least this many connections'; Value = @{ Kind = 'text' } }
      '--connections-max' = @{ Text = 'at most this many connections'; Value = @{ Kind = 'text' } }
      '--followers-min' = @{ Text = 'at least this many followers'; Value = @{ Kind = 'text' } }
      '--followers-max' = @{ Text = 'at most this many followers'; Value = @{ Kind = 'text' } }
      '--company-network-url' = @{ Text = 'profile address of the company, or its slug'; Value = @{ Kind = 'text' } }
      '-o' = @{ Text = 'write a file, or a table: duckdb:FILE#TABLE, postgres://HOST/DB#TABLE (default: stdout)'; Value = @{ Kind = 'file' } }
      '--output' = @{ Text = 'write a file, or a table: duckdb:FILE#TABLE, postgres://HOST/DB#TABLE (default: stdout)'; Value = @{ Kind = 'file' } }
      '--format' = @{ Text = 'csv, tsv, ndjson, json, xlsx, parquet, template, table; csv.gz, ndjson.zst and the like compress (default: by the file''s ending)'; Value = @{ Kind = 'list'; Values = @('csv', 'tsv', 'ndjson', 'json', 'xlsx', 'parquet', 'template', 'table') } }
      '--fields' = @{ Text = 'only these, in this order; all: in a table too'; Value = @{ Kind = 'commas'; Values = @('id', 'network_url', 'name', 'first_name', 'last_name', 'headline', 'title', 'seniority', 'seniority_level', 'functional_area', 'department', 'industry', 'country', 'state', 'city', 'location', 'connections', 'followers', 'company_name', 'company_domain', 'company_network_url', 'updated_at', 'all') } }
      '--template' = @{ Text = 'a text for every row: a Mustache template such as ''{{name}}, {{title}}'', or @FILE'; Value = @{ Kind = 'text' } }
      '--csv' = @{ Text = 'for spreadsheets, with byte order mark and CRLF; without the guard against formulas'; Value = @{ Kind = 'list'; Values = @('excel', 'raw') } }
      '--overwrite' = @{ Text = 'replace an existing file, once the new one is whole'; Value = $null }
      '--max-shrink' = @{ Text = 'exit 5 and keep the file where it would lose more'; Value = @{ Kind = 'text' } }
      '--min-rows' = @{ Text = 'exit 5 and keep the file where fewer rows come; 0: none may replace some'; Value = @{ Kind = 'text' } }
      '--mode' = @{ Text = 'what live keys bought, or test keys (default: as the key in use)'; Value = @{ Kind = 'list'; Values = @('live', 'test') } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'owned import' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--mode' = @{ Text = 'what live keys bought, or test keys (default: as the key in use)'; Value = @{ Kind = 'list'; Values = @('live', 'test') } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'file' })
    Many = $true
  }
  'owned diff' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--mode' = @{ Text = 'what live keys bought, or test keys (default: as the key in use)'; Value = @{ Kind = 'list'; Values = @('live', 'test') } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'runs' }, @{ Kind = 'text' })
    Many = $false
  }
  'owned rebuild' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--mode' = @{ Text = 'what live keys bought, or test keys (default: as the key in use)'; Value = @{ Kind = 'list'; Values = @('live', 'test') } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'sql' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '-f' = @{ Text = 'read the query from a file, or from stdin (-)'; Value = @{ Kind = 'file' } }
      '--file' = @{ Text = 'read the query from a file, or from stdin (-)'; Value = @{ Kind = 'file' } }
      '--format' = @{ Text = 'table, csv or json'; Value = @{ Kind = 'text' } }
      '--mode' = @{ Text = 'what live keys bought, or test keys (default: as the key in use)'; Value = @{ Kind = 'list'; Values = @('live', 'test') } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'text' })
    Many = $false
  }
  'suppress' = @{
    Commands = [ordered]@{
      'add' = 'leave people out'
      'import' = 'leave out everybody in a file'
      'list' = 'show when, as what and why'
      'check' = 'say who is on the list, since when and why'
      'remove' = 'take people off the list'
    }
    Flags = [ordered]@{
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'suppress add' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--kind' = @{ Text = 'what the words are (default: as they look)'; Value = @{ Kind = 'list'; Values = @('address', 'id', 'domain') } }
      '--note' = @{ Text = 'why, kept with each entry as it is: name nobody in it'; Value = @{ Kind = 'text' } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'text' })
    Many = $true
  }
  'suppress import' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--kind' = @{ Text = 'what the words are (default: as they look)'; Value = @{ Kind = 'list'; Values = @('address', 'id', 'domain') } }
      '--note' = @{ Text = 'why, kept with each entry as it is: name nobody in it'; Value = @{ Kind = 'text' } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'file' })
    Many = $false
  }
  'suppress list' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'suppress check' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--kind' = @{ Text = 'what the words are (default: as they look)'; Value = @{ Kind = 'list'; Values = @('address', 'id', 'domain') } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'text' })
    Many = $true
  }
  'suppress remove' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--kind' = @{ Text = 'what the words are (default: as they look)'; Value = @{ Kind = 'list'; Values = @('address', 'id', 'domain') } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'text' })
    Many = $true
  }
  'forget' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--dry-run' = @{ Text = 'only list what would be deleted'; Value = $null }
      '-y' = @{ Text = 'do not ask'; Value = $null }
      '--yes' = @{ Text = 'do not ask'; Value = $null }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'text' })
    Many = $false
  }
  'data' = @{
    Commands = [ordered]@{
      'show' = 'show what is kept'
      'set' = 'say how long runs are kept that are over'
    }
    Flags = [ordered]@{
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'data show' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'data set' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'text' })
    Many = $true
  }
  'jobs' = @{
    Commands = [ordered]@{
      'run' = 'run jobs one after another'
      'status' = 'how each job went, what it changed and cost, when it comes next, and what the month has cost'
      'check' = 'say which jobs break a rule, failed last, were killed, or should have run by now'
      'show' = 'what a job does, with its filters and its schedule'
      'systemd' = 'print a service and a timer of systemd for each job'
      'cron' = 'print a line of a crontab for each job'
    }
    Flags = [ordered]@{
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'jobs run' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--file' = @{ Text = 'the file of jobs (default: jobs.jsonc in the config folder)'; Value = @{ Kind = 'file' } }
      '--dry-run' = @{ Text = 'show what each would do and cost, and buy nothing'; Value = $null }
      '--budget' = @{ Text = 'instead of the file''s: most credits of a month (UTC), over all jobs'; Value = @{ Kind = 'text' } }
      '--if-older-than' = @{ Text = 'do nothing where the file is younger (12h, 6d, 8w)'; Value = @{ Kind = 'text' } }
      '--log' = @{ Text = 'append one JSON line about how it went'; Value = @{ Kind = 'file' } }
      '--notify' = @{ Text = 'shell command for a failure or a changed file; gets that line on its stdin'; Value = @{ Kind = 'text' } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'jobs' })
    Many = $true
  }
  'jobs status' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--file' = @{ Text = 'the file of jobs (default: jobs.jsonc in the config folder)'; Value = @{ Kind = 'file' } }
      '--budget' = @{ Text = 'instead of the file''s: most credits of a month (UTC), over all jobs'; Value = @{ Kind = 'text' } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'jobs' })
    Many = $true
  }
  'jobs check' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'file' })
    Many = $false
  }
  'jobs show' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--file' = @{ Text = 'the file of jobs (default: jobs.jsonc in the config folder)'; Value = @{ Kind = 'file' } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'jobs' })
    Many = $false
  }
  'jobs systemd' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--file' = @{ Text = 'the file of jobs (default: jobs.jsonc in the config folder)'; Value = @{ Kind = 'file' } }
      '--keys' = @{ Text = 'file with HEADCOUNT_API_KEY=... in it (default: ~/.headcount.env)'; Value = @{ Kind = 'file' } }
      '-o' = @{ Text = 'write them as files, into ~/.config/systemd/user for one'; Value = @{ Kind = 'directory' } }
      '--output' = @{ Text = 'write them as files, into ~/.config/systemd/user for one'; Value = @{ Kind = 'directory' } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'jobs' })
    Many = $true
  }
  'jobs cron' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--file' = @{ Text = 'the file of jobs (default: jobs.jsonc in the config folder)'; Value = @{ Kind = 'file' } }
      '--keys' = @{ Text = 'file with HEADCOUNT_API_KEY=... in it (default: ~/.headcount.env)'; Value = @{ Kind = 'file' } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'jobs' })
    Many = $true
  }
  'login' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--key-stdin' = @{ Text = 'read the key from stdin instead of asking for it'; Value = $null }
      '--insecure-storage' = @{ Text = 'keep the key in a file (mode 0600) instead of the keychain'; Value = $null }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'connections' })
    Many = $false
  }
  'logout' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'connections' })
    Many = $false
  }
  'connections' = @{
    Commands = [ordered]@{
      'list' = 'list connections and where their keys live'
      'use' = 'make a connection the one that is used where none is named'
      'set' = 'say how a service pages, where doctor cannot find it out'
      'remove' = 'forget a connection'
    }
    Flags = [ordered]@{
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'connections list' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'connections use' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'connections' })
    Many = $false
  }
  'connections set' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'connections' }, @{ Kind = 'text' })
    Many = $true
  }
  'connections remove' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'connections' })
    Many = $false
  }
  'doctor' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--offline' = @{ Text = 'check this machine alone, make no call'; Value = $null }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'serve' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--host' = @{ Text = 'address to listen on; beyond loopback keys travel in clear without --tls-cert'; Value = @{ Kind = 'text' } }
      '--port' = @{ Text = '0 picks a free one'; Value = @{ Kind = 'text' } }
      '--public-url' = @{ Text = 'address that browsers reach the service by, where a proxy stands in front'; Value = @{ Kind = 'text' } }
      '--tls-cert' = @{ Text = 'serve HTTPS with this certificate and its chain (PEM); renewed files are taken over'; Value = @{ Kind = 'file' } }
      '--tls-key' = @{ Text = 'the key of --tls-cert (PEM, without a passphrase)'; Value = @{ Kind = 'file' } }
      '--cors-origin' = @{ Text = 'pages of these origins may call the API in a browser; * for any (default: none)'; Value = @{ Kind = 'text' } }
      '--data' = @{ Text = 'data folder with the dataset and the accounts (default: the XDG data folder)'; Value = @{ Kind = 'directory' } }
      '--store' = @{ Text = 'accounts elsewhere: a SQLite file or postgres://..., the password in PGPASSWORD (default: in the data folder)'; Value = @{ Kind = 'text' } }
      '--dataset' = @{ Text = 'a dataset elsewhere: a folder or clickhouse://... (default: in the data folder)'; Value = @{ Kind = 'text' } }
      '--witness' = @{ Text = 'where the ledger''s last signed head is kept (default: head.json in the data folder)'; Value = @{ Kind = 'file' } }
      '--force' = @{ Text = 'serve a ledger that is older than the last signed head: it was restored on purpose'; Value = $null }
      '--console' = @{ Text = 'leave the console out; print a link to it also into a pipe; serve it without TLS beyond loopback'; Value = @{ Kind = 'list'; Values = @('off', 'link', 'insecure') } }
      '--log' = @{ Text = 'one JSON line per request on stderr: no key, filter value or record'; Value = $null }
      '--metrics' = @{ Text = 'serve Prometheus metrics on this port of loopback, or at ADDRESS:PORT'; Value = @{ Kind = 'text' } }
      '--print-unit' = @{ Text = 'print a unit of systemd that runs this command line, and end'; Value = $null }
      '--fault' = @{ Text = 'for tests of clients: search:p=0.1:500, search:drop, all:n=3:slow=2000, enrich:cut=40'; Value = @{ Kind = 'text' } }
      '--bounds' = @{ Text = 'calls and rows: calls, calls-per-key, queued, queue-seconds, depth (docs/service.md, Limits)'; Value = @{ Kind = 'text' } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'service' = @{
    Commands = [ordered]@{
      'import' = 'replace the dataset of a data folder by the rows of files'
      'map' = 'propose a column map for --map of `service import`, from the header and the first values of a file'
      'generate' = 'replace the dataset of a data folder by synthetic people, and about one company for seven of them'
      'dataset' = 'list, compare and take back versions of the dataset'
      'accounts' = 'make, list, suspend and resume accounts'
      'keys' = 'make, bound, rotate, list and revoke the API keys of an account'
      'credits' = 'add credits to an account, take them away, refund a charge, or show what an account has'
      'plan' = 'set or show the rate limits and the prices of an account'
      'entries' = 'list the entries of the ledger, the newest first'
      'usage' = 'add up what an account was charged'
      'audit' = 'list every act of administration, the newest first'
      'link' = 'print a link that signs in to the console of `headcount serve`'
      'sessions' = 'list who is signed in to the console, the newest first'
      'suppress' = 'take people out of the dataset for good'
      'forget' = 'delete a person, named by profile address, its last part or id, from all that the service keeps'
      'data' = 'show what a data folder keeps of people, and for how long'
      'backup' = 'copy one state of the ledger and the dataset that is served into a folder, also while a service is at work, and verify the copy'
      'verify' = 'recompute every invariant of the ledger'
      'restore' = 'make a data folder of a backup'
    }
    Flags = [ordered]@{
      '--data' = @{ Text = 'data folder with the dataset and the accounts (default: the XDG data folder)'; Value = @{ Kind = 'directory' } }
      '--store' = @{ Text = 'accounts elsewhere: a SQLite file or postgres://..., the password in PGPASSWORD (default: in the data folder)'; Value = @{ Kind = 'text' } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'service import' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--people' = @{ Text = 'files or patterns with people'; Value = @{ Kind = 'file' } }
      '--companies' = @{ Text = 'files or patterns with companies (default: derived from people)'; Value = @{ Kind = 'file' } }
      '--map' = @{ Text = 'column map: {"people": {"title": "Job Title"}}'; Value = @{ Kind = 'file' } }
      '--max-refused' = @{ Text = 'keep the old dataset (exit 5) where more rows are refused: 100, or 1%'; Value = @{ Kind = 'text' } }
      '--keep' = @{ Text = 'how many versions that were served before stay to go back to (default: 1)'; Value = @{ Kind = 'text' } }
      '--dry-run' = @{ Text = 'read and check the files, and leave the dataset as it is'; Value = $null }
      '--encoding' = @{ Text = 'what CSV and NDJSON are written in, such as windows-1252 (default: told by the file)'; Value = @{ Kind = 'text' } }
      '--skip-lines' = @{ Text = 'lines of CSV before the header (default: told by the file)'; Value = @{ Kind = 'text' } }
      '--dataset' = @{ Text = 'load into clickhouse://... instead of the data folder'; Value = @{ Kind = 'text' } }
      '--data' = @{ Text = 'data folder with the dataset and the accounts (default: the XDG data folder)'; Value = @{ Kind = 'directory' } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'service map' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--kind' = @{ Text = 'what its rows are: people or companies (default: told by the header)'; Value = @{ Kind = 'list'; Values = @('people', 'companies') } }
      '--encoding' = @{ Text = 'what CSV and NDJSON are written in, such as windows-1252 (default: told by the file)'; Value = @{ Kind = 'text' } }
      '--skip-lines' = @{ Text = 'lines of CSV before the header (default: told by the file)'; Value = @{ Kind = 'text' } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'file' })
    Many = $false
  }
  'service generate' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--data' = @{ Text = 'data folder with the dataset and the accounts (default: the XDG data folder)'; Value = @{ Kind = 'directory' } }
      '--people' = @{ Text = 'how many people, 1 to 4000000000'; Value = @{ Kind = 'text' } }
      '--seed' = @{ Text = 'another seed gives other people, 0 to 4294967295'; Value = @{ Kind = 'text' } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'service dataset' = @{
    Commands = [ordered]@{
      'list' = 'list the version that is served and those kept, the last served first'
      'rollback' = 'serve a kept version again, by default the one that was served last'
      'diff' = 'count who was added, removed and changed between two kept versions, told apart by id, and the changes by column'
    }
    Flags = [ordered]@{
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'service dataset list' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--data' = @{ Text = 'data folder with the dataset and the accounts (default: the XDG data folder)'; Value = @{ Kind = 'directory' } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'service dataset rollback' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--data' = @{ Text = 'data folder with the dataset and the accounts (default: the XDG data folder)'; Value = @{ Kind = 'directory' } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'text' })
    Many = $false
  }
  'service dataset diff' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--data' = @{ Text = 'data folder with the dataset and the accounts (default: the XDG data folder)'; Value = @{ Kind = 'directory' } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'text' }, @{ Kind = 'text' })
    Many = $false
  }
  'service accounts' = @{
    Commands = [ordered]@{
      'create' = 'make an account with the standard plan, no live credits, and 10,000 simulated ones for test keys'
      'list' = 'list the accounts with their balances and keys'
      'suspend' = 'refuse all keys of an account until it is resumed'
      'resume' = 'let the keys of a suspended account work again'
    }
    Flags = [ordered]@{
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'service accounts create' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--data' = @{ Text = 'data folder with the dataset and the accounts (default: the XDG data folder)'; Value = @{ Kind = 'directory' } }
      '--store' = @{ Text = 'accounts elsewhere: a SQLite file or postgres://..., the password in PGPASSWORD (default: in the data folder)'; Value = @{ Kind = 'text' } }
      '--name' = @{ Text = 'what it is called (default: its id)'; Value = @{ Kind = 'text' } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'text' })
    Many = $false
  }
  'service accounts list' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--data' = @{ Text = 'data folder with the dataset and the accounts (default: the XDG data folder)'; Value = @{ Kind = 'directory' } }
      '--store' = @{ Text = 'accounts elsewhere: a SQLite file or postgres://..., the password in PGPASSWORD (default: in the data folder)'; Value = @{ Kind = 'text' } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'service accounts suspend' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--data' = @{ Text = 'data folder with the dataset and the accounts (default: the XDG data folder)'; Value = @{ Kind = 'directory' } }
      '--store' = @{ Text = 'accounts elsewhere: a SQLite file or postgres://..., the password in PGPASSWORD (default: in the data folder)'; Value = @{ Kind = 'text' } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'text' })
    Many = $false
  }
  'service accounts resume' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--data' = @{ Text = 'data folder with the dataset and the accounts (default: the XDG data folder)'; Value = @{ Kind = 'directory' } }
      '--store' = @{ Text = 'accounts elsewhere: a SQLite file or postgres://..., the password in PGPASSWORD (default: in the data folder)'; Value = @{ Kind = 'text' } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'text' })
    Many = $false
  }
  'service keys' = @{
    Commands = [ordered]@{
      'create' = 'make a key'
      'rotate' = 'make a key with the name, end, scopes and mode of another and show it once'
      'list' = 'list the keys of an account, revoked ones too'
      'set' = 'change the name, end, cap or scopes of a key'
      'revoke' = 'revoke a key'
    }
    Flags = [ordered]@{
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'service keys create' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--data' = @{ Text = 'data folder with the dataset and the accounts (default: the XDG data folder)'; Value = @{ Kind = 'directory' } }
      '--store' = @{ Text = 'accounts elsewhere: a SQLite file or postgres://..., the password in PGPASSWORD (default: in the data folder)'; Value = @{ Kind = 'text' } }
      '--account' = @{ Text = 'which account'; Value = @{ Kind = 'text' } }
      '--expires' = @{ Text = 'until when it works: 12h, 7d, 4w from now, a UTC date such as 2027-01-31, or never'; Value = @{ Kind = 'text' } }
      '--scope' = @{ Text = 'what it may call: account, count, search, employees, enrich (commas between); or all'; Value = @{ Kind = 'commas'; Values = @('account', 'count', 'search', 'employees', 'enrich') } }
      '--name' = @{ Text = 'what the key is for'; Value = @{ Kind = 'text' } }
      '--max-credits' = @{ Text = 'the most that it may ever be charged, kept by the service; or none'; Value = @{ Kind = 'text' } }
      '--mode' = @{ Text = 'test keys see a synthetic dataset and spend simulated credits'; Value = @{ Kind = 'list'; Values = @('live', 'test') } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'service keys rotate' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--data' = @{ Text = 'data folder with the dataset and the accounts (default: the XDG data folder)'; Value = @{ Kind = 'directory' } }
      '--store' = @{ Text = 'accounts elsewhere: a SQLite file or postgres://..., the password in PGPASSWORD (default: in the data folder)'; Value = @{ Kind = 'text' } }
      '--account' = @{ Text = 'which account'; Value = @{ Kind = 'text' } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'text' }, @{ Kind = 'text' })
    Many = $false
  }
  'service keys list' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--data' = @{ Text = 'data folder with the dataset and the accounts (default: the XDG data folder)'; Value = @{ Kind = 'directory' } }
      '--store' = @{ Text = 'accounts elsewhere: a SQLite file or postgres://..., the password in PGPASSWORD (default: in the data folder)'; Value = @{ Kind = 'text' } }
      '--account' = @{ Text = 'which account'; Value = @{ Kind = 'text' } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'service keys set' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--data' = @{ Text = 'data folder with the dataset and the accounts (default: the XDG data folder)'; Value = @{ Kind = 'directory' } }
      '--store' = @{ Text = 'accounts elsewhere: a SQLite file or postgres://..., the password in PGPASSWORD (default: in the data folder)'; Value = @{ Kind = 'text' } }
      '--account' = @{ Text = 'which account'; Value = @{ Kind = 'text' } }
      '--expires' = @{ Text = 'until when it works: 12h, 7d, 4w from now, a UTC date such as 2027-01-31, or never'; Value = @{ Kind = 'text' } }
      '--scope' = @{ Text = 'what it may call: account, count, search, employees, enrich (commas between); or all'; Value = @{ Kind = 'commas'; Values = @('account', 'count', 'search', 'employees', 'enrich') } }
      '--name' = @{ Text = 'what the key is for'; Value = @{ Kind = 'text' } }
      '--max-credits' = @{ Text = 'the most that it may ever be charged, kept by the service; or none'; Value = @{ Kind = 'text' } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'text' })
    Many = $false
  }
  'service keys revoke' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--data' = @{ Text = 'data folder with the dataset and the accounts (default: the XDG data folder)'; Value = @{ Kind = 'directory' } }
      '--store' = @{ Text = 'accounts elsewhere: a SQLite file or postgres://..., the password in PGPASSWORD (default: in the data folder)'; Value = @{ Kind = 'text' } }
      '--account' = @{ Text = 'which account'; Value = @{ Kind = 'text' } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'text' })
    Many = $false
  }
  'service credits' = @{
    Commands = [ordered]@{
      'add' = 'add credits to the balance of an account'
      'remove' = 'take credits away from an account, as an entry of its own'
      'refund' = 'give a charge back, or a part of it'
      'show' = 'show the balance of an account, what calls in flight hold of it, and what was used today'
    }
    Flags = [ordered]@{
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'service credits add' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--data' = @{ Text = 'data folder with the dataset and the accounts (default: the XDG data folder)'; Value = @{ Kind = 'directory' } }
      '--store' = @{ Text = 'accounts elsewhere: a SQLite file or postgres://..., the password in PGPASSWORD (default: in the data folder)'; Value = @{ Kind = 'text' } }
      '--account' = @{ Text = 'which account'; Value = @{ Kind = 'text' } }
      '--mode' = @{ Text = 'live credits, or the simulated ones of test keys'; Value = @{ Kind = 'list'; Values = @('live', 'test') } }
      '--note' = @{ Text = 'why; kept with the entry and in the audit'; Value = @{ Kind = 'text' } }
      '--reference' = @{ Text = 'names it once and for all, such as an invoice: asked for again it does nothing and says so'; Value = @{ Kind = 'text' } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'text' })
    Many = $false
  }
  'service credits remove' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--data' = @{ Text = 'data folder with the dataset and the accounts (default: the XDG data folder)'; Value = @{ Kind = 'directory' } }
      '--store' = @{ Text = 'accounts elsewhere: a SQLite file or postgres://..., the password in PGPASSWORD (default: in the data folder)'; Value = @{ Kind = 'text' } }
      '--account' = @{ Text = 'which account'; Value = @{ Kind = 'text' } }
      '--mode' = @{ Text = 'live credits, or the simulated ones of test keys'; Value = @{ Kind = 'list'; Values = @('live', 'test') } }
      '--note' = @{ Text = 'why; kept with the entry and in the audit'; Value = @{ Kind = 'text' } }
      '--reference' = @{ Text = 'names it once and for all, such as an invoice: asked for again it does nothing and says so'; Value = @{ Kind = 'text' } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'text' })
    Many = $false
  }
  'service credits refund' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--data' = @{ Text = 'data folder with the dataset and the accounts (default: the XDG data folder)'; Value = @{ Kind = 'directory' } }
      '--store' = @{ Text = 'accounts elsewhere: a SQLite file or postgres://..., the password in PGPASSWORD (default: in the data folder)'; Value = @{ Kind = 'text' } }
      '--account' = @{ Text = 'which account'; Value = @{ Kind = 'text' } }
      '--note' = @{ Text = 'why; kept with the entry and in the audit'; Value = @{ Kind = 'text' } }
      '--reference' = @{ Text = 'names it once and for all, such as an invoice: asked for again it does nothing and says so'; Value = @{ Kind = 'text' } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'text' }, @{ Kind = 'text' })
    Many = $false
  }
  'service credits show' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--data' = @{ Text = 'data folder with the dataset and the accounts (default: the XDG data folder)'; Value = @{ Kind = 'directory' } }
      '--store' = @{ Text = 'accounts elsewhere: a SQLite file or postgres://..., the password in PGPASSWORD (default: in the data folder)'; Value = @{ Kind = 'text' } }
      '--account' = @{ Text = 'which account'; Value = @{ Kind = 'text' } }
      '--mode' = @{ Text = 'live credits, or the simulated ones of test keys'; Value = @{ Kind = 'list'; Values = @('live', 'test') } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'service plan' = @{
    Commands = [ordered]@{
      'set' = 'change the limits or prices of an account'
      'show' = 'show the rate limits and the prices of an account'
    }
    Flags = [ordered]@{
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'service plan set' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--data' = @{ Text = 'data folder with the dataset and the accounts (default: the XDG data folder)'; Value = @{ Kind = 'directory' } }
      '--store' = @{ Text = 'accounts elsewhere: a SQLite file or postgres://..., the password in PGPASSWORD (default: in the data folder)'; Value = @{ Kind = 'text' } }
      '--account' = @{ Text = 'which account'; Value = @{ Kind = 'text' } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'text' })
    Many = $true
  }
  'service plan show' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--data' = @{ Text = 'data folder with the dataset and the accounts (default: the XDG data folder)'; Value = @{ Kind = 'directory' } }
      '--store' = @{ Text = 'accounts elsewhere: a SQLite file or postgres://..., the password in PGPASSWORD (default: in the data folder)'; Value = @{ Kind = 'text' } }
      '--account' = @{ Text = 'which account'; Value = @{ Kind = 'text' } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'service entries' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--data' = @{ Text = 'data folder with the dataset and the accounts (default: the XDG data folder)'; Value = @{ Kind = 'directory' } }
      '--store' = @{ Text = 'accounts elsewhere: a SQLite file or postgres://..., the password in PGPASSWORD (default: in the data folder)'; Value = @{ Kind = 'text' } }
      '--account' = @{ Text = 'which account'; Value = @{ Kind = 'text' } }
      '--mode' = @{ Text = 'live credits, or the simulated ones of test keys'; Value = @{ Kind = 'list'; Values = @('live', 'test') } }
      '--kind' = @{ Text = 'only these'; Value = @{ Kind = 'list'; Values = @('grant', 'charge', 'refund', 'correction') } }
      '--key' = @{ Text = 'only what one key was charged, or got back'; Value = @{ Kind = 'text' } }
      '--since' = @{ Text = 'how far back: 12h, 30d, 8w, a date such as 2026-01-31, or all'; Value = @{ Kind = 'text' } }
      '--limit' = @{ Text = 'so many at most'; Value = @{ Kind = 'text' } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'service usage' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--data' = @{ Text = 'data folder with the dataset and the accounts (default: the XDG data folder)'; Value = @{ Kind = 'directory' } }
      '--store' = @{ Text = 'accounts elsewhere: a SQLite file or postgres://..., the password in PGPASSWORD (default: in the data folder)'; Value = @{ Kind = 'text' } }
      '--account' = @{ Text = 'which account'; Value = @{ Kind = 'text' } }
      '--mode' = @{ Text = 'live credits, or the simulated ones of test keys'; Value = @{ Kind = 'list'; Values = @('live', 'test') } }
      '--by' = @{ Text = 'one line for each: day, key, call (commas between)'; Value = @{ Kind = 'commas'; Values = @('day', 'key', 'call') } }
      '--key' = @{ Text = 'only one key'; Value = @{ Kind = 'text' } }
      '--since' = @{ Text = 'how far back, whole UTC days: 30d, 8w, a date such as 2026-01-31, or all'; Value = @{ Kind = 'text' } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'service audit' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--data' = @{ Text = 'data folder with the dataset and the accounts (default: the XDG data folder)'; Value = @{ Kind = 'directory' } }
      '--store' = @{ Text = 'accounts elsewhere: a SQLite file or postgres://..., the password in PGPASSWORD (default: in the data folder)'; Value = @{ Kind = 'text' } }
      '--account' = @{ Text = 'only what concerns one account'; Value = @{ Kind = 'text' } }
      '--since' = @{ Text = 'how far back: 12h, 30d, 8w, a date such as 2026-01-31, or all'; Value = @{ Kind = 'text' } }
      '--limit' = @{ Text = 'so many at most'; Value = @{ Kind = 'text' } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'service link' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--data' = @{ Text = 'data folder with the dataset and the accounts (default: the XDG data folder)'; Value = @{ Kind = 'directory' } }
      '--store' = @{ Text = 'accounts elsewhere: a SQLite file or postgres://..., the password in PGPASSWORD (default: in the data folder)'; Value = @{ Kind = 'text' } }
      '--account' = @{ Text = 'which account'; Value = @{ Kind = 'text' } }
      '--name' = @{ Text = 'whom it is for: stands before the session''s id, in its charges too'; Value = @{ Kind = 'text' } }
      '--public-url' = @{ Text = 'address that browsers reach the service by (default: where it was last started)'; Value = @{ Kind = 'text' } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'list'; Values = @('operator', 'owner', 'viewer') })
    Many = $false
  }
  'service sessions' = @{
    Commands = [ordered]@{
      'end' = 'sign a session out'
    }
    Flags = [ordered]@{
      '--data' = @{ Text = 'data folder with the dataset and the accounts (default: the XDG data folder)'; Value = @{ Kind = 'directory' } }
      '--store' = @{ Text = 'accounts elsewhere: a SQLite file or postgres://..., the password in PGPASSWORD (default: in the data folder)'; Value = @{ Kind = 'text' } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'service sessions end' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--data' = @{ Text = 'data folder with the dataset and the accounts (default: the XDG data folder)'; Value = @{ Kind = 'directory' } }
      '--store' = @{ Text = 'accounts elsewhere: a SQLite file or postgres://..., the password in PGPASSWORD (default: in the data folder)'; Value = @{ Kind = 'text' } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'text' })
    Many = $false
  }
  'service suppress' = @{
    Commands = [ordered]@{
      'add' = 'leave people out'
      'import' = 'leave out everybody in a file'
      'list' = 'show when, as what and why'
      'check' = 'say who is on the list, since when and why'
      'remove' = 'take people off the list'
    }
    Flags = [ordered]@{
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'service suppress add' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--kind' = @{ Text = 'what the words are (default: as they look)'; Value = @{ Kind = 'list'; Values = @('address', 'id', 'domain') } }
      '--note' = @{ Text = 'why, kept with each entry as it is: name nobody in it'; Value = @{ Kind = 'text' } }
      '--data' = @{ Text = 'data folder with the dataset and the accounts (default: the XDG data folder)'; Value = @{ Kind = 'directory' } }
      '--dataset' = @{ Text = 'leave them out of the dataset in clickhouse://... too'; Value = @{ Kind = 'text' } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'text' })
    Many = $true
  }
  'service suppress import' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--kind' = @{ Text = 'what the words are (default: as they look)'; Value = @{ Kind = 'list'; Values = @('address', 'id', 'domain') } }
      '--note' = @{ Text = 'why, kept with each entry as it is: name nobody in it'; Value = @{ Kind = 'text' } }
      '--data' = @{ Text = 'data folder with the dataset and the accounts (default: the XDG data folder)'; Value = @{ Kind = 'directory' } }
      '--dataset' = @{ Text = 'leave them out of the dataset in clickhouse://... too'; Value = @{ Kind = 'text' } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'file' })
    Many = $false
  }
  'service suppress list' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--data' = @{ Text = 'data folder with the dataset and the accounts (default: the XDG data folder)'; Value = @{ Kind = 'directory' } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'service suppress check' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--kind' = @{ Text = 'what the words are (default: as they look)'; Value = @{ Kind = 'list'; Values = @('address', 'id', 'domain') } }
      '--data' = @{ Text = 'data folder with the dataset and the accounts (default: the XDG data folder)'; Value = @{ Kind = 'directory' } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'text' })
    Many = $true
  }
  'service suppress remove' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--kind' = @{ Text = 'what the words are (default: as they look)'; Value = @{ Kind = 'list'; Values = @('address', 'id', 'domain') } }
      '--data' = @{ Text = 'data folder with the dataset and the accounts (default: the XDG data folder)'; Value = @{ Kind = 'directory' } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'text' })
    Many = $true
  }
  'service forget' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--data' = @{ Text = 'data folder with the dataset and the accounts (default: the XDG data folder)'; Value = @{ Kind = 'directory' } }
      '--store' = @{ Text = 'accounts elsewhere: a SQLite file or postgres://..., the password in PGPASSWORD (default: in the data folder)'; Value = @{ Kind = 'text' } }
      '--dataset' = @{ Text = 'leave them out of the dataset in clickhouse://... too'; Value = @{ Kind = 'text' } }
      '--dry-run' = @{ Text = 'only list what would be deleted'; Value = $null }
      '-y' = @{ Text = 'do not ask'; Value = $null }
      '--yes' = @{ Text = 'do not ask'; Value = $null }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'text' })
    Many = $false
  }
  'service data' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--data' = @{ Text = 'data folder with the dataset and the accounts (default: the XDG data folder)'; Value = @{ Kind = 'directory' } }
      '--store' = @{ Text = 'accounts elsewhere: a SQLite file or postgres://..., the password in PGPASSWORD (default: in the data folder)'; Value = @{ Kind = 'text' } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'service backup' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--data' = @{ Text = 'data folder with the dataset and the accounts (default: the XDG data folder)'; Value = @{ Kind = 'directory' } }
      '--store' = @{ Text = 'accounts elsewhere: a SQLite file or postgres://..., the password in PGPASSWORD (default: in the data folder)'; Value = @{ Kind = 'text' } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'directory' })
    Many = $false
  }
  'service verify' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--data' = @{ Text = 'data folder with the dataset and the accounts (default: the XDG data folder)'; Value = @{ Kind = 'directory' } }
      '--store' = @{ Text = 'accounts elsewhere: a SQLite file or postgres://..., the password in PGPASSWORD (default: in the data folder)'; Value = @{ Kind = 'text' } }
      '--against' = @{ Text = 'hold the ledger against a backup of it too (the folder, a file of accounts, or postgres://... of a restored dump), or against the head that was told last'; Value = @{ Kind = 'text' } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'service restore' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--data' = @{ Text = 'data folder to make (default: the XDG data folder)'; Value = @{ Kind = 'directory' } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'directory' })
    Many = $false
  }
  'schema' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--format' = @{ Text = 'of the document, or of a line where the command writes rows'; Value = @{ Kind = 'list'; Values = @('json', 'ndjson') } }
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'list'; Values = @('account', 'connections', 'list', 'remove', 'set', 'use', 'count', 'data', 'show', 'doctor', 'employees', 'enrich', 'filters', 'forget', 'jobs', 'check', 'run', 'status', 'login', 'logout', 'owned', 'diff', 'export', 'import', 'rebuild', 'refresh', 'resume', 'runs', 'prune', 'schema', 'search', 'segment', 'save', 'serve', 'service', 'accounts', 'create', 'suspend', 'audit', 'backup', 'credits', 'add', 'refund', 'dataset', 'rollback', 'entries', 'generate', 'keys', 'revoke', 'rotate', 'link', 'map', 'plan', 'restore', 'sessions', 'end', 'suppress', 'usage', 'verify', 'spend', 'sql', 'errors', 'filter-file', 'jobs-file') })
    Many = $true
  }
  'completion' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '-h' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
      '--help-all' = @{ Text = 'show help; --help-all: with every option'; Value = $null }
    }
    Arguments = @(@{ Kind = 'list'; Values = @('bash', 'zsh', 'fish', 'powershell') })
    Many = $false
  }
  'help' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{

    }
    Arguments = @(@{ Kind = 'list'; Values = @('count', 'account', 'filters', 'segment', 'search', 'enrich', 'employees', 'refresh', 'mcp', 'runs', 'resume', 'spend', 'owned', 'sql', 'suppress', 'forget', 'data', 'jobs', 'login', 'logout', 'connections', 'doctor', 'serve', 'service', 'schema', 'completion', 'exit-codes', 'environment', 'cron') })
    Many = $false
  }
}

Register-ArgumentCompleter -Native -CommandName headcount -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)

  $tree = $headcountTree
  $path = ''
  $position = 0
  $pending = $null
  $current = "$wordToComplete"
  $words = @($commandAst.CommandElements | Select-Object -Skip 1 |
    Where-Object { $_.Extent.EndOffset -lt $cursorPosition -or ($current -eq '' -and $_.Extent.EndOffset -le $cursorPosition) } |
    ForEach-Object { $_.Extent.Text })

  foreach ($word in $words) {
    if ($null -ne $pending) { $pending = $null; continue }
    if ($word.StartsWith('-')) {
      $flag = $tree[$path].Flags[$word]
      if ($null -eq $flag) { $flag = $tree[''].Flags[$word] }
      if ($null -ne $flag -and $null -ne $flag.Value) { $pending = $flag.Value }
    } elseif ($position -eq 0 -and $tree[$path].Commands.Contains($word)) {
      $path = "$path $word".Trim()
    } else {
      $position++
    }
  }

  $node = $tree[$path]
  $prefix = ''
  if ($null -eq $pending -and $current -match '^(--[^=]+)=(.*)$') {
    $name = $Matches[1]
    $rest = $Matches[2]
    $flag = $node.Flags[$name]
    if ($null -eq $flag) { $flag = $tree[''].Flags[$name] }
    if ($null -ne $flag) { $pending = $flag.Value; $prefix = "$name="; $current = $rest }
  }

  $offers = @()
  if ($null -eq $pending -and $current.StartsWith('-')) {
    foreach ($flags in @($node.Flags, $tree[''].Flags)) {
      foreach ($name in $flags.Keys) { $offers += , @($name, $flags[$name].Text) }
    }
  } elseif ($null -eq $pending -and $position -eq 0 -and $node.Commands.psbase.Count -gt 0) {
    foreach ($name in $node.Commands.Keys) { $offers += , @($name, $node.Commands[$name]) }
  } else {
    $value = $pending
    if ($null -eq $value -and $node.Arguments.Count -gt 0) {
      $last = $node.Arguments.Count - 1
      if ($position -le $last) { $value = $node.Arguments[$position] }
      elseif ($node.Many) { $value = $node.Arguments[$last] }
    }
    if ($null -eq $value) { return }
    $typed = $current.TrimStart("'", '"')
    switch ($value.Kind) {
      'list' { foreach ($item in $value.Values) { $offers += , @($item, $item) } }
      'commas' {
        $head = ''
        if ($typed.Contains(',')) { $head = $typed.Substring(0, $typed.LastIndexOf(',') + 1) }
        foreach ($item in $value.Values) { $offers += , @("$head$item", $item) }
      }
      { $_ -in 'connections', 'runs', 'segments' } {
        $program = $commandAst.CommandElements[0].Extent.Text
        foreach ($line in @(& $program completion --list $value.Kind 2> $null)) {
          $parts = "$line".Split([char]9)
          $offers += , @($parts[0], $parts[-1])
        }
      }
      'jobs' {
        # Those of the file that is named on the line.
        $program = $commandAst.CommandElements[0].Extent.Text
        $words = @($commandAst.CommandElements | ForEach-Object { $_.Extent.Text.Trim("'", '"') })
        $file = ''
        for ($index = 1; $index -lt $words.Count; $index++) {
          if ($words[$index] -eq '--file' -and $index + 1 -lt $words.Count) { $file = $words[$index + 1] }
          elseif ($words[$index].StartsWith('--file=')) { $file = $words[$index].Substring(7) }
        }
        foreach ($line in @(& $program completion --list jobs --prefix "$file" 2> $null)) {
          $parts = "$line".Split([char]9)
          $offers += , @($parts[0], $parts[-1])
        }
      }
      'listed' {
        $program = $commandAst.CommandElements[0].Extent.Text
        foreach ($line in @(& $program completion --list $value.Values[0] --prefix "$typed" 2> $null)) {
          $parts = "$line".Split([char]9)
          $offers += , @($parts[0], $parts[-1])
        }
      }
      default { return }
    }
    $current = $typed
  }

  $seen = @{}
  foreach ($offer in $offers) {
    $text = $offer[0]
    if ($seen.ContainsKey($text) -or -not $text.StartsWith($current, [StringComparison]::OrdinalIgnoreCase)) { continue }
    $seen[$text] = $true
    $insert = $text
    if ($text -match '[^\w./:=-]') { $insert = "'" + $text.Replace("'", "''") + "'" }
    $tip = if ([string]::IsNullOrEmpty($offer[1])) { $text } else { $offer[1] }
    [System.Management.Automation.CompletionResult]::new("$prefix$insert", $text, 'ParameterValue', $tip)
  }
}.GetNewClosure()
