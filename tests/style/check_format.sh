#!/usr/bin/env bash
# Is every source formatted? With --fix: format them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

command -v clang-format-14 >/dev/null || { echo "skipped: clang-format-14 is not installed; this format is that of release 14"; exit 77; }
mode=(--dry-run -Werror)
[ "${1:-}" != --fix ] || mode=(-i)
git ls-files --cached --others --exclude-standard -z '*.h' '*.cc' '*.cu' '*.cuh' |
  xargs -0 -n 64 clang-format-14 "${mode[@]}"
