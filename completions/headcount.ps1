# PowerShell completion for headcount: the program itself says what may stand at the cursor.
Register-ArgumentCompleter -Native -CommandName headcount -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $current = "$wordToComplete"
  $words = @($commandAst.CommandElements | Select-Object -Skip 1 |
    Where-Object { $_.Extent.EndOffset -lt $cursorPosition -or ($current -eq '' -and $_.Extent.EndOffset -le $cursorPosition) } |
    ForEach-Object { $_.Extent.Text })
  $program = $commandAst.CommandElements[0].Extent.Text
  $asked = @($words + $current) | ForEach-Object { $_ -replace '[''"`]', '' }
  $first, $lines = @($asked | & $program completion --words 2> $null)
  $kind, $head = "$first".Split([char]9)
  # Where a file is wanted PowerShell offers those itself.
  if ($kind -eq 'files' -or $kind -eq 'directories') { return }
  foreach ($line in $lines) {
    $text, $tip = "$line".Split([char]9)
    $insert = if ($text -match '[^\w./:=-]') { "'" + $text.Replace("'", "''") + "'" } else { $text }
    if ([string]::IsNullOrEmpty($tip)) { $tip = $text }
    [System.Management.Automation.CompletionResult]::new("$head$insert", $text, 'ParameterValue', $tip)
  }
}
