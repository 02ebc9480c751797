# For the scripts beside this file. `end_now PID...` kills and waits until the kernel has taken back all that the processes held: ports, locks of files.
# A process that is dying has no command line any more but still holds them, so the next start would find its port taken.

end_now() {
  kill -KILL "$@" 2>/dev/null || true
  local p
  for p in "$@"; do
    for _ in $(seq 600); do
      holds_something "$p" || break
      sleep 0.05
    done
  done
}

# One that nothing reaps stays as a zombie: it holds nothing once it is the last of its threads.
holds_something() {
  local state
  state=$(awk '/^State:/ {print $2}' "/proc/$1/status" 2>/dev/null) || return 1
  case $state in
    '' | X) return 1 ;;
    Z) [ "$(find "/proc/$1/task" -mindepth 1 -maxdepth 1 2>/dev/null | wc -l)" -gt 1 ] ;;
  esac
}
