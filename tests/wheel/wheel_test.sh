#!/usr/bin/env bash
# Builds the wheel for this machine, twice, and uses it as its user would.
#   wheel_test.sh           this machine's
#   wheel_test.sh aarch64   cross compiled, and its program tried under qemu
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
arch="${1:-$(uname -m)}"
skip() { echo "skipped: $*"; exit 77; }
fail() { echo "FAILED: $*" >&2; exit 1; }
work="$(mktemp -d "${TMPDIR:-/tmp}/flightplan-wheel-XXXXXX")"
trap 'rm -rf "$work"' EXIT

arm_root="${XDG_CACHE_HOME:-$HOME/.cache}/flightplan/wheel/root-aarch64"
if [ "$arch" = "$(uname -m)" ]; then
  grep -q '^VERSION_CODENAME=bookworm' /etc/os-release || skip "this machine's wheel is built in a Debian 12 root here: deploy/wheel/build.sh"
  "$root/deploy/setup.sh" --build-only --check >"$work/missing" || skip "$(head -n 1 "$work/missing") (deploy/setup.sh)"
else
  [ "$(id -u)" = 0 ] || skip "a cross build needs root"
  [ -d "$arm_root" ] || skip "no root to cross compile in (deploy/wheel/setup.sh $arch makes it)"
fi

wheel="$("$root/deploy/wheel/build.sh" --arch "$arch" "$work/first")"
again="$("$root/deploy/wheel/build.sh" --arch "$arch" "$work/second")"
cmp "$wheel" "$again" || fail "the same tree gives another wheel"
echo "$(basename "$wheel"): $(stat -c %s "$wheel") bytes"

program="${FLIGHTPLAN_BINARY:-$root/build/release/bin/flightplan}"
python3 - "$wheel" "$work" <<'EOF'
import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as archive:
    (name,) = (name for name in archive.namelist() if name.endswith(".data/scripts/flightplan"))
    open(f"{sys.argv[2]}/flightplan", "wb").write(archive.read(name))
EOF
if [ "$arch" = "$(uname -m)" ]; then
  # A compiler has been wrong in one of the two: every model's parameters, memory and step are the same.
  chmod 755 "$work/flightplan"
  pages() { "$@" models | awk 'NR > 1 { print $1 }' | while read -r model; do
    echo "== $model"; "$@" resolve --model "$model" --gpu h100-sxm --gpus 1024 --tp 8 --pp 1 --cp 1 --mbs 1 2>&1 || true; done; }
  pages "$program" >"$work/here"
  pages "$work/flightplan" >"$work/there"
  [ "$(grep -c '^memory ' "$work/here")" -gt 30 ] || fail "too few models have a forecast to compare"
  diff "$work/here" "$work/there" >"$work/diff" || { head -n 20 "$work/diff" >&2; fail "the wheel's program answers otherwise than $program"; }
  echo "$(grep -c '^==' "$work/here") models: as $program"
  exec "$root/tests/wheel/smoke_test.sh" "$wheel" /usr/bin/python3
fi
# The cross compiler's root has the C library of the other machine.
install -m 755 "$work/flightplan" "$arm_root/tmp/flightplan"
other() { chroot "$arm_root" qemu-aarch64-static /tmp/flightplan "$@"; }
digest() { sed -n 's/^ *"digest": "\(.*\)",*$/\1/p'; }
question=(resolve --model deepseek-v3 --gpu h100-sxm --gpus 1024 --tp 2 --pp 8 --vpp 4 --ep 64 --format json)
other version | head -n 1
theirs="$(other "${question[@]}" | digest)"
ours="$("$program" "${question[@]}" | digest)"
[ -n "$ours" ] && [ "$theirs" = "$ours" ] || fail "$arch answers '$theirs', this machine '$ours'"
echo "$arch under qemu: $theirs, as here"
