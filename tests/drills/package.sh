#!/usr/bin/env bash
# The Debian package's life in a Debian root that has nothing else: installed, its service's command started as its user,
# asked, upgraded with the settings kept, removed, purged without a trace. usage: package.sh [PACKAGE [SUITE]]
source "$(dirname "$0")/lib.sh"
# shellcheck source=tests/support/debian_root.sh
source "$here/../support/debian_root.sh"
[ "$(id -u)" = 0 ] || skip "needs root: a root folder of its own"
for tool in mmdebstrap dpkg-deb; do command -v "$tool" >/dev/null || skip "$tool is not installed (deploy/setup.sh --all)"; done
package="${1:-}"
suite="${2:-bookworm}"
[ -n "$package" ] || package="$("$here/../../deploy/debian/build.sh" "$bin/.." "$work")" || fail "no package"
root="$work/root"
debian_root "$suite" "$root" ca-certificates || skip "no Debian $suite (above)"
# An array, not a function: what runs in the background is then the process itself.
inside=(chroot "$root" /usr/bin/env -i HOME=/root TERM=dumb DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin)
# asks STEP: what the unit starts, as the unit's user, answers and ends with 0.
asks() {
  local command port http code=0
  command="$(unit ExecStart)"
  port="$(free_port)" http="$(free_port)"
  "${inside[@]}" setpriv --reuid flightplan --regid flightplan --clear-groups $command --listen="127.0.0.1:$port" \
    --http_listen="127.0.0.1:$http" --drain_delay=0s >"$work/$1.log" 2>&1 &
  server=$!
  wait_for "$1: the server does not get ready: $(tail -n 1 "$work/$1.log")" curl -sf -o "$work/ready" "http://127.0.0.1:$http/readyz"
  "${inside[@]}" flightplan gpus --server "127.0.0.1:$port" >"$work/gpus" || fail "$1: no answer"
  kill -TERM "$server"
  wait "$server" || code=$?
  [ "$code" = 0 ] || fail "$1: SIGTERM ends it with $code"
}

# unit NAME [UNIT]: its value in the unit.
unit() { sed -n "s/^$1=//p" "$root/usr/lib/systemd/system/${2:-flightplan}.service"; }
# sockets: with the unit's folders and umask, which systemd would make, a socket is for the group flightplan-clients alone,
# and what the service keeps is for nobody else.
sockets() {
  local kind folder mode user group socket=/run/flightplan/flightplan.sock code=0
  while read -r kind folder mode user group _; do
    "${inside[@]}" install -d -m "$mode" -o "$user" -g "$group" "$folder"
  done < <(grep '^d ' "$root/usr/lib/tmpfiles.d/flightplan.conf")
  "${inside[@]}" install -d -m "$(unit StateDirectoryMode)" -o flightplan -g flightplan /var/lib/flightplan
  for name in slurm stranger; do "${inside[@]}" adduser --system --group --quiet --no-create-home "$name"; done
  "${inside[@]}" adduser --quiet slurm flightplan-clients
  "${inside[@]}" sh -c "ulimit -c $(unit LimitCORE); umask $(unit UMask)
    exec setpriv --reuid flightplan --regid flightplan --clear-groups $(unit ExecStart) --listen=unix:$socket --http_listen= --drain_delay=0s" \
    >"$work/sockets.log" 2>&1 &
  server=$!
  wait_for "sockets: the server does not serve: $(tail -n 1 "$work/sockets.log")" grep -q '"msg":"serving"' "$work/sockets.log"
  as() { "${inside[@]}" setpriv --reuid "$1" --regid "$1" --init-groups "${@:2}"; }
  as slurm flightplan gpus --server "unix:$socket" >"$work/gpus" 2>"$work/err" || fail "Slurm's user may not use the socket: $(cat "$work/err")"
  ! as stranger flightplan gpus --server "unix:$socket" >/dev/null 2>&1 || fail "anybody may use the socket"
  ! as slurm touch /run/flightplan/other.sock 2>/dev/null || fail "a client may put a socket in the server's place"
  [ -s "$root/var/lib/flightplan/evidence.db" ] || fail "no evidence is kept"
  ! as slurm test -r /var/lib/flightplan/evidence.db || fail "a client may read what the service keeps"
  kill -TERM "$server"
  wait "$server" || code=$?
  [ "$code" = 0 ] || fail "sockets: SIGTERM ends it with $code"
  "${inside[@]}" deluser --quiet slurm
  "${inside[@]}" deluser --quiet stranger
  rm -rf "${root:?}/var/lib/flightplan"
}

# front: what its unit starts, as its user, answers for the server; nobody else opens the server's socket for it.
front() {
  local port http socket=/run/flightplan-front/server.sock code=0
  port="$(free_port)" http="$(free_port)"
  "${inside[@]}" apt-get install -y -q --no-install-recommends haproxy >"$work/haproxy.log" 2>&1 || fail "haproxy: $(tail -n 5 "$work/haproxy.log")"
  printf 'tokens: [{sha256: %s, tenant: good, roles: [admin], expires: 2126-01-01T00:00:00Z}]\n' "$(printf good | sha256sum | cut -d' ' -f1)" \
    >"$root/etc/flightplan/tokens.yaml"
  "${inside[@]}" sh -c "umask $(unit UMask)
    exec setpriv --reuid flightplan --regid flightplan --clear-groups $(unit ExecStart) --listen=127.0.0.1:0 --http_listen= --drain_delay=0s \
      --front_listen=unix:$socket --token_file=/etc/flightplan/tokens.yaml" >"$work/behind.log" 2>&1 &
  server=$!
  wait_for "front: the server does not serve" grep -q '"msg":"serving"' "$work/behind.log"
  "${inside[@]}" env FLIGHTPLAN_FRONT="127.0.0.1:$port" FLIGHTPLAN_FRONT_HTTP="127.0.0.1:$http" FLIGHTPLAN_FRONT_PLAINTEXT=1 \
    setpriv --reuid flightplan-front --regid flightplan-front --clear-groups $(unit ExecStart flightplan-front) >"$work/front.log" 2>&1 &
  pid_front=$!
  asked() { "${inside[@]}" env FLIGHTPLAN_TOKEN=good flightplan gpus --server "127.0.0.1:$port" >"$work/gpus" 2>"$work/err"; }
  wait_for "front: no answer" asked
  ! "${inside[@]}" setpriv --reuid nobody --regid nogroup --clear-groups flightplan gpus --server "unix:$socket" >/dev/null 2>"$work/err" ||
    fail "anybody may speak for the front"
  grep -qi 'permission denied' "$work/err" || fail "front: not the socket's mode: $(cat "$work/err")"
  kill -s "$(unit KillSignal flightplan-front)" "$pid_front"
  wait "$pid_front" || code=$?
  [ "$code" = 0 ] || fail "front: its unit's signal ends it with $code"
  kill -TERM "$server"
  wait "$server" || fail "front: SIGTERM ends the server with $?"
  rm -rf "${root:?}/var/lib/flightplan" "$root/etc/flightplan/tokens.yaml"
}

"${inside[@]}" apt-get update -q >"$work/update.log" 2>&1 || skip "no package lists: $(tail -n 1 "$work/update.log")"
cp "$package" "$root/tmp/flightplan.deb"
"${inside[@]}" apt-get install -y -q --no-install-recommends /tmp/flightplan.deb >"$work/install.log" 2>&1 || fail "install: $(tail -n 5 "$work/install.log")"
"${inside[@]}" flightplan version >"$work/version" || fail "version"
"${inside[@]}" getent passwd flightplan >/dev/null || fail "no user flightplan"
asks installed
sockets
front
# libpq is recommended, not needed: a server that wants it says so, at once.
code=0
"${inside[@]}" flightplan serve --listen=127.0.0.1:0 --http_listen= --evidence_store=postgresql://nobody@127.0.0.1/none 2>"$work/no_libpq" || code=$?
[ "$code" = 2 ] && grep -q 'apt-get install libpq5' "$work/no_libpq" || fail "without libpq the server ends with $code: $(cat "$work/no_libpq")"

# An upgrade: the same package under a later version. What the administrator wrote stays.
echo '# ours' >>"$root/etc/flightplan/config.yaml"
dpkg-deb -R "$package" "$work/next"
sed -i 's/^\(Version: .*\)/\1+1/' "$work/next/DEBIAN/control"
dpkg-deb --root-owner-group -Zgzip -z1 -b "$work/next" "$root/tmp/next.deb" >/dev/null
"${inside[@]}" apt-get install -y -q --no-install-recommends /tmp/next.deb >"$work/upgrade.log" 2>&1 || fail "upgrade: $(tail -n 5 "$work/upgrade.log")"
grep -q '^# ours' "$root/etc/flightplan/config.yaml" || fail "the upgrade took the settings away"
asks upgraded

mkdir -p "$root/var/lib/flightplan" && touch "$root/var/lib/flightplan/evidence.db"
"${inside[@]}" apt-get remove -y -q flightplan >"$work/remove.log" 2>&1 || fail "remove: $(tail -n 5 "$work/remove.log")"
[ -f "$root/etc/flightplan/config.yaml" ] && [ -f "$root/var/lib/flightplan/evidence.db" ] || fail "remove took settings or evidence away"
[ ! -e "$root/usr/bin/flightplan" ] || fail "remove left the program"
"${inside[@]}" apt-get purge -y -q flightplan >"$work/purge.log" 2>&1 || fail "purge: $(tail -n 5 "$work/purge.log")"
! "${inside[@]}" getent passwd flightplan >/dev/null && ! "${inside[@]}" getent passwd flightplan-front >/dev/null || fail "purge left a user"
! "${inside[@]}" getent group flightplan-clients >/dev/null || fail "purge left the group"
left="$(cd "$root" && find . -path ./proc -prune -o -name '*flightplan*' ! -path './tmp/*' ! -path './var/cache/*' ! -path './var/log/*' -print)"
[ -z "$left" ] || fail "purge left $left"
echo "package: suite=$suite file=$(basename "$package") bytes=$(stat -c %s "$package") install=ok serve=ok sockets=ok front=ok upgrade=ok remove=ok purge=ok $(head -n 1 "$work/version")"
