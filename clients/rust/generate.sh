# Sourced by clients/generate.sh. tonic-build needs only Debian's protoc beside itself.
folders=(src/generated examples/conformance/generated)

generate() {
  command -v cargo >/dev/null || lacks "cargo >= 1.63 (deploy/setup_clients.sh rust)"
  local target="$tools/rust-target"
  CARGO_TARGET_DIR="$target" cargo build -q --offline --manifest-path "$root/clients/rust/Cargo.toml" -p generator ||
    lacks "its crates (deploy/setup_clients.sh rust)"
  "$target/debug/generator" "$root/proto" "$root/tests/conformance" "$1"
  rm -f "$1"/examples/conformance/generated/{google.rpc,flightplan.v1}.rs  # the crate's own, once more
}
