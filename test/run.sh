#!/usr/bin/env bash
# Runs the tests. `unit` needs nothing but Node; `all` and `chaos` set up real servers first (test/services), and stop those they started.
#
#   run.sh unit | all | chaos [PATTERN]     PATTERN: only test files whose path contains it
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
kind=${1:-all}
pattern=${2:-}

say() { echo "test: $*" >&2; }

if [ ! -d node_modules/tsx ]; then
  say "installing packages"
  npm ci --no-audit --no-fund --loglevel=error >&2
fi

if [ "$kind" = unit ]; then exec node --import tsx test/run.ts unit "$pattern"; fi

say "type check, lint, docs, build"
npx tsc
npx biome check . --diagnostic-level=error >&2
npm run --silent docs -- --check
npm run --silent build

bash test/services/servers.sh start
trap 'bash test/services/servers.sh stop' EXIT
status=0
node --import tsx test/run.ts "$kind" "$pattern" || status=$?
trap - EXIT
bash test/services/servers.sh stop
cat .services/summary # the last line, whatever the servers said while they stopped
exit "$status"
