#!/usr/bin/env bash
# PostgreSQL slow, frozen and with a full disk, while reports are written: resolve and validate go on, what was
# acknowledged is there, once, and reports are taken again when the store is well, without a restart of the server.
# (Killed: kill_evidence.sh. Stopped: store_outage.sh.) Where no tmpfs can be mounted the full disk is left out.
# usage: store_attacks.sh FLIGHTPLAN EVIDENCE_LOAD SECONDS_EACH
set -euo pipefail
flightplan="$1" load="$2" seconds="$3"
# shellcheck source=tests/drills/evidence_lib.sh
source "$(dirname "$0")/evidence_lib.sh"
full_disk=false
mkdir -p "$work/pg"
if mount -t tmpfs -o size=160m,mode=0711 tmpfs "$work/pg" 2>"$work/mount.log"; then full_disk=true; fi
attack_cleanup() {
  store_processes CONT
  end_jobs
  ! $have_postgres || "$postgres" stop "$work/pg" 2>/dev/null || true
  ! $full_disk || umount "$work/pg" 2>/dev/null || umount -l "$work/pg" 2>/dev/null || true
  rm -rf "$work"
}

# Every process of the cluster works in its data folder.
store_processes() {  # SIGNAL
  local process
  for process in /proc/[0-9]*; do
    [ "$(readlink "$process/cwd" 2>/dev/null)" != "$work/pg/data" ] || kill -"$1" "${process#/proc/}" 2>/dev/null || true
  done
}
trap attack_cleanup EXIT
start_postgres
mkdir "$work/between"
echo "0 0" >"$work/rule"
"$drills/slow_socket.py" "$work/between/.s.PGSQL.5432" "$work/pg/socket/.s.PGSQL.5432" "$work/rule" 2>"$work/slow.log" &
wait_for "the slow socket is not there" [ -S "$work/between/.s.PGSQL.5432" ]
start_replica s "postgresql://flightplan@/postgres?host=$work/between"
: >"$work/acknowledged"

# attack NAME BEGIN END: load before, during and after; BEGIN and END are functions.
attack() {
  local name="$1" begin="$2" end="$3" code=0
  local whole=$((3 + seconds + 12))
  "$load" keep "unix:$work/s.sock" "$name" 3 "$whole" >>"$work/acknowledged" 2>"$work/keep.log" &
  local keeper=$!
  "$load" outage "unix:$work/s.sock" "$whole" any >"$work/figures" 2>"$work/load.log" &
  local loader=$!
  sleep 3
  "$begin"
  sleep "$seconds"
  "$end"
  wait "$loader" || code=$?
  wait "$keeper" || fail "$name: $(cat "$work/keep.log")"
  echo "PostgreSQL $name for $seconds s: $(cat "$work/figures")"
  [ "$code" = 0 ] || fail "$name: $(cat "$work/load.log")"
}

slow() { echo "100 0" >"$work/rule"; }
trickle() { echo "200 16" >"$work/rule"; }
quick() { echo "0 0" >"$work/rule"; }
freeze() { store_processes STOP; }
thaw() { store_processes CONT; }
fill() { dd if=/dev/zero of="$work/pg/filler" bs=64k 2>/dev/null || true; }
empty() {
  rm -f "$work/pg/filler"
  # Without room for its log it ends; an administrator starts it again.
  sleep 1
  [ -f "$work/pg/data/postmaster.pid" ] || "$postgres" start "$work/pg" >/dev/null
}
attack slow slow quick
attack trickling trickle quick
attack frozen freeze thaw
if $full_disk; then attack full fill empty; else echo "no tmpfs can be mounted: no full disk"; fi

"$flightplan" evidence export --evidence-store "$url" >"$work/export" || fail "the store cannot be read any more"
python3 - "$work/acknowledged" "$work/export" <<'PY'
import collections, json, sys
acknowledged = open(sys.argv[1]).read().split()
stored = [json.loads(line) for line in open(sys.argv[2])]
ids = collections.Counter(m["id"] for m in stored)
lost = [i for i in acknowledged if i not in ids]
twice = [i for i, n in ids.items() if n > 1]
revisions = [int(m["revision"]) for m in stored]
gaps = revisions != list(range(2, 2 + len(stored)))
print(f"{len(acknowledged)} acknowledged, {len(stored)} stored, {len(lost)} lost, {len(twice)} twice, "
      f"revisions {'with gaps' if gaps else 'without a gap'}")
sys.exit(bool(lost or twice or gaps or not acknowledged))
PY
