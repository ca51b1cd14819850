#!/usr/bin/env bash
# From a clean clone to a plan: set-up, release build, and the plan for DeepSeek-V3 on 1,024 H100.
# Arguments, if any, replace the example's: ./deploy/quickstart.sh resolve --model qwen3-30b-a3b --gpu h100 --gpus 16 ...
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case "${1:-}" in
  -h | --help)
    echo "usage: deploy/quickstart.sh [FLIGHTPLAN ARGUMENTS...]"
    echo "Installs what is missing (deploy/setup.sh), builds build/release/bin/flightplan, and runs it."
    exit 0 ;;
esac

deploy/setup.sh --build-only >&2
export CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1
cmake --preset release >/dev/null
cmake --build --preset release --target flightplan >&2

if [ $# = 0 ]; then
  set -- resolve --model deepseek-v3 --gpu h100-sxm --gpus 1024 --tp 2 --pp 8 --vpp 4 --ep 64
  printf '\n$ flightplan %s\n\n' "$*"
fi
exec build/release/bin/flightplan "$@"
