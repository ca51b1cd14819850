// How tokens reach their experts: all-to-all, DeepEP or HybridEP, and with how many SMs.
#include "absl/strings/str_cat.h"
#include "resolver/evidence/probe_evidence.h"
#include "resolver/rules/decide/deliberation.h"
#include "resolver/rules/decide/evidence.h"

namespace flightplan::decide {
namespace {

using K = Knob;
constexpr absl::string_view kRule = "decide.dispatcher";

enum class Backend { kAlltoall, kDeepep, kHybridep };

struct Choice {
  Backend backend = Backend::kAlltoall;
  std::string reason;
  Basis basis = Basis::kRecipes;
  std::vector<absl::string_view> citations;
  std::vector<Alternative> alternatives;
};

// DeepEP's gate in Megatron-Bridge: compute capability 8 or 9, or a board named B200/B300. Rack-scale systems do not
// pass.
bool DeepepRuns(const Deliberation& d) {
  const int cc = d.intent.gpu.cc_major;
  return d.f.domain > 1 && !d.f.rack_scale && (cc == 8 || cc == 9 || HasFlexBackend(d.intent.gpu, "deepep"));
}

bool HybridepRuns(const Deliberation& d) {
  const int cc = d.intent.gpu.cc_major;
  if (d.f.domain <= 1 || cc > 10 || (cc != 0 && cc < 8)) return false;
  // A multi-node NVLink domain serves EP up to its own size and nothing beyond it.
  return !(d.f.rack_scale && d.f.ep_domains > 1);
}

bool AlltoallMovesAsLittle(const Features& f) {
  return f.topk <= evidence::kFewCopies && f.dedup_ratio > evidence::kLittleDedup;
}

bool SlowSmallMessages(const Deliberation& d) { return d.intent.transport == "efa"; }

std::string Share(double ratio) { return absl::StrCat(static_cast<int>(ratio * 100 + 0.5), " %"); }

Choice ChooseBackend(Deliberation& d, bool hybridep, bool deepep) {
  const Features& f = d.f;
  if (f.ep <= 1 && !d.full_iteration_graphs) {
    return {.reason = "EP 1: no tokens leave the GPU", .basis = Basis::kRule};
  }
  if (f.bring_up) {
    return {.reason = "bring-up: the dispatcher with the fewest requirements comes first",
            .basis = Basis::kGuidance,
            .citations = {evidence::kDispatcherGuide}};
  }
  if (d.full_iteration_graphs) {
    return {.backend = Backend::kHybridep,
            .reason = "full-iteration graphs need a dispatcher that never waits on the host for token counts",
            .citations = {evidence::kHybridepRecipes}};
  }
  if (!hybridep && !deepep) {
    std::string reason = "no flex backend is usable here";
    if (!d.intent.env.capabilities_known) {
      reason = "not known whether deepep or hybridep is installed; a missing backend fails at model build";
    } else if (f.domain <= 1) {
      reason = "no NVLink between the GPUs";
    } else if (f.rack_scale && f.ep_domains > 1) {
      reason = absl::StrCat("EP ", f.ep, " exceeds the NVLink domain of ", f.domain, " GPUs");
    }
    Choice choice{.reason = std::move(reason), .basis = Basis::kRule};
    if (f.rack_scale && f.ep_domains > 1) choice.citations = {evidence::kPartialRack};
    choice.alternatives.push_back(
        {Value("flex"), "name the installed backends as capabilities to let it be considered"});
    return choice;
  }
  if (AlltoallMovesAsLittle(f)) {
    return {.reason = absl::StrCat("top-", f.topk, " routing: sending each token once per destination still moves ",
                                   Share(f.dedup_ratio), " of alltoall's rows"),
            .citations = {evidence::kFewCopiesInNode, evidence::kFewCopiesInRack},
            .alternatives = {{Value("flex"), "pays when tokens have more experts, or EP spans few destinations"}}};
  }
  if (!f.ep_crosses_domain) {
    if (hybridep) {
      return {.backend = Backend::kHybridep,
              .reason = absl::StrCat("EP ", f.ep, " stays inside the NVLink domain of ", f.domain,
                                     " GPUs; dispatch and permutation run as one kernel"),
              .citations = {evidence::kHybridepRecipes, evidence::kDispatcherGuide},
              .alternatives = {{Value("alltoall"), "permutes and sends one row per token and expert"}}};
    }
    return {.backend = Backend::kDeepep,
            .reason = absl::StrCat("EP ", f.ep, " inside the node; hybridep is not installed"),
            .basis = Basis::kGuidance,
            .citations = {evidence::kDispatcherGuide}};
  }
  // Tokens cross the network.
  if (SlowSmallMessages(d)) {
    return {.reason = "EFA: flex backends are slower than alltoall on it",
            .basis = Basis::kMeasured,
            .citations = {evidence::kDeepepOnEfa}};
  }
  if (f.ep > evidence::kMaxNetworkFlexEp) {
    return {.reason = absl::StrCat("EP ", f.ep, " over the network: no flex result beyond EP ",
                                   evidence::kMaxNetworkFlexEp, " is published"),
            .citations = {evidence::kDispatcherGuide},
            .alternatives = {{Value("flex"), "worth an A/B"}}};
  }
  const int64_t routing_map = f.ep * f.experts;
  if (hybridep && (routing_map <= evidence::kMaxNetworkRoutingMap || !deepep)) {
    return {.backend = Backend::kHybridep,
            .reason = absl::StrCat("EP ", f.ep, " spans ", f.ep_domains,
                                   " NVLink domains: a token crosses the network once per "
                                   "domain, ",
                                   Share(f.dedup_ratio), " of alltoall's rows"),
            .citations = {evidence::kHybridepRecipes},
            .alternatives = {
                {Value("deepep"), "the published choice before hybridep, and where the routing map is larger"}}};
  }
  return {.backend = Backend::kDeepep,
          .reason = hybridep ? absl::StrCat("hybridep would gather a routing map of EP ", f.ep, " x ", f.experts,
                                            " experts per token over the network")
                             : absl::StrCat("EP ", f.ep, " spans ", f.ep_domains,
                                            " nodes: a token crosses the network once per "
                                            "node, ",
                                            Share(f.dedup_ratio), " of alltoall's rows"),
          .citations = {evidence::kDeepepRecipes, evidence::kDispatcherGuide},
          .alternatives = {{Value("alltoall"), "one row per token and expert"}}};
}

void ReportError(Deliberation& d, absl::string_view id, std::string seen, std::string needs, std::vector<Patch> fixes) {
  Finding finding;
  finding.rule_id = id;
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
void CheckBackend(Deliberation& d) {
  const absl::string_view backend = d.value(K::moe_flex_dispatcher_backend).text();
  const bool deepep_ok = DeepepRuns(d), hybridep_ok = HybridepRuns(d);
  const Patch to_alltoall = {{K::moe_token_dispatcher_type, "", Value("alltoall")}};
  Patch to_hybridep = {{K::moe_flex_dispatcher_backend, "", Value("hybridep")}};
  if ((backend == "deepep" && !deepep_ok) || (backend == "hybridep" && !hybridep_ok)) {
    std::vector<Patch> fixes;
    if (backend == "deepep" && hybridep_ok) fixes.push_back(std::move(to_hybridep));
    fixes.push_back(to_alltoall);
    ReportError(d, "decide.backend-unsupported",
                absl::StrCat("moe_flex_dispatcher_backend=", backend, " on ", d.intent.gpu.name, ", NVLink domain ",
                             d.f.domain, ", EP ", d.f.ep),
                backend == "deepep" ? "deepep needs NVLink nodes with compute capability 8 or 9, or B200/B300"
                                    : "hybridep needs EP inside the NVLink domain of a rack-scale system",
                std::move(fixes));
    return;
  }
  if (d.intent.env.capabilities_known && (backend == "deepep" || backend == "hybridep") &&
      d.intent.env.capabilities.count(std::string(backend)) == 0) {
    ReportError(d, "decide.backend-not-installed",
                absl::StrCat("moe_flex_dispatcher_backend=", backend, ", not among the installed capabilities"),
                absl::StrCat(backend, " must be installed, or another dispatcher be used"), {to_alltoall});
  }
}

void ChooseSms(Deliberation& d, absl::string_view backend) {
  const bool hybridep = backend == "hybridep";
  if (!hybridep && backend != "deepep") return;
  Value sms(hybridep ? 32 : 20);
  Why why{.rule_id = "decide.dispatcher-sms",
          .reason = hybridep ? "the count that the performance harness uses; 16 to 32 is the range worth sweeping"
                             : "DeepEP's default; worth a sweep once dispatch shows in the profile",
          .basis = Basis::kRecipes,
          .citations = {hybridep ? evidence::kHybridepHarnessSms : evidence::kDeepepDefaultSms,
                        evidence::kDispatcherGuide}};
  // One knob since 0.19; before, one for each backend.
  const Knob older = hybridep ? K::moe_hybridep_num_sms : K::moe_deepep_num_sms;
  if (d.pinned(older) || d.pinned(K::moe_flex_dispatcher_num_sms)) return;
  std::optional<SmOutlook> probed;
  if (d.intent.probe != nullptr) probed = d.intent.probe->DispatcherSms(d.intent, d.config());
  if (probed.has_value()) {
    sms = Value(probed->best);
    why.reason = absl::StrCat("fitted to what ", probed->emulated ? "an emulated exchange gave" : "was measured",
                              " on ", d.intent.probe->Device(), ": ", probed->best, " SMs");
    if (probed->low < probed->high)
      absl::StrAppend(&why.reason, "; ", probed->low, " to ", probed->high,
                      " are alike by it, the range worth sweeping");
    why.basis = Basis::kEstimate;
    why.citations.assign(probed->citations.begin(), probed->citations.end());
  }
  d.Choose(d.known(K::moe_flex_dispatcher_num_sms) ? K::moe_flex_dispatcher_num_sms : older, sms, std::move(why));
}

}  // namespace

void DecideDispatcher(Deliberation& d) {
  const Features& f = d.f;
  if (!f.moe) return;
  const bool known = d.intent.env.capabilities_known;
  const bool hybridep = known && f.hybridep && HybridepRuns(d);
  const bool deepep = known && f.deepep && DeepepRuns(d);

  // Whole-iteration capture of a dropless MoE: expert buffers of a fixed capacity, paged out of the way (paged stash),
  // and the fused grouped MLP that exists for MXFP8 on Blackwell. Tokens beyond the capacity are lost, so it must be
  // one that cannot overflow: any, where balance is forced; EP times the mean, where it is not.
  const bool free_to_capture = (d.open(K::cuda_graph_impl) || d.is(K::cuda_graph_impl, "full_iteration")) &&
                               (d.open(K::moe_paged_stash) || d.on(K::moe_paged_stash)) &&
                               d.known(K::use_transformer_engine_op_fuser) && !f.fsdp;
  // The fused grouped MLP: upstream's own conditions (Megatron-LM megatron/core/transformer/moe/experts.py:382).
  const bool fused_mlp = d.te_at_least("2.14.0") && f.etp == 1 && d.intent.model.gated_linear_unit;
  // On x86 nodes the host keeps up better, and where alltoall beats a flex dispatcher the capture does not make up for
  // it.
  const bool worth_it = f.rack_scale || f.ep <= 1 || !AlltoallMovesAsLittle(f);
  if (!f.bring_up && worth_it && fused_mlp && f.blackwell && f.precision == Precision::kMxfp8 && f.paged_stash &&
      hybridep && !f.ep_crosses_domain && f.pp == 1 && !f.hybrid_attention && free_to_capture &&
      (d.open(K::moe_token_dispatcher_type) || d.is(K::moe_token_dispatcher_type, "flex"))) {
    d.expert_capacity_factor = f.benchmark ? evidence::kForcedBalanceCapacity : static_cast<double>(f.ep);
    // The stash pages out what the buffers do not hold.
    const double need = Reserved(f, MemoryNeed(f, {}, 1));
    d.full_iteration_graphs = Fits(f, need) && (f.benchmark || f.ep <= evidence::kMaxLosslessCapacityEp);
  }

  if (d.pinned(K::moe_token_dispatcher_type)) {
    if (d.is(K::moe_token_dispatcher_type, "flex")) {
      // Left open, upstream's default backend is deepep, also where it cannot run.
      const bool hybridep_open = HybridepRuns(d) && (!known || f.hybridep);
      const bool deepep_open = DeepepRuns(d) && (!known || f.deepep);
      const bool map_fits = !f.ep_crosses_domain || f.ep * f.experts <= evidence::kMaxNetworkRoutingMap;
      const bool pick_hybridep = hybridep_open && (map_fits || !deepep_open);
      d.Choose(K::moe_flex_dispatcher_backend, pick_hybridep ? Value("hybridep") : Value("deepep"),
               {.rule_id = kRule,
                .reason = "the flex dispatcher was asked for; this is the backend for this fabric",
                .basis = Basis::kRecipes,
                .citations = {evidence::kHybridepRecipes}});
      CheckBackend(d);
      ChooseSms(d, d.value(K::moe_flex_dispatcher_backend).text());
    } else if (d.pinned(K::moe_flex_dispatcher_backend) && !d.value(K::moe_flex_dispatcher_backend).is_none()) {
      Finding finding;
      finding.rule_id = "decide.backend-without-flex";
      finding.area = "dispatcher";
      finding.severity = Severity::kWarning;
      finding.verdict = Verdict::kAdvice;
      finding.stage = "decide";
      finding.seen = absl::StrCat("moe_flex_dispatcher_backend=", d.value(K::moe_flex_dispatcher_backend).ToText(),
                                  ", moe_token_dispatcher_type=", d.value(K::moe_token_dispatcher_type).ToText());
      finding.needs = "the backend alone does nothing: moe_token_dispatcher_type must be flex";
      finding.source = "Megatron-LM:megatron/core/transformer/moe/token_dispatcher.py";
      finding.fixes = {{{K::moe_token_dispatcher_type, "", Value("flex")}}};
      d.Report(std::move(finding));
    }
    d.Respect(K::moe_token_dispatcher_type, kRule, "set by the caller");
    return;
  }
  if (!d.open(K::moe_token_dispatcher_type)) return;
  if (d.pinned(K::moe_flex_dispatcher_backend) && !d.value(K::moe_flex_dispatcher_backend).is_none()) {
    // A backend named without its dispatcher: the wish is clear, the activation was forgotten.
    d.Choose(K::moe_token_dispatcher_type, Value("flex"),
             {.rule_id = kRule,
              .reason = absl::StrCat("moe_flex_dispatcher_backend=", d.value(K::moe_flex_dispatcher_backend).ToText(),
                                     " was asked for, and a backend without the flex dispatcher does nothing")});
    CheckBackend(d);
    ChooseSms(d, d.value(K::moe_flex_dispatcher_backend).text());
    return;
  }

  Choice choice = ChooseBackend(d, hybridep, deepep);
  const bool flex = choice.backend != Backend::kAlltoall;
  const absl::string_view name = choice.backend == Backend::kHybridep ? "hybridep" : "deepep";
  if (flex && !d.known(K::moe_flex_dispatcher_backend)) {  // releases before 0.16 know DeepEP only
    if (choice.backend == Backend::kDeepep)
      d.Follow(K::moe_enable_deepep, true, K::moe_token_dispatcher_type, kRule, "deepep");
  }
  d.Choose(K::moe_token_dispatcher_type, flex ? Value("flex") : Value("alltoall"),
           {.rule_id = kRule,
            .reason = flex ? absl::StrCat(name, ": ", choice.reason) : choice.reason,
            .basis = choice.basis,
            .citations = choice.citations,
            .alternatives = std::move(choice.alternatives)});
  if (!flex) return;
  d.Follow(K::moe_flex_dispatcher_backend, Value(name), K::moe_token_dispatcher_type, kRule, choice.reason);
  ChooseSms(d, name);
}

}  // namespace flightplan::decide
