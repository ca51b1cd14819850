# Sourced by clients/generate.sh. Messages by Debian's protoc, so that they load with protobuf 4.21 and every later one.
folders=(src/flightplan/v1 tests/conformance/generated)

generate() {
  local venv="$tools/python" to="$1/src" runner="$1/tests/conformance/generated"
  [ -x "$venv/bin/protoc-gen-mypy" ] || lacks "mypy-protobuf (deploy/setup_clients.sh python)"
  command -v grpc_python_plugin >/dev/null || lacks "protobuf-compiler-grpc (deploy/setup.sh)"
  mkdir -p "$to" "$runner"
  local plugins=(--plugin=protoc-gen-grpc_python="$(command -v grpc_python_plugin)"
    --plugin=protoc-gen-mypy="$venv/bin/protoc-gen-mypy" --plugin=protoc-gen-mypy_grpc="$venv/bin/protoc-gen-mypy_grpc")
  protoc -I"$root/proto" "${plugins[@]}" --python_out="$to" --mypy_out=quiet:"$to" "${contract[@]}"
  protoc -I"$root/proto" "${plugins[@]}" --grpc_python_out="$to" --mypy_grpc_out=quiet:"$to" \
    $(grep -l '^service ' "${contract[@]}")
  echo '"""Messages and stubs of the contract, generated from proto/flightplan/v1."""' >"$to/flightplan/v1/__init__.py"
  protoc -I"$root/tests/conformance" -I"$root/proto" "${plugins[@]}" --python_out="$runner" --mypy_out=quiet:"$runner" "$cases"
}
