#!/usr/bin/env bash
# Format, vet, unit tests, and the example against a real server. usage: test.sh FLIGHTPLAN_BINARY
set -euo pipefail
flightplan="$(realpath "$1")"
cd "$(dirname "${BASH_SOURCE[0]}")"
command -v go >/dev/null || { echo "skipped: needs go >= 1.19 (golang-go)"; exit 77; }
export GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local
go mod verify >/dev/null 2>&1 || { echo "skipped: needs its modules (deploy/setup_clients.sh go)"; exit 77; }

unformatted="$(gofmt -l .)"
[ -z "$unformatted" ] || { echo "gofmt -w $unformatted" >&2; exit 1; }
go vet ./...
go test ./...
../with_server.sh "$flightplan" go run ./example | grep -x -- --expert-model-parallel-size >/dev/null || { echo "the example prints no launch" >&2; exit 1; }
echo "go: fine, $(go version)"
