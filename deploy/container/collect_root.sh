#!/usr/bin/env bash
# collect_root.sh BINARY FOLDER [WORKER]: a root file system with BINARY as /usr/bin/flightplan, WORKER as
# /usr/bin/flightplan-probe, and the shared libraries they need.
set -euo pipefail
binary="$1"
root="$2"
worker="${3:-}"
mkdir -p "$root"/{usr/bin,etc/flightplan,etc/ssl/certs,run/flightplan,var/lib/flightplan,tmp}
# uid 65532 writes to these two alone; everything else may be mounted read-only.
chown 65532:65532 "$root/run/flightplan" "$root/var/lib/flightplan"
chmod 1777 "$root/tmp"
cp "$binary" "$root/usr/bin/flightplan"
# with_libraries FILE: the loader and every library that it names, under the names by which the loader looks for them.
with_libraries() {
  ldd "$1" | grep -o '/[^ ]*' | sort -u | while read -r library; do
    mkdir -p "$root$(dirname "$library")"
    cp -L "$library" "$root$library"
  done
}
with_libraries "$binary"
if [ -n "$worker" ]; then
  cp "$worker" "$root/usr/bin/flightplan-probe"
  with_libraries "$worker"
fi
# The front, a container of its own from the same image: one digest, bounds and server that fit each other.
haproxy="$(command -v haproxy || ls /usr/sbin/haproxy 2>/dev/null)" || { echo "image: haproxy is not installed: apt-get install haproxy" >&2; exit 1; }
mkdir -p "$root/usr/sbin" "$root/usr/share/flightplan/haproxy" "$root/run/flightplan-front"
chown 65532:65532 "$root/run/flightplan-front"
cp -L "$haproxy" "$root/usr/sbin/haproxy"
with_libraries "$haproxy"
cp "$(dirname "${BASH_SOURCE[0]}")"/../haproxy/{strangers.cfg,front.cfg,front.lua} "$root/usr/share/flightplan/haproxy/"
# PostgreSQL's, which the program opens where its evidence is kept there.
libpq="$(ldconfig -p | sed -n 's/.*libpq\.so\.5 .* => //p' | head -1)"
[ -n "$libpq" ] || { echo "image: libpq.so.5 is not installed: deploy/setup.sh --build-only" >&2; exit 1; }
with_libraries "$libpq"
cp -L "$libpq" "$root$libpq"
# Names of hosts, with glibc's own resolver.
for library in libnss_dns.so.2 libnss_files.so.2; do
  path="$(ldconfig -p | sed -n "s/.*$library.* => //p" | head -1)"
  if [ -n "$path" ]; then
    mkdir -p "$root$(dirname "$path")"
    cp -L "$path" "$root$path"
  fi
done
cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/" 2>/dev/null || true
# What the licences ask for: they go with the binary.
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
papers="$root/usr/share/doc/flightplan"
mkdir -p "$papers"
cp "$here"/../../{LICENSE,NOTICE} "$papers/"
/usr/bin/python3 "$here/../third_party_notices.py" image "$papers/THIRD_PARTY_NOTICES.txt"
[ -z "$worker" ] || /usr/bin/python3 "$here/../third_party_notices.py" probe "$papers/THIRD_PARTY_NOTICES.probe.txt"
/usr/bin/python3 "$here/../sbom.py" image "$binary" "$papers/flightplan.cdx.json"
printf 'listen: [127.0.0.1:50051]\n' >"$root/etc/flightplan/config.yaml"
