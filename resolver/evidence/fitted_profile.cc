#include "resolver/evidence/fitted_profile.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "probe/fit/alpha_beta.h"
#include "resolver/evidence/profile_source.h"

namespace flightplan {
namespace {

// Rates of which the best row counts: a ceiling is the most that any size reached.
constexpr absl::string_view kRates[] = {"mm.dense",      "hbm.copy", "hbm.read",       "hbm.fill",    "permute.fwd",
                                        "unpermute.fwd", "norm.fwd", "act.swiglu.fwd", "offload.d2h", "offload.h2d"};

constexpr double kUsualTopk = 8;  // of the shape that the default profile is measured at

double ErrorOf(const ProfileRow& row) {
  return row.value > 0 ? std::max(row.high - row.value, row.value - row.low) / row.value : 0;
}

fit::Sample SampleOf(const ProfileRow& row, absl::string_view x) { return {row.Parameter(x), row.value, ErrorOf(row)}; }

// Rows between real peers say what joined them; those of an output that was read may not. PCIe, and what NVML did not
// tell, stand for neither link that a plan counts on.
bool OverNvlink(const ProfileRow& row) {
  const absl::string_view link = row.Label("link");
  return link.empty() || link == "nvlink";
}
bool OverNetwork(const ProfileRow& row) { return row.Label("link") == "network"; }

// Products by the library, or where there are none by the probe's own kernels: those stand in for it and are never
// mixed with it. Rows without the label are no products.
bool IsStandIn(const ProfileRow& row) {
  const absl::string_view path = row.Label("path");
  return !path.empty() && path != "cublaslt";
}

bool HasLibraryRow(const HardwareProfile& profile, absl::string_view id) {
  return std::any_of(profile.rows.begin(), profile.rows.end(),
                     [&](const ProfileRow& row) { return row.id == id && !IsStandIn(row); });
}

// The rows of one id as samples against one parameter. Where several rows share an x, the best one: they differ in
// what the curve is not about.
std::vector<fit::Sample> Against(const HardwareProfile& profile, absl::string_view id, absl::string_view x,
                                 absl::string_view unit, bool real_only) {
  std::map<double, fit::Sample> best;
  const bool library = HasLibraryRow(profile, id);
  for (const ProfileRow& row : profile.rows) {
    if (row.id != id || row.unit != unit || (real_only && row.kind == RowKind::kEmulated)) continue;
    if (library && IsStandIn(row)) continue;
    if (real_only && !OverNvlink(row)) continue;
    if (const absl::string_view op = row.Label("op"); !op.empty() && op != "copy") continue;  // hbm.sm_curve has three
    fit::Sample sample = SampleOf(row, x);
    if (!std::isfinite(sample.x)) continue;
    if (IsStandIn(row)) sample.error += kStandInError;
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

// Rows of an exchange between real peers over one link: this node's own, or where there are none those that another
// program measured.
std::vector<const ProfileRow*> ExchangeRows(const HardwareProfile& profile, absl::string_view id, bool inside_domain) {
  std::vector<const ProfileRow*> rows;
  for (const ProfileRow& row : profile.rows) {
    const bool real = row.kind == RowKind::kMeasured || row.kind == RowKind::kImported;
    if (row.id != id || row.unit != "bytes_per_second" || !real || !(row.value > 0)) continue;
    if (inside_domain ? OverNvlink(row) : OverNetwork(row)) rows.push_back(&row);
  }
  const auto measured = [](const ProfileRow* row) { return row->kind == RowKind::kMeasured; };
  if (std::any_of(rows.begin(), rows.end(), measured)) {
    rows.erase(std::remove_if(rows.begin(), rows.end(), [&](const ProfileRow* row) { return !measured(row); }),
               rows.end());
  }
  return rows;
}

// The price of a byte in large exchanges: the slope of time against bytes where there are several sizes, else the best
// rate of each pass, since a layer dispatches and combines as often.
std::optional<FittedExchange> FitExchange(const HardwareProfile& profile, absl::string_view id, bool inside_domain) {
  const std::vector<const ProfileRow*> rows = ExchangeRows(profile, id, inside_domain);
  if (rows.empty()) return std::nullopt;
  FittedExchange fitted{id, inside_domain};
  std::map<double, fit::Sample> by_bytes;
  std::map<absl::string_view, double> best;  // by pass
  double widest = 0;
  for (const ProfileRow* row : rows) {
    if (row->kind == RowKind::kImported) fitted.kind = RowKind::kImported;
    widest = std::max(widest, ErrorOf(*row));
    double& rate = best[row->Label("pass")];
    rate = std::max(rate, row->value);
    const double bytes = row->Parameter("bytes");
    if (bytes > 0) by_bytes.emplace(bytes, fit::Sample{bytes, bytes / row->value * 1e6, ErrorOf(*row)});
  }
  std::vector<fit::Sample> samples;
  samples.reserve(by_bytes.size());
  for (const auto& [unused, sample] : by_bytes) samples.push_back(sample);
  if (const auto line = fit::FitAlphaBeta(samples); line.has_value() && line->large.us_per_byte > 0) {
    fitted.us_per_byte = line->large.us_per_byte;
    fitted.error = line->error;
  } else {
    for (const auto& [unused, rate] : best) fitted.us_per_byte += 1e6 / rate / static_cast<double>(best.size());
    fitted.error = widest;
  }
  if (fitted.kind == RowKind::kImported) fitted.error += kImportedError;
  return fitted;
}

void AddExchanges(FittedProfile* fitted) {
  for (absl::string_view id : {"a2a.nccl", "a2a.deepep", "a2a.hybridep"}) {
    for (const bool inside : {true, false}) {
      if (auto exchange = FitExchange(fitted->profile, id, inside); exchange.has_value())
        fitted->exchanges.push_back(*exchange);
    }
  }
}

// corun.matrix: one row a side, told apart by the label `side`.
std::vector<FittedCorun> CorunOf(const HardwareProfile& profile) {
  using Key = std::tuple<std::string, std::string, double>;  // communication, compute, the pace of the link
  std::map<Key, std::map<double, fit::CorunSample>> cells;
  std::map<Key, RowKind> kinds;
  std::map<Key, std::map<double, int>> sides;
  for (const ProfileRow& row : profile.rows) {
    if (row.id != "corun.matrix" || row.unit != "ratio") continue;
    double sms = row.Parameter("sms");
    if (row.Label("communication") == "nccl" && !std::isfinite(sms)) sms = kNcclSms;
    const absl::string_view side = row.Label("side");
    if (!OverNvlink(row) || !std::isfinite(sms) || (side != "compute" && side != "communication")) continue;
    const double pace = row.Parameter("link_bytes_per_second");
    const Key key{std::string(row.Label("communication")), std::string(row.Label("compute")),
                  std::isfinite(pace) ? pace : 0};
    RowKind& kind = kinds.emplace(key, row.kind).first->second;
    if (row.kind != RowKind::kMeasured) kind = row.kind;  // no better than its worst row
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
    if (!curve.has_value()) continue;
    fitted.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), kinds[key], *curve});
  }
  return fitted;
}

// A line of time per FLOP against one over the sequence, through rows of equal work; nothing with fewer than three
// sequences. Relative residuals: what is short is as sure as what is long.
std::optional<FittedAttention> AttentionOf(const HardwareProfile& profile, absl::string_view id) {
  constexpr double kHeadSize = 128;
  struct Point {
    double x, y, error;
  };
  std::map<double, std::vector<Point>> by_work;
  for (const ProfileRow& row : profile.rows) {
    const double sequence = row.Parameter("sequence"), work = row.Parameter("heads") * row.Parameter("tokens");
    if (row.id != id || row.unit != "flops_per_second" || row.kind == RowKind::kEmulated || !(row.value > 0)) continue;
    if (row.Parameter("head_dim") != kHeadSize || !(sequence > 0) || !(work > 0)) continue;
    by_work[work].push_back({1 / sequence, 1e6 / row.value, ErrorOf(row)});
  }
  std::optional<FittedAttention> best;
  size_t most = 2;
  for (const auto& [work, points] : by_work) {
    if (points.size() <= most) continue;
    double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0, own = 0;
    for (const Point& p : points) {
      const double weight = 1 / (p.y * p.y);
      w += weight, wx += weight * p.x, wy += weight * p.y, wxx += weight * p.x * p.x, wxy += weight * p.x * p.y;
      own = std::max(own, p.error);
    }
    const double across = w * wxx - wx * wx;
    if (!(across > 0)) continue;
    const double slope = (w * wxy - wx * wy) / across, start = (wy - slope * wx) / w;
    if (!(start > 0) || !(slope > 0)) continue;
    double worst = 0;
    for (const Point& p : points) worst = std::max(worst, std::fabs((start + slope * p.x) / p.y - 1));
    best = FittedAttention{start, slope / start, own + worst, work};
    most = points.size();
  }
  return best;
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
  double sms = 0, pace = 0;
  for (const ProfileRow& row : fitted.profile.rows) {
    if (row.id != "pair.part" || row.unit != "us") continue;
    for (size_t i = 0; i < fit::kPairNodes; ++i) {
      const std::string_view name = fit::Name(static_cast<fit::PairNode>(i));
      if (row.Label("node") != absl::string_view(name.data(), name.size())) continue;
      parts.us[i] = row.value;
      ++found;
    }
    if (const double at = row.Parameter("sms"); std::isfinite(at)) sms = at;
    if (const double link = row.Parameter("link_bytes_per_second"); link > 0) pace = link;
  }
  if (found != fit::kPairNodes) return std::nullopt;
  for (size_t i = 0; i < fit::kPairNodes; ++i) {
    const auto node = static_cast<fit::PairNode>(i);
    if (fit::IsExchange(node)) continue;
    const absl::string_view communication = pace > 0 ? "paced" : "push";
    const FittedCorun* corun = fitted.Corun(communication, ClassOf(node), pace);
    if (corun == nullptr) corun = fitted.Corun(communication, "gemm", pace);
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
          {whole.id, whole.schedule, row.value, fit::ForecastPair(*fitted->pair_parts, whole.schedule).us, row.kind});
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

const FittedExchange* FittedProfile::Exchange(absl::string_view row, bool inside_domain) const {
  for (const FittedExchange& exchange : exchanges) {
    if (exchange.row == row && exchange.inside_domain == inside_domain) return &exchange;
  }
  return nullptr;
}

namespace {

// How many times one pace is the other, the larger over the smaller; a cell without a pace is infinitely far.
double PaceApart(double pace, double link) {
  if (!(pace > 0) || !(link > 0)) return std::numeric_limits<double>::infinity();
  return std::max(pace / link, link / pace);
}

}  // namespace

const FittedCorun* FittedProfile::Corun(absl::string_view communication, absl::string_view compute,
                                        double link_bytes_per_second) const {
  const FittedCorun* nearest = nullptr;
  for (const FittedCorun& cell : corun) {
    if ((!communication.empty() && cell.communication != communication) ||
        (!compute.empty() && cell.compute != compute)) {
      continue;
    }
    if (nearest == nullptr || PaceApart(cell.link_bytes_per_second, link_bytes_per_second) <
                                  PaceApart(nearest->link_bytes_per_second, link_bytes_per_second)) {
      nearest = &cell;
    }
  }
  return nearest;
}

const FittedCorun* FittedProfile::CorunOver(const ExchangeLink& link, absl::string_view compute) const {
  constexpr double kFarthestPace = 2;  // beyond it the traffic is another one
  for (const absl::string_view peers : {link.by_library ? "nccl" : "push", link.by_library ? "push" : "nccl"}) {
    const FittedCorun* cell = link.inside_domain ? Corun(peers, compute) : nullptr;
    if (cell != nullptr && cell->kind != RowKind::kEmulated) return cell;
  }
  const FittedCorun* paced = Corun("paced", compute, link.bytes_per_second);
  if (paced == nullptr || PaceApart(paced->link_bytes_per_second, link.bytes_per_second) > kFarthestPace)
    return nullptr;
  return paced;
}

std::shared_ptr<const FittedProfile> FitProfile(HardwareProfile profile) {
  auto fitted = std::make_shared<FittedProfile>();
  fitted->profile = std::move(profile);
  const HardwareProfile& p = fitted->profile;
  for (absl::string_view id : kRates) {
    const ProfileRow* best = nullptr;
    const bool library = HasLibraryRow(p, id);
    for (const ProfileRow& row : p.rows) {
      const bool rate = row.unit == "bytes_per_second" || row.unit == "flops_per_second";
      if (row.id != id || !rate || row.kind == RowKind::kEmulated || (library && IsStandIn(row))) continue;
      // Fewer experts a token, fewer bytes for every row that is written: another operation, not a better size.
      if (const double topk = row.Parameter("topk"); std::isfinite(topk) && topk != kUsualTopk) continue;
      if (row.value > 0 && (best == nullptr || row.value > best->value)) best = &row;
    }
    if (best == nullptr) continue;
    fitted->figures.push_back({id, best->value, ErrorOf(*best) + (IsStandIn(*best) ? kStandInError : 0)});
  }
  fitted->attention_forward = AttentionOf(p, "attn.core.fwd");
  fitted->attention_backward = AttentionOf(p, "attn.core.bwd");
  fitted->operators = FitOperators(p);
  fitted->copy_by_sms = FirstCurve(p, {"hbm.sm_curve"}, "sms", "bytes_per_second", false);
  fitted->exchange_by_sms =
      FirstCurve(p, {"a2a.p2p.push", "a2a.p2p.pull", "a2a.nccl"}, "sms", "bytes_per_second", /*real_only=*/true);
  AddExchanges(fitted.get());
  fitted->fc1_by_rows = FirstCurve(p, {"gemm.fc1"}, "rows", "flops_per_second", false);
  fitted->own_products = fitted->fc1_by_rows.has_value() && !HasLibraryRow(p, "gemm.fc1");
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
