// The repositories that rules cite, from resolver/catalog/releases.yaml by the build.
#pragma once

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace flightplan::cli {

struct Upstream {
  absl::string_view repository;  // "NVIDIA/Megatron-LM"
  absl::string_view revision;    // a commit or a tag: "core_v0.17.1"
  absl::string_view version;     // "0.17.1"; empty: the newest code read
};

absl::Span<const Upstream> Upstreams();

}  // namespace flightplan::cli
