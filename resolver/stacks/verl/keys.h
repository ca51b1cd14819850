// The keys of verl's configuration for Megatron, as Hydra composes it: what an override may change without a '+'
// (keys.tsv).
#pragma once

#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace flightplan {

enum class VerlKey { kNone, kMap, kNull, kValue };  // kNone: there is no such key

struct VerlKeyRow {
  absl::string_view path;  // "actor_rollout_ref.actor.megatron.tensor_model_parallel_size"
  VerlKey kind;
};

absl::Span<const VerlKeyRow> VerlKeyRows();  // all, by path
VerlKey FindVerlKey(absl::string_view path);
std::vector<absl::string_view> VerlPaths();

}  // namespace flightplan
