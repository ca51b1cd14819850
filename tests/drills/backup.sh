#!/usr/bin/env bash
# The backup advice of deploy/evidence.md, tried: a copy taken while the server writes is whole, and what was put back
# gives the same answers. usage: backup.sh FLIGHTPLAN EVIDENCE_LOAD
set -euo pipefail
flightplan="$1" load="$2"
# shellcheck source=tests/drills/evidence_lib.sh
source "$(dirname "$0")/evidence_lib.sh"
start_postgres
ids() { "$flightplan" evidence export --evidence-store "$1" | python3 -c 'import json,sys; print(*sorted(json.loads(l)["id"] for l in sys.stdin))'; }

# --- SQLite: a copy by its own means while reports come in ---
start_replica s "sqlite:$work/evidence.db"
: >"$work/acknowledged"  # read before the client in the background opens it
"$load" report "unix:$work/s.sock" before 2 >"$work/acknowledged" 2>"$work/load.log" &
loader=$!
for _ in $(seq 600); do
  [ "$(wc -l <"$work/acknowledged")" -lt 20 ] || break
  sleep 0.05
done
known="$(wc -l <"$work/acknowledged")"
python3 -c 'import sqlite3,sys; sqlite3.connect(sys.argv[1]).execute("VACUUM INTO ?", (sys.argv[2],))' "$work/evidence.db" "$work/copy.db"
kill -TERM "$server"
wait "$server" "$loader" 2>/dev/null || true
copied="$(ids "sqlite:$work/copy.db" | wc -w)"
[ "$copied" -ge "$known" ] || fail "the copy has $copied reports, $known were acknowledged before it was taken"

# --- From one store to another: export, import, and again ---
"$flightplan" evidence export --evidence-store "sqlite:$work/evidence.db" >"$work/export.jsonl"
count="$(wc -l <"$work/export.jsonl")"
first="$("$flightplan" evidence import "$work/export.jsonl" --evidence-store "$url")"
[ "$first" = "$count added, 0 there already, 0 refused" ] || fail "import: $first"
again="$("$flightplan" evidence import "$work/export.jsonl" --evidence-store "$url")"
[ "$again" = "0 added, $count there already, 0 refused" ] || fail "import again: $again"
[ "$(ids "sqlite:$work/evidence.db")" = "$(ids "$url")" ] || fail "the stores differ"

# --- PostgreSQL: dump and restore into another database ---
bin="$(dirname "$(ls /usr/lib/postgresql/*/bin/pg_dump | tail -1)")"
"$bin/pg_dump" --format=custom "$url" >"$work/evidence.dump"
"$bin/psql" -q "$url" -c 'CREATE DATABASE restored'
restored="${url/\/postgres\?//restored?}"
"$bin/pg_restore" --no-owner --dbname="$restored" "$work/evidence.dump"
[ "$(ids "$restored")" = "$(ids "$url")" ] || fail "what was restored differs"
"$flightplan" evidence export --evidence-store "$restored" >"$work/restored.jsonl"
"$flightplan" evidence export --evidence-store "$url" | cmp - "$work/restored.jsonl" || fail "what was restored differs"

# --- Retention ---
pruned="$("$flightplan" evidence prune --evidence-store "$restored" --older-than 1ms --erase | tr '\n' ' ')"
[ "$pruned" = "$count taken out $count erased " ] || fail "prune: $pruned"
echo "backup: a copy taken under load held $copied reports of $known acknowledged before it; $count reports exported, imported, dumped and restored without a difference; prune: $pruned"
