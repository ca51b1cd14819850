#!/usr/bin/env bash
# Whether what Maven has fetched (libraries, plugins and all that they bring) is what repository.sha256 names: Maven 3.8 does
# not look. Run by setup and before each build. Exit 1 names the files that are something else.
set -euo pipefail
list="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/repository.sha256"
cd "${1:-${HOME}/.m2/repository}" 2>/dev/null || exit 0  # nothing is there yet
changed="$(sha256sum --quiet --ignore-missing -c "$list" 2>/dev/null | grep 'FAILED' || true)"
[ -z "$changed" ] || {
  echo "$changed" >&2
  echo "java: these files of $PWD are not what clients/java/repository.sha256 names: remove them; for a new version run deploy/pin_downloads.sh" >&2
  exit 1
}
