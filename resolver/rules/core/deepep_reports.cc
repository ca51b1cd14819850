// Expert groups, nodes and networks that DeepEP stops on at its first dispatch, and no check of the stacks says.
#include <string>

#include "absl/strings/str_cat.h"
#include "resolver/plan/network.h"
#include "resolver/rules/deepep_groups.h"
#include "resolver/rules/flex_dispatcher.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

// One rank alone has upstream's own check.
bool DispatchesByDeepep(F f) {
  const bool named = f.is(K::moe_flex_dispatcher_backend, "deepep") || f.on(K::moe_enable_deepep);
  return f.moe() && Flex(f) && named && DispatchRanks(f) > 1 && !RackOfGraceBlackwell(f);
}
bool HasGroup(F f, bool unknown) { return IsDeepepGroup(DeepepGroups(f.env(), unknown), DispatchRanks(f)); }
std::string GroupOf(F f) {
  return absl::StrCat("the group of EP ", f.num(K::expert_model_parallel_size), " has ", DispatchRanks(f), " ranks");
}

const Rule kRules[] = {
    {.id = "field.deepep-group-size",
     .area = "field-report",
     .at = {Phase::kHardware, 210},
     .source = "deepseek-ai/DeepEP#464, #255; DeepEP@dd758ca deep_ep/buffers/legacy.py:259, csrc/legacy/buffer.hpp:114",
     .reads = {K::moe_flex_dispatcher_backend, K::expert_model_parallel_size, K::expert_tensor_parallel_size},
     .reads_env = {"deep_ep"},
     .when = [](F f) { return DispatchesByDeepep(f) && !HasGroup(f, true); },
     .needs =
         "DeepEP stops at its first dispatch unless EP x ETP is 2, 4, 8, 16, 32, 64, 128, 144 or 160, or, in builds "
         "after 1.2.1, 24, 48 or 96",
     .fix = OffDeepep,
     .detail = GroupOf},
    {.id = "field.deepep-newer-group-size",
     .area = "field-report",
     .kind = Kind::kWarning,
     .at = {Phase::kHardware, 211},
     .source = "deepseek-ai/DeepEP#432, #421: 24, 48 and 96 ranks came after v1.2.1; its branch hybrid-ep, which the "
               "images of Megatron-LM and Megatron-Bridge build, has none of them",
     .reads = {K::moe_flex_dispatcher_backend, K::expert_model_parallel_size, K::expert_tensor_parallel_size},
     .reads_env = {"deep_ep"},
     .when = [](F f) { return DispatchesByDeepep(f) && HasGroup(f, true) && !HasGroup(f, false); },
     .needs =
         "DeepEP 1.2.1 and its branch hybrid-ep stop at the first dispatch with 24, 48 or 96 ranks; its main branch "
         "and 2.0 run them: say package deep_ep",
     .fix = OffDeepep,
     .detail = GroupOf},
    {.id = "field.deepep-nodes-of-eight",
     .area = "field-report",
     .at = {Phase::kHardware, 212},
     .source = "deepseek-ai/DeepEP#104, #477, #50, #296; DeepEP@dd758ca csrc/legacy/buffer.hpp:120",
     .reads = {K::moe_flex_dispatcher_backend, K::expert_model_parallel_size, K::expert_tensor_parallel_size},
     .reads_env = {"gpus_per_node"},
     .when =
         [](F f) {
           return DispatchesByDeepep(f) && HasGroup(f, true) && !DeepepLeavesNodes(f.env().gpus_per_node) &&
                  DispatchRanks(f) > f.env().gpus_per_node;
         },
     .needs = "DeepEP takes eight neighbouring ranks for one node, so between nodes it needs nodes of 8 GPUs; keep the "
              "experts inside a node, or use another dispatcher",
     .fix = OffDeepep,
     .detail = [](F f) { return absl::StrCat(GroupOf(f), ", a node has ", f.env().gpus_per_node, " GPUs"); }},
    {.id = "field.flex-needs-verbs",
     .area = "field-report",
     .at = {Phase::kHardware, 213},
     .source = "DeepEP@dd758caf4 README.md:72",
     .reads = {K::moe_flex_dispatcher_backend, K::expert_model_parallel_size, K::expert_tensor_parallel_size},
     .when =
         [](F f) {
           const int64_t domain = f.env().nvlink_domain_gpus;
           return (FlexWith(f, "deepep") || FlexWith(f, "hybridep")) && domain > 0 && DispatchRanks(f) > domain &&
                  f.env().capabilities.contains(kNoVerbs);
         },
     .needs = "deepep and hybridep need RDMA verbs between NVLink domains, as InfiniBand and RoCE have; alltoall runs "
              "over any network",
     .fixes = {{{K::moe_token_dispatcher_type, "alltoall"}}},
     .detail =
         [](F f) { return absl::StrCat(GroupOf(f), ", an NVLink domain has ", f.env().nvlink_domain_gpus, " GPUs"); }},
};

}  // namespace

RuleList CoreDeepepReportsRules() { return kRules; }

}  // namespace flightplan
