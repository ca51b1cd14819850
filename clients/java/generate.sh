# Sourced by clients/generate.sh. The protos name no Java package, so copies of them do; google.rpc is that of
# proto-google-common-protos.
folders=(src/generated/java src/test/generated)

generate() {
  local machine plugin
  machine="$(uname -m)"
  plugin="${HOME}/.m2/repository/io/grpc/protoc-gen-grpc-java/1.62.2/protoc-gen-grpc-java-1.62.2-linux-${machine/aarch64/aarch_64}.exe"
  [ -e "$plugin" ] || lacks "protoc-gen-grpc-java (deploy/setup_clients.sh java)"
  "$root/clients/java/check_repository.sh"
  local protos="$work/java-protos" main="$1/src/generated/java" test="$1/src/test/generated"
  mkdir -p "$protos" "$main" "$test"
  cp -r "$root/proto/flightplan" "$root/proto/google" "$protos/"
  cp "$cases" "$protos/"
  cp "$plugin" "$work/protoc-gen-grpc-java"
  chmod +x "$work/protoc-gen-grpc-java"
  sed -i 's|^package flightplan.v1;|&\noption java_package = "flightplan.v1"; option java_multiple_files = true;|' "$protos"/flightplan/v1/*.proto
  sed -i 's|^package google.rpc;|&\noption java_package = "com.google.rpc"; option java_multiple_files = true; option java_outer_classname = "StatusProto";|' \
    "$protos/google/rpc/status.proto"
  sed -i 's|^package flightplan.conformance;|&\noption java_package = "flightplan.conformance"; option java_multiple_files = true;|' "$protos/conformance.proto"
  (cd "$protos" && protoc -I. --plugin=protoc-gen-grpc-java="$work/protoc-gen-grpc-java" --java_out="$main" \
    --grpc-java_out=@generated=omit:"$main" flightplan/v1/*.proto && protoc -I. --java_out="$test" conformance.proto)
}
