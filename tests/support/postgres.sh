#!/usr/bin/env bash
# A PostgreSQL server of one's own in a folder, for tests and drills: the Debian package's programs, an unprivileged
# user, a unix socket and no network.
#   postgres.sh start DIR   makes the cluster where there is none, starts it, prints its URL; 77: no PostgreSQL here
#   postgres.sh stop DIR    as an administrator would; what is connected is cut off
#   postgres.sh kill DIR    kill -9 of every process, as a power cut would
set -euo pipefail
action="$1"
dir="$2"

bin=""
for candidate in /usr/lib/postgresql/*/bin; do
  [ -x "$candidate/initdb" ] && bin="$candidate"
done
if [ -z "$bin" ]; then
  echo "skipped: no PostgreSQL server is installed (deploy/setup.sh installs it)" >&2
  exit 77
fi

# PostgreSQL refuses to run as root.
as_user() {
  if [ "$(id -u)" = 0 ]; then setpriv --reuid=nobody --regid=nogroup --clear-groups "$@"; else "$@"; fi
}

case "$action" in
  start)
    if [ ! -d "$dir/data" ]; then
      mkdir -p "$dir/data"
      chmod 0711 "$dir"
      mkdir -p "$dir/socket"
      [ "$(id -u)" != 0 ] || chown nobody:nogroup "$dir/data" "$dir/socket"
      (cd "$dir" && as_user "$bin/initdb" -D "$dir/data" -U flightplan -A trust -E UTF8 --locale=C --no-sync >/dev/null)
    fi
    rm -f "$dir"/socket/.s.* "$dir/data/postmaster.pid"
    (cd "$dir" && as_user "$bin/pg_ctl" -D "$dir/data" -w -t 60 -l "$dir/data/log" \
      -o "-c listen_addresses='' -c unix_socket_directories='$dir/socket' -c shared_buffers=16MB -c max_connections=40 -c recovery_init_sync_method=syncfs" \
      start >/dev/null) || { tail -n 20 "$dir/data/log" >&2; exit 1; }
    echo "postgresql://flightplan@/postgres?host=$dir/socket"
    ;;
  stop)
    (cd "$dir" && as_user "$bin/pg_ctl" -D "$dir/data" -w -m fast stop >/dev/null)
    ;;
  kill)
    # Every process of the cluster works in its data folder; a child forked meanwhile is met in the next round. Shared
    # memory is taken again only when all of them are gone (a dead one that nobody waited for has no folder any more).
    data="$(readlink -f "$dir/data")"
    while :; do
      alive=""
      for process in /proc/[0-9]*; do
        [ "$(readlink "$process/cwd" 2>/dev/null)" != "$data" ] || alive+=" ${process#/proc/}"
      done
      [ -n "$alive" ] || break
      # shellcheck disable=SC2086  # one word each
      kill -KILL $alive 2>/dev/null || true
      sleep 0.01
    done
    ;;
  *)
    echo "usage: postgres.sh start|stop|kill DIR" >&2
    exit 2
    ;;
esac
