// EP overlap (1F1B all-to-all), the delayed weight gradient that goes with it, and the shared expert's own overlap.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "resolver/evidence/probe_evidence.h"
#include "resolver/rules/decide/deliberation.h"
#include "resolver/rules/decide/evidence.h"

namespace flightplan::decide {
namespace {

using K = Knob;
constexpr absl::string_view kOverlapRule = "decide.ep-overlap";
constexpr absl::string_view kWgradRule = "decide.delay-wgrad";
constexpr absl::string_view kSharedRule = "decide.shared-expert-overlap";

// Measured shares of the step below which hiding the exchange cannot pay, and above which it surely should be tried.
constexpr double kExposedTooLittle = 0.03;
constexpr double kExposedMuch = 0.10;

// The first of the stack's conditions that the rest of the configuration rules out, or an empty text.
std::string Forbidden(const Deliberation& d) {
  const Features& f = d.f;
  if (!f.moe || f.ep <= 1) return "EP 1: there is no exchange to hide";
  if (f.pp > 1 && f.vpp <= 1 && !d.pinned(K::pipeline_model_parallel_layout)) {
    return absl::StrCat("PP ", f.pp, " without virtual stages: the schedule cannot pair a forward with a backward");
  }
  if (d.is(K::moe_token_dispatcher_type, "allgather")) return "the allgather dispatcher has no overlap path";
  if (d.is(K::recompute_granularity, "full")) return "full recompute excludes it";
  if (d.is(K::recompute_granularity, "selective") && d.has(K::recompute_modules, "moe")) {
    return "recompute of `moe` excludes it";
  }
  if (d.pinned(K::moe_shared_expert_overlap) && d.on(K::moe_shared_expert_overlap)) {
    return "moe_shared_expert_overlap was asked for, and the two exclude each other";
  }
  if (d.value(K::mtp_num_layers).integer() > 1) return "more than one MTP layer";
  if (d.intent.env.torch.has_value() && !AtLeast(d.intent.env.torch, "2.6.0")) return "needs torch 2.6";
  if (d.is(K::cuda_graph_impl, "transformer_engine") &&
      (d.has(K::cuda_graph_modules, "moe") || d.has(K::cuda_graph_modules, "mlp"))) {
    return "graphs over moe or mlp exclude it";
  }
  if (d.on(K::overlap_dispatch_backward_with_experts_wgrad))
    return "overlap_dispatch_backward_with_experts_wgrad excludes it";
  return "";
}

struct Judgement {
  bool on = false;
  bool needs_ab = false;
  std::string reason;
  Basis basis = Basis::kGuidance;
  std::vector<absl::string_view> citations;
  std::optional<double> expected;
  std::vector<std::string> probe_rows;  // cited before the others
};

// A forecast change of the step that is smaller than this is within what repeated runs differ by.
constexpr double kWorthASchedule = 0.01;

std::string Milliseconds(double us) { return absl::StrFormat("%.2g ms", us / 1000); }

absl::string_view RateSource(const OverlapOutlook& outlook) {
  if (!outlook.exchange_kind.has_value()) return " at the catalogue's link rate";
  return outlook.exchange_kind == RowKind::kImported ? " at the imported rate" : "";
}

// What the GPU's own profile says; nothing where it does not tell the sides apart.
std::optional<Judgement> WeighProbe(const Deliberation& d) {
  if (d.intent.probe == nullptr) return std::nullopt;
  std::optional<OverlapOutlook> outlook = d.intent.probe->EpOverlap(d.intent, d.config());
  if (!outlook.has_value()) return std::nullopt;
  const bool emulated = outlook->corun_kind == RowKind::kEmulated;
  const std::string figures = absl::StrFormat(
      "%s co-run gain %.2f +- %.2f%s on %s; all-to-all %s per layer%s against %s of expert compute; step %+.0f %% "
      "(%+.0f..%+.0f)",
      emulated ? "estimated" : "measured", outlook->corun_gain, outlook->corun_error,
      emulated ? " beside an emulated exchange" : "", d.intent.probe->Device(), Milliseconds(outlook->exchange_us),
      RateSource(*outlook), Milliseconds(outlook->expert_us), 100 * outlook->change, 100 * outlook->low,
      100 * outlook->high);
  Judgement verdict{
      .reason = figures, .basis = emulated ? Basis::kEstimate : Basis::kMeasured, .expected = outlook->change};
  verdict.probe_rows = std::move(outlook->citations);
  if (outlook->low > -kWorthASchedule) return verdict;
  // Short steps and steps close to the memory limit lose by it in published runs, whatever the kernels do.
  const bool enough = d.f.microbatches >= evidence::kMinMicrobatchesForOverlap && !d.recompute_needed;
  if (outlook->high >= -kWorthASchedule || !enough) return std::nullopt;
  verdict.on = true;
  return verdict;
}

Judgement Weigh(const Deliberation& d) {
  const Features& f = d.f;
  const bool flex = d.is(K::moe_token_dispatcher_type, "flex");
  const bool hybridep = flex && d.is(K::moe_flex_dispatcher_backend, "hybridep");
  if (f.bring_up) {
    return {.reason = "bring-up: comes after dispatcher, routing and recompute are stable",
            .citations = {evidence::kOverlapGuide}};
  }
  if (f.microbatches == 1) return {.reason = "one microbatch: no second one to overlap with", .basis = Basis::kRule};
  // A profile of this very run beats what was measured elsewhere.
  if (d.intent.profile.has_value()) {
    const auto& exposed = d.intent.profile->exposed_all_to_all_ratio;
    if (exposed.has_value() && *exposed < kExposedTooLittle) {
      return {.reason = absl::StrCat("the profile shows ", std::lround(*exposed * 100),
                                     " % of the step in exposed all-to-all: too little to pay for the schedule"),
              .basis = Basis::kMeasured};
    }
    if (exposed.has_value() && *exposed >= kExposedMuch) {
      return {.on = true,
              .reason = absl::StrCat("the profile shows ", std::lround(*exposed * 100),
                                     " % of the step in exposed all-to-all"),
              .basis = Basis::kMeasured,
              .citations = {evidence::kOverlapHybridepTwoNodes},
              .expected = -0.5 * *exposed};
    }
  }
  if (d.full_iteration_graphs) {
    return {.on = true,
            .reason = "full-iteration graphs leave no host overhead, so the exchange is what remains to hide",
            .basis = Basis::kRecipes,
            .citations = {evidence::kOverlapAfterHostOverhead}};
  }
  if (std::optional<Judgement> probed = WeighProbe(d); probed.has_value()) return *std::move(probed);
  if (!f.ep_crosses_domain) {
    const bool measured = f.ep <= 4 && !flex;
    return {.reason = absl::StrCat("EP ", f.ep,
                                   " stays inside the NVLink domain: measured flat to 13 % slower at EP 4, because "
                                   "the schedule costs more than the exchange it hides"),
            .basis = measured ? Basis::kMeasured : Basis::kRecipes,
            .citations = {evidence::kOverlapSmallEp, evidence::kOverlapSmallEpFewMicrobatches},
            .expected = measured ? std::optional<double>(0.0) : std::nullopt};
  }
  if (f.microbatches > 0 && f.microbatches < evidence::kMinMicrobatchesForOverlap) {
    return {.needs_ab = true,
            .reason = absl::StrCat(f.microbatches, " microbatches a step: the smallest count with a measured gain is ",
                                   evidence::kMinMicrobatchesForOverlap),
            .citations = {evidence::kOverlapSmallEpFewMicrobatches, evidence::kOverlapEfa}};
  }
  if (f.blackwell) {
    return {
        .needs_ab = true,
        .reason = "EP crosses nodes, but every measured gain is on Hopper and published Blackwell recipes leave it off",
        .basis = Basis::kRecipes,
        .citations = {evidence::kOverlapHybridepTwoNodes}};
  }
  if (hybridep && d.recompute_needed) {
    return {
        .needs_ab = true,
        .reason = "memory is tight and hybridep already shortens the exchange; overlap keeps more activations alive",
        .basis = Basis::kRecipes,
        .citations = {evidence::kOverlapNearMemoryLimit, evidence::kOverlapLargeEp}};
  }
  if (hybridep && !f.sixteen_bit) {
    return {
        .needs_ab = true,
        .reason = "EP crosses nodes, but with hybridep the gain is measured in BF16 only and FP8 recipes leave it off",
        .basis = Basis::kRecipes,
        .citations = {evidence::kOverlapHybridepTwoNodes}};
  }
  Judgement yes{.on = true, .basis = Basis::kMeasured};
  yes.reason = absl::StrCat("EP ", f.ep, " spans ", f.ep_domains,
                            " NVLink domains, so the exchange runs over the network and is "
                            "exposed");
  if (hybridep) {
    yes.citations = {evidence::kOverlapHybridepTwoNodes};
    yes.expected = -0.15;
  } else if (flex) {
    yes.citations = {evidence::kOverlapLargeEp, evidence::kOverlapNearMemoryLimit};
    yes.expected = -0.15;
  } else {
    yes.citations = {evidence::kOverlapAlltoallTwoNodes, evidence::kOverlapEfa};
    yes.expected = -0.24;
  }
  return yes;
}

}  // namespace

bool WillOverlapExperts(const Deliberation& d) {
  if (!d.f.moe || d.f.ep <= 1) return false;
  if (!d.open(K::overlap_moe_expert_parallel_comm)) return d.on(K::overlap_moe_expert_parallel_comm);
  return Weigh(d).on && Forbidden(d).empty();
}

void DecideExpertOverlap(Deliberation& d) {
  if (!d.f.moe) return;
  if (d.pinned(K::overlap_moe_expert_parallel_comm)) {
    std::string reason = "set by the caller";
    std::vector<absl::string_view> citations;
    if (d.on(K::overlap_moe_expert_parallel_comm)) {
      const std::string obstacle = Forbidden(d);
      if (!obstacle.empty()) reason = absl::StrCat("set by the caller; ", obstacle);
    }
    d.Respect(K::overlap_moe_expert_parallel_comm, kOverlapRule, std::move(reason));
    return;
  }
  if (!d.open(K::overlap_moe_expert_parallel_comm)) return;
  // Where it would not pay anyway, that is the reason to give; an obstacle counts where it would.
  Judgement verdict = d.f.ep > 1 ? Weigh(d) : Judgement{};
  if (d.f.ep <= 1 || verdict.on || verdict.needs_ab) {
    if (std::string obstacle = Forbidden(d); !obstacle.empty()) {
      d.Choose(K::overlap_moe_expert_parallel_comm, false, {.rule_id = kOverlapRule, .reason = std::move(obstacle)});
      return;
    }
  }
  verdict.citations.insert(verdict.citations.begin(), verdict.probe_rows.begin(), verdict.probe_rows.end());
  if (verdict.needs_ab) {
    AbSuggestion ab{.knob = K::overlap_moe_expert_parallel_comm, .plan_value = false, .other_value = true};
    ab.reason = verdict.reason;
    ab.low = -0.25;
    ab.high = 0.13;
    if (d.on(K::moe_shared_expert_overlap)) ab.companions = {{K::moe_shared_expert_overlap, Value(false)}};
    d.SuggestAb(std::move(ab));
  }
  d.Choose(K::overlap_moe_expert_parallel_comm, verdict.on,
           {.rule_id = kOverlapRule,
            .reason = std::move(verdict.reason),
            .basis = verdict.basis,
            .citations = std::move(verdict.citations),
            .needs_ab = verdict.needs_ab,
            .expected_step_ratio = verdict.expected});
}

void DecideDelayedWgrad(Deliberation& d) {
  if (!d.f.moe || !d.open(K::delay_wgrad_compute)) return;
  if (!d.on(K::overlap_moe_expert_parallel_comm)) {
    d.Choose(K::delay_wgrad_compute, false, {.rule_id = kWgradRule, .reason = "only exists together with EP overlap"});
    return;
  }
  const bool graphed = d.is(K::cuda_graph_impl, "transformer_engine");
  if (graphed && d.intent.env.te.has_value() && !d.te_at_least("2.10.0")) {
    d.Choose(K::delay_wgrad_compute, false,
             {.rule_id = kWgradRule, .reason = "with scoped graphs it needs Transformer Engine 2.10"});
    return;
  }
  if (d.full_iteration_graphs) {
    d.Choose(K::delay_wgrad_compute, true,
             {.rule_id = kWgradRule,
              .reason = "with full-iteration graphs the queue of delayed gradients costs no host time",
              .basis = Basis::kRecipes,
              .citations = {evidence::kOverlapAfterHostOverhead}});
    return;
  }
  if (!d.f.ep_crosses_domain) {
    d.Choose(
        K::delay_wgrad_compute, false,
        {.rule_id = kWgradRule,
         .reason = absl::StrCat("measured 4.8 % slower than overlap alone where EP ", d.f.ep, " stays inside the node"),
         .basis = Basis::kMeasured,
         .citations = {evidence::kDelayWgradSmallEp},
         .expected_step_ratio = 0.0});
    return;
  }
  AbSuggestion ab{.knob = K::delay_wgrad_compute, .plan_value = false, .other_value = true};
  ab.reason = "measured between -0.35 % and +4.8 %: the interval straddles zero";
  ab.expected = -0.0035;
  ab.low = -0.0035;
  ab.high = 0.048;
  d.SuggestAb(std::move(ab));
  d.Choose(K::delay_wgrad_compute, false,
           {.rule_id = kWgradRule,
            .reason = "measured between -0.35 % and +4.8 % on top of EP overlap: not settled, needs an A/B",
            .basis = Basis::kMeasured,
            .citations = {evidence::kDelayWgradLargeEp, evidence::kDelayWgradSmallEp},
            .needs_ab = true});
}

void DecideSharedExpertOverlap(Deliberation& d) {
  if (!d.f.moe || !d.f.shared_expert || !d.open(K::moe_shared_expert_overlap)) return;
  if (d.on(K::overlap_moe_expert_parallel_comm)) {
    d.Choose(K::moe_shared_expert_overlap, false, {.rule_id = kSharedRule, .reason = "EP overlap excludes it"});
    return;
  }
  const bool recomputed = d.is(K::recompute_granularity, "selective") && d.has(K::recompute_modules, "shared_experts");
  if (d.f.bring_up || d.f.ep <= 1 || !d.is(K::moe_token_dispatcher_type, "alltoall") || recomputed ||
      !d.f.shared_expert_covers) {
    d.Choose(K::moe_shared_expert_overlap, false,
             {.rule_id = kSharedRule,
              .reason = d.f.bring_up                ? "bring-up: one moving part less"
                        : d.f.ep <= 1               ? "EP 1: no exchange to hide behind the shared expert"
                        : recomputed                ? "the shared expert is recomputed"
                        : !d.f.shared_expert_covers ? "the shared expert is too little work to hide an exchange"
                                                    : "published recipes with a flex dispatcher leave it off"});
    return;
  }
  d.Choose(K::moe_shared_expert_overlap, true,
           {.rule_id = kSharedRule,
            .reason = "the shared expert is work that hides part of the all-to-all, on a stream of its own",
            .basis = Basis::kRecipes,
            .citations = {"Megatron-Bridge@067f987df recipes/deepseek, recipes/moonlight"}});
}

}  // namespace flightplan::decide
