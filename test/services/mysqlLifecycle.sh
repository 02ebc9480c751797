# What mysql.sh and mariadb.sh share, once each has said: NAME, PORT, RUN (its folder), SERVER (the command), ARGS (more of its options), and
# has defined installed, install, settings (of its own, for my.cnf) and initialize (makes $RUN/data).

# shellcheck source=endNow.sh
. "$(dirname "${BASH_SOURCE[0]}")/endNow.sh"

say() { echo "$NAME: $*" >&2; }
die() { say "$*"; exit 1; }

pid() { # prints the pid of this port's server, if it runs
  local p
  p=$(cat "$RUN/server.pid" 2>/dev/null) || return 1
  tr '\0' ' ' 2>/dev/null <"/proc/$p/cmdline" | grep -qF -- "$RUN/my.cnf" && echo "$p"
}

port_open() { (exec 3<>"/dev/tcp/127.0.0.1/$PORT") 2>/dev/null; }

write_config() {
  mkdir -p "$RUN"
  cat >"$RUN/my.cnf" <<-CONF
	[mysqld]
	$([ "$(id -u)" != 0 ] || echo user=root)
	datadir=$RUN/data
	socket=mysql.sock
	pid-file=$RUN/server.pid
	log-error=$RUN/error.log
	port=$PORT
	bind-address=127.0.0.1
	skip-name-resolve=ON
	default-time-zone=+00:00
	# change data capture
	server-id=$PORT
	log-bin=binlog
	binlog-format=ROW
	binlog-row-image=FULL
	binlog-row-metadata=FULL
	# speed over durability: test data only
	innodb-flush-log-at-trx-commit=2
	innodb-doublewrite=OFF
	sync-binlog=0
	CONF
  settings >>"$RUN/my.cnf"
  # Runs at every start, unlogged, so that the binlog holds only what tests write.
  cat >"$RUN/init.sql" <<-'SQL'
	SET SESSION sql_log_bin = 0;
	CREATE USER IF NOT EXISTS 'root'@'127.0.0.1';
	GRANT ALL ON *.* TO 'root'@'127.0.0.1' WITH GRANT OPTION;
	CREATE USER IF NOT EXISTS 'app'@'%' IDENTIFIED BY 'app';
	GRANT ALL ON *.* TO 'app'@'%';
	CREATE USER IF NOT EXISTS 'cdc'@'%' IDENTIFIED BY 'cdc';
	GRANT REPLICATION SLAVE, REPLICATION CLIENT, SELECT, RELOAD, LOCK TABLES ON *.* TO 'cdc'@'%';
	CREATE DATABASE IF NOT EXISTS test;
	SQL
}

start() {
  if pid >/dev/null; then say "already running on port $PORT"; return; fi
  installed || install
  ! port_open || die "port $PORT is taken by another program"
  write_config
  rm -f "$RUN/server.pid"
  if [ ! -e "$RUN/data/.initialized" ]; then
    rm -rf "$RUN/data"
    initialize || die "initialization failed"
    touch "$RUN/data/.initialized"
  fi
  # shellcheck disable=SC2086
  setsid "${SERVER[@]}" --defaults-file="$RUN/my.cnf" --init-file="$RUN/init.sql" $ARGS </dev/null >"$RUN/stdout.log" 2>&1 &
  local child=$!
  for _ in $(seq 600); do
    # The file with the pid may come a little later than the port.
    if port_open && pid >/dev/null; then say "running on 127.0.0.1:$PORT, pid $(pid)"; return; fi
    kill -0 "$child" 2>/dev/null || break
    sleep 0.1
  done
  tail -n 20 "$RUN/error.log" >&2
  die "did not start"
}

# A crash: the server ends at once, without a shutdown.
crash() {
  local p
  p=$(pid) || { say "not running on port $PORT"; return; }
  end_now "$p"
  rm -f "$RUN"/data/mysql.sock* # where nothing reaps the dead process, the next server would take it for alive
  say "killed"
}

stop() {
  local p
  p=$(pid) || { say "not running on port $PORT"; return; }
  kill -TERM "$p"
  for _ in $(seq 300); do
    pid >/dev/null || { say "stopped"; return; }
    sleep 0.1
  done
  say "no clean stop within 30 s, killing"
  end_now "$p"
}

status() {
  local p
  if ! p=$(pid) || ! port_open; then say "not running on port $PORT"; return 1; fi
  say "running on 127.0.0.1:$PORT, pid $p, $(awk '/VmRSS/ {print int($2 / 1024)}' "/proc/$p/status") MiB resident"
}

clean() { stop; rm -rf "$RUN"; }

case ${1:-} in
  install | start | stop | status | clean) "$1" ;;
  kill) crash ;;
  *) die "usage: $NAME.sh install|start|stop|kill|status|clean" ;;
esac
