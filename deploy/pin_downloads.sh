#!/usr/bin/env bash
# After a version was changed by hand (a .in file of pip, a package.json, a go.mod, the pom.xml), writes the files that set-up installs
# from: every package with its version and the hashes of all its files, for all machines; then deploy/downloads.tsv.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ $# = 0 ] || { echo "usage: deploy/pin_downloads.sh"; [ "$1" = --help ] || [ "$1" = -h ] || exit 2; exit; }

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
for tool in python3 npm go mvn; do
  command -v "$tool" >/dev/null || { echo "pin_downloads: $tool is missing: run deploy/setup.sh" >&2; exit 1; }
done
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --disable-pip-version-check --require-hashes --only-binary :all: -r deploy/uv.txt

pin_python() {  # FILE.in ARGUMENTS...: FILE.txt, for Debian 12's Python and newer ones
  "$work/venv/bin/uv" pip compile -q --universal --python-version 3.11 --generate-hashes --no-annotate \
    --custom-compile-command deploy/pin_downloads.sh "${@:2}" -o "${1%.in}.txt" "$1"
}
pin_python deploy/uv.in
pin_python clients/python/requirements-dev.in
pin_python clients/python/requirements-integrations.in
pin_python tests/doors/pre_commit.in
pin_python tests/stdio/requirements.in
pin_python clients/web/test/perfetto.in
pin_python probe/toolkit.in --no-deps
pin_python probe/toolkit12.in --no-deps
pin_python probe/older_glibc/linker.in

for package in deploy/buf clients/typescript clients/web clients/vscode; do
  (cd "$package" && npm install --package-lock-only --ignore-scripts --no-audit --no-fund --loglevel=error --omit-lockfile-registry-resolved)
done
for module in clients/go clients/go/tools tests/connect/tools; do
  (cd "$module" && GOTOOLCHAIN=local go mod tidy)
done
# All that Maven fetches for the Java client into a repository that has nothing, for both machines.
cp -r clients/java "$work/java"
(cd "$work/java" && rm -rf target
  mvn -q -B -Dmaven.repo.local="$work/m2" -Dmaven.test.failure.ignore=true package dependency:copy-dependencies -DincludeScope=test -DoutputDirectory=target/lib
  for machine in x86_64 aarch_64; do
    mvn -q -B -Dmaven.repo.local="$work/m2" dependency:get -Dartifact="io.grpc:protoc-gen-grpc-java:1.62.2:exe:linux-$machine" -Dtransitive=false
  done)
(cd "$work/m2" && find . -type f \( -name '*.jar' -o -name '*.pom' -o -name '*.exe' \) -printf '%P\n' | LC_ALL=C sort | xargs sha256sum) >clients/java/repository.sha256
deploy/list_downloads.py
