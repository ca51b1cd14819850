// Whether DeepEP's dispatch between nodes hangs: with NVSHMEM 3.5.19 and later it does, on every GPU, but for builds of
// DeepEP 1 that have its change #564 (deepseek-ai/DeepEP#707, #553).
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "resolver/plan/environment.h"
#include "resolver/plan/stack.h"
#include "resolver/plan/version.h"

namespace flightplan {

// Builds of DeepEP 1 that know NVSHMEM's newer queue pairs, as their version's local part names them. The legacy
// buffers that DeepEP 2 still carries do not have the change.
inline bool KnowsNewQueuePairs(absl::string_view deepep) {
  constexpr std::array<absl::string_view, 2> kBuilds = {"+29d31c0", "+379eef7"};
  return std::any_of(kBuilds.begin(), kBuilds.end(),
                     [deepep](absl::string_view commit) { return absl::StrContains(deepep, commit); });
}

// Empty: neither the caller nor the stack's own image says. Megatron-LM's images pin NVSHMEM 3.4.5
// (core_v0.17.1:docker/Dockerfile.ci.dev:67, core_v0.19.0:106, main:121), Megatron-Bridge's did (v0.4.2:
// docker/Dockerfile.fw_base:338) and pin 3.6.5 since 0.5 (v0.5.0:docker/Dockerfile.ci:68, v0.6.0:89), with a DeepEP
// that has no #564.
inline std::optional<bool> DeepepHangsBetweenNodes(const Environment& env) {
  const auto package = [&env](absl::string_view name) {
    const auto it = env.packages.find(name);
    return it == env.packages.end() ? std::string() : it->second;
  };
  if (KnowsNewQueuePairs(package("deep_ep"))) return false;
  if (const std::string nvshmem = package("nvshmem"); !nvshmem.empty()) {
    return AtLeast(Version::Parse(nvshmem), "3.5.19");
  }
  constexpr int kNewerSince = 5;
  const Stack& stack = StackOf(env);
  if (stack.container) return env.bridge_release >= kNewerSince;
  if (stack.command_line && !stack.model_files) return false;
  return std::nullopt;
}

}  // namespace flightplan
