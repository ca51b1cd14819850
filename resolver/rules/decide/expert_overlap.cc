// EP overlap (1F1B all-to-all), the delayed weight gradient that goes with it, and the shared expert's own overlap.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "resolver/derive/bridge_provider.h"
#include "resolver/evidence/probe_evidence.h"
#include "resolver/rules/decide/deliberation.h"
#include "resolver/rules/decide/evidence.h"
#include "resolver/rules/decide/rows.h"

namespace flightplan::decide {
namespace {

using K = Knob;
constexpr absl::string_view kOverlapRule = "decide.ep-overlap";
constexpr absl::string_view kWgradRule = "decide.delay-wgrad";
constexpr absl::string_view kSharedRule = "decide.shared-expert-overlap";

// Measured shares of the step below which hiding the exchange cannot pay, and above which it surely should be tried.
constexpr double kExposedTooLittle = 0.03;
constexpr double kExposedMuch = 0.10;

bool Graphed(D d) { return d.is(K::cuda_graph_impl, "transformer_engine"); }
bool Recomputes(D d, absl::string_view module) {
  return d.is(K::recompute_granularity, "selective") && d.has(K::recompute_modules, module);
}

// The stack's conditions that the rest of the configuration rules out.
constexpr Row kObstacles[] = {
    {.when = [](D d) { return !d.f.moe || d.f.ep <= 1; }, .value = false, .why = "EP 1: there is no exchange to hide"},
    {.when = [](D d) { return d.f.pp > 1 && d.f.vpp <= 1 && !d.pinned(K::pipeline_model_parallel_layout); },
     .value = false,
     .why =
         [](D d) {
           return absl::StrCat("PP ", d.f.pp,
                               " without virtual stages: the schedule cannot pair a forward with a backward");
         }},
    {.when = [](D d) { return d.is(K::moe_token_dispatcher_type, "allgather"); },
     .value = false,
     .why = "the allgather dispatcher has no overlap path"},
    {.when = [](D d) { return d.is(K::recompute_granularity, "full"); },
     .value = false,
     .why = "full recompute excludes it"},
    {.when = [](D d) { return Recomputes(d, "moe"); }, .value = false, .why = "recompute of `moe` excludes it"},
    {.when = [](D d) { return d.pinned(K::moe_shared_expert_overlap) && d.on(K::moe_shared_expert_overlap); },
     .value = false,
     .why = "moe_shared_expert_overlap was asked for, and the two exclude each other"},
    {.when = [](D d) { return !ObstacleToOverlap(d.intent, d.config()).empty(); },
     .value = false,
     .why = [](D d) { return std::string(ObstacleToOverlap(d.intent, d.config())); }},
    {.when =
         [](D d) {
           return OverlapsPredictionInPipelinesAlone(d.intent.env) && d.f.pp <= 1 &&
                  d.value(K::mtp_num_layers).integer() == 1;
         },
     .value = false,
     .why = "before core 0.18 it schedules a prediction layer only in a pipeline"},
    {.when =
         [](D d) { return Graphed(d) && (d.has(K::cuda_graph_modules, "moe") || d.has(K::cuda_graph_modules, "mlp")); },
     .value = false,
     .why = "graphs over moe or mlp exclude it"},
    {.when = [](D d) { return d.on(K::overlap_dispatch_backward_with_experts_wgrad); },
     .value = false,
     .why = "overlap_dispatch_backward_with_experts_wgrad excludes it"},
};

// What weighing the exchange against the schedule that hides it came to.
struct Judgement {
  const Row* row = nullptr;  // null: the probe settled it, as below
  bool on = false;
  std::string reason;
  Basis basis = Basis::kMeasured;
  double change = 0;                    // of the step
  std::vector<std::string> probe_rows;  // that it rests on
};

// A forecast change of the step that is smaller than this is within what repeated runs differ by.
constexpr double kWorthASchedule = 0.01;

std::string Milliseconds(double us) { return absl::StrFormat("%.2g ms", us / 1000); }

absl::string_view RateSource(ExchangeSource source) {
  switch (source) {
    case ExchangeSource::kCatalogue:
      return " at the catalogue's link rate";
    case ExchangeSource::kImported:
      return " at the imported rate";
    case ExchangeSource::kMeasured:
      return " at the rate between the node's GPUs";
    case ExchangeSource::kOwnKernels:
      return " at the rate of the probe's own kernels between GPUs";
  }
  return "";
}

// What the GPU's own profile says; nothing where it does not tell the sides apart.
std::optional<Judgement> WeighProbe(D d) {
  if (d.intent.probe == nullptr) return std::nullopt;
  std::optional<OverlapOutlook> outlook = d.intent.probe->EpOverlap(d.intent, d.config());
  if (!outlook.has_value()) return std::nullopt;
  const bool emulated = outlook->corun_kind == RowKind::kEmulated;
  const std::string figures = absl::StrFormat(
      "%s co-run gain %.2f +- %.2f%s on %s; all-to-all %s per layer%s against %s of expert compute; step %+.0f %% "
      "(%+.0f..%+.0f)",
      emulated ? "estimated" : "measured", outlook->corun_gain, outlook->corun_error,
      emulated ? " beside an emulated exchange" : "", d.intent.probe->Device(), Milliseconds(outlook->exchange_us),
      RateSource(outlook->exchange_source), Milliseconds(outlook->expert_us), 100 * outlook->change, 100 * outlook->low,
      100 * outlook->high);
  Judgement verdict{.reason = figures,
                    .basis = emulated ? Basis::kEstimate : Basis::kMeasured,
                    .change = outlook->change,
                    .probe_rows = std::move(outlook->citations)};
  if (outlook->low > -kWorthASchedule) return verdict;
  // Short steps and steps close to the memory limit lose by it in published runs, whatever the kernels do.
  const bool enough = d.f.microbatches >= evidence::kMinMicrobatchesForOverlap && !d.recompute_needed;
  if (outlook->high >= -kWorthASchedule || !enough) return std::nullopt;
  verdict.on = true;
  return verdict;
}

// The share of the step in exposed all-to-all, where a profile of this very run tells it.
std::optional<double> ProfiledExposure(D d) {
  return d.intent.profile.has_value() ? d.intent.profile->exposed_all_to_all_ratio : std::nullopt;
}
bool MeasuredFlat(D d) { return !d.f.ep_crosses_domain && d.f.ep <= 4 && !Flex(d); }

std::string InsideDomain(D d) {
  return absl::StrCat("EP ", d.f.ep,
                      " stays inside the NVLink domain: measured flat to 13 % slower at EP 4, because the schedule "
                      "costs more than the exchange it hides");
}
std::string ExposedOnNetwork(D d) {
  return absl::StrCat("EP ", d.f.ep, " spans ", d.f.ep_domains,
                      " NVLink domains, so the exchange runs over the network and is exposed");
}

AbSuggestion OverlapAb(D) {
  AbSuggestion ab{.knob = K::overlap_moe_expert_parallel_comm, .plan_value = false, .other_value = true};
  ab.low = -0.25;
  ab.high = kMostLostByOverlap;
  return ab;
}

// A profile of this very run, and what no measurement elsewhere can change, come before the probe's word.
constexpr Row kBeforeProbe[] = {
    {.when = [](D d) { return d.f.bring_up; },
     .value = false,
     .why = "bring-up: comes after dispatcher, routing and recompute are stable",
     .basis = Basis::kGuidance,
     .cites = {evidence::kOverlapGuide}},
    {.when = [](D d) { return d.f.microbatches == 1; },
     .value = false,
     .why = "one microbatch: no second one to overlap with"},
    {.when = [](D d) { return ProfiledExposure(d).value_or(1) < kExposedTooLittle; },
     .value = false,
     .why =
         [](D d) {
           return absl::StrCat("the profile shows ", std::lround(*ProfiledExposure(d) * 100),
                               " % of the step in exposed all-to-all: too little to pay for the schedule");
         },
     .basis = Basis::kMeasured},
    {.when = [](D d) { return ProfiledExposure(d).value_or(0) >= kExposedMuch; },
     .value = true,
     .why =
         [](D d) {
           return absl::StrCat("the profile shows ", std::lround(*ProfiledExposure(d) * 100),
                               " % of the step in exposed all-to-all");
         },
     .basis = Basis::kMeasured,
     .cites = {evidence::kOverlapHybridepTwoNodes},
     .expected = [](D d) { return std::optional<double>(-0.5 * *ProfiledExposure(d)); }},
    {.when = [](D d) { return d.full_iteration_graphs; },
     .value = true,
     .why = "full-iteration graphs leave no host overhead, so the exchange is what remains to hide",
     .basis = Basis::kRecipes,
     .cites = {evidence::kOverlapAfterHostOverhead}},
};

// By what was measured and published elsewhere.
constexpr Row kByEvidence[] = {
    {.when = MeasuredFlat,
     .value = false,
     .why = InsideDomain,
     .basis = Basis::kMeasured,
     .cites = {evidence::kOverlapSmallEp, evidence::kOverlapSmallEpFewMicrobatches},
     .expected = 0.0},
    {.when = [](D d) { return !d.f.ep_crosses_domain; },
     .value = false,
     .why = InsideDomain,
     .basis = Basis::kRecipes,
     .cites = {evidence::kOverlapSmallEp, evidence::kOverlapSmallEpFewMicrobatches}},
    {.when = [](D d) { return d.f.microbatches > 0 && d.f.microbatches < evidence::kMinMicrobatchesForOverlap; },
     .value = false,
     .why =
         [](D d) {
           return absl::StrCat(d.f.microbatches, " microbatches a step: the smallest count with a measured gain is ",
                               evidence::kMinMicrobatchesForOverlap);
         },
     .basis = Basis::kGuidance,
     .cites = {evidence::kOverlapSmallEpFewMicrobatches, evidence::kOverlapEfa},
     .needs_ab = true,
     .ab = OverlapAb},
    {.when = [](D d) { return d.f.blackwell && d.f.pp == 1; },
     .value = false,
     .why = "EP crosses nodes, but every measured gain is on Hopper and published Blackwell recipes without a pipeline "
            "leave it off",
     .basis = Basis::kRecipes,
     .cites = {evidence::kOverlapHybridepTwoNodes},
     .needs_ab = true,
     .ab = OverlapAb},
    // The next two are for the forecast to change: other dispatchers are said to overlap there.
    {.when = [](D d) { return Hybridep(d) && d.recompute_needed; },
     .value = false,
     .why = "room has to be made, and hybridep already shortens the exchange; overlap keeps more activations alive",
     .basis = Basis::kEstimate,
     .cites = {evidence::kOverlapNearMemoryLimit, evidence::kOverlapLargeEp}},
    {.when = [](D d) { return Hybridep(d) && !d.f.sixteen_bit; },
     .value = false,
     .why = "EP crosses nodes, but with hybridep the gain is measured in BF16 only and FP8 recipes leave it off",
     .basis = Basis::kEstimate,
     .cites = {evidence::kOverlapHybridepTwoNodes}},
    {.when = Hybridep,
     .value = true,
     .why = ExposedOnNetwork,
     .basis = Basis::kMeasured,
     .cites = {evidence::kOverlapHybridepTwoNodes},
     .expected = -0.15},
    {.when = Flex,
     .value = true,
     .why = ExposedOnNetwork,
     .basis = Basis::kMeasured,
     .cites = {evidence::kOverlapLargeEp, evidence::kOverlapNearMemoryLimit},
     .expected = -0.15},
    {.value = true,
     .why = ExposedOnNetwork,
     .basis = Basis::kMeasured,
     .cites = {evidence::kOverlapAlltoallTwoNodes, evidence::kOverlapEfa},
     .expected = -0.24},
};

Judgement Weigh(D d) {
  const Row* row = FirstThatHolds(kBeforeProbe, d);
  if (row == nullptr) {
    if (std::optional<Judgement> probed = WeighProbe(d); probed.has_value()) return *std::move(probed);
    row = FirstThatHolds(kByEvidence, d);
  }
  return {.row = row, .on = row->value(d).truthy()};
}

void ChooseProbed(Deliberation& d, Judgement verdict) {
  d.Choose(K::overlap_moe_expert_parallel_comm, verdict.on,
           {.rule_id = kOverlapRule,
            .reason = std::move(verdict.reason),
            .basis = verdict.basis,
            .citations = {verdict.probe_rows.begin(), verdict.probe_rows.end()},
            .expected_step_ratio = verdict.change});
}

void KeepExpertOverlap(Deliberation& d) {
  std::string reason = "set by the caller";
  const Row* obstacle = d.on(K::overlap_moe_expert_parallel_comm) ? FirstThatHolds(kObstacles, d) : nullptr;
  if (obstacle != nullptr) absl::StrAppend(&reason, "; ", obstacle->why(d));
  d.Respect(K::overlap_moe_expert_parallel_comm, kOverlapRule, std::move(reason));
}

bool WithoutEpOverlap(D d) { return !d.on(K::overlap_moe_expert_parallel_comm); }

AbSuggestion DelayedWgradAb(D) {
  AbSuggestion ab{.knob = K::delay_wgrad_compute, .plan_value = false, .other_value = true};
  ab.reason = "measured between -0.35 % and +4.8 %: the interval straddles zero";
  ab.low = -0.0035;
  ab.high = 0.048;
  return ab;
}

constexpr Row kDelayedWgrad[] = {
    {.when = WithoutEpOverlap, .value = false, .why = "only exists together with EP overlap"},
    {.when = [](D d) { return Graphed(d) && d.intent.env.te.has_value() && !d.te_at_least("2.10.0"); },
     .value = false,
     .why = "with scoped graphs it needs Transformer Engine 2.10"},
    {.when = [](D d) { return d.full_iteration_graphs; },
     .value = true,
     .why = "with full-iteration graphs the queue of delayed gradients costs no host time",
     .basis = Basis::kRecipes,
     .cites = {evidence::kOverlapAfterHostOverhead}},
    {.when = [](D d) { return !d.f.ep_crosses_domain; },
     .value = false,
     .why =
         [](D d) {
           return absl::StrCat("measured 4.8 % slower than overlap alone where EP ", d.f.ep, " stays inside the node");
         },
     .basis = Basis::kMeasured,
     .cites = {evidence::kDelayWgradSmallEp},
     .expected = 0.0},
    {.value = false,
     .why = "measured between -0.35 % and +4.8 % on top of EP overlap: not settled, needs an A/B",
     .basis = Basis::kMeasured,
     .cites = {evidence::kDelayWgradLargeEp, evidence::kDelayWgradSmallEp},
     .needs_ab = true,
     .ab = DelayedWgradAb},
};

constexpr Row kSharedExpert[] = {
    {.when = [](D d) { return !WithoutEpOverlap(d); }, .value = false, .why = "EP overlap excludes it"},
    {.when = [](D d) { return d.f.bring_up; }, .value = false, .why = "bring-up: one moving part less"},
    {.when = [](D d) { return !LimitsOfProvider(d.config(), d.intent.env).shared_expert_overlap; },
     .value = false,
     .why = "Megatron-Bridge refuses it for this model, whose shared expert has an input of its own"},
    {.when = [](D d) { return d.f.ep <= 1; },
     .value = false,
     .why = "EP 1: no exchange to hide behind the shared expert"},
    {.when = [](D d) { return Recomputes(d, "shared_experts"); },
     .value = false,
     .why = "the shared expert is recomputed"},
    {.when = [](D d) { return !SharedExpertHidesAllToAll(d.f); },
     .value = false,
     .why = "the shared expert is too little work to hide an exchange"},
    {.when = [](D d) { return !d.is(K::moe_token_dispatcher_type, "alltoall"); },
     .value = false,
     .why = "published recipes with a flex dispatcher leave it off"},
    {.value = true,
     .why = "the shared expert is work that hides part of the all-to-all, on a stream of its own",
     .basis = Basis::kRecipes,
     .cites = {"Megatron-Bridge@067f987df recipes/deepseek, recipes/moonlight"}},
};

}  // namespace

bool WgradAsksForOverlap(const Deliberation& d) {
  const bool asked = d.pinned(K::delay_wgrad_compute) && d.on(K::delay_wgrad_compute);
  return asked && d.f.ep > 1 && FirstThatHolds(kObstacles, d) == nullptr;
}

bool WillOverlapExperts(const Deliberation& d) {
  if (!d.f.moe || d.f.ep <= 1) return false;
  if (!d.open(K::overlap_moe_expert_parallel_comm)) return d.on(K::overlap_moe_expert_parallel_comm);
  if (WgradAsksForOverlap(d)) return true;
  return Weigh(d).on && FirstThatHolds(kObstacles, d) == nullptr;
}

void DecideExpertOverlap(Deliberation& d) {
  constexpr Knob kOverlap = K::overlap_moe_expert_parallel_comm;
  if (!d.f.moe) return;
  if (d.pinned(kOverlap)) return KeepExpertOverlap(d);
  if (!d.open(kOverlap)) return;
  if (WgradAsksForOverlap(d)) {
    d.Choose(kOverlap, true,
             {.rule_id = kOverlapRule, .reason = "delay_wgrad_compute, which you set, is a part of it"});
    return;
  }
  // Where it would not pay anyway, that is the reason to give; an obstacle counts where it would, or might.
  Judgement verdict = d.f.ep > 1 ? Weigh(d) : Judgement{};
  const bool may_pay = d.f.ep <= 1 || verdict.on || (verdict.row != nullptr && verdict.row->needs_ab(d));
  if (may_pay && Choose(d, kOverlap, kOverlapRule, kObstacles) != nullptr) return;
  if (verdict.row == nullptr) return ChooseProbed(d, std::move(verdict));
  Choose(d, kOverlap, kOverlapRule, absl::MakeConstSpan(verdict.row, 1));
}

void DecideDelayedWgrad(Deliberation& d) {
  if (d.f.moe) Choose(d, K::delay_wgrad_compute, kWgradRule, kDelayedWgrad);
}

void DecideSharedExpertOverlap(Deliberation& d) {
  if (d.f.moe && d.f.shared_expert) Choose(d, K::moe_shared_expert_overlap, kSharedRule, kSharedExpert);
}

}  // namespace flightplan::decide

namespace flightplan {

bool IsOverlapKeptInside(const Decision& decision) {
  const std::vector<std::string>& cited = decision.citations;
  return decision.rule_id == decide::kOverlapRule && !decision.value.truthy() &&
         std::find(cited.begin(), cited.end(), decide::evidence::kOverlapSmallEp) != cited.end();
}

}  // namespace flightplan
