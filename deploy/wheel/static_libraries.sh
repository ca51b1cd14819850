#!/usr/bin/env bash
# Builds the library of the server that Debian has as a shared one alone, prometheus-cpp (its core), as an archive from
# Debian's source package. Where it is there already it only looks and returns.
# usage: static_libraries.sh PREFIX [TRIPLET]    TRIPLET: of a cross build, such as aarch64-linux-gnu
# CMake finds it by -DCMAKE_PREFIX_PATH=PREFIX.
set -euo pipefail
prefix="${1:?usage: static_libraries.sh PREFIX [TRIPLET]}"
cross="${2:+$2-}"
stamp="$prefix/built"
[ ! -e "$stamp" ] || exit 0
fail() { echo "static_libraries: $*" >&2; exit 1; }
work="$(mktemp -d "${TMPDIR:-/tmp}/flightplan-static-XXXXXX")"
trap 'rm -rf "$work"' EXIT
cxx="${cross}g++"
flags=(-O2 -std=c++17 -fPIC -ffunction-sections -fdata-sections -ffile-prefix-map="$work"=. "-I$prefix/include")

# The machine's own package sources, asked for sources; with an index of their own, so that apt is left as it is.
source_lists() {
  cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null | sed -n 's/^deb /deb-src /p' >"$work/parts/own.list" || true
  cat /etc/apt/sources.list.d/*.sources 2>/dev/null | sed 's/^Types:.*/Types: deb-src/' >"$work/parts/own.sources" || true
}

apt_own() {
  apt-get -q -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$work/parts" -o Dir::State::Lists="$work/lists" \
    -o APT::Sandbox::User=root "$@"
}

fetch_sources() {
  mkdir -p "$work/parts" "$work/lists/partial" "$work/src"
  source_lists
  apt_own update >"$work/log" 2>&1 && (cd "$work/src" && apt_own source prometheus-cpp >>"$work/log" 2>&1) ||
    fail "Debian's source package could not be fetched ($(grep -m 1 '^[EW]:' "$work/log" || tail -n 1 "$work/log")); is the package mirror reachable, and dpkg-dev installed?"
}

# compile_archive NAME INCLUDES... -- SOURCES...: $prefix/lib/libNAME.a
compile_archive() {
  local name="$1" includes=() source
  shift
  while [ "$1" != -- ]; do includes+=("$1"); shift; done
  shift
  mkdir -p "$work/$name" "$prefix/lib"
  for source in "$@"; do
    "$cxx" "${flags[@]}" "${includes[@]}" -c "$source" -o "$work/$name/$(basename "$source").o" || fail "$name: $(basename "$source") does not compile"
  done
  rm -f "$prefix/lib/lib$name.a"
  "${cross}ar" rcsD "$prefix/lib/lib$name.a" "$work/$name"/*.o
}

build_prometheus() {
  local core
  core="$(echo "$work/src"/prometheus-cpp-*/core)"
  # Its build would write these two.
  mkdir -p "$prefix/include/prometheus/detail"
  cp -r "$core/include/prometheus" "$prefix/include/"
  cat >"$prefix/include/prometheus/detail/core_export.h" <<'EOF'
#pragma once
#define PROMETHEUS_CPP_CORE_EXPORT
#define PROMETHEUS_CPP_CORE_NO_EXPORT
EOF
  compile_archive prometheus-cpp-core "-I$core/include" -- "$core"/src/*.cc "$core"/src/detail/*.cc
  mkdir -p "$prefix/lib/cmake/prometheus-cpp"
  cat >"$prefix/lib/cmake/prometheus-cpp/prometheus-cpp-config.cmake" <<'EOF'
include(CMakeFindDependencyMacro)
find_dependency(Threads)
get_filename_component(prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET prometheus-cpp::core)
  add_library(prometheus-cpp::core STATIC IMPORTED)
  set_target_properties(prometheus-cpp::core PROPERTIES IMPORTED_LOCATION "${prefix}/lib/libprometheus-cpp-core.a"
    INTERFACE_INCLUDE_DIRECTORIES "${prefix}/include" INTERFACE_LINK_LIBRARIES Threads::Threads)
endif()
set(prometheus-cpp_core_FOUND TRUE)
EOF
}

fetch_sources
build_prometheus
touch "$stamp"
