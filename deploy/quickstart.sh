#!/usr/bin/env bash
# From a clean clone to a plan: set-up, build, and the plan for DeepSeek-V3 on 1,024 H100.
# Arguments, if any, replace the example's: ./deploy/quickstart.sh resolve --model qwen3-30b-a3b --gpu h100 --gpus 16 ...
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source deploy/progress.sh

preset=terminal
setup=--terminal
case "${1:-}" in
  -h | --help)
    echo "usage: deploy/quickstart.sh [FLIGHTPLAN ARGUMENTS...]"
    echo "Installs what is missing (deploy/setup.sh), builds the terminal program, build/terminal/bin/flightplan, and runs it;"
    echo "for serve, evidence and replay the one with the server: build/release/bin/flightplan."
    exit 0 ;;
  serve | evidence | replay)
    preset=release
    setup=--build-only ;;
esac

deploy/setup.sh "$setup"
build "$preset" flightplan
program="build/$preset/bin/flightplan"
if [ $# = 0 ]; then
  set -- resolve --model deepseek-v3 --gpu h100-sxm --gpus 1024 --tp 2 --pp 8 --vpp 4 --ep 64
  printf '\n$ %s %s\n\n' "$program" "$*"
fi
exec "$program" "$@"
