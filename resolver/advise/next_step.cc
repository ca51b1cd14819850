#include "resolver/advise/next_step.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "resolver/advise/more_recompute.h"
#include "resolver/derive/pipeline.h"
#include "resolver/estimate/effect.h"
#include "resolver/pipeline/resolved_plan.h"  // and what the decisions say

namespace flightplan {
namespace {

using K = Knob;

constexpr double kMuch = 0.1;      // a measured share of the step that asks for an answer
constexpr size_t kMostJudged = 8;  // moves that the rules look at, best forecast first

struct Move {
  KnobChanges changes;
  StepEffect effect;
  WallShare wall{};  // that it takes from
};

// Changes that each wall's workflow tries; none touches convergence (batch, precision, routing).
class Moves {
 public:
  Moves(const NormalizedIntent& intent, const StepModel& model, const Config& config)
      : intent_(intent), model_(model), c_(config) {}

  std::vector<Move> For(absl::string_view wall) {
    if (wall == "communication") Communication();
    if (wall == "host") Host();
    if (wall == "bubble") Bubble();
    if (wall == "compute") Compute();
    if (wall == "memory") Memory();
    return std::move(moves_);
  }

 private:
  bool on(Knob knob) const { return c_.Get(knob).truthy(); }
  int64_t size(Knob knob) const { return std::max<int64_t>(1, c_.Get(knob).integer()); }
  void Try(KnobChanges changes) {
    // The caller's word stands; what only goes along is named in the suggestion.
    if (c_.origin(changes.front().first) == Origin::kCaller || c_.origin(changes.front().first) == Origin::kAbsent)
      return;
    moves_.push_back({std::move(changes), {}, {}});
  }

  void Communication() {
    if (size(K::expert_model_parallel_size) > 1 && !on(K::overlap_moe_expert_parallel_comm)) {
      KnobChanges overlap = {{K::overlap_moe_expert_parallel_comm, Value(true)}};
      if (on(K::moe_shared_expert_overlap)) overlap.emplace_back(K::moe_shared_expert_overlap, Value(false));
      // The schedule cannot run the experts a second time.
      const Value& modules = c_.Get(K::recompute_modules);
      std::vector<Value> kept;
      for (const Value& module : modules.list()) {
        if (module.text() != "moe") kept.push_back(module);
      }
      if (kept.size() < modules.list().size()) overlap.emplace_back(K::recompute_modules, Value(std::move(kept)));
      Try(std::move(overlap));
    }
    if (on(K::overlap_moe_expert_parallel_comm) && !on(K::delay_wgrad_compute))
      Try({{K::delay_wgrad_compute, Value(true)}});
    for (const char* backend : {"hybridep", "deepep"}) {
      const bool installed = intent_.env.capabilities.find(backend) != intent_.env.capabilities.end();
      if (size(K::expert_model_parallel_size) > 1 && installed && HasFlexBackend(intent_.gpu, backend) &&
          c_.Get(K::moe_flex_dispatcher_backend).text() != backend) {
        KnobChanges flex = {{K::moe_token_dispatcher_type, Value("flex")},
                            {K::moe_flex_dispatcher_backend, Value(backend)}};
        if (FlexBackendRuns(intent_, With(c_, flex))) Try(std::move(flex));
      }
    }
    if (size(K::tensor_model_parallel_size) > 1 && !on(K::tp_comm_overlap)) Try({{K::tp_comm_overlap, Value(true)}});
    // In a container the data-parallel half of comm_overlap has no effect without it (dp-overlap.needs-ddp-distopt).
    if (StackOf(intent_.env).container && !on(K::use_distributed_optimizer)) return;
    if (!on(K::overlap_grad_reduce)) Try({{K::overlap_grad_reduce, Value(true)}});
    if (on(K::overlap_grad_reduce) && !on(K::overlap_param_gather)) Try({{K::overlap_param_gather, Value(true)}});
  }

  void Host() {
    if (c_.Get(K::cuda_graph_impl).text() == "none" || c_.Get(K::cuda_graph_impl).is_none()) {
      std::vector<Value> modules;
      // Beside EP overlap attention's graphs were seen to spoil gradients (field.graphed-attention-ep-overlap).
      if (!on(K::overlap_moe_expert_parallel_comm)) modules.emplace_back("attn");
      if (intent_.model.is_moe()) modules.insert(modules.end(), {Value("moe_router"), Value("moe_preprocess")});
      Try({{K::cuda_graph_impl, Value("transformer_engine")}, {GraphModulesKnob(c_), Value(std::move(modules))}});
    }
    LargerMicroBatch();
  }

  void Bubble() {
    const int64_t pp = size(K::pipeline_model_parallel_size), vpp = size(K::virtual_pipeline_model_parallel_size);
    if (pp > 1 && c_.Get(K::pipeline_model_parallel_layout).is_none()) {
      for (const int64_t more : {vpp * 2, vpp * 3}) {
        if (intent_.model.num_layers % (pp * more) == 0) Try({{K::virtual_pipeline_model_parallel_size, Value(more)}});
      }
      OtherSplits(pp, vpp);
    }
    if (const int64_t mbs = size(K::micro_batch_size); mbs % 2 == 0) Try({{K::micro_batch_size, Value(mbs / 2)}});
  }

  // The layers given to the stages otherwise: what the last one holds beside them counts.
  void OtherSplits(int64_t pp, int64_t vpp) {
    const ModelShape& shape = model_.shape();
    const int64_t layers = shape.num_layers, mtp = shape.mtp_depths;
    if (layers > kMostLayersOfText || mtp < 0 || mtp > layers || pp * vpp > layers) return;
    if (intent_.model.hybrid_layer_pattern.has_value() || c_.Get(K::account_for_loss_in_pipeline_split).truthy())
      return;
    for (const std::vector<int64_t>& split : StageSplits(layers, mtp, pp, vpp, TailLayers(model_.work()))) {
      Try({{K::pipeline_model_parallel_layout, Value(LayoutText(split, mtp))}});
    }
  }

  void Compute() {
    if (!c_.Get(K::recompute_granularity).is_none()) Try({{K::recompute_granularity, Value()}});
    if (intent_.model.is_moe() && !on(K::moe_permute_fusion)) Try({{K::moe_permute_fusion, Value(true)}});
    if (intent_.model.is_moe() && !on(K::moe_router_fusion)) Try({{K::moe_router_fusion, Value(true)}});
    LargerMicroBatch();
  }

  // From what costs least to what frees most.
  void Memory() {
    if (const int64_t mbs = size(K::micro_batch_size); mbs % 2 == 0) Try({{K::micro_batch_size, Value(mbs / 2)}});
    for (KnobChanges& more : MoreRecompute(intent_, c_)) Try(std::move(more));
    if (!on(K::optimizer_cpu_offload)) {
      Try({{K::optimizer_cpu_offload, Value(true)},
           {K::optimizer_offload_fraction, Value(0.5)},
           {K::use_precision_aware_optimizer, Value(true)}});
    }
  }

  void LargerMicroBatch() { Try({{K::micro_batch_size, Value(2 * size(K::micro_batch_size))}}); }

  const NormalizedIntent& intent_;
  const StepModel& model_;
  const Config& c_;
  std::vector<Move> moves_;
};

absl::string_view NameOf(Wall wall) {
  switch (wall) {
    case Wall::kUnknown:
      return "";
    case Wall::kMemory:
      return "memory";
    case Wall::kCommunication:
      return "communication";
    case Wall::kHost:
      return "host";
    case Wall::kCompute:
      return "compute";
  }
  return "";
}

// Whether a profile of the run itself says something of the wall.
bool ProfileTells(const NormalizedIntent& intent, const WallShare& wall) {
  if (!intent.profile.has_value()) return false;
  const MeasuredProfile& profile = *intent.profile;
  return wall.measured || wall.name == NameOf(profile.wall) ||
         (wall.name == "memory" && profile.memory_high_water_bytes.has_value()) ||
         (wall.name == "communication" && profile.exposed_all_to_all_ratio.has_value());
}

// What the answer already says about the knob stands: evidence that settles it, or an A/B that is open with figures of
// its own. What the run itself showed says more than either.
bool Answered(const PlanForecast& plan, const NormalizedIntent& intent, const WallShare& wall, Knob knob) {
  const Decision* const decision = FindDecision(plan.decisions, knob);
  return decision != nullptr && !ProfileTells(intent, wall) && (decision->needs_ab || IsSettled(*decision));
}

std::string Time(double us) {
  return us >= 1e6 ? absl::StrFormat("%.3g s", us / 1e6) : absl::StrFormat("%.3g ms", us / 1e3);
}

// "21 % of a 4.05 s step (forecast)", "30 % (measured) of a 4.05 s step (forecast)"
std::string ShareText(const WallShare& wall, const StepOutlook& outlook) {
  const auto source = [](bool measured) { return measured ? " (measured)" : " (forecast)"; };
  return absl::StrFormat("%.0f %%%s of a %s step%s", 100 * wall.ratio,
                         wall.measured == outlook.measured ? "" : source(wall.measured), Time(outlook.us),
                         source(outlook.measured));
}

constexpr absl::string_view kWorkflow = "Megatron-Bridge: MoE optimisation workflow (fit, scale, profile, retune)";

// A plan that lacks memory: what frees some is all that is asked.
Finding DescribeRoom(const NormalizedIntent& intent, const Move& move, StepModel::Room left) {
  Finding finding = NextStepFinding(kWorkflow);
  finding.seen = absl::StrFormat("memory is the first wall (%s)",
                                 ProfileTells(intent, move.wall) ? "as the profile says" : "forecast");
  const StepEffect& effect = move.effect;
  finding.needs = absl::StrFormat("next to try: %s; step %+.0f %% expected (%+.0f..%+.0f), memory then %s",
                                  TextOf(move.changes), WholePercent(effect.change), WholePercent(effect.low),
                                  WholePercent(effect.high), left == StepModel::Room::kEnough ? "fits" : "is marginal");
  return finding;
}

Finding Describe(const StepOutlook& outlook, const StepModel& model, const PlanForecast& plan, const Move& move,
                 const MemoryForecast& then, StepModel::Room left) {
  const WallShare& wall = move.wall;
  Finding finding = OtherStepFinding("decide.next-step", kWorkflow, plan, move.changes, left);
  const bool largest = wall.name == outlook.walls.front().name;
  finding.seen = absl::StrCat(wall.name, largest ? " is the largest wall: " : " takes ", ShareText(wall, outlook));
  finding.needs = absl::StrCat("next to try: ", TextOf(move.changes), "; ",
                               PromiseOf(move.effect, model.Memory(plan.config, plan.env, plan.stages), then),
                               move.effect.needs_ab() ? "; only a run can tell" : "",
                               left == StepModel::Room::kMarginal ? "; memory stays marginal" : "");
  return finding;
}

// The caller asked about this wall, by its name or its share, so that silence would be no answer.
NextStep NothingAgainst(const WallShare& wall, const StepOutlook& outlook, bool named) {
  NextStep next{.finding = NextStepFinding(kWorkflow), .ab = std::nullopt};
  next.finding.rule_id = kNothingToTry;
  next.finding.seen =
      absl::StrCat(wall.name, named ? " is the wall that the profile names: " : " takes ", ShareText(wall, outlook));
  next.finding.needs = absl::StrFormat(
      "no change of a knob that goes at it is forecast to shorten the step by %.0f %% and to fit; other sizes may: "
      "flightplan plan weighs them",
      -100 * kWorthARun);
  return next;
}

// Fit comes first; then the wall that whoever read the profile named; then those of the forecast.
std::vector<WallShare> WallsToGoAt(const StepOutlook& outlook, Wall named, bool short_of_memory) {
  if (short_of_memory) return {{"memory", 1}};
  std::vector<WallShare> walls = outlook.walls;
  if (named != Wall::kUnknown) {
    std::erase_if(walls, [&](const WallShare& wall) { return wall.name != NameOf(named); });
  }
  return walls;
}

// The two runs that show whether the move is worth it.
AbSuggestion PairOf(const Move& move, const PlanForecast& plan, bool short_of_memory) {
  AbSuggestion ab;
  ab.knob = move.changes.front().first;
  ab.plan_value = plan.config.Get(ab.knob);
  ab.other_value = move.changes.front().second;
  ab.companions.assign(move.changes.begin() + 1, move.changes.end());
  ab.reason = short_of_memory
                  ? std::string(kLacksMemory)
                  : absl::StrFormat("%s takes %.0f %% of the step", std::string(move.wall.name), 100 * move.wall.ratio);
  ab.expected = move.effect.change;
  ab.low = move.effect.low;
  ab.high = move.effect.high;
  return ab;
}

}  // namespace

std::optional<NextStep> FindNextStep(const NormalizedIntent& intent, const StepModel& model, const PlanForecast& plan,
                                     const StepOutlook& outlook) {
  const StepModel::Room room = plan.room;
  const Wall named = intent.profile.has_value() ? intent.profile->wall : Wall::kUnknown;
  const bool short_of_memory = room == StepModel::Room::kShort || named == Wall::kMemory;
  const std::vector<WallShare> walls = WallsToGoAt(outlook, named, short_of_memory);
  const auto nothing = [&]() -> std::optional<NextStep> {
    const bool told = named != Wall::kUnknown;
    const auto wall = std::find_if(walls.begin(), walls.end(), [&](const WallShare& share) {
      return told || (share.measured && share.ratio >= kMuch);
    });
    if (short_of_memory || wall == walls.end()) return std::nullopt;
    return NothingAgainst(*wall, outlook, told);
  };
  std::vector<Move> moves;
  const auto weigh = [&](const WallShare& wall, std::vector<Move> of_wall) {
    for (Move& move : of_wall) {
      if (Answered(plan, intent, wall, move.changes.front().first)) continue;
      const auto then = ForecastWith(model, plan, move.changes);
      if (!then.has_value()) continue;
      move.effect = EffectOf(plan.step, *then);
      move.wall = wall;
      if (short_of_memory || move.effect.change < kWorthARun) moves.push_back(std::move(move));
    }
  };
  for (const WallShare& wall : walls) {
    if (wall.ratio < kSmallWall && named == Wall::kUnknown) break;
    weigh(wall, Moves(intent, model, plan.config).For(wall.name));
  }
  if (moves.empty()) return nothing();
  // Asked for where it decides.
  const bool scarce = short_of_memory || room >= StepModel::Room::kMarginal;
  const MemoryForecast now = scarce ? model.Memory(plan.config, plan.env, plan.stages) : MemoryForecast();
  std::stable_sort(moves.begin(), moves.end(),
                   [](const Move& a, const Move& b) { return a.effect.change < b.effect.change; });
  for (size_t i = 0; i < std::min(moves.size(), kMostJudged); ++i) {
    const Move& move = moves[i];
    const MemoryForecast memory = MemoryWith(model, plan, move.changes);
    const StepModel::Room left = StepModel::RoomOf(memory.verdict);
    if (left > room && left >= StepModel::Room::kMarginal) continue;  // speed is no use to a run that may not fit
    if (left == StepModel::Room::kShort) continue;
    if (short_of_memory && memory.fullest.total.value >= now.fullest.total.value) continue;
    if (TakesScarceMemory(plan, now, memory)) continue;
    if (!MayBeTried(plan, move.changes)) continue;
    NextStep next;
    next.finding =
        short_of_memory ? DescribeRoom(intent, move, left) : Describe(outlook, model, plan, move, memory, left);
    next.ab = PairOf(move, plan, short_of_memory);
    return next;
  }
  return nothing();
}

void ExpectFromForecast(const StepModel& model, const PlanForecast& plan, AbSuggestion* ab) {
  if (ab->expected != 0) return;
  const auto then = ForecastWith(model, plan, WithPrecisionRecipe(ChangesOf(*ab), plan.config, plan.env));
  if (!then.has_value()) return;
  const StepEffect effect = EffectOf(plan.step, *then);
  ab->expected = effect.change;
  // What was published of the choice alone may not hold for this run, with all that the other side needs.
  const bool published = ab->low != 0 || ab->high != 0;
  ab->low = published ? std::min(ab->low, effect.low) : effect.low;
  ab->high = published ? std::max(ab->high, effect.high) : effect.high;
}

}  // namespace flightplan
