// What rules of several stacks ask of the flex dispatcher and its backends, and the ways off them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "resolver/rules/rule.h"

namespace flightplan {

// Says how many expert ranks share an NVLink domain.
inline constexpr absl::string_view kHybridepDomainVar = "NUM_OF_HYBRID_EP_RANKS_PER_NVLINK_DOMAIN";

inline bool Flex(const Facts& f) { return f.is(Knob::moe_token_dispatcher_type, "flex"); }
// By the dispatcher's knobs alone, which a model without experts may have, too.
inline bool FlexBackend(const Facts& f, absl::string_view backend) {
  return Flex(f) && f.is(Knob::moe_flex_dispatcher_backend, backend);
}
inline bool FlexWith(const Facts& f, absl::string_view backend) { return f.moe() && FlexBackend(f, backend); }

// The ranks of the dispatcher's group, EP x ETP (Megatron-LM@d98e8a64dd
// megatron/core/transformer/moe/token_dispatcher.py:1838).
inline int64_t DispatchRanks(const Facts& f) {
  return f.size(Knob::expert_model_parallel_size) * f.size(Knob::expert_tensor_parallel_size);
}

// The NVLink domain is larger than one node: a rack of GB200, GB300 or their successors.
inline bool RackScale(const Facts& f) {
  return f.env().gpus_per_node > 0 && f.env().nvlink_domain_gpus > f.env().gpus_per_node;
}
// By their names: DeepEP does not run on them.
inline bool RackOfGraceBlackwell(const Facts& f) {
  return absl::StrContains(f.env().gpu_name, "GB200") || absl::StrContains(f.env().gpu_name, "GB300");
}

// Expert ranks that share one NVLink domain, which HybridEP has to be told; all of them where no domain is known.
inline int64_t RanksPerDomain(const Facts& f) {
  const int64_t ep = f.size(Knob::expert_model_parallel_size);
  return f.env().nvlink_domain_gpus > 0 ? std::min<int64_t>(ep, f.env().nvlink_domain_gpus) : ep;
}

// What names a flex backend goes with it, as with every fix that leaves flex (core/fix_util.cc).
inline Patch ToAllToAll() { return {Assign(Knob::moe_token_dispatcher_type, "alltoall")}; }

// The dispatchers in DeepEP's place. LoongForge's guide knows no HybridEP.
inline std::vector<Patch> OffDeepep(const Facts& f) {
  std::vector<Patch> fixes = {ToAllToAll()};
  if (!f.fork()) fixes.push_back({Assign(Knob::moe_flex_dispatcher_backend, "hybridep")});
  return fixes;
}

}  // namespace flightplan
