#!/usr/bin/env bash
# A server that is asked for the dearest there is gets SIGTERM: it ends with 0 within its grace (drain_delay and
# drain_timeout, and five seconds where gRPC does not let go), and until drain_delay is over another tenant's small calls
# are answered.
# usage: sigterm.sh [KIND...]
# A kind is one of tenant_attacks.py, strangers.py (with "strangers-") or http2_strangers.py (with "http2-"), "http" (silent
# and endless callers at the HTTP ports), "import" (the terminal program fills the store), "all" of them together, or
# "strangers" beside that: those whom a front keeps away, at gRPC itself; then it only has to end. "deaf": nobody reads the
# log any more.
source "$(dirname "$0")/lib.sh"
kinds=("$@")
[ $# -gt 0 ] || kinds=(plans searches scripts aliases batches reports profiles probes slow strangers-headers strangers-calls
  http2-bodies http import deaf all strangers)
delay=4 timeout=3
slack=7 # the five seconds that deploy/hardening.md names, and two for a machine that is busy elsewhere; a search may take 120 s
digest() { printf %s "$1" | sha256sum | cut -d' ' -f1; }
{
  echo "tokens:"
  for name in good bad; do
    echo "  - {sha256: $(digest $name), tenant: $name, roles: [admin], expires: 2126-01-01T00:00:00Z}"
  done
} >"$work/tokens.yaml"
probe=()
if [ -x "$bin/flightplan-probe" ]; then
  probe=(--probe --probe_worker="$bin/flightplan-probe" --probe_fake="$here/../../probe/testdata/synthetic.json")
fi
# What the terminal program imports again and again: 2,000 reports.
python3 - >"$work/reports.jsonl" <<'EOF'
import json
for i in range(2000):
    print(json.dumps({"id": f"r{i}", "metric": "step_time_us", "value": 2e6, "quality": "matched", "model": "qwen3-30b-a3b", "gpu": "h100-sxm",
                      "gpuCount": 16, "workload": {"seqLength": 4096, "globalBatchSize": 128}, "target": {"framework": "megatron-lm"},
                      "layout": {"expertModelParallelSize": 8}}))
EOF
import_attack() {
  local i
  for i in $(seq 1000); do
    sed "s/\"r/\"$i-r/" "$work/reports.jsonl" >"$work/import.jsonl"
    "$flightplan" evidence import "$work/import.jsonl" --evidence-store "sqlite:$work/evidence.db" || return 0
  done
}
# one_attack KIND: what it does, until it is ended.
one_attack() {
  case "$1" in
    strangers-*) "$here/strangers.py" "$port_a" 20 "${1#*-}" ;;
    http2-*) "$here/http2_strangers.py" "$port_a" 20 "${1#*-}" 64 ;;
    http) "$here/http_crowd.py" "$http_a" 20 ;;
    import) import_attack ;;
    *) "$here/tenant_attacks.py" "$port_a" 20 "$1" bad ;;
  esac
}
# attack KIND...: in the background; adds the process ids to attackers. Each one is a job of this very shell: whom a subshell
# has started, nobody finds again when it has ended.
attack() {
  local kind
  for kind in "$@"; do
    case "$kind" in
      all) attack plans searches scripts aliases batches reports probes slow http import ;;
      strangers) attack all strangers-headers strangers-calls ;;
      *)
        one_attack "$kind" >>"$work/attack" 2>&1 &
        attackers+=($!)
        ;;
    esac
  done
}

# end_in_time KIND: sends SIGTERM to $pid_a; sets took, in milliseconds, and code.
end_in_time() {
  local start
  start="$(date +%s%N)"
  kill -TERM "$pid_a"
  code=0
  for _ in $(seq $(((delay + timeout + slack) * 20))); do kill -0 "$pid_a" 2>/dev/null || break; sleep 0.05; done
  took=$((($(date +%s%N) - start) / 1000000))
  kill -0 "$pid_a" 2>/dev/null && fail "$1: the server goes on $((delay + timeout + slack)) s after SIGTERM"
  wait "$pid_a" || code=$?
}
# Nobody reads the log any more, and its pipe is full: a line would wait for ever.
deaf() {
  mkdir "$work/deaf"
  mkfifo "$work/deaf/log"
  exec 7<>"$work/deaf/log"
  timeout 1 cat /dev/zero >&7 || true
  local http
  http="$(free_port)"
  "$flightplan" serve --listen="127.0.0.1:$(free_port)" --http_listen="127.0.0.1:$http" --drain_delay="${delay}s" \
    --drain_timeout="${timeout}s" 2>&7 7>&- &
  pid_a=$!
  wait_for "deaf does not get ready" curl -sf -o "$work/ready" "http://127.0.0.1:$http/readyz"
  end_in_time deaf
  exec 7>&-
  echo "sigterm deaf: exit=$code after_ms=$took of $(((delay + timeout) * 1000))"
  [ "$code" = 0 ] || fail "deaf: SIGTERM ends the server with $code, not 0"
}

for kind in "${kinds[@]}"; do
  if [ "$kind" = deaf ]; then
    deaf
    continue
  fi
  rm -f "$work"/evidence.db*
  serve a --log_level=error --token_file="$work/tokens.yaml" --drain_delay="${delay}s" --drain_timeout="${timeout}s" \
    --evidence_store="sqlite:$work/evidence.db" "${probe[@]}"
  attackers=()
  attack "$kind"
  sleep 2.5
  load --target="127.0.0.1:$port_a" --token=good --rate=20 --seconds=2.5 >"$work/good" 2>"$work/errors" &
  caller=$!
  sleep 1
  kill -0 "$pid_a" 2>/dev/null || fail "$kind: the server has ended before SIGTERM"
  end_in_time "$kind"
  wait "$caller" || true
  end_family "${attackers[@]}"
  echo "sigterm $kind: exit=$code after_ms=$took of $(((delay + timeout) * 1000)), good client $(grep -o 'total=[^ ]* ok=[^ ]*' "$work/good")" \
    "p99_ms=$(field p99_ms <"$work/good")"
  [ "$code" = 0 ] || fail "$kind: SIGTERM ends the server with $code, not 0"
  [[ "$kind" = strangers* ]] || [ "$(field ok <"$work/good")" = "$(field total <"$work/good")" ] || fail "$kind: calls of the other tenant were not answered: $(cat "$work/good" "$work/errors")"
done
