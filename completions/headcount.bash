# bash completion for headcount. Generated from the program by `npm run completions`; do not edit.
# shellcheck shell=bash

# Sets commands, flags, valued (flags that take a value) and many (those that take several) for the command path $1.
__headcount_tree() {
  case "$1" in
  '')
    commands='count account filters segment search enrich employees refresh mcp runs resume spend owned sql suppress forget data jobs login logout connections doctor serve service schema completion help'
    flags='-c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version -h --help --help-all'
    valued='-c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'count')
    commands=''
    flags='--by --top --history --union --department --country --seniority-level --title --title-prefix --industry -f --filters -s --segment --state --city --location --seniority --functional-area --first-name --last-name --name --network-url --headline-prefix --location-prefix --name-prefix --industry-prefix --connections-min --connections-max --followers-min --followers-max --company-network-url --except --strict --format --owned --mode -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--by --top --department --country --seniority-level --title --title-prefix --industry -f --filters -s --segment --state --city --location --seniority --functional-area --first-name --last-name --name --network-url --headline-prefix --location-prefix --name-prefix --industry-prefix --connections-min --connections-max --followers-min --followers-max --company-network-url --except --format --mode -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'account')
    commands=''
    flags='-h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='-c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'filters')
    commands=''
    flags='--prefix --top -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--prefix --top -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'segment')
    commands='list save show remove'
    flags='-h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='-c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'segment list')
    commands=''
    flags='-h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='-c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'segment save')
    commands=''
    flags='--department --country --seniority-level --title --title-prefix --industry -f --filters -s --segment --state --city --location --seniority --functional-area --first-name --last-name --name --network-url --headline-prefix --location-prefix --name-prefix --industry-prefix --connections-min --connections-max --followers-min --followers-max --company-network-url --overwrite -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--department --country --seniority-level --title --title-prefix --industry -f --filters -s --segment --state --city --location --seniority --functional-area --first-name --last-name --name --network-url --headline-prefix --location-prefix --name-prefix --industry-prefix --connections-min --connections-max --followers-min --followers-max --company-network-url -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'segment show')
    commands=''
    flags='-h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='-c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'segment remove')
    commands=''
    flags='-h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='-c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'search')
    commands=''
    flags='--department --country --seniority-level --title --title-prefix --industry -f --filters -s --segment --state --city --location --seniority --functional-area --first-name --last-name --name --network-url --headline-prefix --location-prefix --name-prefix --industry-prefix --connections-min --connections-max --followers-min --followers-max --company-network-url --except --dry-run --max-credits --limit -y --yes --again --require-complete --strict --all --per-page --concurrency --on-new-dataset --receipt -o --output --format --fields --template --csv --overwrite --max-shrink --min-rows --sample --seed --new-only --with-owned --max-calls --if-older-than --log --notify --wait -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--department --country --seniority-level --title --title-prefix --industry -f --filters -s --segment --state --city --location --seniority --functional-area --first-name --last-name --name --network-url --headline-prefix --location-prefix --name-prefix --industry-prefix --connections-min --connections-max --followers-min --followers-max --company-network-url --except --max-credits --limit --per-page --concurrency --on-new-dataset --receipt -o --output --format --fields --template --csv --max-shrink --min-rows --sample --seed --max-calls --if-older-than --log --notify -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'enrich')
    commands=''
    flags='--input --column --by --keep-input --prefix --dry-run --max-credits --limit -y --yes --again --require-complete --per-page --concurrency --on-new-dataset --receipt -o --output --format --fields --template --csv --misses --overwrite --max-shrink --min-rows --if-older-than --log --notify --wait -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--input --column --by --prefix --max-credits --limit --per-page --concurrency --on-new-dataset --receipt -o --output --format --fields --template --csv --misses --max-shrink --min-rows --if-older-than --log --notify -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'employees')
    commands=''
    flags='--input --column --by --keep-input --prefix --per-company --title-ladder --department --country --seniority-level --title --title-prefix --industry -f --filters -s --segment --state --city --location --seniority --functional-area --first-name --last-name --name --network-url --headline-prefix --location-prefix --name-prefix --industry-prefix --connections-min --connections-max --followers-min --followers-max --company-network-url --dry-run --max-credits --limit -y --yes --again --require-complete --per-page --concurrency --on-new-dataset --receipt -o --output --format --fields --template --csv --misses --overwrite --max-shrink --min-rows --new-only --with-owned --max-calls --if-older-than --log --notify --wait -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--input --column --by --prefix --per-company --title-ladder --department --country --seniority-level --title --title-prefix --industry -f --filters -s --segment --state --city --location --seniority --functional-area --first-name --last-name --name --network-url --headline-prefix --location-prefix --name-prefix --industry-prefix --connections-min --connections-max --followers-min --followers-max --company-network-url --max-credits --limit --per-page --concurrency --on-new-dataset --receipt -o --output --format --fields --template --csv --misses --max-shrink --min-rows --max-calls --if-older-than --log --notify -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'refresh')
    commands=''
    flags='--verify-fields --buy-changed --department --country --seniority-level --title --title-prefix --industry -f --filters -s --segment --state --city --location --seniority --functional-area --first-name --last-name --name --network-url --headline-prefix --location-prefix --name-prefix --industry-prefix --connections-min --connections-max --followers-min --followers-max --company-network-url --dry-run --max-credits -y --yes --again --per-page -o --output --format --fields --template --csv --overwrite --max-shrink --min-rows --max-calls --wait -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--verify-fields --department --country --seniority-level --title --title-prefix --industry -f --filters -s --segment --state --city --location --seniority --functional-area --first-name --last-name --name --network-url --headline-prefix --location-prefix --name-prefix --industry-prefix --connections-min --connections-max --followers-min --followers-max --company-network-url --max-credits --per-page -o --output --format --fields --template --csv --max-shrink --min-rows --max-calls -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'mcp')
    commands='install'
    flags='--budget --ask-over --port --max-credits -o --output -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--budget --ask-over --port --max-credits -o --output -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'mcp install')
    commands=''
    flags='--budget --ask-over --max-credits -o --output -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--budget --ask-over --max-credits -o --output -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'runs')
    commands='list show remove prune export'
    flags='-h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='-c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'runs list')
    commands=''
    flags='--limit --since -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--limit --since -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'runs show')
    commands=''
    flags='-h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='-c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'runs remove')
    commands=''
    flags='--force -y --yes -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='-c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'runs prune')
    commands=''
    flags='--dry-run --force -y --yes -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='-c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'runs export')
    commands=''
    flags='-o --output --format --fields --template --csv --overwrite --min-rows --max-shrink --require-complete --force -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='-o --output --format --fields --template --csv --min-rows --max-shrink -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'resume')
    commands=''
    flags='--max-credits --limit -y --yes --require-complete --per-page --concurrency --overwrite --max-shrink --min-rows --wait -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--max-credits --limit --per-page --concurrency --max-shrink --min-rows -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'spend')
    commands=''
    flags='--since --by --mode --format -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--since --by --mode --format -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'owned')
    commands='status show export import diff rebuild'
    flags='-h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='-c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'owned status')
    commands=''
    flags='--mode -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--mode -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'owned show')
    commands=''
    flags='--mode -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--mode -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'owned export')
    commands=''
    flags='--department --country --seniority-level --title --title-prefix --industry -f --filters -s --segment --state --city --location --seniority --functional-area --first-name --last-name --name --network-url --headline-prefix --location-prefix --name-prefix --industry-prefix --connections-min --connections-max --followers-min --followers-max --company-network-url -o --output --format --fields --template --csv --overwrite --max-shrink --min-rows --mode -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--department --country --seniority-level --title --title-prefix --industry -f --filters -s --segment --state --city --location --seniority --functional-area --first-name --last-name --name --network-url --headline-prefix --location-prefix --name-prefix --industry-prefix --connections-min --connections-max --followers-min --followers-max --company-network-url -o --output --format --fields --template --csv --max-shrink --min-rows --mode -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'owned import')
    commands=''
    flags='--mode -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--mode -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'owned diff')
    commands=''
    flags='--mode -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--mode -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'owned rebuild')
    commands=''
    flags='--mode -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--mode -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'sql')
    commands=''
    flags='-f --file --format --mode -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='-f --file --format --mode -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'suppress')
    commands='add import list check remove'
    flags='-h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='-c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'suppress add')
    commands=''
    flags='--kind --note -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--kind --note -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'suppress import')
    commands=''
    flags='--kind --note -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--kind --note -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'suppress list')
    commands=''
    flags='-h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='-c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'suppress check')
    commands=''
    flags='--kind -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--kind -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'suppress remove')
    commands=''
    flags='--kind -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--kind -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'forget')
    commands=''
    flags='--dry-run -y --yes -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='-c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'data')
    commands='show set'
    flags='-h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='-c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'data show')
    commands=''
    flags='-h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='-c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'data set')
    commands=''
    flags='-h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='-c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'jobs')
    commands='run status check show systemd cron'
    flags='-h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='-c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'jobs run')
    commands=''
    flags='--file --dry-run --budget --if-older-than --log --notify -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--file --budget --if-older-than --log --notify -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'jobs status')
    commands=''
    flags='--file --budget -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--file --budget -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'jobs check')
    commands=''
    flags='-h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='-c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'jobs show')
    commands=''
    flags='--file -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--file -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'jobs systemd')
    commands=''
    flags='--file --keys -o --output -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--file --keys -o --output -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'jobs cron')
    commands=''
    flags='--file --keys -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--file --keys -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'login')
    commands=''
    flags='--key-stdin --insecure-storage -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='-c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'logout')
    commands=''
    flags='-h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='-c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'connections')
    commands='list use set remove'
    flags='-h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='-c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'connections list')
    commands=''
    flags='-h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='-c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'connections use')
    commands=''
    flags='-h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='-c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'connections set')
    commands=''
    flags='-h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='-c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'connections remove')
    commands=''
    flags='-h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='-c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'doctor')
    commands=''
    flags='--offline -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='-c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'serve')
    commands=''
    flags='--host --port --public-url --tls-cert --tls-key --cors-origin --data --store --dataset --witness --force --console --log --metrics --print-unit --fault --bounds -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--host --port --public-url --tls-cert --tls-key --cors-origin --data --store --dataset --witness --console --metrics --fault --bounds -c --connection --base-url --paging --jq --max-wait'
    many='--cors-origin --fault --bounds' ;;
  'service')
    commands='import map generate dataset accounts keys credits plan entries usage audit link sessions suppress forget data backup verify restore'
    flags='--data --store -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--data --store -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'service import')
    commands=''
    flags='--people --companies --map --max-refused --keep --dry-run --encoding --skip-lines --dataset --data -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--people --companies --map --max-refused --keep --encoding --skip-lines --dataset --data -c --connection --base-url --paging --jq --max-wait'
    many='--people --companies' ;;
  'service map')
    commands=''
    flags='--kind --encoding --skip-lines -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--kind --encoding --skip-lines -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'service generate')
    commands=''
    flags='--data --people --seed -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--data --people --seed -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'service dataset')
    commands='list rollback diff'
    flags='-h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='-c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'service dataset list')
    commands=''
    flags='--data -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--data -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'service dataset rollback')
    commands=''
    flags='--data -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--data -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'service dataset diff')
    commands=''
    flags='--data -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--data -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'service accounts')
    commands='create list suspend resume'
    flags='-h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='-c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'service accounts create')
    commands=''
    flags='--data --store --name -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--data --store --name -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'service accounts list')
    commands=''
    flags='--data --store -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--data --store -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'service accounts suspend')
    commands=''
    flags='--data --store -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--data --store -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'service accounts resume')
    commands=''
    flags='--data --store -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--data --store -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'service keys')
    commands='create rotate list set revoke'
    flags='-h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='-c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'service keys create')
    commands=''
    flags='--data --store --account --expires --scope --name --max-credits --mode -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--data --store --account --expires --scope --name --max-credits --mode -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'service keys rotate')
    commands=''
    flags='--data --store --account -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--data --store --account -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'service keys list')
    commands=''
    flags='--data --store --account -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--data --store --account -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'service keys set')
    commands=''
    flags='--data --store --account --expires --scope --name --max-credits -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--data --store --account --expires --scope --name --max-credits -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'service keys revoke')
    commands=''
    flags='--data --store --account -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--data --store --account -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'service credits')
    commands='add remove refund show'
    flags='-h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='-c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'service credits add')
    commands=''
    flags='--data --store --account --mode --note --reference -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--data --store --account --mode --note --reference -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'service credits remove')
    commands=''
    flags='--data --store --account --mode --note --reference -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--data --store --account --mode --note --reference -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'service credits refund')
    commands=''
    flags='--data --store --account --note --reference -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--data --store --account --note --reference -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'service credits show')
    commands=''
    flags='--data --store --account --mode -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--data --store --account --mode -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'service plan')
    commands='set show'
    flags='-h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='-c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'service plan set')
    commands=''
    flags='--data --store --account -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--data --store --account -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'service plan show')
    commands=''
    flags='--data --store --account -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--data --store --account -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'service entries')
    commands=''
    flags='--data --store --account --mode --kind --key --since --limit -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--data --store --account --mode --kind --key --since --limit -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'service usage')
    commands=''
    flags='--data --store --account --mode --by --key --since -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--data --store --account --mode --by --key --since -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'service audit')
    commands=''
    flags='--data --store --account --since --limit -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--data --store --account --since --limit -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'service link')
    commands=''
    flags='--data --store --account --name --public-url -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--data --store --account --name --public-url -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'service sessions')
    commands='end'
    flags='--data --store -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--data --store -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'service sessions end')
    commands=''
    flags='--data --store -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--data --store -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'service suppress')
    commands='add import list check remove'
    flags='-h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='-c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'service suppress add')
    commands=''
    flags='--kind --note --data --dataset -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--kind --note --data --dataset -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'service suppress import')
    commands=''
    flags='--kind --note --data --dataset -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--kind --note --data --dataset -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'service suppress list')
    commands=''
    flags='--data -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--data -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'service suppress check')
    commands=''
    flags='--kind --data -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--kind --data -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'service suppress remove')
    commands=''
    flags='--kind --data -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--kind --data -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'service forget')
    commands=''
    flags='--data --store --dataset --dry-run -y --yes -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--data --store --dataset -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'service data')
    commands=''
    flags='--data --store -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--data --store -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'service backup')
    commands=''
    flags='--data --store -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--data --store -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'service verify')
    commands=''
    flags='--data --store --against -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--data --store --against -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'service restore')
    commands=''
    flags='--data -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--data -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'schema')
    commands=''
    flags='--format -h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='--format -c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'completion')
    commands=''
    flags='-h --help --help-all -c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version'
    valued='-c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  'help')
    commands=''
    flags='-c --connection --base-url --paging --json --jq -q --quiet -v --verbose --no-color --max-wait -V --version -h --help --help-all'
    valued='-c --connection --base-url --paging --jq --max-wait'
    many='' ;;
  esac
}

# Sets source, and values where they are known here, for the flag or the argument (#1, #2, ...) $2 of the command path $1.
__headcount_values() {
  source=text
  case "$1 $2" in
  *' -c' | *' --connection' | 'segment save #1' | 'login #1' | 'logout #1' | 'connections use #1' | 'connections set #1' | 'connections remove #1')
    source='connections' ;;
  *' --paging')
    source='list'; values=('page' 'page0' 'offset' 'cursor') ;;
  'count --by' | 'filters #1')
    source='list'; values=('country' 'state' 'city' 'location' 'title' 'seniority' 'seniority_level' 'functional_area' 'industry' 'first_name' 'last_name' 'name' 'network_url' 'title_prefix' 'headline_prefix' 'location_prefix' 'name_prefix' 'industry_prefix' 'connections_min' 'connections_max' 'followers_min' 'followers_max' 'company_network_url' 'department') ;;
  'count --department' | 'segment save --department' | 'search --department' | 'employees --department' | 'refresh --department' | 'owned export --department')
    source='list'; values=('Administrative' 'C-Suite' 'Consulting' 'Customer Service' 'Design' 'Education' 'Engineering and Technical' 'Finance & Accounting' 'Human Resources' 'Legal' 'Marketing' 'Medical' 'Operations' 'Other' 'Product' 'Project Management' 'Real Estate' 'Research' 'Sales' 'Trades') ;;
  'count --country' | 'segment save --country' | 'search --country' | 'employees --country' | 'refresh --country' | 'owned export --country')
    source='listed'; values=('country') ;;
  'count --seniority-level' | 'segment save --seniority-level' | 'search --seniority-level' | 'employees --seniority-level' | 'refresh --seniority-level' | 'owned export --seniority-level')
    source='list'; values=('owner' 'partner' 'c-suite' 'vp' 'head' 'director' 'manager' 'senior' 'entry' 'intern') ;;
  'count --title' | 'segment save --title' | 'search --title' | 'employees --title' | 'refresh --title' | 'owned export --title')
    source='listed'; values=('title') ;;
  'count --industry' | 'segment save --industry' | 'search --industry' | 'employees --industry' | 'refresh --industry' | 'owned export --industry')
    source='listed'; values=('industry') ;;
  'count -f' | 'count --filters' | 'segment save -f' | 'segment save --filters' | 'search -f' | 'search --filters' | 'search --receipt' | 'search -o' | 'search --output' | 'search --log' | 'enrich --input' | 'enrich --receipt' | 'enrich -o' | 'enrich --output' | 'enrich --misses' | 'enrich --log' | 'employees --input' | 'employees -f' | 'employees --filters' | 'employees --receipt' | 'employees -o' | 'employees --output' | 'employees --misses' | 'employees --log' | 'refresh -f' | 'refresh --filters' | 'refresh -o' | 'refresh --output' | 'refresh #1' | 'runs export -o' | 'runs export --output' | 'owned export -f' | 'owned export --filters' | 'owned export -o' | 'owned export --output' | 'owned import #'* | 'sql -f' | 'sql --file' | 'suppress import #1' | 'jobs run --file' | 'jobs run --log' | 'jobs status --file' | 'jobs check #1' | 'jobs show --file' | 'jobs systemd --file' | 'jobs systemd --keys' | 'jobs cron --file' | 'jobs cron --keys' | 'serve --tls-cert' | 'serve --tls-key' | 'serve --witness' | 'service import --people' | 'service import --companies' | 'service import --map' | 'service map #1' | 'service suppress import #1')
    source='file' ;;
  'count -s' | 'count --segment' | 'count --except' | 'segment save -s' | 'segment save --segment' | 'segment show #1' | 'segment remove #'* | 'search -s' | 'search --segment' | 'search --except' | 'employees -s' | 'employees --segment' | 'refresh -s' | 'refresh --segment' | 'owned export -s' | 'owned export --segment')
    source='segments' ;;
  'count --state' | 'segment save --state' | 'search --state' | 'employees --state' | 'refresh --state' | 'owned export --state')
    source='listed'; values=('state') ;;
  'count --city' | 'segment save --city' | 'search --city' | 'employees --city' | 'refresh --city' | 'owned export --city')
    source='listed'; values=('city') ;;
  'count --location' | 'segment save --location' | 'search --location' | 'employees --location' | 'refresh --location' | 'owned export --location')
    source='listed'; values=('location') ;;
  'count --seniority' | 'segment save --seniority' | 'search --seniority' | 'employees --seniority' | 'refresh --seniority' | 'owned export --seniority')
    source='listed'; values=('seniority') ;;
  'count --functional-area' | 'segment save --functional-area' | 'search --functional-area' | 'employees --functional-area' | 'refresh --functional-area' | 'owned export --functional-area')
    source='listed'; values=('functional_area') ;;
  'count --first-name' | 'segment save --first-name' | 'search --first-name' | 'employees --first-name' | 'refresh --first-name' | 'owned export --first-name')
    source='listed'; values=('first_name') ;;
  'count --last-name' | 'segment save --last-name' | 'search --last-name' | 'employees --last-name' | 'refresh --last-name' | 'owned export --last-name')
    source='listed'; values=('last_name') ;;
  'count --format' | 'spend --format')
    source='list'; values=('table' 'csv' 'json') ;;
  'count --mode' | 'spend --mode' | 'owned status --mode' | 'owned show --mode' | 'owned export --mode' | 'owned import --mode' | 'owned diff --mode' | 'owned rebuild --mode' | 'sql --mode' | 'service keys create --mode' | 'service credits add --mode' | 'service credits remove --mode' | 'service credits show --mode' | 'service entries --mode' | 'service usage --mode')
    source='list'; values=('live' 'test') ;;
  'search --on-new-dataset' | 'enrich --on-new-dataset' | 'employees --on-new-dataset')
    source='list'; values=('fresh' 'fail') ;;
  'search --format' | 'enrich --format' | 'employees --format' | 'refresh --format' | 'runs export --format' | 'owned export --format')
    source='list'; values=('csv' 'tsv' 'ndjson' 'json' 'xlsx' 'parquet' 'template' 'table') ;;
  'search --fields' | 'employees --fields' | 'refresh --fields' | 'owned export --fields')
    source='commas'; values=('id' 'network_url' 'name' 'first_name' 'last_name' 'headline' 'title' 'seniority' 'seniority_level' 'functional_area' 'department' 'industry' 'country' 'state' 'city' 'location' 'connections' 'followers' 'company_name' 'company_domain' 'company_network_url' 'updated_at' 'all') ;;
  'search --csv' | 'enrich --csv' | 'employees --csv' | 'refresh --csv' | 'runs export --csv' | 'owned export --csv')
    source='list'; values=('excel' 'raw') ;;
  'enrich --by' | 'employees --by')
    source='list'; values=('name' 'id') ;;
  'enrich --fields')
    source='commas'; values=('id' 'name' 'domain' 'company_network_url' 'industry' 'type' 'size_range' 'employee_count' 'founded_year' 'description' 'country' 'state' 'city' 'location' 'followers' 'specialties' 'updated_at' 'all') ;;
  'refresh --verify-fields')
    source='commas'; values=('country' 'state' 'city' 'location' 'title' 'seniority' 'seniority_level' 'functional_area' 'industry' 'first_name' 'last_name' 'department' 'company') ;;
  'mcp -o' | 'mcp --output' | 'mcp install -o' | 'mcp install --output' | 'jobs systemd -o' | 'jobs systemd --output' | 'serve --data' | 'service --data' | 'service import --data' | 'service generate --data' | 'service dataset list --data' | 'service dataset rollback --data' | 'service dataset diff --data' | 'service accounts create --data' | 'service accounts list --data' | 'service accounts suspend --data' | 'service accounts resume --data' | 'service keys create --data' | 'service keys rotate --data' | 'service keys list --data' | 'service keys set --data' | 'service keys revoke --data' | 'service credits add --data' | 'service credits remove --data' | 'service credits refund --data' | 'service credits show --data' | 'service plan set --data' | 'service plan show --data' | 'service entries --data' | 'service usage --data' | 'service audit --data' | 'service link --data' | 'service sessions --data' | 'service sessions end --data' | 'service suppress add --data' | 'service suppress import --data' | 'service suppress list --data' | 'service suppress check --data' | 'service suppress remove --data' | 'service forget --data' | 'service data --data' | 'service backup --data' | 'service backup #1' | 'service verify --data' | 'service restore --data' | 'service restore #1')
    source='directory' ;;
  'mcp install #1')
    source='list'; values=('claude' 'claude-desktop' 'codex' 'cursor' 'gemini' 'jetbrains' 'opencode' 'vscode' 'windsurf' 'zed' 'skill') ;;
  'runs show #1' | 'runs remove #'* | 'runs export #1' | 'resume #1' | 'owned diff #1')
    source='runs' ;;
  'runs export --fields')
    source='commas'; values=('id' 'network_url' 'name' 'first_name' 'last_name' 'headline' 'title' 'seniority' 'seniority_level' 'functional_area' 'department' 'industry' 'country' 'state' 'city' 'location' 'connections' 'followers' 'company_name' 'company_domain' 'company_network_url' 'updated_at' 'domain' 'type' 'size_range' 'employee_count' 'founded_year' 'description' 'specialties' 'all') ;;
  'spend --by')
    source='list'; values=('day' 'run' 'connection' 'job') ;;
  'suppress add --kind' | 'suppress import --kind' | 'suppress check --kind' | 'suppress remove --kind' | 'service suppress add --kind' | 'service suppress import --kind' | 'service suppress check --kind' | 'service suppress remove --kind')
    source='list'; values=('address' 'id' 'domain') ;;
  'jobs run #'* | 'jobs status #'* | 'jobs show #1' | 'jobs systemd #'* | 'jobs cron #'*)
    source='jobs' ;;
  'serve --console')
    source='list'; values=('off' 'link' 'insecure') ;;
  'service map --kind')
    source='list'; values=('people' 'companies') ;;
  'service keys create --scope' | 'service keys set --scope')
    source='commas'; values=('account' 'count' 'search' 'employees' 'enrich') ;;
  'service entries --kind')
    source='list'; values=('grant' 'charge' 'refund' 'correction') ;;
  'service usage --by')
    source='commas'; values=('day' 'key' 'call') ;;
  'service link #1')
    source='list'; values=('operator' 'owner' 'viewer') ;;
  'schema --format')
    source='list'; values=('json' 'ndjson') ;;
  'schema #'*)
    source='list'; values=('account' 'connections' 'list' 'remove' 'set' 'use' 'count' 'data' 'show' 'doctor' 'employees' 'enrich' 'filters' 'forget' 'jobs' 'check' 'run' 'status' 'login' 'logout' 'owned' 'diff' 'export' 'import' 'rebuild' 'refresh' 'resume' 'runs' 'prune' 'schema' 'search' 'segment' 'save' 'serve' 'service' 'accounts' 'create' 'suspend' 'audit' 'backup' 'credits' 'add' 'refund' 'dataset' 'rollback' 'entries' 'generate' 'keys' 'revoke' 'rotate' 'link' 'map' 'plan' 'restore' 'sessions' 'end' 'suppress' 'usage' 'verify' 'spend' 'sql' 'errors' 'filter-file' 'jobs-file') ;;
  'completion #1')
    source='list'; values=('bash' 'zsh' 'fish' 'powershell') ;;
  'help #1')
    source='list'; values=('count' 'account' 'filters' 'segment' 'search' 'enrich' 'employees' 'refresh' 'mcp' 'runs' 'resume' 'spend' 'owned' 'sql' 'suppress' 'forget' 'data' 'jobs' 'login' 'logout' 'connections' 'doctor' 'serve' 'service' 'schema' 'completion' 'exit-codes' 'environment' 'cron') ;;
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
