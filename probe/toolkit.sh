#!/usr/bin/env bash
# Fetches the CUDA compiler and its disassembler as pinned Python wheels, for machines without a toolkit: about 110 MB to
# download, no root. On request also what a worker for older nodes is built with.
# It compiles; it cannot run anything without a driver. probe/cuda.cmake looks where this puts it.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
cache="${XDG_CACHE_HOME:-$HOME/.cache}/flightplan"
check=false

usage() {
  cat <<EOF
usage: probe/toolkit.sh [--check] [--cuda-12] [--older-glibc]
Installs CUDA 13.0's compiler from Python wheels into $cache/cuda-13.0.
  --cuda-12      instead, for drivers from R525 on: nvcc 12.4 of Debian 13's package nvidia-cuda-toolkit (apt-get downloads
                 it; nothing is installed) with NVIDIA's wheels, into $cache/cuda-12.4
  --older-glibc  instead, the linker that builds a worker for glibc 2.28 (RHEL 8), into $cache/older-glibc
  --check        install nothing; exit 1 if it is missing
EOF
}

what=cuda_13
for argument in "$@"; do
  case "$argument" in
    --check) check=true ;;
    --cuda-12) what=cuda_12 ;;
    --older-glibc) what=older_glibc ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
done

part="$cache/toolkit.part.$$"
trap 'rm -rf "$part"' EXIT

# HOME PROGRAM...: ends the script where all programs are there, or none is to be fetched.
there() {
  local home="$1" program
  shift
  for program in "$@"; do
    [ -x "$home/$program" ] && continue
    $check || return 0
    echo "toolkit: $home/$program is missing"
    exit 1
  done
  echo "toolkit: $home/$1"
  exit 0
}

wheels() {  # REQUIREMENTS DIR
  local python pip=()
  mkdir -p "$part"
  for python in python3 /usr/bin/python3; do
    if "$python" -m pip --version >/dev/null 2>&1; then pip=("$python" -m pip); break; fi
  done
  if [ ${#pip[@]} = 0 ]; then
    python3 -m venv "$part/venv"  # brings a pip along
    pip=("$part/venv/bin/python" -m pip)
  fi
  "${pip[@]}" install --quiet --disable-pip-version-check --root-user-action ignore --no-deps --only-binary :all: --require-hashes --target "$2" -r "$1"
}

cuda_13() {
  local home="$cache/cuda-13.0" bin=nvidia/cu13/bin
  there "$home" "$bin/nvcc" "$bin/cuobjdump" "$bin/nvdisasm"
  wheels "$here/toolkit.txt" "$part/root"
  chmod +x "$part/root/$bin"/* "$part"/root/nvidia/cu13/nvvm/bin/*
  rm -rf "$home"
  mv "$part/root" "$home"
  echo "toolkit: $home/$bin/nvcc"
}

# NVIDIA's own wheels of CUDA 12 have neither nvcc nor what reads C++. Debian's package has both, in its own places.
cuda_12() {
  local home="$cache/cuda-12.4" version='12.4.131~12.4.1-2' apt="$part/apt" deb root="$part/root"
  local sum=cd5fe85aee38d108b315f408a688641478f2402622a10c677478eb7a6c4e5319
  there "$home" bin/nvcc bin/cuobjdump bin/nvdisasm
  command -v apt-get >/dev/null || { echo "toolkit: CUDA 12 needs apt-get, which fetches Debian's nvcc" >&2; exit 1; }
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$root"/{bin,include,lib64,nvvm/bin,nvvm/libdevice}
  local mirror
  mirror="$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m1 '/debian/*$' || true)"
  [ -n "$mirror" ] || { echo "toolkit: no Debian mirror in /etc/apt, which CUDA 12's compiler comes from" >&2; exit 1; }
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror trixie non-free" >"$apt/sources.list"
  local options=(-q -o Dir::Etc::sourcelist="$apt/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$apt/lists" -o Dir::Cache="$apt/cache"
    -o APT::Sandbox::User="$(id -un)")
  apt-get "${options[@]}" update >/dev/null
  (cd "$part" && apt-get "${options[@]}" download "nvidia-cuda-toolkit=$version" >/dev/null)
  deb="$(echo "$part"/nvidia-cuda-toolkit_*.deb)"
  echo "$sum  $deb" | sha256sum --check --quiet
  dpkg-deb -x "$deb" "$part/deb"
  wheels "$here/toolkit12.txt" "$part/wheels"
  local debian="$part/deb/usr/lib/nvidia-cuda-toolkit" package
  mv "$part"/deb/usr/bin/* "$debian/bin/crt" "$root/bin/"
  mv "$debian/bin/nvcc" "$root/bin/nvcc"  # in the place of a script that calls it
  mv "$debian/bin/cicc" "$root/nvvm/bin/"
  mv "$debian"/libdevice/* "$root/nvvm/libdevice/"
  for package in cuda_runtime cuda_nvcc; do cp -r "$part/wheels/nvidia/$package"/include/* "$root/include/"; done
  cp -r "$part/wheels/nvidia/cuda_cccl/include/nv" "$root/include/"
  mv "$part/wheels/nvidia/cuda_runtime/lib/libcudart_static.a" "$root/lib64/"
  cat >"$root/bin/nvcc.profile" <<'EOF'
TOP                = $(_HERE_)/..
NVVMIR_LIBRARY_DIR = $(TOP)/nvvm/libdevice
PATH              += $(TOP)/nvvm/bin:$(_HERE_):
INCLUDES          += "-I$(TOP)/include" $(_SPACE_)
LIBRARIES         =+ $(_SPACE_) "-L$(TOP)/lib64"
EOF
  rm -rf "$home"
  mv "$root" "$home"
  echo "toolkit: $home/bin/nvcc"
}

older_glibc() {
  local home="$cache/older-glibc"
  there "$home" ziglang/zig
  wheels "$here/older_glibc/linker.txt" "$part/root"
  chmod +x "$part/root/ziglang/zig"
  rm -rf "$home"
  mv "$part/root" "$home"
  echo "toolkit: $home/ziglang/zig"
}

"$what"
