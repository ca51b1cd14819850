# Sourced by clients/generate.sh. 64-bit integers are bigint, unset optional fields undefined.
folders=(src/generated test/generated)

generate() {
  local modules="$root/clients/typescript/node_modules"
  [ -x "$modules/.bin/protoc-gen-ts_proto" ] || lacks "its packages (deploy/setup_clients.sh typescript)"
  local common="esModuleInterop=true,exportCommonSymbols=false,forceLong=bigint,oneof=unions,useOptionals=none,outputJsonMethods=false,outputPartialMethods=true,removeEnumPrefix=false,stringEnums=false"
  mkdir -p "$1/src/generated" "$1/test/generated"
  protoc -I"$root/proto" --plugin="$modules/.bin/protoc-gen-ts_proto" --ts_proto_out="$1/src/generated" \
    --ts_proto_opt="$common,outputServices=grpc-js,outputClientImpl=true" "${contract[@]}" "${rpc[@]}"
  # The runner's own messages refer to the package's.
  protoc -I"$root/tests/conformance" -I"$root/proto" --plugin="$modules/.bin/protoc-gen-ts_proto" --ts_proto_out="$1/test/generated" \
    --ts_proto_opt="$common,outputServices=none,Mflightplan/v1/catalog_service.proto=../../src/generated/flightplan/v1/catalog_service,Mflightplan/v1/evidence_service.proto=../../src/generated/flightplan/v1/evidence_service,Mflightplan/v1/probe_service.proto=../../src/generated/flightplan/v1/probe_service,Mflightplan/v1/resolver_service.proto=../../src/generated/flightplan/v1/resolver_service" \
    "$cases"
}
