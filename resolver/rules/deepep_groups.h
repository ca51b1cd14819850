// The expert groups that DeepEP runs with. Its tables of configurations know no other size, and its kernels between
// nodes no other number of nodes (deepseek-ai/DeepEP@dd758ca deep_ep/buffers/legacy.py:245,
// csrc/kernels/legacy/launch.cuh:66; v1.2.1 deep_ep/buffer.py:232, csrc/kernels/launch.cuh:52).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/plan/environment.h"
#include "resolver/plan/version.h"

namespace flightplan {

// EP x ETP. Those of the end came after 1.2.1 (#421, #432).
inline constexpr int64_t kDeepepGroups[] = {2, 4, 8, 16, 32, 64, 128, 144, 160, 24, 48, 96};
inline constexpr size_t kNewerDeepepGroups = 3;

// Eight neighbouring ranks are one node to it, whatever the nodes are (csrc/legacy/buffer.hpp:120).
inline constexpr int64_t kDeepepNode = 8;

// Empty: the caller does not say, or names a build between the releases.
inline std::optional<bool> HasNewerDeepepGroups(const Environment& env) {
  const auto it = env.packages.find("deep_ep");
  if (it == env.packages.end() || it->second.empty()) return std::nullopt;
  if (AtLeast(Version::Parse(it->second), "2.0")) return true;
  const bool between = AtLeast(Version::Parse(it->second), "1.2.1") && absl::StrContains(it->second, '+') &&
                       !absl::StrContains(it->second, "+9af0e0d");  // the commit of 1.2.1 itself
  return between ? std::nullopt : std::optional<bool>(false);
}

// `unknown`: what is taken for a DeepEP of which nothing is said.
inline absl::Span<const int64_t> DeepepGroups(const Environment& env, bool unknown = false) {
  const absl::Span<const int64_t> all = kDeepepGroups;
  return HasNewerDeepepGroups(env).value_or(unknown) ? all : all.subspan(0, all.size() - kNewerDeepepGroups);
}

inline bool IsDeepepGroup(absl::Span<const int64_t> groups, int64_t ranks) {
  return std::find(groups.begin(), groups.end(), ranks) != groups.end();
}

// Whether it reaches another node of this size at all.
inline bool DeepepLeavesNodes(int64_t gpus_per_node) { return gpus_per_node <= 0 || gpus_per_node % kDeepepNode == 0; }

}  // namespace flightplan
