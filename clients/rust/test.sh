#!/usr/bin/env bash
# Format, unit tests, and the example against a real server. usage: test.sh FLIGHTPLAN_BINARY
set -euo pipefail
flightplan="$(realpath "$1")"
cd "$(dirname "${BASH_SOURCE[0]}")"
command -v cargo >/dev/null || { echo "skipped: needs cargo >= 1.63"; exit 77; }
export CARGO_TARGET_DIR="${XDG_CACHE_HOME:-$HOME/.cache}/flightplan/clients/rust-target"
cargo fetch -q --offline --locked --target "$(rustc -vV | sed -n 's/^host: //p')" 2>/dev/null || { echo "skipped: needs its crates (deploy/setup_clients.sh rust)"; exit 77; }

if cargo fmt --version >/dev/null 2>&1; then cargo fmt --check; fi
cargo test -q --offline --locked --lib
../with_server.sh "$flightplan" cargo run -q --offline --locked --example plan -- | grep -x -- --expert-model-parallel-size >/dev/null ||
  { echo "the example prints no launch" >&2; exit 1; }
echo "rust: fine, $(cargo --version)"
