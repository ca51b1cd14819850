#include "resolver/evidence/fitted_profile.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <map>
#include <utility>

#include "resolver/evidence/profile_source.h"

namespace flightplan {
namespace {

// Rates of which the best row counts: a ceiling is the most that any size reached.
constexpr absl::string_view kRates[] = {"mm.dense",      "hbm.copy",      "hbm.read",    "hbm.fill",
                                        "permute.fwd",   "unpermute.fwd", "norm.fwd",    "act.swiglu.fwd",
                                        "attn.core.fwd", "attn.core.bwd", "offload.d2h", "offload.h2d"};

double ErrorOf(const ProfileRow& row) {
  return row.value > 0 ? std::max(row.high - row.value, row.value - row.low) / row.value : 0;
}

double Parameter(const ProfileRow& row, absl::string_view name) {
  const auto found = row.parameters.find(name);
  return found == row.parameters.end() ? std::nan("") : found->second;
}

absl::string_view Label(const ProfileRow& row, absl::string_view name) {
  const auto found = row.labels.find(name);
  return found == row.labels.end() ? absl::string_view() : absl::string_view(found->second);
}

fit::Sample SampleOf(const ProfileRow& row, absl::string_view x) {
  return {Parameter(row, x), row.value, ErrorOf(row)};
}

// The rows of one id as samples against one parameter. Where several rows share an x, the best one: they differ in
// what the curve is not about.
std::vector<fit::Sample> Against(const HardwareProfile& profile, absl::string_view id, absl::string_view x,
                                 absl::string_view unit, bool real_only) {
  std::map<double, fit::Sample> best;
  for (const ProfileRow& row : profile.rows) {
    if (row.id != id || row.unit != unit || (real_only && row.kind == RowKind::kEmulated)) continue;
    if (const absl::string_view op = Label(row, "op"); !op.empty() && op != "copy") continue;  // hbm.sm_curve has three
    const fit::Sample sample = SampleOf(row, x);
    if (!std::isfinite(sample.x)) continue;
    const auto [at, added] = best.emplace(sample.x, sample);
    if (!added && sample.y > at->second.y) at->second = sample;
  }
  std::vector<fit::Sample> samples;
  samples.reserve(best.size());
  for (const auto& [unused, sample] : best) samples.push_back(sample);
  return samples;
}

std::optional<fit::SaturatingCurve> FirstCurve(const HardwareProfile& profile,
                                               std::initializer_list<absl::string_view> ids, absl::string_view x,
                                               absl::string_view unit, bool real_only) {
  for (absl::string_view id : ids) {
    if (auto curve = fit::FitSaturating(Against(profile, id, x, unit, real_only)); curve.has_value()) return curve;
  }
  return std::nullopt;
}

// Time of an exchange against its bytes, from rates of different sizes at the default number of SMs.
std::optional<fit::AlphaBeta> ExchangeOf(const HardwareProfile& profile) {
  for (absl::string_view id : {"a2a.nccl", "a2a.p2p.push", "a2a.p2p.pull"}) {
    std::vector<fit::Sample> samples;
    for (const fit::Sample& rate : Against(profile, id, "bytes", "bytes_per_second", /*real_only=*/true)) {
      if (rate.y > 0) samples.push_back({rate.x, rate.x / rate.y * 1e6, rate.error});
    }
    if (auto fitted = fit::FitAlphaBeta(samples); fitted.has_value()) return fitted;
  }
  return std::nullopt;
}

// corun.matrix: one row a side, told apart by the label `side`.
std::vector<FittedCorun> CorunOf(const HardwareProfile& profile) {
  using Key = std::pair<std::string, std::string>;
  std::map<Key, std::map<double, fit::CorunSample>> cells;
  std::map<Key, std::map<double, int>> sides;
  for (const ProfileRow& row : profile.rows) {
    if (row.id != "corun.matrix" || row.unit != "ratio") continue;
    const double sms = Parameter(row, "sms");
    const absl::string_view side = Label(row, "side");
    if (!std::isfinite(sms) || (side != "compute" && side != "communication")) continue;
    const Key key{std::string(Label(row, "communication")), std::string(Label(row, "compute"))};
    fit::CorunSample& sample = cells[key][sms];
    sample.sms = sms;
    (side == "compute" ? sample.slowdown.compute : sample.slowdown.communication) = row.value;
    sample.error = std::max(sample.error, ErrorOf(row));
    sides[key][sms] |= side == "compute" ? 1 : 2;
  }
  std::vector<FittedCorun> fitted;
  for (const auto& [key, by_sms] : cells) {
    std::vector<fit::CorunSample> samples;
    for (const auto& [sms, sample] : by_sms) {
      if (sides[key][sms] == 3) samples.push_back(sample);
    }
    const auto curve = fit::FitCorun(samples, profile.sm_count);
    if (curve.has_value()) fitted.push_back({key.first, key.second, *curve});
  }
  return fitted;
}

// The class of co-run rows that stands for a compute node; where it was not measured, the GEMM's.
absl::string_view ClassOf(fit::PairNode node) {
  switch (node) {
    case fit::PairNode::kPreFwd:
    case fit::PairNode::kPreBwd:
      return "attention";
    case fit::PairNode::kMlpWgrad:
    case fit::PairNode::kPreWgrad:
      return "wgrad";
    case fit::PairNode::kMlpFwd:
    case fit::PairNode::kMlpBwd:
    case fit::PairNode::kDispatchFwd:
    case fit::PairNode::kDispatchBwd:
    case fit::PairNode::kCombineFwd:
    case fit::PairNode::kCombineBwd:
      return "gemm";
  }
  return "gemm";
}

// All ten nodes, each with what the exchange beside it costs at the SMs that the rows name.
std::optional<fit::PairParts> PairPartsOf(const FittedProfile& fitted) {
  fit::PairParts parts;
  size_t found = 0;
  double sms = 0;
  bool paced = false;
  for (const ProfileRow& row : fitted.profile.rows) {
    if (row.id != "pair.part" || row.unit != "us") continue;
    for (size_t i = 0; i < fit::kPairNodes; ++i) {
      const std::string_view name = fit::Name(static_cast<fit::PairNode>(i));
      if (Label(row, "node") != absl::string_view(name.data(), name.size())) continue;
      parts.us[i] = row.value;
      ++found;
    }
    if (const double at = Parameter(row, "sms"); std::isfinite(at)) sms = at;
    paced |= Parameter(row, "link_bytes_per_second") > 0;
  }
  if (found != fit::kPairNodes) return std::nullopt;
  for (size_t i = 0; i < fit::kPairNodes; ++i) {
    const auto node = static_cast<fit::PairNode>(i);
    if (fit::IsExchange(node)) continue;
    const absl::string_view communication = paced ? "paced" : "push";
    const FittedCorun* corun = fitted.Corun(communication, ClassOf(node));
    if (corun == nullptr) corun = fitted.Corun(communication, "gemm");
    if (corun == nullptr) corun = fitted.Corun("", "gemm");
    if (corun != nullptr) parts.beside[i] = corun->curve.At(sms);
  }
  return parts;
}

void AddPairs(FittedProfile* fitted) {
  struct Whole {
    absl::string_view id;
    fit::PairSchedule schedule;
  };
  constexpr Whole kWholes[] = {{"pair.seq", {.overlap = false}},
                               {"pair.overlap", {}},
                               {"pair.overlap_dw", {.delay_wgrad = true}},
                               {"pair.early_release", {.early_release = true}}};
  fitted->pair_parts = PairPartsOf(*fitted);
  if (!fitted->pair_parts.has_value()) return;
  for (const Whole& whole : kWholes) {
    for (const ProfileRow& row : fitted->profile.rows) {
      if (row.id != whole.id || row.unit != "us") continue;
      fitted->pairs.push_back(
          {whole.id, whole.schedule, row.value, fit::ForecastPair(*fitted->pair_parts, whole.schedule).us});
      break;
    }
  }
}

}  // namespace

const FittedFigure* FittedProfile::Figure(absl::string_view id) const {
  for (const FittedFigure& figure : figures) {
    if (figure.id == id) return &figure;
  }
  return nullptr;
}

const FittedCorun* FittedProfile::Corun(absl::string_view communication, absl::string_view compute) const {
  for (const FittedCorun& cell : corun) {
    if ((communication.empty() || cell.communication == communication) && (compute.empty() || cell.compute == compute))
      return &cell;
  }
  return nullptr;
}

std::shared_ptr<const FittedProfile> FitProfile(HardwareProfile profile) {
  auto fitted = std::make_shared<FittedProfile>();
  fitted->profile = std::move(profile);
  const HardwareProfile& p = fitted->profile;
  for (absl::string_view id : kRates) {
    const ProfileRow* best = nullptr;
    for (const ProfileRow& row : p.rows) {
      const bool rate = row.unit == "bytes_per_second" || row.unit == "flops_per_second";
      if (row.id == id && rate && row.value > 0 && (best == nullptr || row.value > best->value)) best = &row;
    }
    if (best != nullptr) fitted->figures.push_back({id, best->value, ErrorOf(*best)});
  }
  fitted->copy_by_sms = FirstCurve(p, {"hbm.sm_curve"}, "sms", "bytes_per_second", false);
  fitted->exchange_by_sms =
      FirstCurve(p, {"a2a.p2p.push", "a2a.p2p.pull", "a2a.nccl"}, "sms", "bytes_per_second", /*real_only=*/true);
  fitted->exchange = ExchangeOf(p);
  fitted->fc1_by_rows = FirstCurve(p, {"gemm.fc1"}, "rows", "flops_per_second", false);
  fitted->fc2_by_rows = FirstCurve(p, {"gemm.fc2"}, "rows", "flops_per_second", false);
  fitted->wgrad_by_rows = FirstCurve(p, {"gemm.wgrad"}, "rows", "flops_per_second", false);
  fitted->corun = CorunOf(p);
  AddPairs(fitted.get());
  return fitted;
}

bool IsOfType(const HardwareProfile& profile, const GpuSystem& gpu) {
  if (!profile.gpu.empty()) return profile.gpu == gpu.name;
  return !gpu.device_name.empty() && profile.device_name == gpu.device_name;
}

}  // namespace flightplan
