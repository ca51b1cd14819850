#!/usr/bin/env bash
# kill -9 during evidence writes: what was acknowledged is there, once, as it was sent; nothing is corrupt.
# usage: kill_evidence.sh FLIGHTPLAN EVIDENCE_LOAD sqlite|postgres ROUNDS
# sqlite: the server is killed. postgres: the server in even rounds, every process of PostgreSQL in odd ones.
set -euo pipefail
flightplan="$1" load="$2" backend="$3" rounds="$4"
# shellcheck source=tests/drills/evidence_lib.sh
source "$(dirname "$0")/evidence_lib.sh"

case "$backend" in
  sqlite) store="sqlite:$work/evidence.db" ;;
  postgres) start_postgres; store="$url" running=yes ;;
esac

: >"$work/acknowledged"
server_kills=0 store_kills=0
for round in $(seq "$rounds"); do
  [ "$backend" = sqlite ] || [ -n "$running" ] || "$postgres" start "$work/pg" >/dev/null
  running=yes
  start_replica s "$store"
  "$load" report "unix:$work/s.sock" "r$round" 4 >>"$work/acknowledged" 2>"$work/load.log" &
  loader=$!
  # At another moment every time: between nothing written yet and, in the last round, the middle of many commits.
  for _ in $(seq 400); do
    [ "$round" = "$rounds" ] && ! grep -q "^r$round" "$work/acknowledged" || break
    sleep 0.05
  done
  sleep "0.$(printf %03d $((RANDOM % 400 + 50)))"
  if [ "$backend" = postgres ] && [ $((round % 2)) = 1 ]; then
    "$postgres" kill "$work/pg"
    running=
    store_kills=$((store_kills + 1))
  else
    server_kills=$((server_kills + 1))
  fi
  kill -KILL "$server" 2>/dev/null || true
  wait "$server" 2>/dev/null || true
  code=0; wait "$loader" || code=$?
  [ "$code" = 0 ] || fail "round $round: $(cat "$work/load.log")"
done
[ "$backend" = sqlite ] || [ -n "$running" ] || "$postgres" start "$work/pg" >/dev/null

"$flightplan" evidence export --evidence-store "$store" >"$work/export" || fail "the store cannot be read any more"
if [ "$backend" = sqlite ]; then
  python3 - "$work/evidence.db" <<'PY' || fail "the file is corrupt"
import sqlite3, sys
sys.exit(sqlite3.connect(sys.argv[1]).execute("PRAGMA integrity_check").fetchone()[0] != "ok")
PY
fi
python3 - "$work/acknowledged" "$work/export" "$backend" "$rounds" "$server_kills" "$store_kills" <<'PY'
import collections, json, sys
acknowledged = open(sys.argv[1]).read().split()
stored = [json.loads(line) for line in open(sys.argv[2])]
ids = collections.Counter(m["id"] for m in stored)
lost = [i for i in acknowledged if i not in ids]
twice = [i for i, n in ids.items() if n > 1]
revisions = [int(m["revision"]) for m in stored]
gaps = revisions != list(range(2, 2 + len(stored)))
odd = [m["id"] for m in stored if m["metric"] != "step_time_us" or not 3e7 <= m["value"] < 3.1e7 or m["trust"] != "tenant"]
print(f"kill -9 during evidence writes, {sys.argv[3]}: {sys.argv[4]} rounds ({sys.argv[5]} kills of the server, "
      f"{sys.argv[6]} of the store), {len(acknowledged)} acknowledged, {len(stored)} stored, {len(lost)} lost, "
      f"{len(twice)} twice, {len(odd)} damaged, revisions {'with gaps' if gaps else 'without a gap'}")
sys.exit(bool(lost or twice or odd or gaps or not acknowledged))
PY
