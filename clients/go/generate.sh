# Sourced by clients/generate.sh. The protos name no Go package, so it is named here.
folders=(v1 internal/conformancepb)

generate() {
  local bin="$tools/go/bin" to="$1" file mapping=()
  [ -x "$bin/protoc-gen-go" ] && [ -x "$bin/protoc-gen-go-grpc" ] || lacks "protoc-gen-go (deploy/setup_clients.sh go)"
  for file in "${contract[@]}"; do mapping+=("Mflightplan/v1/$(basename "$file")=flightplan/v1;flightplanv1"); done
  mapping+=("Mgoogle/rpc/status.proto=google.golang.org/genproto/googleapis/rpc/status"
    "Mconformance.proto=flightplan/internal/conformancepb;conformancepb")
  local options
  options="module=flightplan,$(IFS=,; echo "${mapping[*]}")"
  protoc -I"$root/proto" --plugin="$bin/protoc-gen-go" --plugin="$bin/protoc-gen-go-grpc" \
    --go_out="$options:$to" --go-grpc_out="$options:$to" "${contract[@]}"
  protoc -I"$root/tests/conformance" -I"$root/proto" --plugin="$bin/protoc-gen-go" --go_out="$options:$to" "$cases"
}
