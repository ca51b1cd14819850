# Configures and builds, with progress and without noise. Sourced by scripts that stand at the repository's root.

# build PRESET TARGET [CMAKE SETTINGS...]: nothing but progress on standard error; what fails is shown whole.
build() {
  local preset="$1" target="$2" log
  shift 2
  export CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1
  # Where it was configured already, ninja does that again when something has changed.
  if [ $# != 0 ] || [ ! -f "build/$preset/build.ninja" ]; then
    log="$(mktemp)"
    if ! cmake --preset "$preset" "$@" >"$log" 2>&1; then
      cat "$log" >&2
      rm -f "$log"
      echo "build: configuring failed (above); deploy/setup.sh --check lists what is missing" >&2
      return 1
    fi
    rm -f "$log"
  fi
  if [ -t 2 ]; then
    cmake --build "build/$preset" --target "$target" >&2 || build_failed
  else
    cmake --build "build/$preset" --target "$target" | every_tenth >&2 || build_failed
  fi
}

# What the compiler's messages do not say. What was built stays; the next run goes on from there.
build_failed() {
  local megabytes
  megabytes="$(df -Pm . | awk 'NR == 2 {print $4}')"
  if [ "$megabytes" -lt 300 ]; then
    echo "build: failed with $megabytes MB left on this disk: free some (2 GB are enough) and run it again" >&2
  else
    echo "build: failed (above)" >&2
  fi
  return 1
}

# Of ninja's lines "[12/345] ..." one for every tenth of the way; others as they are. Not awk: some hold back what they read.
every_tenth() {
  local line tenth shown=-1
  while IFS= read -r line || [ -n "$line" ]; do
    if [[ "$line" =~ ^\[([0-9]+)/([0-9]+)\]\  ]]; then
      tenth=$((10 * BASH_REMATCH[1] / BASH_REMATCH[2]))
      [ "$tenth" != "$shown" ] || continue
      shown="$tenth"
      echo "build: ${BASH_REMATCH[1]} of ${BASH_REMATCH[2]} steps"
    else
      printf '%s\n' "$line"
    fi
  done
}
