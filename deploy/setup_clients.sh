#!/usr/bin/env bash
# Fetches what the clients and doors are built and tested with, each by its ecosystem's own package manager and into that
# one's own cache, so that the tests need no network. Where everything is there it only looks and returns.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
tools="${XDG_CACHE_HOME:-$HOME/.cache}/flightplan/clients"
all=(python go typescript web java rust apiserver precommit connect stdio vscode)

usage() {
  cat <<USAGE
usage: deploy/setup_clients.sh [NAME...]
Names: ${all[*]}; default: all; and by name only: integrations (NeMo-Run and SkyPilot, 800 MB), browser (Chromium, 500 MB,
which the page is tested in; as root).
precommit is pre-commit, which the hook of that name is tested with; connect the conformance suite of the Connect protocol;
stdio the clients that mcp and lsp are tested with; vscode what the extension of that editor is built with.
apiserver is the kube-apiserver that the Kubernetes door is tested with, built from its Go module (minutes, once).
One whose toolchain is missing or too old is named and passed over; its tests then say "skipped". deploy/setup.sh brings
Debian's toolchains.
USAGE
}

# A virtual environment with exactly the packages of a requirements file; made anew when that file changes.
python_environment() {  # NAME REQUIREMENTS
  local venv="$tools/$1" requirements="$2"
  cmp -s "$requirements" "$venv/requirements.txt" && return
  echo "setup: python packages of $(basename "$(dirname "$requirements")")/$(basename "$requirements")"
  rm -rf "$venv"
  python3 -m venv "$venv" || { echo "setup: python3-venv is missing: apt-get install python3-venv" >&2; return 1; }
  "$venv/bin/pip" install -q --disable-pip-version-check --require-hashes --only-binary :all: -r "$requirements"
  cp "$requirements" "$venv/requirements.txt"
}

setup_python() {
  command -v python3 >/dev/null || { echo "setup: python: needs python3"; return 0; }
  python_environment python "$root/clients/python/requirements-dev.txt"
}

# Whether version $1 is at least $2.
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

go_version() { GOTOOLCHAIN=local go version 2>/dev/null | sed -n 's/.* go\([0-9.]*\).*/\1/p'; }

setup_go() {
  local version
  version="$(go_version)"
  [ -n "$version" ] && at_least "$version" 1.19 || { echo "setup: go: needs go >= 1.19 (golang-go), has ${version:-none}"; return 0; }
  (cd "$root/clients/go" && GOFLAGS=-mod=mod go mod download)
  local plugins="$root/clients/go/tools"
  cmp -s "$plugins/go.sum" "$tools/go/go.sum" && return
  echo "setup: protoc plugins for Go"
  (cd "$plugins" && GOBIN="$tools/go/bin" go install -mod=readonly \
    google.golang.org/protobuf/cmd/protoc-gen-go google.golang.org/grpc/cmd/protoc-gen-go-grpc)
  cp "$plugins/go.sum" "$tools/go/go.sum"
}

# The packages of a lock file, beside it; anew when that file changes.
npm_packages() {  # FOLDER
  local version package="$root/$1"
  version="$(node --version 2>/dev/null | tr -d v)"
  [ -n "$version" ] && at_least "$version" 18 || { echo "setup: $1: needs node >= 18 (nodejs, npm), has ${version:-none}"; return 0; }
  cmp -s "$package/package-lock.json" "$package/node_modules/.package-lock.from" && return
  echo "setup: npm packages of $1"
  (cd "$package" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
  cp "$package/package-lock.json" "$package/node_modules/.package-lock.from"
}

setup_typescript() { npm_packages clients/typescript; }
setup_web() {
  npm_packages clients/web
  python_environment perfetto "$root/clients/web/test/perfetto.txt"
}

setup_browser() {
  command -v chromium >/dev/null && return
  [ "$(id -u)" = 0 ] || { echo "setup: browser: needs root: apt-get install chromium fonts-dejavu-core"; return 0; }
  echo "setup: Chromium"
  apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null
}

setup_java() {
  command -v mvn >/dev/null || { echo "setup: java: needs maven and a JDK >= 11 (maven, default-jdk-headless)"; return 0; }
  local stamp="$tools/java.pom.xml"
  cmp -s "$root/clients/java/pom.xml" "$stamp" && return
  echo "setup: Maven packages"
  # Maven 3.8 knows no hashes and runs a plugin as soon as it has it; so what is there is looked at before, and all after.
  local check="$root/clients/java/check_repository.sh" machine
  machine="$(uname -m)"
  "$check" || return 1
  (cd "$root/clients/java" && mvn -q -B dependency:copy-dependencies -DincludeScope=test -DoutputDirectory=target/lib) || return 1
  "$check" || return 1
  # The unit tests run, since Maven fetches what runs them only then; what they find is for clients/java/test.sh to say.
  (cd "$root/clients/java" && mvn -q -B -Dmaven.test.failure.ignore=true package dependency:copy-dependencies -DincludeScope=test -DoutputDirectory=target/lib &&
    mvn -q -B dependency:get -Dartifact="io.grpc:protoc-gen-grpc-java:1.62.2:exe:linux-${machine/aarch64/aarch_64}" -Dtransitive=false) || return 1
  "$check" || return 1
  mkdir -p "$tools"
  cp "$root/clients/java/pom.xml" "$stamp"
}

setup_rust() {
  local version
  version="$(cargo --version 2>/dev/null | sed -n 's/^cargo \([0-9.]*\).*/\1/p')"
  [ -n "$version" ] && at_least "$version" 1.63 || { echo "setup: rust: needs cargo >= 1.63, has ${version:-none}"; return 0; }
  # The generator uses Debian's protoc; both are built here, so that the tests only look.
  (cd "$root/clients/rust" && CARGO_TARGET_DIR="$tools/rust-target" cargo build -q --locked --workspace --examples) && return
  at_least "$version" 1.70 || echo "setup: rust: cargo $version reads the registry by its git index alone; one >= 1.70 (cargo-web rustc-web) needs no git" >&2
  return 1
}

# Debian has no kube-apiserver; this release is the newest whose module asks for no newer Go than Debian's.
setup_apiserver() {
  local version release module="$root/tests/doors/apiserver" program="$tools/apiserver/kube-apiserver"
  version="$(go_version)"
  [ -n "$version" ] && at_least "$version" 1.19 || { echo "setup: apiserver: needs go >= 1.19 (golang-go), has ${version:-none}"; return 0; }
  [ -x "$program" ] && cmp -s "$module/go.sum" "$program.go.sum" && return
  echo "setup: kube-apiserver, built from its Go module"
  release="$(sed -n 's,^require k8s.io/kubernetes ,,p' "$module/go.mod")"
  (cd "$module" && go build -mod=readonly -tags providerless -trimpath -o "$program" \
    -ldflags="-s -w -X k8s.io/component-base/version.gitVersion=$release" k8s.io/kubernetes/cmd/kube-apiserver)
  cp "$module/go.sum" "$program.go.sum"
}

# The public conformance suite of the Connect protocol, and the protos of the service that it asks. Wants a newer Go than Debian 12's.
setup_connect() {
  local version module="$root/tests/connect/tools" place="$tools/connect" needed
  version="$(go_version)"
  needed="$(sed -n 's/^go //p' "$module/go.mod")"
  [ -n "$version" ] && at_least "$version" "$needed" || { echo "setup: connect: needs go >= $needed, has ${version:-none}"; return 0; }
  cmp -s "$module/go.sum" "$place/go.sum" && return
  echo "setup: conformance suite of the Connect protocol"
  mkdir -p "$place"
  (cd "$module" && GOTOOLCHAIN=local GOBIN="$place" go install -mod=readonly connectrpc.com/conformance/cmd/connectconformance)
  rm -rf "$place/proto"
  cp -r "$(cd "$module" && go list -m -f '{{.Dir}}' connectrpc.com/conformance)/proto" "$place/proto"
  chmod -R u+w "$place/proto"
  cp "$module/go.sum" "$place/go.sum"
}

# pre-commit, and what pip needs to install a hook without a registry.
setup_precommit() {
  command -v python3 >/dev/null || { echo "setup: precommit: needs python3"; return 0; }
  local requirements="$root/tests/doors/pre_commit.txt" wheels="$tools/pre-commit/wheels"
  python_environment pre-commit "$requirements"
  [ -d "$wheels" ] && return
  "$tools/pre-commit/bin/pip" download -q --disable-pip-version-check --require-hashes --only-binary :all: -d "$wheels.part" -r "$requirements"
  mv "$wheels.part" "$wheels"
}

# The public clients of the Model Context Protocol and of the Language Server Protocol.
setup_stdio() {
  command -v python3 >/dev/null || { echo "setup: stdio: needs python3"; return 0; }
  python_environment stdio "$root/tests/stdio/requirements.txt"
}

setup_vscode() {
  local version package="$root/clients/vscode"
  version="$(node --version 2>/dev/null | tr -d v)"
  [ -n "$version" ] && at_least "$version" 18 || { echo "setup: vscode: needs node >= 18 (nodejs, npm), has ${version:-none}"; return 0; }
  cmp -s "$package/package-lock.json" "$package/node_modules/.package-lock.from" && return
  echo "setup: npm packages of the Visual Studio Code extension"
  (cd "$package" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
  cp "$package/package-lock.json" "$package/node_modules/.package-lock.from"
}

# 800 MB: only where it is asked for by name.
setup_integrations() { python_environment python-integrations "$root/clients/python/requirements-integrations.txt"; }

clients=()
for argument in "$@"; do
  case "$argument" in
    -h | --help) usage; exit 0 ;;
    -*) usage >&2; exit 2 ;;
    *) clients+=("$argument") ;;
  esac
done
[ ${#clients[@]} != 0 ] || clients=("${all[@]}")
if [ ${#clients[@]} = 1 ]; then
  declare -F "setup_${clients[0]}" >/dev/null || { echo "setup: unknown client ${clients[0]}" >&2; usage >&2; exit 2; }
  "setup_${clients[0]}"
  exit
fi
# Each in a shell of its own: a registry that cannot be reached costs that client alone.
failed=()
for name in "${clients[@]}"; do
  "${BASH_SOURCE[0]}" "$name" || failed+=("$name")
done
[ ${#failed[@]} = 0 ] || { echo "setup: could not be set up: ${failed[*]}" >&2; exit 1; }
echo "setup: clients are there"
