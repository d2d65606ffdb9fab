# PowerShell completion for headcount. Generated from the program by `npm run completions`; do not edit.

$script:HeadcountTree = @{
  '' = @{
    Commands = [ordered]@{
      'count' = 'count the people in a segment (free)'
      'account' = 'show balance, plan, limits and prices (free)'
      'filters' = 'list filter keys and their values (offline)'
      'search' = ''
      'enrich' = ''
      'employees' = ''
      'runs' = ''
      'resume' = ''
      'spend' = ''
      'login' = 'store a key for a connection'
      'logout' = 'remove a connection''s key'
      'connections' = 'list, use or remove connections'
      'doctor' = 'check this machine and a connection (free)'
      'serve' = ''
      'service' = 'import data, make keys, add credits, verify'
      'completion' = 'print a completion script'
      'help' = 'help for a command or a topic'
    }
    Flags = [ordered]@{
      '-c' = @{ Text = 'which connection to use; "sample" is built in'; Value = @{ Kind = 'connections' } }
      '--connection' = @{ Text = 'which connection to use; "sample" is built in'; Value = @{ Kind = 'connections' } }
      '--base-url' = @{ Text = 'overrides the connection''s address'; Value = @{ Kind = 'text' } }
      '--json' = @{ Text = 'one JSON document on stdout; errors as JSON on stderr'; Value = $null }
      '-q' = @{ Text = 'no notices and no progress'; Value = $null }
      '--quiet' = @{ Text = 'no notices and no progress'; Value = $null }
      '-v' = @{ Text = 'one line per request on stderr'; Value = $null }
      '--verbose' = @{ Text = 'one line per request on stderr'; Value = $null }
      '--no-color' = @{ Text = 'no colour (also NO_COLOR, TERM=dumb)'; Value = $null }
      '--max-wait' = @{ Text = 'longest single wait for a rate limit'; Value = @{ Kind = 'text' } }
      '--version' = @{ Text = 'print the version'; Value = $null }
      '-h' = @{ Text = 'show help'; Value = $null }
      '--help' = @{ Text = 'show help'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'count' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--by' = @{ Text = 'break the segment down by this filter key, with one free count a value'; Value = @{ Kind = 'list'; Values = @('country', 'state', 'city', 'location', 'title', 'seniority', 'seniority_level', 'functional_area', 'industry', 'first_name', 'last_name', 'name', 'network_url', 'title_prefix', 'headline_prefix', 'location_prefix', 'name_prefix', 'industry_prefix', 'connections_min', 'connections_max', 'followers_min', 'followers_max', 'company_network_url', 'department') } }
      '--values' = @{ Text = 'the values to break down by (department and seniority-level need none)'; Value = @{ Kind = 'text' } }
      '--format' = @{ Text = 'of a breakdown or of several files: table, csv or json'; Value = @{ Kind = 'list'; Values = @('table', 'csv', 'json') } }
      '--country' = @{ Text = 'country is exactly this, any case'; Value = @{ Kind = 'text' } }
      '--state' = @{ Text = 'state is exactly this, any case'; Value = @{ Kind = 'text' } }
      '--city' = @{ Text = 'city is exactly this, any case'; Value = @{ Kind = 'text' } }
      '--location' = @{ Text = 'location is exactly this, any case'; Value = @{ Kind = 'text' } }
      '--title' = @{ Text = 'title is exactly this, any case'; Value = @{ Kind = 'text' } }
      '--seniority' = @{ Text = 'seniority is exactly this, any case'; Value = @{ Kind = 'text' } }
      '--seniority-level' = @{ Text = 'seniority level is exactly this, any case'; Value = @{ Kind = 'list'; Values = @('owner', 'partner', 'c-suite', 'vp', 'head', 'director', 'manager', 'senior', 'entry', 'intern') } }
      '--functional-area' = @{ Text = 'functional area is exactly this, any case'; Value = @{ Kind = 'text' } }
      '--industry' = @{ Text = 'industry is exactly this, any case'; Value = @{ Kind = 'text' } }
      '--first-name' = @{ Text = 'first name is exactly this, any case'; Value = @{ Kind = 'text' } }
      '--last-name' = @{ Text = 'last name is exactly this, any case'; Value = @{ Kind = 'text' } }
      '--name' = @{ Text = 'name is exactly this, any case'; Value = @{ Kind = 'text' } }
      '--network-url' = @{ Text = 'network url is exactly this, any case'; Value = @{ Kind = 'text' } }
      '--title-prefix' = @{ Text = 'title begins with this text'; Value = @{ Kind = 'text' } }
      '--headline-prefix' = @{ Text = 'headline begins with this text'; Value = @{ Kind = 'text' } }
      '--location-prefix' = @{ Text = 'location begins with this text'; Value = @{ Kind = 'text' } }
      '--name-prefix' = @{ Text = 'name begins with this text'; Value = @{ Kind = 'text' } }
      '--industry-prefix' = @{ Text = 'industry begins with this text'; Value = @{ Kind = 'text' } }
      '--connections-min' = @{ Text = 'at least this many connections'; Value = @{ Kind = 'text' } }
      '--connections-max' = @{ Text = 'at most this many connections'; Value = @{ Kind = 'text' } }
      '--followers-min' = @{ Text = 'at least this many followers'; Value = @{ Kind = 'text' } }
      '--followers-max' = @{ Text = 'at most this many followers'; Value = @{ Kind = 'text' } }
      '--company-network-url' = @{ Text = 'profile address of the company, or its slug'; Value = @{ Kind = 'text' } }
      '--department' = @{ Text = 'one of the 20 departments, any case'; Value = @{ Kind = 'list'; Values = @('Administrative', 'C-Suite', 'Consulting', 'Customer Service', 'Design', 'Education', 'Engineering and Technical', 'Finance & Accounting', 'Human Resources', 'Legal', 'Marketing', 'Medical', 'Operations', 'Other', 'Product', 'Project Management', 'Real Estate', 'Research', 'Sales', 'Trades') } }
      '-f' = @{ Text = 'filters as JSON from a file (- for stdin); flags replace its values'; Value = @{ Kind = 'file' } }
      '--filters' = @{ Text = 'filters as JSON from a file (- for stdin); flags replace its values'; Value = @{ Kind = 'file' } }
      '-h' = @{ Text = 'show help'; Value = $null }
      '--help' = @{ Text = 'show help'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'account' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '-h' = @{ Text = 'show help'; Value = $null }
      '--help' = @{ Text = 'show help'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'filters' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--schema' = @{ Text = 'print a JSON Schema for filter files, for editors'; Value = $null }
      '-h' = @{ Text = 'show help'; Value = $null }
      '--help' = @{ Text = 'show help'; Value = $null }
    }
    Arguments = @(@{ Kind = 'list'; Values = @('country', 'state', 'city', 'location', 'title', 'seniority', 'seniority_level', 'functional_area', 'industry', 'first_name', 'last_name', 'name', 'network_url', 'title_prefix', 'headline_prefix', 'location_prefix', 'name_prefix', 'industry_prefix', 'connections_min', 'connections_max', 'followers_min', 'followers_max', 'company_network_url', 'department') })
    Many = $false
  }
  'search' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '-h' = @{ Text = 'show help'; Value = $null }
      '--help' = @{ Text = 'show help'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'enrich' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '-h' = @{ Text = 'show help'; Value = $null }
      '--help' = @{ Text = 'show help'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'employees' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '-h' = @{ Text = 'show help'; Value = $null }
      '--help' = @{ Text = 'show help'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'runs' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '-h' = @{ Text = 'show help'; Value = $null }
      '--help' = @{ Text = 'show help'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'resume' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '-h' = @{ Text = 'show help'; Value = $null }
      '--help' = @{ Text = 'show help'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'spend' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '-h' = @{ Text = 'show help'; Value = $null }
      '--help' = @{ Text = 'show help'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'login' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--key-stdin' = @{ Text = 'read the key from stdin instead of asking for it'; Value = $null }
      '--insecure-storage' = @{ Text = 'keep the key in a file (mode 0600) instead of the keychain'; Value = $null }
      '-h' = @{ Text = 'show help'; Value = $null }
      '--help' = @{ Text = 'show help'; Value = $null }
    }
    Arguments = @(@{ Kind = 'connections' })
    Many = $false
  }
  'logout' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '-h' = @{ Text = 'show help'; Value = $null }
      '--help' = @{ Text = 'show help'; Value = $null }
    }
    Arguments = @(@{ Kind = 'connections' })
    Many = $false
  }
  'connections' = @{
    Commands = [ordered]@{
      'list' = 'list connections and where their keys live (no key is read or shown)'
      'use' = 'make a connection the one that is used where none is named'
      'remove' = 'forget a connection: its address and its key'
    }
    Flags = [ordered]@{
      '-h' = @{ Text = 'show help'; Value = $null }
      '--help' = @{ Text = 'show help'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'connections list' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '-h' = @{ Text = 'show help'; Value = $null }
      '--help' = @{ Text = 'show help'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'connections use' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '-h' = @{ Text = 'show help'; Value = $null }
      '--help' = @{ Text = 'show help'; Value = $null }
    }
    Arguments = @(@{ Kind = 'connections' })
    Many = $false
  }
  'connections remove' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '-h' = @{ Text = 'show help'; Value = $null }
      '--help' = @{ Text = 'show help'; Value = $null }
    }
    Arguments = @(@{ Kind = 'connections' })
    Many = $false
  }
  'doctor' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '--offline' = @{ Text = 'check this machine alone, make no call'; Value = $null }
      '-h' = @{ Text = 'show help'; Value = $null }
      '--help' = @{ Text = 'show help'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'serve' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '-h' = @{ Text = 'show help'; Value = $null }
      '--help' = @{ Text = 'show help'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'service' = @{
    Commands = [ordered]@{
      'import' = ''
      'map' = ''
      'generate' = ''
      'keys' = ''
      'credits' = ''
      'plan' = ''
      'verify' = ''
    }
    Flags = [ordered]@{
      '-h' = @{ Text = 'show help'; Value = $null }
      '--help' = @{ Text = 'show help'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'service import' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '-h' = @{ Text = 'show help'; Value = $null }
      '--help' = @{ Text = 'show help'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'service map' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '-h' = @{ Text = 'show help'; Value = $null }
      '--help' = @{ Text = 'show help'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'service generate' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '-h' = @{ Text = 'show help'; Value = $null }
      '--help' = @{ Text = 'show help'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'service keys' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '-h' = @{ Text = 'show help'; Value = $null }
      '--help' = @{ Text = 'show help'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'service credits' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '-h' = @{ Text = 'show help'; Value = $null }
      '--help' = @{ Text = 'show help'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'service plan' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '-h' = @{ Text = 'show help'; Value = $null }
      '--help' = @{ Text = 'show help'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'service verify' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '-h' = @{ Text = 'show help'; Value = $null }
      '--help' = @{ Text = 'show help'; Value = $null }
    }
    Arguments = @()
    Many = $false
  }
  'completion' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{
      '-h' = @{ Text = 'show help'; Value = $null }
      '--help' = @{ Text = 'show help'; Value = $null }
    }
    Arguments = @(@{ Kind = 'list'; Values = @('bash', 'zsh', 'fish', 'powershell') })
    Many = $false
  }
  'help' = @{
    Commands = [ordered]@{

    }
    Flags = [ordered]@{

    }
    Arguments = @(@{ Kind = 'list'; Values = @('count', 'account', 'filters', 'search', 'enrich', 'employees', 'runs', 'resume', 'spend', 'login', 'logout', 'connections', 'doctor', 'serve', 'service', 'completion', 'exit-codes', 'environment', 'cron') })
    Many = $false
  }
}

Register-ArgumentCompleter -Native -CommandName headcount -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)

  $tree = $script:HeadcountTree
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
  } elseif ($null -eq $pending -and $position -eq 0 -and $node.Commands.Count -gt 0) {
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
      { $_ -in 'connections', 'runs' } {
        foreach ($line in @(& $commandAst.CommandElements[0].Extent.Text completion --list $value.Kind 2>$null)) {
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
}
