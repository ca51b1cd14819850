# Sourced by the scripts of this folder.
cache="${XDG_CACHE_HOME:-$HOME/.cache}/flightplan/wheel"

fail() { echo "wheel: $*" >&2; exit 1; }
step() { printf 'wheel: [%3d s] %s\n' "$SECONDS" "$*" >&2; }
debian_name() { case "$1" in x86_64) echo amd64 ;; aarch64) echo arm64 ;; *) fail "no architecture $1; there are x86_64 and aarch64" ;; esac; }
