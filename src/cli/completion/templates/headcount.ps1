# PowerShell completion for headcount. @GENERATED@

$headcountTree = @{
@TREE@
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
