#include "tests/evidence/unstated_knobs.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "resolver/estimate/estimate.h"

namespace flightplan {

Unstated UnstatedOf(const Json& row, bool moe) {
  Unstated none;
  none.recompute = JsonField(row, "recompute_granularity") == nullptr && JsonField(row, "recompute_modules") == nullptr;
  none.graphs = JsonField(row, "cuda_graph_impl") == nullptr && JsonField(row, "cuda_graph_scope") == nullptr;
  none.dispatcher = moe && JsonNumber(row, "ep") > 1 && JsonField(row, "dispatcher") == nullptr;
  none.overlap = moe && JsonNumber(row, "ep") > 1 && JsonField(row, "moe_a2a_overlap") == nullptr;
  return none;
}

double ReleaseYear(const std::string& release) {
  static const std::map<std::string, double> kBridge = {{"v0.1.0", 25.67}, {"v0.2.0", 25.83}, {"v0.3.0", 26.08},
                                                        {"v0.3.1", 26.10}, {"v0.4.0", 26.25}, {"v0.4.2", 26.30},
                                                        {"v0.5.0", 26.42}, {"v0.6.0", 26.58}, {"main", 26.60}};
  if (auto it = kBridge.find(release); it != kBridge.end()) return it->second - 25;
  const std::vector<std::string> parts = absl::StrSplit(absl::StripPrefix(release, "v"), '.');
  double year = 0, month = 0;
  if (parts.size() >= 2 && absl::SimpleAtod(parts[0], &year) && absl::SimpleAtod(parts[1], &month) && year >= 20)
    return year - 25 + (month - 1) / 12;
  if (absl::StartsWith(release, "mlperf-v5.0")) return 0.3;
  if (absl::StartsWith(release, "mlperf-v5.1")) return 0.7;
  if (release == "mcore-discussion") return 0.8;
  if (absl::StartsWith(release, "arXiv 2603")) return 1.2;
  return 1.5;
}

double ReleaseAge(const std::string& release) {
  if (absl::StartsWith(release, "verification")) return 100;
  double age = 0;
  std::vector<std::string> parts = absl::StrSplit(release, '.');
  double scale = 1;
  for (const std::string& part : parts) {
    double number = 0;
    if (!absl::SimpleAtod(part, &number)) return 50;
    age += number * scale;
    scale /= 100;
  }
  return age;
}

namespace {

// How near a donor's setting is to a run's: the model before the machine before the precision before the layout.
double Nearness(const Donor& donor, const Donor& row) {
  if (donor.moe != row.moe) return 0;
  const Candidate &a = donor.plan, &b = row.plan;
  double near = 1 - 4.0 * std::abs(donor.age - row.age);
  near += donor.model == row.model ? 8 : 0;
  near += donor.gpu == row.gpu ? 4 : donor.generation == row.generation ? 2 : 0;
  near += donor.precision == row.precision ? 2 : donor.low_precision == row.low_precision ? 1 : 0;
  near += a.tp == b.tp && a.pp == b.pp && a.cp == b.cp && a.ep == b.ep ? 2 : 0;
  near += a.vpp == b.vpp && a.micro_batch_size == b.micro_batch_size ? 1 : 0;
  // Who shards the weights has room that others must make by recomputing.
  near += a.shard_weights == b.shard_weights ? 8 : 0;
  return near;
}

void Take(const Unstated& none, const Candidate& from, Candidate* to) {
  if (none.recompute) to->recompute = from.recompute, to->recompute_modules = from.recompute_modules;
  if (none.graphs) to->graphs = from.graphs, to->graph_modules = from.graph_modules;
  if (none.dispatcher) to->dispatcher = from.dispatcher, to->num_sms = from.num_sms;
  // The overlap asks for virtual stages where there is a pipeline, and for a dispatcher that can.
  const bool able = (to->pp == 1 || to->vpp > 1) && to->dispatcher != Dispatcher::kAllGather;
  if (none.overlap && able) to->ep_overlap = from.ep_overlap, to->delay_wgrad = from.delay_wgrad;
}

}  // namespace

Donor DonorOf(const TruthRow& row, const std::string& release, const Unstated& missing) {
  return {row.run.model_name,
          row.gpu,
          row.precision,
          row.run.shape->experts > 0,
          row.precision != "bf16",
          row.run.gpu->cc_major,
          ReleaseYear(release),
          row.run.plan,
          missing};
}

void CompleteDonors(std::vector<Donor>* donors) {
  for (Donor& donor : *donors) {
    if (!donor.missing.any()) continue;
    const Donor* nearest = nullptr;
    for (const Donor& other : *donors) {
      if (other.missing.any()) continue;
      if (nearest == nullptr || Nearness(other, donor) > Nearness(*nearest, donor)) nearest = &other;
    }
    if (nearest != nullptr) Take(donor.missing, nearest->plan, &donor.plan);
  }
}

namespace {

bool SameKnobs(const Candidate& a, const Candidate& b) {
  return a.recompute == b.recompute && a.recompute_modules == b.recompute_modules && a.graphs == b.graphs &&
         a.graph_modules == b.graph_modules && a.dispatcher == b.dispatcher && a.num_sms == b.num_sms &&
         a.ep_overlap == b.ep_overlap && a.delay_wgrad == b.delay_wgrad;
}

// Nobody computes all layers again where everything fits: the donor that did had less room.
void DropNeedlessRecompute(Run* run) {
  if (run->plan.recompute != RecomputeMode::kFullUniform && run->plan.recompute != RecomputeMode::kFullBlock) return;
  Candidate without = run->plan;
  without.recompute = RecomputeMode::kNone;
  MemoryForecast memory;
  const GpuMemory gpu = MemoryOf(*run->gpu);
  ForecastMemory(*run->shape, without, gpu, &memory);
  if (memory.fullest.total.value <= kRoom * gpu.capacity) run->plan = without;
}

// What the row's run may have been, by what each donor sets.
std::vector<Variant> VariantsOf(const std::vector<Donor>& donors, const Donor& asked, const Unstated& none,
                                const Run& stated) {
  double nearest = 0;
  for (const Donor& donor : donors) nearest = std::max(nearest, Nearness(donor, asked));
  std::vector<Variant> variants;
  for (const Donor& donor : donors) {
    // One step further away, a third of the weight.
    const double near = Nearness(donor, asked), weight = std::pow(3.0, near - nearest);
    if (weight < 0.05) continue;
    Run run = stated;
    Take(none, donor.plan, &run.plan);
    if (none.recompute) DropNeedlessRecompute(&run);
    auto same = std::find_if(variants.begin(), variants.end(),
                             [&](const Variant& other) { return SameKnobs(other.run.plan, run.plan); });
    if (same == variants.end()) same = variants.insert(variants.end(), {run, 0});
    same->weight += weight;
  }
  return variants;
}

}  // namespace

void AddVariants(const std::vector<Donor>& donors, const Unstated& none, TruthRow* row) {
  constexpr size_t kMost = 5;
  std::vector<Variant> variants = VariantsOf(donors, DonorOf(*row, row->release, none), none, row->run);
  if (variants.empty()) return;
  std::stable_sort(variants.begin(), variants.end(),
                   [](const Variant& a, const Variant& b) { return a.weight > b.weight; });
  if (variants.size() > kMost) variants.resize(kMost);
  double sum = 0;
  for (const Variant& variant : variants) sum += variant.weight;
  for (Variant& variant : variants) variant.weight /= sum;
  row->run = variants.front().run;
  row->weight = variants.front().weight;
  row->others.assign(variants.begin() + 1, variants.end());
}

}  // namespace flightplan
