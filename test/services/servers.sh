#!/usr/bin/env bash
# All servers that the tests share: Kafka, a schema registry, PostgreSQL 18 and 15, MySQL, MariaDB, Firebird 5.0 and 4.0, OpenSearch, a MongoDB server, and the clients that the
# recorded cases need (kcat, psql, mariadb).
#
#   servers.sh start    install what is missing, start what is not running
#   servers.sh stop     stop those that `start` started
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
here=test/services
started=.services/started
mkdir -p .services

say() { echo "servers: $*" >&2; }

clients() {
  local missing=()
  command -v kcat >/dev/null || missing+=(kcat)
  command -v psql >/dev/null || missing+=(postgresql-client)
  command -v mariadb >/dev/null || missing+=(mariadb-client-core)
  command -v setpriv >/dev/null || missing+=(util-linux)
  [ ${#missing[@]} -eq 0 ] && return
  say "installing ${missing[*]}"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
}

# up NAME ENVIRONMENT SCRIPT: starts one server unless it runs already.
up() {
  local name=$1 settings=$2 script=$3
  # shellcheck disable=SC2086
  if env $settings bash "$here/$script" status >/dev/null 2>&1; then say "$name is already running"; return; fi
  say "starting $name"
  # shellcheck disable=SC2086
  env $settings bash "$here/$script" start >&2 || return
  grep -qxF "$settings $script" "$started" || echo "$settings $script" >>"$started"
}

start() {
  # Kept over a second start, so that stop still knows what the first one started.
  touch "$started"
  clients
  # What needs the system's own package manager goes one after the other, the rest beside it.
  local lanes=() lane failed=0
  { up "Kafka 4.3" "KAFKA_VERSION=4.3.1 KAFKA_PORT=9092" kafka.sh && up "schema registry" "REGISTRY_PORT=8081" schema-registry.sh; } &
  lanes+=($!)
  up "MySQL 9.7" "PORT=13306" mysql.sh &
  lanes+=($!)
  up "MongoDB (mongo-java-server)" "PORT=17017" mongodb.sh &
  lanes+=($!)
  { up "Firebird 5.0" "PORT=13050 FB_MAJOR=5" firebird.sh && up "Firebird 4.0" "PORT=13040 FB_MAJOR=4" firebird.sh; } &
  lanes+=($!)
  { up "PostgreSQL 18" "PORT=15432 PG_VERSION=18" postgres.sh && up "PostgreSQL 15" "PORT=15433 PG_VERSION=15" postgres.sh && up "MariaDB 10.11" "PORT=13307" mariadb.sh; } &
  lanes+=($!)
  up "OpenSearch 2.19" "PORT=9200" opensearch.sh &
  lanes+=($!)
  # None is left starting behind one that failed.
  for lane in "${lanes[@]}"; do wait "$lane" || failed=1; done
  return $failed
}

stop() {
  [ -f "$started" ] || return 0
  local line settings
  while read -r line; do
    settings=${line% *}
    # shellcheck disable=SC2086
    env $settings bash "$here/${line##* }" stop >&2 || true
  done <"$started"
  rm -f "$started"
}

case ${1:-} in
  start | stop) "$1" ;;
  *) sed -n '2,6s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
esac
