#!/usr/bin/env bash
# Third-party Kafka Connect tools against a worker of ours: a command line (kafka-connect-py), a client library (kafka-connect-api) and a monitor
# (kafka-connect-healthcheck), as they come from PyPI; over plain HTTP, and over HTTPS with basic authentication. Run by hand: it needs Python 3,
# the network for its first run, and `npm run build`.
#
#   bash test/foreign/clients.sh
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
venv=${FOREIGN_VENV:-${TMPDIR:-/tmp}/millrace-foreign-clients}
work=$(mktemp -d)
worker=
end() {
  if [ -n "$worker" ]; then kill "$worker" 2>/dev/null && wait "$worker" || true; fi
  rm -rf "$work"
}
trap end EXIT

if [ ! -x "$venv/bin/kc" ]; then
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check kafka-connect-py==1.0.0 kafka-connect-api==0.5.10 kafka-connect-healthcheck==0.3.0
fi

free_port() { node -e "const s=require('net').createServer().listen(0,'127.0.0.1',()=>{console.log(s.address().port);s.close()})"; }

# round NAME URL [option…]: starts a worker with the options and lets the tools at it
round() {
  local name=$1 url=$2
  shift 2
  node "$root/dist/runtime/cli/main.js" standalone --data-dir "$work/$name" --set errors.restart.max=0 "$@" >"$work/$name.log" 2>&1 &
  worker=$!
  CONNECT_URL=$url WORK=$work/$name REQUESTS_CA_BUNDLE=${CA:-} KC="$venv/bin/kc" HEALTHCHECK="$venv/bin/kafka-connect-healthcheck" \
    "$venv/bin/python" "$here/clients.py" || { cat "$work/$name.log"; exit 1; }
  kill "$worker" && wait "$worker" || true
  worker=
  echo "foreign clients: $name passed"
}

port=$(free_port)
round plain "http://127.0.0.1:$port" --listen "127.0.0.1:$port"

port=$(free_port)
printf 'ops=s3cret\n' >"$work/users.properties"
export CONNECT_USER=ops:s3cret
CA=$root/test/fixtures/tls/ca.pem round tls-and-auth "https://localhost:$port" \
  --set "listeners=https://localhost:$port" \
  --set "listeners.https.ssl.keystore.location=$root/test/fixtures/tls/server.p12" \
  --set listeners.https.ssl.keystore.password=changeit \
  --set "rest.basic.auth.file=$work/users.properties"
