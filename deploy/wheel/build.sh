#!/usr/bin/env bash
# One wheel from this tree: the Python package and the native flightplan program, for any Linux with glibc 2.34.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
# shellcheck source=deploy/wheel/lib.sh
source "$root/deploy/wheel/lib.sh"

usage() {
  cat <<EOF
usage: deploy/wheel/build.sh [--arch x86_64|aarch64] [OUT]
Writes flightplan-VERSION-py3-none-manylinux_2_34_ARCH.whl into OUT (default: dist) and prints its path.
  --arch   default: this machine's. On x86-64 the wheel for aarch64 is cross compiled, in a Debian 12 root under
           $cache, which needs root; as a wheel of any kind does where this machine is no Debian 12.
WHEEL_JOBS=N compiles N files at once.
EOF
}

arch="$(uname -m)"
out=""
while [ $# != 0 ]; do
  case "$1" in
    -h | --help) usage; exit 0 ;;
    --arch) [ $# -ge 2 ] || { usage >&2; exit 2; }; arch="$2"; shift ;;
    --arch=*) arch="${1#*=}" ;;
    -*) echo "wheel: unknown argument $1" >&2; usage >&2; exit 2 ;;
    *) [ -z "$out" ] || { usage >&2; exit 2; }; out="$1" ;;
  esac
  shift
done
debian_name "$arch" >/dev/null
out="${out:-$root/dist}"
build="$root/build/wheel-$arch"
mkdir -p "$out" "$build" 2>/dev/null || fail "$out or $build cannot be made; name another folder, or free space"

# build_in ROOT: where the tree is $mounted and the compiler cache is this machine's. What is mounted for it is seen by
# this command alone and gone with it.
mounted=/flightplan-source
build_in() {
  local ccache_dir="${CCACHE_DIR:-$HOME/.cache/ccache}"
  mkdir -p "$ccache_dir" "$1$mounted" "$1/ccache"
  [ ! -e /etc/resolv.conf ] || cp -L /etc/resolv.conf "$1/etc/resolv.conf"
  cp /etc/hosts "$1/etc/hosts"
  unshare --mount --propagation private bash -euc '
    mount --bind "$1" "$2/$3"
    mount --bind "$4" "$2/ccache"
    mount -t proc proc "$2/proc"
    mount --rbind /dev "$2/dev"
    exec chroot "$2" "${@:5}"' _ "$root" "$1" "$mounted" "$ccache_dir" \
    /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin CCACHE_DIR=/ccache SOURCE_DATE_EPOCH="$SOURCE_DATE_EPOCH" \
    ${WHEEL_JOBS:+WHEEL_JOBS="$WHEEL_JOBS"} "$mounted/deploy/wheel/build_here.sh" "$arch" "$mounted/build/wheel-$arch"
}

step "packages for $arch"
own_root="$("$root/deploy/wheel/setup.sh" "$arch")"
SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct 2>/dev/null || echo 0)}"
export SOURCE_DATE_EPOCH
if [ -n "$own_root" ]; then
  name="$(build_in "$own_root")"
else
  name="$("$root/deploy/wheel/build_here.sh" "$arch" "$build")"
fi
cp "$build/dist/$name" "$out/$name.part" && mv "$out/$name.part" "$out/$name" || fail "$out/$name cannot be written; is there space?"
step "done: $(du --apparent-size --block-size=kB "$out/$name" | cut -f 1)"
echo "$out/$name"
