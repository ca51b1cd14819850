#!/usr/bin/env bash
# Fetches the CUDA compiler and its disassembler as pinned Python wheels, for machines without a toolkit: about 110 MB to
# download, no root.
# It compiles; it cannot run anything without a driver. probe/cuda.cmake looks where this puts it.
set -euo pipefail

version=13.0
home="${XDG_CACHE_HOME:-$HOME/.cache}/flightplan/cuda-$version"
wheels="$(dirname "${BASH_SOURCE[0]}")/toolkit.txt"  # of toolkit.in, with hashes

usage() {
  cat <<EOF
usage: probe/toolkit.sh [--check]
Installs CUDA $version's compiler from Python wheels into $home.
  --check   install nothing; exit 1 if it is missing
EOF
}

case "${1:-}" in
  "" | --check) ;;
  -h | --help) usage; exit 0 ;;
  *) usage >&2; exit 2 ;;
esac
bin="$home/nvidia/cu13/bin"
nvcc="$bin/nvcc"
if [ -x "$nvcc" ] && [ -x "$bin/cuobjdump" ] && [ -x "$bin/nvdisasm" ]; then
  echo "toolkit: $nvcc"
  exit
fi
[ "${1:-}" != --check ] || { echo "toolkit: $nvcc, cuobjdump or nvdisasm is missing"; exit 1; }

part="$home.part.$$"
trap 'rm -rf "$part"' EXIT
mkdir -p "$part"
for python in python3 /usr/bin/python3; do
  if "$python" -m pip --version >/dev/null 2>&1; then pip=("$python" -m pip); break; fi
done
if [ -z "${pip:-}" ]; then
  python3 -m venv "$part/venv"  # brings a pip along
  pip=("$part/venv/bin/python" -m pip)
fi
"${pip[@]}" install --quiet --disable-pip-version-check --root-user-action ignore --no-deps --only-binary :all: --require-hashes --target "$part/root" -r "$wheels"
chmod +x "$part"/root/nvidia/cu13/bin/* "$part"/root/nvidia/cu13/nvvm/bin/*
rm -rf "$home"
mv "$part/root" "$home"
echo "toolkit: $nvcc"
