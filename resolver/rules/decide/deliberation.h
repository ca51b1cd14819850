// The state that the decisions share, and their only means to write.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/evidence/measurement.h"
#include "resolver/plan/stack.h"
#include "resolver/rules/decide/decide.h"
#include "resolver/rules/decide/features.h"

namespace flightplan::decide {

// Why a value was chosen.
struct Why {
  absl::string_view rule_id;
  std::string reason;
  Basis basis = Basis::kRule;
  absl::InlinedVector<absl::string_view, 2> citations = {};
  std::vector<Alternative> alternatives = {};
  bool needs_ab = false;
  std::optional<double> expected_step_ratio = std::nullopt;
};

struct PairEffect;  // measured.h

class Deliberation {
 public:
  // `pairs`: reported A/B pairs that may settle a choice (PairsFor); must outlive this object.
  Deliberation(const NormalizedIntent& i, DecidedPlan* plan, absl::Span<const Measurement* const> pairs = {})
      : intent(i), stack(StackOf(i.env)), plan_(plan), pairs_(pairs) {}

  const NormalizedIntent& intent;
  const Stack& stack;
  Features f;  // extracted once the sizes are settled

  // What earlier topics worked out for later ones.
  bool full_iteration_graphs = false;  // whole-iteration capture of a dropless MoE is possible and chosen
  double expert_capacity_factor = 0;   // of those graphs: tokens an expert rank can take against the mean
  bool recompute_needed = false;       // the layout does not fit without recompute
  double footprint_bytes = 0;          // with the recompute that was chosen

  const Config& config() const { return plan_->config; }
  const Value& value(Knob knob) const { return plan_->config.Get(knob); }
  bool on(Knob knob) const { return value(knob).truthy(); }
  bool is(Knob knob, absl::string_view text) const { return value(knob).is_text() && value(knob).text() == text; }
  bool has(Knob knob, absl::string_view item) const;
  // The release has the knob, and neither the caller nor the model gave it; what an earlier topic decided is closed.
  bool open(Knob knob) const { return origin(knob) == Origin::kDefault && !LeavesOff(stack, knob); }
  bool known(Knob knob) const { return origin(knob) != Origin::kAbsent; }
  bool pinned(Knob knob) const { return origin(knob) == Origin::kCaller; }
  // A Transformer Engine that the caller did not name is as new as anything asks for; the rules say so.
  bool te_at_least(absl::string_view version) const { return !intent.env.te_stated || AtLeast(intent.env.te, version); }
  bool var_given(absl::string_view name) const { return intent.env.vars.find(name) != intent.env.vars.end(); }

  // Sets the knob if it is open and records the decision; a knob that is not open is left alone. True when written.
  // Where matched pairs of runs on this layout say that another value is faster, it is that one, and the decision names
  // them.
  bool Choose(Knob knob, Value value, Why why);
  // Sets a companion of a decided knob without a reason of its own beyond "goes with".
  bool Follow(Knob knob, Value value, Knob leader, absl::string_view rule_id, absl::string_view why);
  // What the stack will set by itself, so that later topics count on it: nothing that was decided, asked for or
  // written.
  void Expect(Knob knob, Value value) {
    if (origin(knob) == Origin::kDefault) plan_->config.Set(knob, std::move(value), Origin::kUpstream);
  }
  // Records that the caller's value stands, with what would have been chosen instead.
  void Respect(Knob knob, absl::string_view rule_id, std::string reason,
               const std::vector<absl::string_view>& citations = {}, std::vector<Alternative> alternatives = {});
  // Sets a variable unless the caller exports it; records a decision.
  void Export(absl::string_view name, std::string value, Why why);
  // Records what the launch says to its launcher; `name` is kNumaBindingName.
  void Launcher(absl::string_view name, absl::string_view value, Why why);
  void SuggestAb(AbSuggestion suggestion) { plan_->ab_suggestions.push_back(std::move(suggestion)); }
  void Report(Finding finding) { plan_->findings.push_back(std::move(finding)); }

 private:
  Origin origin(Knob knob) const { return plan_->config.origin(knob); }
  // Lets matched pairs of runs on this layout confirm or overrule a decision.
  void WeighPairs(Knob knob, Decision* decision);
  // The suggestion to try `other` instead of `plan_value`; null: none.
  AbSuggestion* Suggested(Knob knob, const Value& plan_value, const Value& other);
  // Decides for the pairs' faster value, with what the suggestion says goes with it.
  void TakeOther(const PairEffect& effect, const std::string& measured, const AbSuggestion* suggestion,
                 Decision* decision);
  DecidedPlan* plan_;
  const absl::Span<const Measurement* const> pairs_;
};

// The caller's delayed weight gradients, which have no meaning without EP overlap, and nothing rules that out.
bool WgradAsksForOverlap(const Deliberation& d);

// A warning of the decisions', which fails no run by itself: without its words.
Finding DecisionWarning(absl::string_view rule_id, absl::string_view area);

// The exchange is worth hiding behind computation and nothing decided so far rules that out, or the caller asks for it.
bool WillOverlapExperts(const Deliberation& d);

// Whether gradients and parameters of data-parallel ranks will travel while layers compute.
bool WillOverlapDataParallel(const Deliberation& d);

// Of the backend "deepep" or "hybridep", unless the caller says; nothing for another.
void ChooseDispatcherSms(Deliberation& d, absl::string_view backend);

// What is computed again by the configuration so far.
Recompute RecomputeSoFar(const Deliberation& d);

// Leaves the loss to single operators, which hold less than its native kernel, where `fits` with them and not with it.
// The kernel's few passes over the logits gain less than graphs do, and than recompute costs. Whether it did.
bool UnfuseLossForRoom(Deliberation& d, absl::FunctionRef<bool(const Features&)> fits);

// The topics, in the order in which they run (decide.cc).
void DecideSizes(Deliberation& d);
void DecidePrecision(Deliberation& d);
void DecideSparseAttention(Deliberation& d);  // before what turns on memory: without kernels it takes far more
void DecideParameterGather(Deliberation& d);  // after the optimizer, whose shards are gathered
void ExpectPrecisionRecipe(Deliberation& d);  // after those that may decide one of its fields
void DecideBatch(Deliberation& d);
void DecidePipeline(Deliberation& d);
void DecideOptimizer(Deliberation& d);
void DecideFusions(Deliberation& d);
void DecideRouter(Deliberation& d);
void DecideDispatcher(Deliberation& d);
void DecideRecompute(Deliberation& d);
void DecideExpertOverlap(Deliberation& d);
void DecideSharedExpertOverlap(Deliberation& d);
void DecideCudaGraphs(Deliberation& d);
void DecideDelayedWgrad(Deliberation& d);
void DecideDenseOverlap(Deliberation& d);
void DecideOffload(Deliberation& d);
void DecideEnvironment(Deliberation& d);

}  // namespace flightplan::decide
