#!/usr/bin/env bash
# A command of this repository, at HEAD, on a Debian machine that has nothing but git: a root folder of its own, made by
# mmdebstrap and gone afterwards. What was once installed on this machine cannot help it.
# usage: fresh_machine.sh [--suite bookworm|trixie] [--cache FOLDER] [--wants TEXT] [COMMAND...]
#   COMMAND   default: ./deploy/quickstart.sh     --wants TEXT   what its output must contain
#   --cache   a compiler cache that outlives the root; without one it is a newcomer's first build
set -euo pipefail
# shellcheck source=tests/support/debian_root.sh
source "$(dirname "${BASH_SOURCE[0]}")/../support/debian_root.sh"
suite=bookworm cache="" wants=""
while [ $# -gt 0 ]; do
  case "$1" in
    --suite) suite="$2"; shift 2 ;;
    --cache) cache="$2"; shift 2 ;;
    --wants) wants="$2"; shift 2 ;;
    -*) sed -n '4,6s/^# //p' "$0" >&2; exit 2 ;;
    *) break ;;
  esac
done
[ $# != 0 ] || set -- ./deploy/quickstart.sh
skip() { echo "skipped: $*"; exit 77; }
[ "$(id -u)" = 0 ] || skip "needs root: a root folder of its own"
command -v mmdebstrap >/dev/null || skip "mmdebstrap is not installed (deploy/setup.sh --all)"
repository="$(git -C "$(dirname "${BASH_SOURCE[0]}")" rev-parse --show-toplevel)"

root="$(mktemp -d "${TMPDIR:-/tmp}/flightplan-fresh.XXXXXX")"
leave() {
  local mounted
  for mounted in "$root/root/.cache/ccache" "$root/proc" "$root/dev"; do
    ! mountpoint -q "$mounted" || umount -R "$mounted" || { echo "drill: $mounted stays mounted" >&2; return; }
  done
  rm -rf --one-file-system "$root"
}
trap leave EXIT
debian_root "$suite" "$root" git,ca-certificates || skip "no Debian $suite (above)"
git clone -q "$repository" "$root/root/flightplan"
mapfile -t settings < <(env | grep -E '^(PIP_|NPM_CONFIG_|npm_config_|GOPROXY|GOSUMDB|CARGO_|SSL_CERT_|NODE_EXTRA_CA_CERTS|REQUESTS_CA_|https?_proxy|HTTPS?_PROXY|no_proxy|NO_PROXY)' || true)
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --make-rslave "$root/dev"
if [ -n "$cache" ]; then
  mkdir -p "$cache" "$root/root/.cache/ccache"
  mount --bind "$cache" "$root/root/.cache/ccache"
fi

start="$SECONDS"
code=0
chroot "$root" /usr/bin/env -i HOME=/root TERM=dumb PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
  "${settings[@]}" bash -c 'update-ca-certificates >/dev/null 2>&1; cd /root/flightplan && "$@"' _ "$@" >"$root/output" || code=$?
cat "$root/output"
echo "fresh-machine: suite=$suite command='$*' code=$code seconds=$((SECONDS - start)) cache=${cache:+yes}" >&2
[ "$code" = 0 ] || exit "$code"
[ -z "$wants" ] || grep -q -- "$wants" "$root/output" || { echo "drill: its output has no '$wants'" >&2; exit 1; }
