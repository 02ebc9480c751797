#!/usr/bin/env bash
# npm run demo: needs nothing but Node; installs the packages and builds where that is not done yet, then runs the demo. --help tells the options.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
if [ ! -d node_modules/tsx ]; then
  echo "Installing packages…"
  npm ci --no-audit --no-fund --loglevel=error
fi
echo "Building…"
npm run --silent build
exec node --import tsx test/demo/main.ts "$@"
