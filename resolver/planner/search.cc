#include "resolver/planner/search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

namespace flightplan {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
// Groups of layouts between two calls of `progress` and two updates of the pruning threshold: a few milliseconds of
// work. Fixed, so that what is pruned does not depend on the number of threads.
constexpr size_t kBatch = 16;
constexpr float kNoOffload = 0;
// Sizes looked at between two calls of `progress`, where most are pruned at once.
constexpr int64_t kVisitsPerReport = 4096;

// Layers of each kind, and output layers last: on one pipeline rank, or on the mean one.
using RankLoad = std::array<double, kMaxLayerKinds + 1>;

// What a rank has none of may take for ever.
double Dot(const RankLoad& load, const RankLoad& us) {
  double sum = 0;
  for (size_t i = 0; i < load.size(); ++i) {
    if (load[i] > 0) sum += load[i] * us[i];
  }
  return sum;
}

// What the bounds need of a way to cut the model into stages.
struct Split {
  const StageLayout* stages = nullptr;
  std::vector<RankLoad> ranks;  // those that can be the slowest
  RankLoad all{};               // of all ranks together
};
struct Pipeline {
  bool known = false;         // looked up before
  RankLoad mean{};            // of all ranks, which is the same however the layers are split
  std::vector<Split> splits;  // none: not legal
};

struct Layout {
  LayoutSizes sizes;
  size_t split_at = 0;           // among the ways to split its layers
  const Split* split = nullptr;  // of the pipeline, which stays where it is
  double caution = 1;            // of its sizes
  double bound = 0;              // no execution is better: microseconds as they count, or bytes
};

// Layouts that differ in their pipeline alone share the times of their layers.
struct Group {
  size_t begin = 0, end = 0;  // of the layouts
  double bound = 0;           // the best of theirs
};

// What a group of layouts came to, and what it took.
struct Judgement {
  std::vector<FoundPlan> found;
  int64_t judged = 0, memory_bound = 0, time_bound = 0, incompatible = 0;
};

struct TimedLayers {
  explicit TimedLayers(LayerTimes timed) : times(std::move(timed)) {
    for (size_t k = 0; k < times.kinds.size(); ++k) pairs[k] = times.kinds[k].pair;
    pairs.back() = times.head.pair;
  }
  const LayerTimes times;
  RankLoad pairs{};  // of one layer and of the head: forward and backward, exchanges as they overlap
};

// A combination of exchange and graphs.
struct Combination {
  const Exchange* exchange = nullptr;
  const Graphs* graphs = nullptr;
  // What is the same for all recompute sets, and times of the layers by set, worked out when they are needed first:
  // most never are, and each is large.
  std::unique_ptr<const LayerTimer> timer;
  std::vector<std::unique_ptr<const TimedLayers>> times;
};

// What one microbatch cannot do without, microseconds: a layer of each kind and the head. `compute` leaves out the
// exchanges.
struct Floor {
  RankLoad whole{}, compute{};
  double all = 0;         // the model's layers, of `compute`
  bool complete = false;  // else `whole` is only `compute`
};

// Recompute sets with one offload that keep at least as much as the one that recomputes most of them.
struct Family {
  Recompute most;
  float offload = 0;
  std::vector<size_t> sets;
};

std::vector<Family> FamiliesOf(const ExecutionSpace& execution) {
  std::vector<Family> families;
  for (float offload : execution.optimizer_offloads) {
    // Selective recompute keeps more than full; the `moe` module contains others, so its sets stand apart, and so does
    // what keeps everything, but on the host.
    std::array<Family, 4> of_offload;
    for (size_t r = 0; r < execution.recomputes.size(); ++r) {
      const Recompute& recompute = execution.recomputes[r];
      const bool full = recompute.mode == RecomputeMode::kFullUniform || recompute.mode == RecomputeMode::kFullBlock;
      const bool on_host = recompute.offload_layers > 0;
      Family& family = of_offload[on_host ? 3 : full ? 2 : (recompute.modules & kDropMoe) != 0 ? 1 : 0];
      family.offload = offload;
      family.sets.push_back(r);
      family.most.mode = std::max(family.most.mode, recompute.mode);
      family.most.modules = static_cast<uint16_t>(family.most.modules | recompute.modules);
      family.most.offload_layers = std::max(family.most.offload_layers, recompute.offload_layers);
    }
    for (Family& family : of_offload) {
      if (!family.sets.empty()) families.push_back(std::move(family));
    }
  }
  return families;
}

// Computes again whatever one of them does, and more: what comes on top takes time and makes nothing faster.
bool AddsToAny(const std::vector<Recompute>& sets, const Recompute& recompute) {
  return std::any_of(sets.begin(), sets.end(), [&](const Recompute& set) {
    return set.mode == recompute.mode && set.offload_layers == recompute.offload_layers &&
           (set.modules & recompute.modules) == set.modules;
  });
}

class Searcher {
 public:
  // `counts`: what was judged and what was not is told with the result.
  Searcher(const SearchQuestion& question, bool counts)
      : q_(question),
        counts_(counts),
        executions_(static_cast<int64_t>(question.execution.size())),
        sets_(
            static_cast<int64_t>(question.execution.recomputes.size() * question.execution.optimizer_offloads.size())),
        most_offload_(*std::max_element(question.execution.optimizer_offloads.begin(),
                                        question.execution.optimizer_offloads.end())),
        plain_is_open_(question.execution.recomputes.front().mode == RecomputeMode::kNone &&
                       question.execution.recomputes.front().offload_layers == 0 &&
                       question.execution.optimizer_offloads.front() == kNoOffload),
        families_(FamiliesOf(question.execution)) {}
  SearchResult Run();
  std::optional<FoundPlan> Execute(const LayoutSizes& sizes, const StageLayout& stages, double limit_us) const;

 private:
  bool ByTime() const { return q_.objective == SearchObjective::kStepTime; }
  // The figure that is made small.
  double Score(const FoundPlan& plan) const { return ByTime() ? plan.step.us * plan.caution : plan.memory.value; }
  double Caution(const LayoutSizes& sizes) const {
    return ByTime() && q_.caution.has_value() ? 1 + CautionRatio(sizes, *q_.caution) : 1;
  }
  // `a` has the better first plan.
  bool Better(const std::vector<FoundPlan>& a, const std::vector<FoundPlan>& b) const {
    return !a.empty() && (b.empty() || Score(a.front()) < Score(b.front()));
  }
  double Microbatches(const LayoutSizes& sizes) const {
    return static_cast<double>(q_.layout.global_batch_size) * sizes.tp * sizes.cp * sizes.pp /
           (static_cast<double>(q_.layout.gpus) * static_cast<double>(sizes.micro_batch_size));
  }

  // ---- candidates
  Candidate At(const LayoutSizes& sizes, const StageLayout* stages) const;
  void Use(const Combination& combination, Candidate* c) const;
  static void Use(const Recompute& recompute, int32_t given_layers, Candidate* c);
  void UseOffload(float offload, Candidate* c) const;
  std::vector<Combination> Combinations() const;
  bool Possible(const LayoutSizes& sizes, const Combination& combination) const;
  FoundPlan Found(const Layout& layout, const Candidate& c) const;

  // ---- judging
  double TimeOf(const Layout& layout, const Candidate& c, double limit, size_t recompute,
                Combination* combination) const;
  Band MemoryOf(const Candidate& c) const;
  bool Fits(double bytes) const { return q_.memory.capacity <= 0 || bytes <= q_.room * q_.memory.capacity; }
  bool Fits(const Candidate& c) const;
  using TimedSet = std::tuple<double, size_t, float>;  // time, index of the recompute set, offload
  struct OpenFamily {
    const Family* family;
    std::optional<bool> forbidden;  // by memory; not known yet
  };
  std::vector<std::pair<double, Combination*>> Plain(const Layout& layout, double best, Candidate* c,
                                                     std::vector<Combination>* combinations, Judgement* out) const;
  std::vector<OpenFamily> OpenFamilies(const Layout& layout) const;
  void AddFaster(const Layout& layout, double best, Candidate* c, Combination* combination, OpenFamily* open,
                 std::vector<TimedSet>* faster, Judgement* out) const;
  void JudgeTime(const Layout& layout, double threshold, std::vector<Combination>* combinations, Judgement* out) const;
  void JudgeMemory(const Layout& layout, double threshold, const std::vector<Combination>& combinations,
                   Judgement* out) const;
  Judgement Judge(const Group& group, double threshold, const std::vector<FoundPlan>& best) const;

  // ---- bounds
  RankLoad LoadOf(const RankContents& rank) const;
  std::vector<RankLoad> SlowestLoads(const StageLayout& stages) const;
  Split SplitOf(const StageLayout& stages) const;
  const Pipeline& PipelineOf(int pp, int vpp);
  Floor ComputeFloorOf(const LayoutSizes& sizes) const;
  void Complete(const LayoutSizes& sizes, Floor* floor) const;
  static double SlowestUs(const Split& split, const RankLoad& us);
  double TimeBound(const LayoutSizes& sizes, double slowest_us, double all_us) const;
  double HandedOnBytes(const LayoutSizes& sizes) const;
  double InputBytes(const LayoutSizes& sizes) const;
  double StaticBytes(const Layout& layout) const;
  bool CannotFit(const Layout& layout, const Family& family) const;

  void Enumerate(const LayoutQuestion& question, double threshold, bool count);
  // False: the search is to stop.
  bool Report(double done, double best_us);
  // What a layout has to reach to enter the list beside those of its mapping.
  double ThresholdAmongAlike(const LayoutSizes& sizes, const std::vector<FoundPlan>& best) const;
  void Keep(const FoundPlan& found, std::vector<FoundPlan>* best) const;
  void JudgeAll(bool count, std::vector<FoundPlan>* best);

  const SearchQuestion& q_;
  const bool counts_;
  const int64_t executions_, sets_;
  const float most_offload_;
  const bool plain_is_open_;  // no recompute and no offload are among the executions
  const std::vector<Family> families_;
  std::vector<Layout> layouts_;
  std::vector<Group> groups_;
  std::vector<std::vector<Pipeline>> pipelines_;  // by pp, then vpp
  SearchStatistics statistics_;
  int64_t work_ = 0;  // counted against the limit
};

Candidate Searcher::At(const LayoutSizes& sizes, const StageLayout* stages) const {
  Candidate c = q_.base(sizes);
  c.stages = stages;
  c.gpus = q_.layout.gpus;
  c.tp = sizes.tp, c.pp = sizes.pp, c.vpp = sizes.vpp, c.cp = sizes.cp, c.ep = sizes.ep, c.etp = sizes.etp;
  c.micro_batch_size = sizes.micro_batch_size;
  c.global_batch_size = q_.layout.global_batch_size;
  c.seq_length = q_.layout.seq_length;
  c.sequence_parallel = q_.layout.sequence_parallel && c.tp > 1;
  return c;
}

void Searcher::Use(const Combination& combination, Candidate* c) const {
  c->dispatcher = combination.exchange->dispatcher;
  c->ep_overlap = combination.exchange->ep_overlap;
  c->delay_wgrad = combination.exchange->delay_wgrad;
  c->shared_expert_overlap = combination.exchange->shared_expert_overlap;
  c->graphs = combination.graphs->impl;
  c->graph_modules = combination.graphs->modules;
  c->recompute = RecomputeMode::kNone;
  c->recompute_modules = 0;
  UseOffload(kNoOffload, c);
}

void Searcher::UseOffload(float offload, Candidate* c) const {
  c->optimizer_offload = offload;
  const std::optional<OptimizerState>& state = offload > 0 ? q_.execution.on_host : q_.execution.on_gpu;
  if (!state.has_value()) return;
  c->precision_aware = state->precision_aware;
  c->gradient_copy = state->gradient_copy;
  c->overlap_optimizer_copies = state->overlap_copies;
  c->main_param_bytes = state->main_param_bytes;
  c->moment1_bytes = state->moment1_bytes;
  c->moment2_bytes = state->moment2_bytes;
}

// `given_layers` are offloaded whatever the search looks at: by the caller's word.
void Searcher::Use(const Recompute& recompute, int32_t given_layers, Candidate* c) {
  c->recompute = recompute.mode;
  c->recompute_modules = recompute.modules;
  c->offload_layers = recompute.offload_layers > 0 ? recompute.offload_layers : given_layers;
}

std::vector<Combination> Searcher::Combinations() const {
  std::vector<Combination> combinations;
  combinations.reserve(q_.execution.exchanges.size() * q_.execution.graphs.size());
  for (const Exchange& exchange : q_.execution.exchanges) {
    for (const Graphs& graphs : q_.execution.graphs) {
      combinations.push_back({&exchange, &graphs, {}, {}});
      combinations.back().times.resize(q_.execution.recomputes.size() + 1);  // and one without any
    }
  }
  return combinations;
}

bool Searcher::Possible(const LayoutSizes& sizes, const Combination& combination) const {
  // Without expert parallelism there is no exchange to choose.
  const bool idle = sizes.ep == 1 && combination.exchange != &q_.execution.exchanges.front();
  return !idle && Compatible(*q_.shape, sizes, *combination.exchange, *combination.graphs);
}

FoundPlan Searcher::Found(const Layout& layout, const Candidate& c) const {
  FoundPlan plan;
  plan.sizes = layout.sizes;
  plan.split = layout.split_at;
  plan.caution = layout.caution;
  if (ByTime() && q_.caution.has_value()) {
    plan.caution = 1 + CautionsOf(layout.sizes, c, *q_.caution).ratio();
  }
  plan.candidate = c;
  ForecastStep(*q_.work, c, q_.rates, &plan.step);
  MemoryForecast memory;
  ForecastMemory(*q_.shape, c, q_.memory, &memory);
  plan.memory = memory.fullest.total;
  plan.fit = memory.verdict;
  return plan;
}

// Above any time where the bound alone says that it is `limit` or more.
double Searcher::TimeOf(const Layout& layout, const Candidate& c, double limit, size_t recompute,
                        Combination* combination) const {
  std::unique_ptr<const TimedLayers>& timed = combination->times[recompute];
  if (timed == nullptr) {
    if (combination->timer == nullptr) combination->timer = std::make_unique<LayerTimer>(*q_.work, c, q_.rates);
    timed = std::make_unique<const TimedLayers>(combination->timer->Time(c));
  }
  // Where nothing overlaps the exchanges, what fills and drains the pipeline takes no less than the steady part does.
  const double all_us = c.ep_overlap ? 0 : Dot(layout.split->all, timed->pairs);
  if (TimeBound(layout.sizes, SlowestUs(*layout.split, timed->pairs), all_us) >= limit) return kNever;
  return StepUsBelow(limit, *q_.work, c, q_.rates, timed->times);
}

// Every rank for itself: the first that does not ends the question.
bool Searcher::Fits(const Candidate& c) const {
  if (q_.memory.capacity <= 0) return true;
  const MemoryModel model(*q_.shape, c, q_.memory.device);
  const std::vector<int>& ranks = c.stages->distinct_ranks;
  return std::all_of(ranks.begin(), ranks.end(), [&](int rank) { return Fits(model.Stage(rank).Total()); });
}

Band Searcher::MemoryOf(const Candidate& c) const {
  MemoryForecast forecast;
  ForecastMemory(*q_.shape, c, q_.memory, &forecast);
  return forecast.fullest.total;
}

// The combinations without recompute and offload, fastest first.
std::vector<std::pair<double, Combination*>> Searcher::Plain(const Layout& layout, double best, Candidate* c,
                                                             std::vector<Combination>* combinations,
                                                             Judgement* out) const {
  std::vector<std::pair<double, Combination*>> plain;
  for (Combination& combination : *combinations) {
    if (!Possible(layout.sizes, combination)) {
      out->incompatible += sets_;
      continue;
    }
    Use(combination, c);
    plain.emplace_back(TimeOf(layout, *c, best, q_.execution.recomputes.size(), &combination), &combination);
  }
  std::stable_sort(plain.begin(), plain.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return plain;
}

// What memory forbids is dearer to find out than what takes too long: of one layout, where nobody asks how many fell to
// which bound, it is found out of those families alone that have something fast.
std::vector<Searcher::OpenFamily> Searcher::OpenFamilies(const Layout& layout) const {
  std::vector<OpenFamily> open;
  for (const Family& family : families_) {
    if (!counts_) {
      open.push_back({&family, std::nullopt});
    } else if (!CannotFit(layout, family)) {
      open.push_back({&family, false});
    }
  }
  return open;
}

// Adds the family's sets that take less than `best` and may fit.
void Searcher::AddFaster(const Layout& layout, double best, Candidate* c, Combination* combination, OpenFamily* open,
                         std::vector<TimedSet>* faster, Judgement* out) const {
  const Family& family = *open->family;
  const size_t before = faster->size();
  const int32_t given_layers = c->offload_layers;
  std::vector<Recompute> slow;
  UseOffload(family.offload, c);
  for (size_t r : family.sets) {
    const Recompute& recompute = q_.execution.recomputes[r];
    if (!Compatible(*combination->exchange, *combination->graphs, recompute) || !Compatible(layout.sizes, recompute)) {
      ++out->incompatible;
      continue;
    }
    if (AddsToAny(slow, recompute)) continue;
    Use(recompute, given_layers, c);
    ++out->judged;
    const double us = TimeOf(layout, *c, best, r, combination);
    if (us < best) {
      faster->emplace_back(us, r, family.offload);
    } else if (!counts_ && q_.rates.k.corun_communication >= 1) {
      slow.push_back(recompute);
    }
  }
  c->offload_layers = given_layers;
  if (faster->size() == before) return;
  if (!open->forbidden.has_value()) open->forbidden = CannotFit(layout, family);
  if (*open->forbidden) faster->resize(before);
}

void Searcher::JudgeTime(const Layout& layout, double threshold, std::vector<Combination>* combinations,
                         Judgement* out) const {
  Candidate c = At(layout.sizes, layout.split->stages);
  const int32_t given_layers = c.offload_layers;
  double best = std::nextafter(threshold, kNever);  // as good as the worst kept may rank before it
  const auto plain = Plain(layout, best, &c, combinations, out);
  if (plain.empty() || !(plain.front().first < best)) {
    out->time_bound += sets_ * static_cast<int64_t>(plain.size());
    return;
  }
  std::vector<OpenFamily> families = OpenFamilies(layout);
  int64_t left = 0;  // sets in them
  for (const OpenFamily& open : families) left += static_cast<int64_t>(open.family->sets.size());
  out->memory_bound += (sets_ - left) * static_cast<int64_t>(plain.size());
  if (families.empty()) return;

  std::optional<Candidate> winner;
  std::vector<TimedSet> by_time;
  for (size_t i = 0; i < plain.size(); ++i) {
    const auto& [plain_us, combination] = plain[i];
    if (!(plain_us < best)) {  // and so are all that follow
      out->time_bound += left * static_cast<int64_t>(plain.size() - i);
      break;
    }
    Use(*combination, &c);
    if (plain_is_open_) {  // where that fits, everything else only adds time
      Use(q_.execution.recomputes.front(), given_layers, &c);
      if (Fits(c)) {
        ++out->judged;
        out->time_bound += left - 1;
        best = plain_us;
        winner = c;
        continue;
      }
    }
    by_time.clear();
    c.offload_layers = given_layers;
    for (OpenFamily& open : families) AddFaster(layout, best, &c, combination, &open, &by_time, out);
    std::sort(by_time.begin(), by_time.end());
    for (const auto& [us, r, offload] : by_time) {
      Use(q_.execution.recomputes[r], given_layers, &c);
      UseOffload(offload, &c);
      if (!Fits(c)) continue;
      best = us;
      winner = c;
      break;
    }
  }
  if (winner.has_value()) out->found.push_back(Found(layout, *winner));
}

void Searcher::JudgeMemory(const Layout& layout, double threshold, const std::vector<Combination>& combinations,
                           Judgement* out) const {
  Candidate c = At(layout.sizes, layout.split->stages);
  const int32_t given_layers = c.offload_layers;
  double best = std::nextafter(threshold, kNever);
  std::optional<Candidate> winner;
  for (const Combination& combination : combinations) {
    if (!Possible(layout.sizes, combination)) {
      out->incompatible += sets_;
      continue;
    }
    Use(combination, &c);
    for (const Recompute& recompute : q_.execution.recomputes) {
      if (!Compatible(*combination.exchange, *combination.graphs, recompute) || !Compatible(layout.sizes, recompute)) {
        out->incompatible += static_cast<int64_t>(q_.execution.optimizer_offloads.size());
        continue;
      }
      Use(recompute, given_layers, &c);
      for (float offload : q_.execution.optimizer_offloads) {
        UseOffload(offload, &c);
        ++out->judged;
        const Band memory = MemoryOf(c);
        if (!(memory.value < best) || !Fits(memory.value)) continue;
        best = memory.value;
        winner = c;
      }
    }
  }
  if (winner.has_value()) out->found.push_back(Found(layout, *winner));
}

Judgement Searcher::Judge(const Group& group, double list_threshold, const std::vector<FoundPlan>& best) const {
  Judgement out;
  std::vector<Combination> combinations = Combinations();
  for (size_t i = group.begin; i < group.end; ++i) {
    const Layout& layout = layouts_[i];
    double threshold = std::min(list_threshold, ThresholdAmongAlike(layout.sizes, best));
    // Of the ways to split one layout's layers the best, and of equals the plainest.
    const bool other_split = !out.found.empty() && out.found.back().sizes == layout.sizes;
    const size_t known = out.found.size();
    if (other_split) {
      const FoundPlan& found = out.found.back();
      const double score = Score(found);
      threshold = std::min(threshold, layout.split_at < found.split ? score : std::nextafter(score, 0.0));
    }
    if (layout.bound > threshold) {
      out.time_bound += executions_;
    } else if (ByTime()) {
      JudgeTime(layout, threshold / layout.caution, &combinations, &out);
    } else if (q_.memory.capacity > 0 && StaticBytes(layout) > q_.memory.capacity) {
      out.memory_bound += executions_;
    } else {
      JudgeMemory(layout, threshold, combinations, &out);
    }
    if (other_split && out.found.size() > known) out.found.erase(out.found.end() - 2);
  }
  return out;
}

RankLoad Searcher::LoadOf(const RankContents& rank) const {
  RankLoad load{};
  for (size_t k = 0; k < static_cast<size_t>(q_.work->kind_count); ++k) {
    load[k] = rank.layers[k] + rank.mtp_depths * static_cast<double>(q_.work->mtp_layers[k]);
  }
  load.back() = rank.mtp_depths + rank.losses;
  return load;
}

// Without the ranks that have no more of anything than another.
std::vector<RankLoad> Searcher::SlowestLoads(const StageLayout& stages) const {
  const auto below = [](const RankLoad& a, const RankLoad& b) {
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i] > b[i]) return false;
    }
    return true;
  };
  std::vector<RankLoad> slowest;
  for (const RankContents& rank : stages.contents) {
    const RankLoad load = LoadOf(rank);
    const auto over = [&](const RankLoad& other) { return below(load, other); };
    if (std::any_of(slowest.begin(), slowest.end(), over)) continue;
    std::erase_if(slowest, [&](const RankLoad& other) { return below(other, load); });
    slowest.push_back(load);
  }
  return slowest;
}

Split Searcher::SplitOf(const StageLayout& stages) const {
  Split split{&stages, SlowestLoads(stages), {}};
  for (const RankContents& rank : stages.contents) {
    const RankLoad load = LoadOf(rank);
    for (size_t k = 0; k < load.size(); ++k) split.all[k] += load[k] * rank.ranks_alike;
  }
  return split;
}

const Pipeline& Searcher::PipelineOf(int pp, int vpp) {
  const auto at = static_cast<size_t>(pp), of = static_cast<size_t>(vpp);
  if (pipelines_.size() <= at) pipelines_.resize(at + 1);
  if (pipelines_[at].size() <= of) pipelines_[at].resize(of + 1);
  Pipeline& pipeline = pipelines_[at][of];
  if (pipeline.known) return pipeline;
  pipeline.known = true;
  for (const StageLayout* stages : q_.stages(pp, vpp)) pipeline.splits.push_back(SplitOf(*stages));
  if (pipeline.splits.empty()) return pipeline;
  const StageLayout& plain = *pipeline.splits.front().stages;
  for (const RankContents& rank : plain.contents) {
    const RankLoad load = LoadOf(rank);
    for (size_t k = 0; k < load.size(); ++k) pipeline.mean[k] += load[k] * rank.ranks_alike / plain.pp;
  }
  return pipeline;
}

// Products, attention, memory traffic and transfers; overlap does not change them, so one exchange of each dispatcher
// tells.
Floor Searcher::ComputeFloorOf(const LayoutSizes& sizes) const {
  LayoutSizes flat = sizes;
  flat.pp = flat.vpp = 1;
  Candidate c = At(flat, nullptr);
  Floor floor;
  const auto kinds = static_cast<size_t>(q_.work->kind_count);
  std::fill_n(floor.compute.begin(), kinds, kNever);
  floor.compute.back() = kNever;
  unsigned seen = 0;
  for (const Exchange& exchange : q_.execution.exchanges) {
    const unsigned dispatcher = 1u << static_cast<unsigned>(exchange.dispatcher);
    if ((seen & dispatcher) != 0 || (sizes.ep == 1 && &exchange != &q_.execution.exchanges.front())) continue;
    seen |= dispatcher;
    Use({&exchange, &q_.execution.graphs.front(), {}, {}}, &c);
    c.ep_overlap = c.delay_wgrad = false;
    const LayerTimes times = TimeLayers(*q_.work, c, q_.rates);
    for (size_t k = 0; k < kinds; ++k) {
      const LayerTime& layer = times.kinds[k];
      const double us = layer.fwd.gpu() + layer.bwd.gpu() + layer.fwd.transfer + layer.bwd.transfer;
      floor.compute[k] = std::min(floor.compute[k], us);
    }
    floor.compute.back() = std::min(floor.compute.back(), times.head.pair);
  }
  for (size_t k = 0; k < kinds; ++k) {
    if (q_.work->totals[k] > 0) floor.all += q_.work->totals[k] * floor.compute[k];
  }
  floor.whole = floor.compute;
  return floor;
}

// With the exchanges beside the compute at their best; hosts are taken to keep up.
void Searcher::Complete(const LayoutSizes& sizes, Floor* floor) const {
  floor->complete = true;
  LayoutSizes flat = sizes;
  flat.pp = flat.vpp = 1;
  Candidate c = At(flat, nullptr);
  const auto kinds = static_cast<size_t>(q_.work->kind_count);
  RankLoad best{};
  std::fill_n(best.begin(), kinds, kNever);
  for (const Exchange& exchange : q_.execution.exchanges) {
    if (sizes.ep == 1 && &exchange != &q_.execution.exchanges.front()) continue;
    const int64_t span = int64_t{sizes.ep} * sizes.etp;
    if ((exchange.max_span > 0 && span > exchange.max_span) || span < exchange.min_span) continue;
    Use({&exchange, &q_.execution.graphs.front(), {}, {}}, &c);
    const LayerTimes times = TimeLayers(*q_.work, c, q_.rates);
    for (size_t k = 0; k < kinds; ++k) best[k] = std::min(best[k], times.kinds[k].pair);
  }
  for (size_t k = 0; k < kinds; ++k) floor->whole[k] = best[k];
}

double Searcher::SlowestUs(const Split& split, const RankLoad& us) {
  double slowest = 0;
  for (const RankLoad& load : split.ranks) slowest = std::max(slowest, Dot(load, us));
  return slowest;
}

// Every microbatch passes a stage of `slowest_us`, and the bubble is at the pace of the mean of the stages, all of
// which take `all_us`. What goes from stage to stage and what is fixed per step comes on top.
double Searcher::TimeBound(const LayoutSizes& sizes, double slowest_us, double all_us) const {
  const double microbatches = Microbatches(sizes), bubble = (sizes.pp - 1.0) / sizes.vpp * all_us / sizes.pp;
  const double transfers = PipelineTransferUs(q_.rates, static_cast<double>(q_.layout.gpus), HandedOnBytes(sizes),
                                              microbatches, sizes.pp, sizes.vpp);
  return (microbatches * slowest_us + bubble) * q_.rates.k.stack_overhead + transfers + q_.rates.k.step_fixed_us;
}

// What a stage hands on of a microbatch.
double Searcher::HandedOnBytes(const LayoutSizes& sizes) const {
  const double tokens = static_cast<double>(q_.layout.seq_length) * static_cast<double>(sizes.micro_batch_size) /
                        sizes.cp / (q_.layout.sequence_parallel ? sizes.tp : 1);
  return 2 * q_.work->hidden * tokens;
}

// The first rank holds as many microbatches as there are stages, and of each at least its layers' inputs.
double Searcher::InputBytes(const LayoutSizes& sizes) const {
  // Uneven stages may give a rank a layer less in every chunk, and the first one its embedding.
  const double a_chunk = std::floor(static_cast<double>(q_.shape->num_layers) / sizes.pp / sizes.vpp) - 1;
  const double layers = std::max(0.0, a_chunk) * sizes.vpp;
  return std::min<double>(Microbatches(sizes), sizes.pp) * layers * HandedOnBytes(sizes);
}

double Searcher::StaticBytes(const Layout& layout) const {
  Candidate c = At(layout.sizes, layout.split->stages);
  UseOffload(most_offload_, &c);
  return MemoryModel(*q_.shape, c, q_.memory.device).StaticBytes();
}

// What no way of execution in the family goes below: the one that recomputes most keeps least, and what is live for a
// moment, what the dispatcher registers and what graphs hold comes on top of it.
bool Searcher::CannotFit(const Layout& layout, const Family& family) const {
  if (q_.memory.capacity <= 0) return false;
  Candidate c = At(layout.sizes, layout.split->stages);
  Use({&q_.execution.exchanges.front(), &q_.execution.graphs.front(), {}, {}}, &c);
  Use(family.most, c.offload_layers, &c);
  UseOffload(family.offload, &c);
  const MemoryModel model(*q_.shape, c, q_.memory.device);
  const std::vector<int>& ranks = layout.split->stages->distinct_ranks;
  return std::any_of(ranks.begin(), ranks.end(), [&](int rank) {
    const StageBytes bytes = model.Stage(rank);
    const double passing = bytes[MemoryPart::kBackward] + bytes[MemoryPart::kDispatch] + bytes[MemoryPart::kGraphs];
    return bytes.Total() - passing > q_.memory.capacity;
  });
}

// The legal layouts whose bound is below the threshold, in groups, the most promising first.
void Searcher::Enumerate(const LayoutQuestion& question, double threshold, bool count) {
  layouts_.clear();
  groups_.clear();
  std::optional<Floor> floor;  // of the group of sizes at hand
  size_t begin = 0;            // of its layouts
  int64_t visited = 0;
  const auto close_group = [&] {
    if (layouts_.size() > begin) groups_.push_back({begin, layouts_.size(), 0});
    begin = layouts_.size();
    floor.reset();
  };
  VisitLayouts(
      *q_.shape, question, [&](const LayoutSizes&) { close_group(); },
      [&](const LayoutSizes& sizes) {
        ++work_;
        if (++visited % kVisitsPerReport == 0 && !Report(0, 0)) return false;
        const Pipeline& pipeline = PipelineOf(sizes.pp, sizes.vpp);
        if (pipeline.splits.empty()) return true;
        const int64_t candidates = static_cast<int64_t>(pipeline.splits.size()) * executions_;
        if (count) ++statistics_.layouts, statistics_.space += candidates;
        if (q_.memory.capacity > 0 && InputBytes(sizes) > q_.memory.capacity) {
          if (count) statistics_.memory_bound += candidates;
          return true;
        }
        const double caution = Caution(sizes);
        if (ByTime()) {
          // The cheapest bound first: most layouts fall at the mean stage without their exchanges, whatever their
          // split.
          if (!floor.has_value()) floor = ComputeFloorOf(sizes);
          double bound = caution * TimeBound(sizes, Dot(pipeline.mean, floor->whole), floor->all);
          if (!floor->complete && bound <= threshold) {
            Complete(sizes, &*floor);
            bound = caution * TimeBound(sizes, Dot(pipeline.mean, floor->whole), floor->all);
          }
          if (bound > threshold) {
            if (count) statistics_.time_bound += candidates;
            return true;
          }
        }
        const size_t first_split = layouts_.size();
        for (size_t i = 0; i < pipeline.splits.size(); ++i) {
          const Split& split = pipeline.splits[i];
          double bound = 0;
          if (ByTime()) {
            bound = caution * TimeBound(sizes, SlowestUs(split, floor->whole), floor->all);
          }
          if (bound <= threshold) {
            layouts_.push_back({sizes, i, &split, caution, bound});
          } else if (count) {
            statistics_.time_bound += executions_;
          }
        }
        // The most promising first: the others then fall at a glance.
        std::stable_sort(layouts_.begin() + static_cast<std::ptrdiff_t>(first_split), layouts_.end(),
                         [](const Layout& a, const Layout& b) { return a.bound < b.bound; });
        if (layouts_.size() >= kMaxLayouts) statistics_.cut = true;
        return layouts_.size() < kMaxLayouts;
      });
  close_group();
  if (!ByTime()) {
    q_.parallel(layouts_.size(), [&](size_t from, size_t to) {
      for (size_t i = from; i < to; ++i) layouts_[i].bound = StaticBytes(layouts_[i]);
    });
  }
  for (Group& group : groups_) {
    group.bound = kNever;
    for (size_t i = group.begin; i < group.end; ++i) group.bound = std::min(group.bound, layouts_[i].bound);
  }
  std::sort(groups_.begin(), groups_.end(),
            [](const Group& a, const Group& b) { return std::tie(a.bound, a.begin) < std::tie(b.bound, b.begin); });
}

bool Searcher::Report(double done, double best_us) {
  if (q_.work_limit > 0 && work_ > q_.work_limit) statistics_.stopped = true;
  if (q_.progress != nullptr && !q_.progress({done, statistics_.judged, best_us})) statistics_.stopped = true;
  return !statistics_.stopped;
}

double Searcher::ThresholdAmongAlike(const LayoutSizes& sizes, const std::vector<FoundPlan>& best) const {
  if (q_.keep_alike == 0) return kNever;
  const LayoutSizes mapping = MappingOf(sizes);
  size_t alike = 0;
  for (const FoundPlan& plan : best) {
    if (MappingOf(plan.sizes) == mapping && ++alike == q_.keep_alike) return Score(plan);
  }
  return kNever;
}

// The list stays sorted. It does not depend on the order in which layouts come: what leaves it has enough better ones
// in it, of its mapping or of all.
void Searcher::Keep(const FoundPlan& found, std::vector<FoundPlan>* best) const {
  const auto better = [&](const FoundPlan& a, const FoundPlan& b) {
    return std::make_tuple(Score(a), a.sizes) < std::make_tuple(Score(b), b.sizes);
  };
  best->insert(std::upper_bound(best->begin(), best->end(), found, better), found);
  if (q_.keep_alike > 0) {
    const LayoutSizes mapping = MappingOf(found.sizes);
    size_t alike = 0;
    for (auto it = best->begin(); it != best->end(); ++it) {
      if (MappingOf(it->sizes) != mapping || ++alike <= q_.keep_alike) continue;
      best->erase(it);
      break;
    }
  }
  if (best->size() > q_.keep) best->pop_back();
}

// Judges the groups at hand in the order in which they can win, until none can enter the list any more.
void Searcher::JudgeAll(bool count, std::vector<FoundPlan>* best) {
  std::vector<Judgement> judgements;
  for (size_t at = 0; at < groups_.size(); at += kBatch) {
    const size_t end = std::min(groups_.size(), at + kBatch);
    const double threshold = best->size() < q_.keep ? kNever : Score(best->back());
    if (groups_[at].bound > threshold) {
      for (size_t i = at; count && i < groups_.size(); ++i) {
        statistics_.time_bound += static_cast<int64_t>(groups_[i].end - groups_[i].begin) * executions_;
      }
      return;
    }
    const double done = count ? static_cast<double>(at) / static_cast<double>(groups_.size()) : 0;
    if (!Report(done, best->empty() ? 0 : best->front().step.us)) return;
    judgements.assign(end - at, {});
    q_.parallel(end - at, [&](size_t from, size_t to) {
      for (size_t i = from; i < to; ++i) judgements[i] = Judge(groups_[at + i], threshold, *best);
    });
    for (const Judgement& judgement : judgements) {
      work_ += judgement.judged;
      if (count) {
        statistics_.judged += judgement.judged;
        statistics_.memory_bound += judgement.memory_bound;
        statistics_.time_bound += judgement.time_bound;
        statistics_.incompatible += judgement.incompatible;
      }
      for (const FoundPlan& found : judgement.found) Keep(found, best);
    }
  }
}

SearchResult Searcher::Run() {
  SearchResult result;
  double threshold = kNever;
  std::vector<FoundPlan> usual;
  LayoutQuestion corner = q_.layout;
  if (corner.wish.cp == 0) corner.wish.cp = 1;
  if (corner.wish.etp == 0) corner.wish.etp = 1;
  if (corner.wish.micro_batch_size == 0) corner.wish.micro_batch_size = 1;
  if (ByTime() && corner.wish != q_.layout.wish) {
    // The usual corner: what it finds is found again below, so only its threshold is kept, unless the search is
    // stopped.
    Enumerate(corner, kNever, /*count=*/false);
    if (!statistics_.stopped) JudgeAll(/*count=*/false, &result.plans);
    if (result.plans.size() == q_.keep) threshold = Score(result.plans.back());
    usual.swap(result.plans);
  }
  if (!statistics_.stopped) {
    Enumerate(q_.layout, threshold, /*count=*/true);
    if (!statistics_.stopped) JudgeAll(/*count=*/true, &result.plans);
  }
  if (statistics_.stopped && Better(usual, result.plans)) result.plans.swap(usual);
  result.statistics = statistics_;
  return result;
}

std::optional<FoundPlan> Searcher::Execute(const LayoutSizes& sizes, const StageLayout& stages, double limit_us) const {
  const Split split = SplitOf(stages);
  std::vector<Combination> combinations = Combinations();
  Judgement out;
  JudgeTime({sizes, 0, &split, 1, 0}, std::nextafter(limit_us, 0.0), &combinations, &out);
  if (out.found.empty()) return std::nullopt;
  return out.found.front();
}

}  // namespace

void RunInOrder(size_t count, const std::function<void(size_t begin, size_t end)>& body) { body(0, count); }

SearchResult Search(const SearchQuestion& question) { return Searcher(question, /*counts=*/true).Run(); }

std::optional<FoundPlan> SearchExecutions(const SearchQuestion& question, const LayoutSizes& sizes,
                                          const StageLayout& stages, double limit_us) {
  return Searcher(question, /*counts=*/false).Execute(sizes, stages, limit_us);
}

}  // namespace flightplan
