# Sourced by clients/generate.sh. 64-bit integers are bigint, unset optional fields undefined. The releases that the page
# offers are those of the catalogue, the errors of a difference those of the forecast.
folders=(src/generated)

generate() {
  local plugin="$root/clients/web/node_modules/.bin/protoc-gen-es" out="$1/src/generated"
  [ -x "$plugin" ] || lacks "its packages (deploy/setup_clients.sh web)"
  mkdir -p "$out"
  protoc -I"$root/proto" --plugin="$plugin" --es_out="$out" --es_opt=target=ts,import_extension=none "${contract[@]}" "${rpc[@]}"
  python3 "$root/clients/web/releases.py" "$root/resolver/catalog/releases.yaml" "$root"/resolver/stacks/*/stack.cc >"$out/releases.ts"
  python3 "$root/clients/web/pair_error.py" "$root/resolver/estimate/effect.cc" >"$out/pair_error.ts"
}
