// How tokens reach their experts: all-to-all, DeepEP or HybridEP.
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "resolver/rules/decide/decide.h"
#include "resolver/rules/decide/deliberation.h"
#include "resolver/rules/decide/evidence.h"
#include "resolver/rules/decide/rows.h"

namespace flightplan::decide {
namespace {

using K = Knob;
constexpr absl::string_view kRule = "decide.dispatcher";

// The rule of what a caller asks for says so where the group is none of DeepEP's (rules/core/deepep_reports.cc).
bool DeepepOnHardware(D d) { return DeepepRuns(d.f, d.intent.gpu); }
bool DeepepRuns(D d) { return d.f.deepep_group && DeepepOnHardware(d); }
// A multi-node NVLink domain serves EP up to its own size and nothing beyond it.
bool HybridepRunsInDomain(const Features& f, const GpuSystem& gpu) {
  return HybridepRuns(f, gpu) && !(f.rack_scale && f.ep_domains > 1);
}
bool HybridepRuns(D d) { return HybridepRunsInDomain(d.f, d.intent.gpu); }

bool AlltoallMovesAsLittle(const Features& f) {
  return f.topk <= evidence::kFewCopies && f.dedup_ratio > evidence::kLittleDedup;
}

std::string Share(double ratio) { return absl::StrCat(std::lround(ratio * 100), " %"); }

// What is installed and runs on this fabric.
bool HybridepUsable(D d) { return d.f.hybridep && HybridepRuns(d); }
bool DeepepUsable(D d) { return d.f.deepep && DeepepRuns(d); }
bool NoneUsable(D d) { return !HybridepUsable(d) && !DeepepUsable(d); }
bool OneWouldRun(D d) { return HybridepRuns(d) || DeepepRuns(d); }
// Neither the caller nor the stack's own image says what is installed.
bool InstalledIsUnknown(D d) { return !d.intent.env.capabilities_known && d.intent.env.capabilities.empty(); }
// And between nodes.
bool HybridepCrosses(D d) { return HybridepUsable(d) && !HybridepFailsBetweenNodes(d.f); }
bool DeepepCrosses(D d) { return DeepepUsable(d) && !DeepepFailsBetweenNodes(d.f); }
// EP leaves the multi-node NVLink domain.
bool PartialRack(D d) { return d.f.rack_scale && d.f.ep_domains > 1; }
bool InsideDomain(D d) { return !d.f.ep_crosses_domain; }

constexpr Other kNameTheInstalled = {"flex", "name the installed backends as capabilities to let it be considered"};

// Each row's value: the backend, "alltoall" for the dispatcher without one.
constexpr Row kBackends[] = {
    {.when = [](D d) { return d.f.ep <= 1 && !d.full_iteration_graphs; },
     .value = "alltoall",
     .why = "EP 1: no tokens leave the GPU"},
    {.when = [](D d) { return d.f.bring_up; },
     .value = "alltoall",
     .why = "bring-up: the dispatcher with the fewest requirements comes first",
     .basis = Basis::kGuidance,
     .cites = {evidence::kDispatcherGuide}},
    {.when = [](D d) { return d.full_iteration_graphs; },
     .value = "hybridep",
     .why = "full-iteration graphs need a dispatcher that never waits on the host for token counts",
     .basis = Basis::kRecipes,
     .cites = {evidence::kHybridepRecipes}},
    {.when = [](D d) { return d.f.domain <= 1; },
     .value = "alltoall",
     .why = "no NVLink between the GPUs, which the flex backends need"},
    {.when = [](D d) { return NoneUsable(d) && d.f.deepep && DeepepOnHardware(d); },
     .value = "alltoall",
     .why =
         [](D d) {
           return absl::StrCat("EP ", d.f.ep, ": deepep has no kernels for a group of ", d.f.ep * d.f.etp,
                               " GPUs on nodes of ", d.f.node);
         },
     .cites = {evidence::kDeepepGroups}},
    {.when = [](D d) { return NoneUsable(d) && PartialRack(d); },
     .value = "alltoall",
     .why = [](D d) { return absl::StrCat("EP ", d.f.ep, " exceeds the NVLink domain of ", d.f.domain, " GPUs"); },
     .cites = {evidence::kPartialRack}},
    {.when = [](D d) { return NoneUsable(d) && InstalledIsUnknown(d) && OneWouldRun(d); },
     .value = "alltoall",
     .why = "not known whether deepep or hybridep is installed; a missing backend fails at model build",
     .other = kNameTheInstalled},
    {.when = NoneUsable, .value = "alltoall", .why = "no flex backend is usable here", .other = kNameTheInstalled},
    {.when = [](D d) { return AlltoallMovesAsLittle(d.f); },
     .value = "alltoall",
     .why =
         [](D d) {
           return absl::StrCat("top-", d.f.topk, " routing: sending each token once per destination still moves ",
                               Share(d.f.dedup_ratio), " of alltoall's rows");
         },
     .basis = Basis::kRecipes,
     .cites = {evidence::kFewCopiesInNode, evidence::kFewCopiesInRack},
     .other = Other{"flex", "pays when tokens have more experts, or EP spans few destinations"}},
    {.when = [](D d) { return InsideDomain(d) && HybridepUsable(d); },
     .value = "hybridep",
     .why =
         [](D d) {
           return absl::StrCat("EP ", d.f.ep, " stays inside the NVLink domain of ", d.f.domain,
                               " GPUs; dispatch and permutation run as one kernel");
         },
     .basis = Basis::kRecipes,
     .cites = {evidence::kHybridepRecipes, evidence::kHybridepInNodes},
     .other = Other{"alltoall", "permutes and sends one row per token and expert"}},
    {.when = InsideDomain,
     .value = "deepep",
     .why = [](D d) { return absl::StrCat("EP ", d.f.ep, " inside the node; hybridep is not installed"); },
     .basis = Basis::kGuidance,
     .cites = {evidence::kDispatcherGuide}},
    // From here on tokens cross the network.
    {.when = [](D d) { return d.f.flex_on_nvlink; },
     .value = "alltoall",
     .why =
         [](D d) {
           return absl::StrCat("EP ", d.f.ep, " spans ", d.f.ep_domains,
                               " NVLink domains, and the installed backends were built for NVLink alone");
         },
     .other = Other{"flex", "with a backend that was built for the network (--dispatcher-transport)"}},
    {.when = [](D d) { return !d.f.verbs; },
     .value = "alltoall",
     .why =
         [](D d) {
           return absl::StrCat("EP ", d.f.ep, " spans ", d.f.ep_domains, " NVLink domains over ", d.intent.transport,
                               ": flex backends need RDMA verbs between them");
         },
     .cites = {evidence::kDeepepNeedsRdma}},
    {.when = [](D d) { return d.intent.transport == "efa"; },
     .value = "alltoall",
     .why = "EFA: flex backends are slower than alltoall on it",
     .basis = Basis::kMeasured,
     .cites = {evidence::kDeepepOnEfa}},
    {.when = [](D d) { return !DeepepCrosses(d) && !HybridepCrosses(d); },
     .value = "alltoall",
     .why =
         [](D d) {
           return absl::StrCat("EP ", d.f.ep, " spans ", d.f.ep_domains, " nodes",
                               d.f.blackwell ? " of Blackwell GPUs, where hybridep is slow" : "",
                               DeepepUsable(d) ? ": deepep hangs there with NVSHMEM 3.5.19 and later, which the image "
                                                 "has or may have"
                                               : "");
         },
     .basis = Basis::kMeasured,
     .cites = {evidence::kDeepepBetweenBlackwellNodes, evidence::kHybridepBetweenBlackwellNodes},
     .other = Other{"flex", "with NVSHMEM 3.4.5 deepep runs there, as in published recipes: say package nvshmem"}},
    {.when = [](D d) { return d.f.ep > evidence::kMaxNetworkFlexEp; },
     .value = "alltoall",
     .why =
         [](D d) {
           return absl::StrCat("EP ", d.f.ep, " over the network: no flex result beyond EP ",
                               evidence::kMaxNetworkFlexEp, " is published");
         },
     .basis = Basis::kRecipes,
     .cites = {evidence::kDispatcherGuide},
     .other = Other{"flex", "worth an A/B"}},
    {.when = [](D d) { return !HybridepCrosses(d) && HybridepUsable(d); },
     .value = "deepep",
     .why =
         [](D d) {
           return absl::StrCat("EP ", d.f.ep, " spans ", d.f.ep_domains,
                               " nodes of Blackwell GPUs, where hybridep is slow: a token crosses the network once per "
                               "node, ",
                               Share(d.f.dedup_ratio), " of alltoall's rows");
         },
     .basis = Basis::kRecipes,
     .cites = {evidence::kDeepepOnBlackwellNodes, evidence::kHybridepBetweenBlackwellNodes},
     .other = Other{"alltoall", "one row per token and expert; starts with every NVSHMEM"}},
    {.when = [](D d) { return HybridepCrosses(d) && (HybridepMapFits(d.f) || !DeepepCrosses(d)); },
     .value = "hybridep",
     .why =
         [](D d) {
           return absl::StrCat("EP ", d.f.ep, " spans ", d.f.ep_domains,
                               " NVLink domains: a token crosses the network once per domain, ", Share(d.f.dedup_ratio),
                               " of alltoall's rows");
         },
     .basis = Basis::kRecipes,
     .cites = {evidence::kHybridepRecipes},
     .other = Other{"deepep", "the published choice before hybridep, and where the routing map is larger"}},
    {.when = HybridepCrosses,
     .value = "deepep",
     .why =
         [](D d) {
           return absl::StrCat("hybridep would gather a routing map of EP ", d.f.ep, " x ", d.f.experts,
                               " experts per token over the network");
         },
     .basis = Basis::kRecipes,
     .cites = {evidence::kDeepepRecipes, evidence::kDispatcherGuide},
     .other = Other{"alltoall", "one row per token and expert"}},
    {.value = "deepep",
     .why =
         [](D d) {
           return absl::StrCat("EP ", d.f.ep, " spans ", d.f.ep_domains,
                               " nodes: a token crosses the network once per node, ", Share(d.f.dedup_ratio),
                               " of alltoall's rows");
         },
     .basis = Basis::kRecipes,
     .cites = {evidence::kDeepepRecipes, evidence::kDispatcherGuide},
     .other = Other{"alltoall", "one row per token and expert"}},
};

void ReportUnsupported(Deliberation& d, std::string seen, std::string needs, std::vector<Patch> fixes) {
  Finding finding;
  finding.rule_id = "decide.backend-unsupported";
  finding.area = "dispatcher";
  finding.verdict = Verdict::kWillRun;
  finding.stage = "decide";
  finding.seen = std::move(seen);
  finding.needs = std::move(needs);
  finding.source = "Megatron-Bridge:src/megatron/bridge/training/flex_dispatcher_backend.py";
  finding.observed = {{std::string(Name(K::moe_flex_dispatcher_backend)), d.value(K::moe_flex_dispatcher_backend)}};
  finding.fixes = std::move(fixes);
  d.Report(std::move(finding));
}

// A backend that follows from the caller's word is kept; what cannot work is said, and nothing is put in its place.
// That it is not installed is the stack's own rule (build.flex-backend-installed).
void CheckBackend(Deliberation& d) {
  const absl::string_view backend = d.value(K::moe_flex_dispatcher_backend).text();
  if (backend != "deepep" && backend != "hybridep") return;
  const std::string seen = absl::StrCat("moe_flex_dispatcher_backend=", backend, " on ", d.intent.gpu.name,
                                        ", NVLink domain ", d.f.domain, ", EP ", d.f.ep);
  const Patch alltoall = {{K::moe_token_dispatcher_type, "", Value("alltoall")}};
  if (d.f.ep_crosses_domain && !d.f.verbs) {
    ReportUnsupported(d, absl::StrCat(seen, ", ", d.intent.transport, " between nodes"),
                      absl::StrCat(backend, " between nodes needs RDMA verbs: infiniband or roce; alltoall runs over ",
                                   d.intent.transport),
                      {alltoall});
    return;
  }
  const bool deepep_ok = DeepepOnHardware(d), hybridep_ok = HybridepRuns(d);
  if ((backend != "deepep" || deepep_ok) && (backend != "hybridep" || hybridep_ok)) return;
  std::vector<Patch> fixes;
  if (backend == "deepep" && hybridep_ok) {
    fixes.push_back({{K::moe_flex_dispatcher_backend, "", Value("hybridep")}});
  }
  fixes.push_back(alltoall);
  ReportUnsupported(d, seen,
                    backend == "deepep" ? "deepep needs NVLink nodes with compute capability 8 or 9, or B200/B300"
                                        : "hybridep needs EP inside the NVLink domain of a rack-scale system",
                    std::move(fixes));
}

bool OpenOrOn(D d, Knob knob) { return d.open(knob) || d.on(knob); }
bool OpenOr(D d, Knob knob, absl::string_view text) { return d.open(knob) || d.is(knob, text); }

// The knobs of whole-iteration capture are ours to set, or set so already.
bool FreeToCapture(D d) {
  return OpenOr(d, K::cuda_graph_impl, "full_iteration") && OpenOrOn(d, K::moe_paged_stash) &&
         OpenOr(d, K::moe_token_dispatcher_type, "flex") && d.known(K::use_transformer_engine_op_fuser) && !d.f.fsdp;
}

// The fused grouped MLP exists for MXFP8 on Blackwell, by upstream's own conditions (Megatron-LM
// megatron/core/transformer/moe/experts.py:382).
bool HasFusedGroupedMlp(D d) {
  return d.f.blackwell && d.f.precision == Precision::kMxfp8 && d.te_at_least("2.14.0") && d.f.etp == 1 &&
         d.intent.model.gated_linear_unit;
}

// On x86 nodes the host keeps up better, and where alltoall beats a flex dispatcher the capture does not make up for
// it.
bool CapturePays(D d) { return d.f.rack_scale || d.f.ep <= 1 || !AlltoallMovesAsLittle(d.f); }

// Layers with static shapes, their tokens inside the NVLink domain. A pipeline needs virtual stages, without which the
// captured exchange would stand in the open.
bool CapturableLayout(D d) { return InsideDomain(d) && (d.f.pp == 1 || d.f.vpp > 1) && !d.f.hybrid_attention; }

// As it is, or with the cheap modules recomputed, which the capture allows (Megatron-Bridge@067f987df
// perf_recipes/deepseek/common.py:49). The stash pages out what the buffers do not hold.
bool CaptureFits(D d) {
  const auto fits = [&](unsigned modules) {
    return Fits(d.f, Reserved(d.f, MemoryNeed(d.f, {.modules = modules}, /*imbalance=*/1)));
  };
  if (fits(0)) return true;
  return d.open(K::recompute_granularity) &&
         fits((d.f.mla ? unsigned{kDropMlaUpProj} : 0u) | kDropMoeAct | kDropLayernorm);
}

// Whole-iteration capture of a dropless MoE: expert buffers of a fixed capacity, paged out of the way (paged stash),
// and the fused grouped MLP. Tokens beyond the capacity are lost, so it must be one that cannot overflow: any, where
// balance is forced; EP times the mean, where it is not.
void WeighFullIterationGraphs(Deliberation& d) {
  const Features& f = d.f;
  if (f.bring_up || !f.paged_stash || !HasFusedGroupedMlp(d) || !HybridepUsable(d) || !CapturableLayout(d) ||
      !CapturePays(d) || !FreeToCapture(d)) {
    return;
  }
  d.expert_capacity_factor = f.benchmark ? evidence::kForcedBalanceCapacity : static_cast<double>(f.ep);
  d.full_iteration_graphs = CaptureFits(d) && (f.benchmark || f.ep <= evidence::kMaxLosslessCapacityEp);
}

// A backend was named, and it is not none.
bool BackendNamed(D d) {
  return d.pinned(K::moe_flex_dispatcher_backend) && !d.value(K::moe_flex_dispatcher_backend).is_none();
}

Finding BackendWithoutFlex(D d) {
  Finding finding = DecisionWarning("decide.backend-without-flex", "dispatcher");
  finding.seen = absl::StrCat("moe_flex_dispatcher_backend=", d.value(K::moe_flex_dispatcher_backend).ToText(),
                              ", moe_token_dispatcher_type=", d.value(K::moe_token_dispatcher_type).ToText());
  finding.needs = "the backend alone does nothing: moe_token_dispatcher_type must be flex";
  finding.source = "Megatron-LM:megatron/core/transformer/moe/token_dispatcher.py";
  finding.fixes = {{{K::moe_token_dispatcher_type, "", Value("flex")}},
                   {{K::moe_flex_dispatcher_backend, "", Value()}}};
  return finding;
}

// The backend for a flex dispatcher that was asked for. Left open, upstream's default is deepep, also where it cannot
// run.
absl::string_view BackendForFabric(D d) {
  if (d.pinned(K::moe_enable_deepep) && d.on(K::moe_enable_deepep)) return "deepep";  // its old word
  const bool known = d.intent.env.capabilities_known;
  const bool hybridep = HybridepRuns(d) && (!known || d.f.hybridep);
  const bool deepep = DeepepRuns(d) && (!known || d.f.deepep);
  if (d.f.ep_crosses_domain && deepep && HybridepFailsBetweenNodes(d.f) && !DeepepFailsBetweenNodes(d.f)) {
    return "deepep";
  }
  return hybridep && (HybridepMapFits(d.f) || !deepep) ? "hybridep" : "deepep";
}

// The caller named the dispatcher.
void KeepDispatcher(Deliberation& d) {
  if (d.is(K::moe_token_dispatcher_type, "flex")) {
    d.Choose(K::moe_flex_dispatcher_backend, Value(BackendForFabric(d)),
             {.rule_id = kRule,
              .reason = "the flex dispatcher was asked for; this is the backend for this fabric",
              .basis = Basis::kRecipes,
              .citations = {evidence::kHybridepRecipes}});
    CheckBackend(d);
    ChooseDispatcherSms(d, d.value(K::moe_flex_dispatcher_backend).text());
  } else if (BackendNamed(d)) {
    d.Report(BackendWithoutFlex(d));
  }
  d.Respect(K::moe_token_dispatcher_type, kRule, "set by the caller");
}

// The caller named a backend without its dispatcher: the wish is clear, the activation was forgotten.
void ActivateBackend(Deliberation& d) {
  d.Choose(K::moe_token_dispatcher_type, Value("flex"),
           {.rule_id = kRule,
            .reason = absl::StrCat("moe_flex_dispatcher_backend=", d.value(K::moe_flex_dispatcher_backend).ToText(),
                                   " was asked for, and a backend without the flex dispatcher does nothing")});
  CheckBackend(d);
  ChooseDispatcherSms(d, d.value(K::moe_flex_dispatcher_backend).text());
}

void ChooseDispatcher(Deliberation& d) {
  const Row& row = *FirstThatHolds(kBackends, d);
  Why why = WhyOf(row, kRule, d);
  const Value backend = row.value(d);
  if (backend.text() == "alltoall") {
    d.Choose(K::moe_token_dispatcher_type, backend, std::move(why));
    return;
  }
  if (!d.known(K::moe_flex_dispatcher_backend) && backend.text() == "deepep") {  // before 0.16: DeepEP only
    d.Follow(K::moe_enable_deepep, true, K::moe_token_dispatcher_type, kRule, "deepep");
  }
  const std::string reason = std::exchange(why.reason, absl::StrCat(backend.text(), ": ", why.reason));
  d.Choose(K::moe_token_dispatcher_type, "flex", std::move(why));
  d.Follow(K::moe_flex_dispatcher_backend, backend, K::moe_token_dispatcher_type, kRule, reason);
  ChooseDispatcherSms(d, backend.text());
}

}  // namespace

void DecideDispatcher(Deliberation& d) {
  if (!d.f.moe) return;
  WeighFullIterationGraphs(d);
  if (d.pinned(K::moe_token_dispatcher_type)) {
    KeepDispatcher(d);
  } else if (!d.open(K::moe_token_dispatcher_type)) {
    return;
  } else if (BackendNamed(d)) {
    ActivateBackend(d);
  } else {
    ChooseDispatcher(d);
  }
}

}  // namespace flightplan::decide

namespace flightplan {

bool FlexBackendRuns(const NormalizedIntent& intent, const Config& config) {
  if (config.Get(Knob::moe_token_dispatcher_type).text() != "flex") return true;
  const decide::Features f = decide::ExtractFeatures(intent, std::nullopt, config);
  if (f.ep_crosses_domain && decide::FlexStaysInDomain(f)) return false;
  return config.Get(Knob::moe_flex_dispatcher_backend).text() == "hybridep"
             ? decide::HybridepRunsInDomain(f, intent.gpu)
             : f.deepep_group && decide::DeepepRuns(f, intent.gpu);
}

}  // namespace flightplan
