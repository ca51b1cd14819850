#!/usr/bin/env bash
# A wheel as its user meets it: installed by pip into a new virtual environment, asked on the terminal, from Python with
# no server running, and as a server. usage: smoke_test.sh WHEEL [PYTHON]
# pip fetches grpcio and protobuf by its own settings (PIP_NO_INDEX, PIP_FIND_LINKS: from a folder).
set -euo pipefail
wheel="$(realpath "${1:?usage: smoke_test.sh WHEEL [PYTHON]}")"
python="${2:-python3}"
for name in "${!FLIGHTPLAN_@}"; do unset "$name"; done
unset PYTHONPATH
work="$(mktemp -d "${TMPDIR:-/tmp}/flightplan-smoke-XXXXXX")"
server=""
cleanup() { [ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$work"; }
trap cleanup EXIT
fail() { echo "FAILED: $*" >&2; tail -n 20 "$work"/*.log >&2 2>/dev/null || true; exit 1; }
say() { printf '%-22s %s\n' "$1" "$2"; }

command -v "$python" >/dev/null || { echo "skipped: no $python"; exit 77; }
"$python" -m venv "$work/venv" >"$work/venv.log" 2>&1 || { echo "skipped: $python makes no virtual environment (python3-venv)"; exit 77; }
bin="$work/venv/bin"
"$bin/python" -m pip install -q --disable-pip-version-check "$wheel" >"$work/pip.log" 2>&1 ||  # unpinned: what it needs, as a user's pip finds it
  fail "pip does not install it"
"$bin/python" -m pip check >"$work/pip.log" 2>&1 || fail "pip finds its needs unmet"
say python "$("$bin/python" -c 'import platform; print(platform.python_version(), platform.machine(), *platform.libc_ver())')"

# --- The command ---
cd "$work"  # nothing of a source tree is near
[ "$(head -c 4 "$bin/flightplan" | tail -c 3)" = ELF ] || fail "the command is no native program"
"$bin/flightplan" version >version.out 2>err.log || fail "flightplan version"
say version "$(head -n 1 version.out)"
question=(--model deepseek-v3 --gpu h100-sxm --gpus 1024 --tp 2 --pp 8 --vpp 4 --ep 64)
"$bin/flightplan" resolve "${question[@]}" >resolve.out 2>err.log || fail "flightplan resolve"
grep -q '^RESOLVED' resolve.out || fail "flightplan resolve says no RESOLVED"
digest="$("$bin/flightplan" resolve "${question[@]}" --format json | sed -n 's/^ *"digest": "\(.*\)",*$/\1/p')"
[ -n "$digest" ] || fail "flightplan resolve has no digest"
say resolve "$digest"

# --- Python, with no server running ---
cat >ask.py <<'EOF'
import importlib.metadata, sys
import flightplan
question = dict(gpu="h100-sxm", gpus=1024, tp=2, pp=8, vpp=4, ep=64)
plan = flightplan.resolve("deepseek-v3", **question)
assert plan.ok and plan.argv and "CUDA_DEVICE_MAX_CONNECTIONS" in plan.env
assert plan.explain("moe_token_dispatcher_type").reason
assert importlib.metadata.version("flightplan") == flightplan.__version__
print(flightplan.resolve("deepseek-v3", dialects=[], **question).digest)
EOF
answer="$(cd / && TMPDIR="$work" "$bin/python" "$work/ask.py" 2>"$work/err.log")" || fail "flightplan.resolve with no server"
[ "$answer" = "$digest" ] || fail "Python answers $answer, the terminal $digest"
say "import flightplan" "$answer"
wait_gone() {
  for _ in $(seq 200); do
    [ -n "$(find /proc -maxdepth 2 -name exe -lname "$bin/flightplan" 2>/dev/null)" ] || return 0
    sleep 0.05
  done
  return 1
}
wait_gone || fail "the server of a Python process outlives it"
[ -z "$(find "$work" -mindepth 1 -maxdepth 1 -name 'flightplan-*')" ] || fail "the server's folder is left"

# --- The server ---
: >serve.log
"$bin/flightplan" serve --listen="unix:$work/s" --http_listen= --drain_delay=0s 2>serve.log &
server=$!
for _ in $(seq 1200); do
  ! grep -q '"msg":"serving"' serve.log || break
  kill -0 "$server" 2>/dev/null || fail "flightplan serve does not start"
  sleep 0.05
done
answer="$("$bin/flightplan" resolve "${question[@]}" --server "unix:$work/s" --format json | sed -n 's/^ *"digest": "\(.*\)",*$/\1/p')"
[ "$answer" = "$digest" ] || fail "the server answers $answer, the terminal $digest"
answer="$(FLIGHTPLAN_SERVER="unix:$work/s" "$bin/python" ask.py 2>err.log)" || fail "Python by the server"
[ "$answer" = "$digest" ] || fail "the server answers Python $answer, the terminal $digest"
say serve "$answer"
kill "$server"
wait "$server" || fail "SIGTERM ends the server with an error"
server=""

"$bin/python" -m pip uninstall -q -y --disable-pip-version-check flightplan >pip.log 2>&1 || fail "pip does not uninstall it"
[ ! -e "$bin/flightplan" ] || fail "the command is left after pip uninstall"
echo "smoke test: fine"
