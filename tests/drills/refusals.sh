#!/usr/bin/env bash
# What the balancer refuses is to every client what a server would have said: RESOURCE_EXHAUSTED, OVERLOADED, and when to
# come back. Before it stands a replica that is ready and never answers, so that one call fills it. usage: refusals.sh
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/balancer.sh"
[ -x "$bin/flood_client" ] || skip "flood_client is not built (it needs libnghttp2-dev; deploy/setup.sh installs it)"
root="$here/../.."
port_mute="$(free_port)"
python3 - "$port_mute" "$work/asked" >"$work/mute.log" 2>&1 <<'END' &
import socketserver, sys

SETTINGS = bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
SERVING = bytes([0, 0, 7, 0, 1, 0, 0, 0, 1]) + bytes([0, 0, 0, 0, 2, 8, 1])  # a DATA frame, as a health check reads it

class Mute(socketserver.BaseRequestHandler):
    def handle(self):
        try:
            self.request.sendall(SETTINGS)
            while data := self.request.recv(1 << 16):
                if b"Health/Check" in data:
                    self.request.sendall(SERVING)
                elif b"PRI " in data:
                    open(sys.argv[2], "w").close()
        except ConnectionError:
            pass

class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True

Server(("127.0.0.1", int(sys.argv[1])), Mute).serve_forever()
END
mute_listens() { (exec 3<>"/dev/tcp/127.0.0.1/$port_mute") 2>/dev/null; }
wait_for "the mute replica does not get ready" mute_listens
export FLIGHTPLAN_IN_FLIGHT=1 FLIGHTPLAN_BURST=1
balance mute

# One call fills the replica for as long as this lasts.
"$bin/flood_client" --target="$front" --rate=0.01 --seconds=100 >"$work/first" 2>&1 &
wait_for "the first call does not arrive" test -e "$work/asked"
# expect WHAT LINE: every call of the line was refused as it must be.
expect() {
  local total="$(echo "$2" | field total)"
  [ "$(echo "$2" | field refused)" = "$total" ] || fail "$1: not all of $total were refused in good form: $2"
  echo "$1: $(echo "$2" | grep -o 'total=[0-9]*') $(echo "$2" | grep -o 'refused=[0-9]*') $(echo "$2" | grep -o 'refused_p99_ms=[0-9.]*')"
}
# Those that wait until the time is over, and those above them that are refused at once.
expect "bare HTTP/2" "$("$bin/flood_client" --target="$front" --rate=100 --seconds=1 || true)"
expect "gRPC in C++" "$(load --target="$front" --rate=100 --seconds=1 || true)"
python="${XDG_CACHE_HOME:-$HOME/.cache}/flightplan/clients/python/bin/python"
if [ -x "$python" ]; then
  load --target="$front" --rate=50 --seconds=20 >"$work/beside" 2>&1 &
  PYTHONPATH="$root/clients/python/src" "$python" - "$front" <<'END'
import sys, threading, flightplan
waits = []
def ask(model):
    try:
        flightplan.resolve(model, gpu="h100-sxm", gpus=8, server=sys.argv[1])
    except flightplan.Unavailable as error:
        assert (error.code.name, error.reason) == ("RESOURCE_EXHAUSTED", "OVERLOADED"), error
        waits.append(error.retry_after)
# Requests of one packet, and of more.
for model in ("deepseek-v3", "x" * 40_000):
    askers = [threading.Thread(target=ask, args=(model,)) for _ in range(20)]
    for asker in askers: asker.start()
    for asker in askers: asker.join()
assert len(waits) == 40, f"{len(waits)} of 40 were refused in good form"
assert all(0.05 <= wait <= 0.5 for wait in waits) and len(set(waits)) > 1, set(waits)
# A long one is not refused before its end has come (gRPC would say CANCELLED): it goes on to the replica, here a mute one.
try:
    flightplan.Client(sys.argv[1]).resolve("x" * 900_000, gpu="h100-sxm", gpus=8, timeout=2)
except flightplan.DeadlineExceeded:
    pass
print("gRPC in Python: 40 of 40, to come back in", ", ".join(f"{wait * 1e3:.0f}" for wait in sorted(set(waits))), "ms")
END
else
  echo "gRPC in Python: not tried (deploy/setup_clients.sh python)"
fi
# Of the searches one address has a part: eight of them, and then those of another.
python3 - "$here" "${front##*:}" <<'END' || fail "searches are not shared by address"
import select, socket, sys, time
sys.path.insert(0, sys.argv[1])
from http2 import END_HEADERS, HEADERS, OPENING, frame
PATH = b"/flightplan.v1.ResolverService/PlanLayouts"
CALL = (b"\x83\x86\x41\x01a\x04" + bytes([len(PATH)]) + PATH + b"\x00\x02te\x08trailers" +
        b"\x00\x0ccontent-type\x10application/grpc")
END_STREAM = 1
def refused_of_eight(address):
    peer = socket.create_connection(("127.0.0.1", int(sys.argv[2])), 5, (address, 0))
    peer.sendall(OPENING + b"".join(frame(HEADERS, END_HEADERS, 2 * i + 1, CALL) +
                                    frame(0, END_STREAM, 2 * i + 1, bytes(5)) for i in range(8)))
    end, answers = time.monotonic() + 1, b""
    while (left := end - time.monotonic()) > 0:
        if select.select([peer], [], [], left)[0]:
            answers += peer.recv(1 << 16)
    return peer, answers.count(b"too many calls")
one, of_one = refused_of_eight("127.0.0.2")
two, of_two = refused_of_eight("127.0.0.3")
print(f"searches: of eight of one address {of_one} refused, then of another's {of_two}")
sys.exit(not (of_one == 2 and of_two < 8))
END
# Most were refused at once; the others had waited, one at a time.
refused="$(refused_in_front)"
[ "$refused" -ge 100 ] || fail "/metrics of HAProxy counts $refused refusals"
echo "HAProxy counts $refused"
