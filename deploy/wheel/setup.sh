#!/usr/bin/env bash
# Installs what a wheel is built with: on this machine, or as a Debian 12 root of its own where this machine is no Debian
# 12 or the wheel is for another architecture. Where everything is there it only looks and returns.
# usage: setup.sh ARCH    prints the root's folder; nothing where the wheel is built on this machine itself
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
# shellcheck source=deploy/wheel/lib.sh
source "$root/deploy/wheel/lib.sh"
# shellcheck source=deploy/apt_mirror.sh
source "$root/deploy/apt_mirror.sh"
arch="${1:?usage: setup.sh x86_64|aarch64}"

# What the root has; on this machine deploy/setup.sh --build-only installs the same. Programs are for the machine that
# builds.
tools=(
  build-essential cmake ninja-build ccache pkg-config dpkg-dev ca-certificates # compiling
  python3 python3-yaml protobuf-compiler protobuf-compiler-grpc               # generating
  advancecomp                                                                 # packing
)
cross_tools=(
  crossbuild-essential-arm64 # compiling
  qemu-user-static           # running what the build makes and runs
)
# Libraries with their archives, for the machine that the wheel is for.
libraries=(
  libabsl-dev libprotobuf-dev libgrpc++-dev libyaml-cpp-dev rapidjson-dev libgoogle-perftools-dev libsqlite3-dev zlib1g-dev
  libutf8proc-dev
  libboost-dev       # headers alone
  libpq-dev          # its header; the library is opened where it is used
  prometheus-cpp-dev # its licence; static_libraries.sh has the archive
)

needs_root_of_its_own() { [ "$arch" != "$(uname -m)" ] || ! grep -qs '^VERSION_CODENAME=bookworm' /etc/os-release; }

# make_root FOLDER: complete or not at all.
make_root() {
  local folder="$1" architectures wanted names
  names=("${tools[@]}")
  if [ "$arch" = "$(uname -m)" ]; then
    architectures="$(debian_name "$arch")"
    names+=("${libraries[@]}")
  else
    [ "$(uname -m) $arch" = "x86_64 aarch64" ] || fail "a wheel for $arch cannot be built on $(uname -m); build it on an $arch machine"
    architectures="amd64,arm64"
    names+=("${cross_tools[@]}" "${libraries[@]/%/:arm64}")
  fi
  wanted="$architectures ${names[*]}"
  [ "$(cat "$folder/etc/flightplan-packages" 2>/dev/null)" != "$wanted" ] || return 0
  [ "$(id -u)" = 0 ] || fail "a wheel for $arch is built in a Debian 12 root on this machine, which needs root (or an $arch machine with Debian 12)"
  command -v mmdebstrap >/dev/null || { apt-get update -q && apt-get install -y -q --no-install-recommends mmdebstrap; } >/dev/null 2>&1 ||
    fail "mmdebstrap is missing and could not be installed: apt-get install mmdebstrap"
  [ -n "$(apt_mirror)" ] || fail "no package mirror in /etc/apt; a Debian 12 root can be made on a machine with Debian alone"
  step "a Debian 12 root with the compiler for $arch (2 minutes, once)"
  rm -rf --one-file-system "$folder" "$folder.part"
  mkdir -p "$(dirname "$folder")"
  mmdebstrap --quiet --variant=minbase --architectures="$architectures" --include="$(IFS=,; echo "${names[*]}")" \
    bookworm "$folder.part" "deb $(apt_mirror) bookworm main" >&2 ||
    fail "the Debian 12 root could not be made (above: why); is the package mirror reachable, with 2 GB free in $(dirname "$folder")?"
  echo "$wanted" >"$folder.part/etc/flightplan-packages"
  mv "$folder.part" "$folder"
}

if needs_root_of_its_own; then
  make_root "$cache/root-$arch"
  echo "$cache/root-$arch"
else
  "$root/deploy/setup.sh" --build-only >&2
fi
