#!/usr/bin/env bash
# Installs what Flightplan is built and tested with, on Debian 12. Run it as often as you like: where everything is
# there it only looks and returns.
set -euo pipefail

# Every dependency by name, with what needs it.
packages=(
  build-essential cmake ninja-build ccache mold pkg-config git python3 python3-yaml  # the build
  libabsl-dev libprotobuf-dev protobuf-compiler libgrpc++-dev protobuf-compiler-grpc # the contract
  libyaml-cpp-dev rapidjson-dev zlib1g-dev                                           # catalogues, config.json, golden files
  prometheus-cpp-dev libcpp-httplib-dev libgoogle-perftools-dev                      # the server
  libsqlite3-dev libpq-dev                                                           # the evidence store
)
test_packages=(
  libgtest-dev libgmock-dev libbenchmark-dev  # tests and benchmarks
  clang-format-14 clang-tidy-14               # format and lint
  python3-venv                                # the Python client's tools
  python3-jsonschema slurm-wlm munge          # the doors: SARIF's schema, a real Slurm
  haproxy openssl curl                        # drills: the balancer, certificates, /metrics
  libnghttp2-dev                              # drills: a caller that sends faster than a gRPC client can
  clang-14 libclang-rt-14-dev                 # fuzz targets: libFuzzer's runtime, and the preset fuzz
  postgresql                                  # the evidence store's tests start one of their own
  etcd-server                                 # under the API server that the Kubernetes door is tested with
  prometheus                                  # promtool, which reads /metrics as Prometheus does
)
# Toolchains of the clients in other languages: a command, and the packages that bring it. One that the machine has by
# other means stays.
toolchains=(
  "go golang-go"
  "node nodejs"
  "npm npm"                     # buf comes by it too
  "javac default-jdk-headless"
  "mvn maven"
  "cargo cargo-web rustc-web"  # the newer of Debian's two: the other, 1.65, can read the registry by its git index alone
)
buf_package="$(cd "$(dirname "${BASH_SOURCE[0]}")/buf" && pwd)"  # its version, and its hashes
buf_version="$(sed -n 's,.*"@bufbuild/buf-linux-x64": "\([0-9.]*\)".*,\1,p' "$buf_package/package.json")"
buf_home="${XDG_CACHE_HOME:-$HOME/.cache}/flightplan/buf-$buf_version"

usage() {
  cat <<EOF
usage: deploy/setup.sh [--build-only] [--cuda] [--check]
Installs Flightplan's dependencies on Debian 12 (root, apt-get), and buf $buf_version from the npm package @bufbuild/buf.
  --build-only   only what a build needs: no test tools, no buf, no toolchains of the clients
  --cuda         also the CUDA compiler of probe/toolkit.sh, without which the GPU probe is built with a fake device alone
  --check        install nothing; list what is missing and exit 1 if anything is
EOF
}

missing_packages() {
  local name
  for name in "$@"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null)" = installed ] || echo "$name"
  done
}

missing_toolchains() {
  local row command names
  for row in "${toolchains[@]}"; do
    read -r command names <<<"$row"
    command -v "$command" >/dev/null || tr ' ' '\n' <<<"$names"
  done
}

install_packages() {
  if [ "$(id -u)" != 0 ]; then
    echo "setup: missing: $*" >&2
    echo "setup: run as root, or: sudo apt-get install $*" >&2
    exit 1
  fi
  echo "setup: installing $*"
  apt-get update -q
  DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@"
}

install_buf() {
  echo "setup: installing buf $buf_version"
  mkdir -p "$buf_home"
  cp "$buf_package"/package.json "$buf_package"/package-lock.json "$buf_home/"
  npm ci --prefix "$buf_home" --ignore-scripts --no-audit --no-fund --loglevel=error &&
    mkdir -p "$buf_home/node_modules/.bin" &&
    ln -sf "$(echo "$buf_home"/node_modules/@bufbuild/buf-linux-*/bin/buf)" "$buf_home/node_modules/.bin/buf"
  [ -x "$buf_home/node_modules/.bin/buf" ]  # npm is content without an optional package, also where its hash is wrong
}

build_only=false
cuda=false
check=false
failed=false
for argument in "$@"; do
  case "$argument" in
    --build-only) build_only=true ;;
    --cuda) cuda=true ;;
    --check) check=true ;;
    -h | --help) usage; exit 0 ;;
    *) echo "setup: unknown argument $argument" >&2; usage >&2; exit 2 ;;
  esac
done

$build_only || packages+=("${test_packages[@]}")
mapfile -t missing < <(missing_packages "${packages[@]}"; $build_only || missing_toolchains)
buf_missing=false
$build_only || [ -x "$buf_home/node_modules/.bin/buf" ] || buf_missing=true

if $check; then
  [ ${#missing[@]} = 0 ] || echo "missing packages: ${missing[*]}"
  ! $buf_missing || echo "missing: buf $buf_version"
  [ ${#missing[@]} = 0 ] && ! $buf_missing
  exit
fi
[ ${#missing[@]} = 0 ] || install_packages "${missing[@]}"
# Without buf only the protos cannot be checked, so the rest is set up all the same.
! $buf_missing || install_buf || { echo "setup: buf could not be installed: npm's registry is out of reach, or what it has is not what deploy/buf/package-lock.json names" >&2; failed=true; }
# Nothing but the GPU probe's kernels needs it, so where it cannot be had the rest is still set up.
! $cuda || "$(dirname "${BASH_SOURCE[0]}")/../probe/toolkit.sh" ||
  echo "setup: no CUDA compiler: the GPU probe will be built with a fake device alone" >&2
! $failed || exit 1
echo "setup: everything is there"
