#!/usr/bin/env bash
# Two tenants before three replicas behind HAProxy: one floods at a bounded rate, so that two cores suffice for it, for the
# replicas and for the callers. Rounds alone and beside it take turns; prints the median p99 of the other tenant's calls, each
# another question, in both, and fails where it is more than MOST times as long. Elsewhere than on a quiet machine that says
# nothing: what other processes took of the cores meanwhile is printed, and above half a core nothing is judged.
# By hand only: a time depends on the machine. usage: neighbour.sh [SECONDS [ROUNDS [FLOOD_PER_SECOND [MOST]]]]
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/balancer.sh"
[ -x "$bin/flood_client" ] || skip "flood_client is not built (it needs libnghttp2-dev; deploy/setup.sh installs it)"
seconds="${1:-4}" rounds="${2:-5}" flood="${3:-1000}" most="${4:-3}"
rate=50
digest() { printf %s "$1" | sha256sum | cut -d' ' -f1; }
{
  echo "tokens:"
  for name in good bad; do
    echo "  - {sha256: $(digest $name), tenant: $name, roles: [resolve], expires: 2126-01-01T00:00:00Z}"
  done
} >"$work/tokens.yaml"
replicas=(a b c)
for name in "${replicas[@]}"; do serve "$name" --log_level=error --token_file="$work/tokens.yaml"; done
balance "${replicas[@]}"

# Of all processes, and of this drill's: CPU ms so far. Ended children count as the shell's.
all_ms() { awk -v hz="$(getconf CLK_TCK)" '/^cpu / {printf "%d", ($2 + $3 + $4 + $7 + $8) * 1000 / hz}' /proc/stat; }
own_ms() {
  local sum=0 pid
  for pid in "$pid_a" "$pid_b" "$pid_c" "$pid_front"; do sum=$((sum + $(cpu_ms "$pid"))); done
  echo $((sum + $(awk -v hz="$(getconf CLK_TCK)" '{printf "%d", ($14 + $15 + $16 + $17) * 1000 / hz}' "/proc/$$/stat")))
}
good() { load --target="$front" --token=good --rate=$rate --seconds="$seconds" --cold 2>"$work/errors" || true; }
# judge WHAT LINE: adds its p99; a call that failed fails the drill.
judge() {
  [ "$(echo "$2" | field failed)" = 0 ] && [ "$(echo "$2" | field unanswered)" = 0 ] || fail "$1: $2 $(cat "$work/errors")"
  echo "$2" | field p99_ms >>"$work/$1.p99"
  echo "$2" | field refused >>"$work/$1.refused"
}
median() { sort -n "$1" | awk '{a[NR] = $1} END {print a[int((NR + 1) / 2)]}'; }
total() { awk '{s += $1} END {print s}' "$1"; }

good >/dev/null # what is built on first use
began="$(date +%s%N)" all="$(all_ms)" own="$(own_ms)"
for _ in $(seq "$rounds"); do
  judge alone "$(good)"
  "$bin/flood_client" --target="$front" --rate="$flood" --seconds=$((seconds + 2)) --from=127.0.1.1 --token=bad >"$work/flood" 2>&1 &
  attacker=$!
  sleep 1
  judge beside "$(good)"
  wait "$attacker" || true
done
took=$((($(date +%s%N) - began) / 1000000))
others="$(awk -v a=$(($(all_ms) - all - $(own_ms) + own)) -v t="$took" 'BEGIN {printf "%.2f", a < 0 ? 0 : a / t}')"
alone="$(median "$work/alone.p99")" beside="$(median "$work/beside.p99")"
times="$(awk -v a="$beside" -v b="$alone" 'BEGIN {printf "%.1f", a / b}')"
echo "neighbour: rate=$rate flood=$flood rounds=$rounds alone_p99_ms=$alone beside_p99_ms=$beside times=$times" \
  "refused_alone=$(total "$work/alone.refused") refused_beside=$(total "$work/beside.refused") others_cores=$others" \
  "flood: $(tail -n 1 "$work/flood" | cut -c 1-80)"
awk -v o="$others" 'BEGIN {exit !(o > 0.5)}' && skip "other processes took $others cores: nothing is judged"
awk -v t="$times" -v m="$most" 'BEGIN {exit !(t <= m)}' || fail "another tenant's p99 is $times times as long, bound $most"
