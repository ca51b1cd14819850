#!/usr/bin/env bash
# The conformance runner. usage: conformance.sh --cases FILE --server HOST:PORT
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
command -v go >/dev/null || { echo "skipped: needs go >= 1.19 (golang-go)"; exit 77; }
export GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local
go mod verify >/dev/null 2>&1 || { echo "skipped: needs its modules (deploy/setup_clients.sh go)"; exit 77; }
exec go run ./internal/conformance "$@"
