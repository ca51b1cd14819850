#!/usr/bin/env bash
# The image without Docker: buildah makes the second stage of deploy/container/Containerfile from the binary built here
# (the first stage is this build, on a Debian 12; with llvm-bolt laid out, as there), the image is started as its own user,
# and health answers.
# usage: image.sh
source "$(dirname "$0")/lib.sh"
command -v buildah >/dev/null || skip "buildah is not installed (Debian package buildah)"
[ "$(id -u)" = 0 ] || skip "needs root: a container's own user and root folder"
storage=(--root "$work/storage" --runroot "$work/run" --storage-driver vfs)
buildah() { command buildah "${storage[@]}" "$@"; }
program="$bin/flightplan"
if cmake --build "$bin/.." --target help | grep flightplan_laid_out >/dev/null; then  # -q would end what it reads
  cmake --build "$bin/.." --target flightplan_laid_out >"$work/laid_out.log" 2>&1 || fail "laid out: $(tail -3 "$work/laid_out.log")"
  program="$bin/flightplan_laid_out"
fi
"$here/../../deploy/container/collect_root.sh" "$program" "$work/context/root-of-image"
sed -n '/^FROM scratch/,$p' "$here/../../deploy/container/Containerfile" | sed 's/--from=build //' >"$work/Containerfile"
buildah build -q --isolation chroot --format oci -f "$work/Containerfile" -t flightplan "$work/context" >"$work/build.log" 2>&1 ||
  fail "buildah: $(tail -3 "$work/build.log")"
[ -z "$(find "$work/context" -name sh -o -name bash -o -name dpkg)" ] || fail "a shell or a package manager is in the image"
papers="$work/context/root-of-image/usr/share/doc/flightplan/THIRD_PARTY_NOTICES.txt"
grep -qF "https://snapshot.debian.org/package/haproxy/$(dpkg-query -W -f '${source:Version}' haproxy)/" "$papers" ||
  fail "where the source of the image's HAProxy is stands nowhere"
user="$(buildah inspect --type image --format '{{.OCIv1.Config.User}}' flightplan)"
entry="$(buildah inspect --type image --format '{{.OCIv1.Config.Entrypoint}} {{.OCIv1.Config.Cmd}}' flightplan)"
container="$(buildah from --ulimit nofile=16384:16384 flightplan)"  # two a connection of the front
port="$(free_port)" http="$(free_port)"
# buildah run takes a command of its own; the rest (user, root folder, environment) is the image's.
command buildah "${storage[@]}" run --isolation chroot "$container" -- /usr/bin/flightplan serve --config /etc/flightplan/config.yaml \
  --listen="127.0.0.1:$port" --http_listen="127.0.0.1:$http" --drain_delay=0s >"$work/run.log" 2>&1 &
runner=$!
for _ in $(seq 200); do
  ! curl -sf -o "$work/ready" "http://127.0.0.1:$http/readyz" || break
  kill -0 "$runner" 2>/dev/null || fail "the container ended: $(tail -5 "$work/run.log")"
  sleep 0.1
done
[ "$(cat "$work/ready")" = ready ] || fail "/readyz: $(tail -5 "$work/run.log")"
server="$(pgrep -n -f "^/usr/bin/flightplan serve .*--listen=127.0.0.1:$port")"
uid="$(awk '/^Uid/ {print $2}' "/proc/$server/status")"
[ "$uid" = 65532 ] || fail "runs as $uid, not as 65532"
"$bin/flightplan" resolve --model deepseek-v3 --gpu h100-sxm --gpus 1024 --target megatron-lm --server "127.0.0.1:$port" >"$work/plan" ||
  fail "resolve by the container"
# The front from the same image, as the pod's sidecar runs it: its settings, and a socket that both see.
kill -TERM "$server"
code=0; wait "$runner" || code=$?
[ "$code" = 0 ] || fail "SIGTERM ends the container with $code: $(tail -3 "$work/run.log")"
front="$(free_port)"
mkdir "$work/socket" && chmod 755 "$work" && chown 65532:65532 "$work/socket"
shared=(-v "$work/socket:/run/flightplan-front")
printf 'tokens: [{sha256: %s, tenant: good, roles: [admin], expires: 2126-01-01T00:00:00Z}]\n' "$(printf good | sha256sum | cut -d' ' -f1)" >"$work/tokens.yaml"
command buildah "${storage[@]}" run --isolation chroot "${shared[@]}" -v "$work/tokens.yaml:/etc/flightplan/tokens.yaml:ro" "$container" -- /usr/bin/flightplan serve \
  --front_listen=unix:/run/flightplan-front/server.sock --token_file=/etc/flightplan/tokens.yaml --listen="127.0.0.1:$port" \
  --http_listen="127.0.0.1:$http" --drain_delay=3s >"$work/run.log" 2>&1 &
runner=$!
command buildah "${storage[@]}" run --isolation chroot "${shared[@]}" --env FLIGHTPLAN_FRONT="127.0.0.1:$front" --env FLIGHTPLAN_FRONT_PLAINTEXT=1 \
  --env FLIGHTPLAN_FRONT_HTTP="127.0.0.1:$(free_port)" --env FLIGHTPLAN_FRONT_LEAVES=1 "$container" -- /usr/sbin/haproxy -db \
  -f /usr/share/flightplan/haproxy/strangers.cfg -f /usr/share/flightplan/haproxy/front.cfg >"$work/front.log" 2>&1 &
front_runner=$!
asked() { FLIGHTPLAN_TOKEN=good "$bin/flightplan" gpus --server "127.0.0.1:$front" >"$work/gpus" 2>"$work/err"; }
wait_for "the front does not answer" asked
server="$(pgrep -n -f "^/usr/bin/flightplan serve .*--listen=127.0.0.1:$port")"
kill -TERM "$server"
code=0; wait "$front_runner" || code=$?
[ "$code" = 0 ] || fail "the front does not end with its server: $code: $(tail -3 "$work/front.log")"
code=0; wait "$runner" || code=$?
[ "$code" = 0 ] || fail "SIGTERM ends the container with $code: $(tail -3 "$work/run.log")"
# The probe's image: the worker is found and says what is missing here, the driver; all that it would write is in /tmp.
if [ -x "$bin/flightplan-probe" ]; then
  "$here/../../deploy/container/collect_root.sh" "$bin/flightplan" "$work/probe_context/root-of-image" "$bin/flightplan-probe"
  sed -n '/^FROM scratch/,$p' "$here/../../deploy/container/Containerfile.probe" | sed 's/--from=build //' >"$work/Containerfile.probe"
  buildah build -q --isolation chroot --format oci -f "$work/Containerfile.probe" -t flightplan-probe "$work/probe_context" >"$work/build.log" 2>&1 ||
    fail "buildah: $(tail -3 "$work/build.log")"
  cp "$here/../../probe/testdata/synthetic.json" "$work/synthetic.json"
  container="$(buildah from flightplan-probe)"
  in_probe() { command buildah "${storage[@]}" run --isolation chroot -v "$work/synthetic.json:/etc/flightplan/synthetic.json:ro" "$container" -- /usr/bin/flightplan probe --out - "$@"; }
  code=0; in_probe >"$work/profile.json" 2>"$work/err" || code=$?
  [ "$code:$(wc -c <"$work/profile.json")" = 1:0 ] && grep -q 'driver\|GPU' "$work/err" || fail "the probe's image without a GPU: $code, $(cat "$work/err")"
  in_probe --fake /etc/flightplan/synthetic.json >"$work/profile.json" 2>&1 || fail "the probe's image with a fake device: $(tail -3 "$work/profile.json")"
  python3 -c 'import json,sys; assert json.load(open(sys.argv[1]))["rows"]' "$work/profile.json" || fail "what the probe prints is no profile alone"
fi
size="$(du -sm "$work/context/root-of-image" | cut -f1)"
echo "image: user=$user uid_seen=$uid entry=$entry root_mib=$size files=$(find "$work/context" -type f | wc -l) shell=none ready=yes resolve=ok front=ok exit=0"
