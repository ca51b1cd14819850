#!/usr/bin/env bash
# Installs what Flightplan is built and tested with, on Debian 12 and 13. Run it as often as you like: where everything is
# there it only looks and returns.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
codename="$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release 2>/dev/null || true)"
llvm=14 bolt_release=16
[ "$codename" != trixie ] || llvm=19 bolt_release=19

# Every dependency by name, with what needs it. Each list needs those above it.
terminal_packages=(
  build-essential cmake ninja-build mold pkg-config git python3 python3-yaml         # the build
  libabsl-dev libprotobuf-dev protobuf-compiler libgrpc++-dev protobuf-compiler-grpc # the contract
  libyaml-cpp-dev rapidjson-dev                                                      # catalogues, config.json
  zlib1g-dev                                                                         # packed logs
  libutf8proc-dev                                                                    # how wide text is on a terminal
)
server_packages=(
  prometheus-cpp-dev libboost-dev libgoogle-perftools-dev  # metrics, HTTP (Beast), the allocator
  zlib1g-dev                                                # gzip at the port for browsers
  libsqlite3-dev libpq-dev                                       # the evidence store; Nsight Systems' reports
  advancecomp                                                    # packs the wheel
)
test_packages=(
  ccache                                      # built more than once
  libgtest-dev libgmock-dev libbenchmark-dev  # tests and benchmarks
  python3-venv python3-jsonschema             # the Python client's tools, SARIF's schema
  haproxy openssl curl prometheus             # drills: the balancer, certificates, /metrics, promtool
  libnghttp2-dev                              # drills: a caller that sends faster than a gRPC client can
  "clang-$llvm" "libclang-rt-$llvm-dev"       # fuzz targets: libFuzzer's runtime, and the preset fuzz
  postgresql                                  # the evidence store's tests start one of their own
  zsh fish mandoc man-db                      # completion in each shell, the manual page
)
# Lays the server's code out by what runs (deploy/bolt); its counting runs on x86-64 alone.
bolt_packages=()
[ "$(uname -m)" != x86_64 ] || bolt_packages=("bolt-$bolt_release")
# The second tier (tests/run.sh --all): clusters, parcels, other machines.
second_tier_packages=(
  slurm-wlm munge etcd-server          # the doors: a real Slurm, and what is under a real API server
  buildah mmdebstrap                   # drills: the image, and machines that have nothing installed
)
# Format and lint are those of one release, which other Debians have not; there the checks say "skipped".
[ "$codename" != bookworm ] || test_packages+=(clang-format-14 clang-tidy-14)
# Whoever keeps a compiler cache wants it used; a first build is quicker without.
[ ! -d "${CCACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ccache}" ] || terminal_packages+=(ccache)

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
buf_package="$here/buf"  # its version, and its hashes
buf_version="$(sed -n 's,.*"@bufbuild/buf-linux-x64": "\([0-9.]*\)".*,\1,p' "$buf_package/package.json")"
buf_home="${XDG_CACHE_HOME:-$HOME/.cache}/flightplan/buf-$buf_version"

usage() {
  cat <<EOF
usage: deploy/setup.sh [--terminal | --build-only | --all] [--bolt] [--check]
Installs Flightplan's dependencies on Debian 12 or 13 (root, apt-get); without an option those of tests/run.sh.
  --terminal     only what the terminal program is built with (deploy/quickstart.sh)
  --build-only   only what terminal program and server are built with
  --bolt         also llvm-bolt, for the target flightplan_laid_out (deploy/bolt, x86-64)
  --all          also what tests/run.sh --all needs: clusters, the clients' toolchains, buf $buf_version, and the CUDA
                 compiler of probe/toolkit.sh, without which the GPU probe is built with a fake device alone
  --check        install nothing; list what is missing and exit 1 if anything is
EOF
}

fail() { echo "setup: $*" >&2; exit 1; }

missing_packages() {
  local installed
  # Its exit code says that some are unknown to it.
  installed="$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "$@" 2>/dev/null | sed -n 's/ installed$//p' || true)"
  printf '%s\n' "$@" | grep -vxF -f <(printf '%s\n' "${installed:-none}") || true
}

missing_toolchains() {
  local row command names
  for row in "${toolchains[@]}"; do
    read -r command names <<<"$row"
    command -v "$command" >/dev/null || tr ' ' '\n' <<<"$names"
  done
}

# Reads apt's status lines; one line that changes on a terminal, else one for every fifth.
show_progress() {
  local kind percent text shown=-20
  while IFS=: read -r kind _ percent text; do
    percent="${percent%%.*}"
    [ "$kind" = dlstatus ] && text="downloading" || text="installing"
    if [ -t 2 ]; then
      printf '\rsetup: %s %3d %%   ' "$text" "$percent" >&2
    elif [ "$percent" -ge $((shown + 20)) ] || [ "$percent" -lt "$shown" ]; then
      shown="$percent"
      echo "setup: $text $percent %" >&2
    fi
  done
  [ ! -t 2 ] || printf '\r%30s\r' '' >&2
}

# Its output goes to a file and is shown where it fails.
apt() {
  local log
  log="$(mktemp)"
  if ! DEBIAN_FRONTEND=noninteractive apt-get "$@" </dev/null >"$log" 2>&1; then
    grep -E '^(E|W|dpkg): ?' "$log" | tail -n 3 >&2 || tail -n 3 "$log" >&2
    rm -f "$log"
    return 1
  fi
  rm -f "$log"
}

install_packages() {
  [ "$(id -u)" = 0 ] || fail "needs $# packages that are not installed; as root: apt-get install --no-install-recommends $*"
  echo "setup: installing $# packages and what they need: $*" >&2
  # What an interrupted run left half installed.
  [ -z "$(dpkg --audit)" ] || dpkg --configure -a >/dev/null 2>&1 || true
  apt update -q || fail "apt-get update failed: is there a network, and a Debian mirror in /etc/apt?"
  apt install -y -q --no-install-recommends -o APT::Status-Fd=3 "$@" 3> >(show_progress) ||
    fail "apt-get install failed (see above; a full disk and a lost network leave nothing that another run does not repair)"
}

install_buf() {
  echo "setup: installing buf $buf_version" >&2
  mkdir -p "$buf_home"
  cp "$buf_package"/package.json "$buf_package"/package-lock.json "$buf_home/"
  npm ci --prefix "$buf_home" --ignore-scripts --no-audit --no-fund --loglevel=error &&
    mkdir -p "$buf_home/node_modules/.bin" &&
    ln -sf "$(echo "$buf_home"/node_modules/@bufbuild/buf-linux-*/bin/buf)" "$buf_home/node_modules/.bin/buf"
  [ -x "$buf_home/node_modules/.bin/buf" ]  # npm is content without an optional package, also where its hash is wrong
}

level=test
bolt=false
check=false
for argument in "$@"; do
  case "$argument" in
    --terminal) level=terminal ;;
    --build-only) level=server ;;
    --all) level=all ;;
    --bolt) bolt=true ;;
    --check) check=true ;;
    -h | --help) usage; exit 0 ;;
    *) echo "setup: unknown argument $argument" >&2; usage >&2; exit 2 ;;
  esac
done
command -v apt-get >/dev/null && command -v dpkg-query >/dev/null ||
  fail "this machine has no apt-get: Flightplan is built on Debian 12 or 13; elsewhere install the wheel or run the image"
case "$codename" in
  bookworm | trixie) ;;
  *) echo "setup: ${codename:-an unknown distribution} was never tried, only Debian 12 and 13; going on with their packages" >&2 ;;
esac

packages=("${terminal_packages[@]}")
[ "$level" = terminal ] || packages+=("${server_packages[@]}")
[[ "$level" = terminal || "$level" = server ]] || packages+=("${test_packages[@]}")
buf_missing=false
[ $bolt = false ] && [ "$level" != all ] || packages+=("${bolt_packages[@]}")
if [ "$level" = all ]; then
  packages+=("${second_tier_packages[@]}")
  mapfile -t -O "${#packages[@]}" packages < <(missing_toolchains)
  [ -x "$buf_home/node_modules/.bin/buf" ] || buf_missing=true
fi
mapfile -t missing < <(missing_packages "${packages[@]}")

if $check; then
  [ ${#missing[@]} = 0 ] || echo "missing packages: ${missing[*]}"
  ! $buf_missing || echo "missing: buf $buf_version"
  [ ${#missing[@]} = 0 ] && ! $buf_missing
  exit
fi
[ ${#missing[@]} = 0 ] || install_packages "${missing[@]}"
failed=false
# Without buf only the protos cannot be checked, so the rest is set up all the same.
! $buf_missing || install_buf || { echo "setup: buf could not be installed: npm's registry is out of reach, or what it has is not what deploy/buf/package-lock.json names" >&2; failed=true; }
# Nothing but the GPU probe's kernels needs it, so where it cannot be had the rest is still set up.
[ "$level" != all ] || "$here/../probe/toolkit.sh" ||
  echo "setup: no CUDA compiler: the GPU probe will be built with a fake device alone" >&2
! $failed || exit 1
echo "setup: everything is there" >&2
