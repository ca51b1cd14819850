#include "resolver/estimate/probe_outlook.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "probe/fit/sm_advice.h"
#include "resolver/derive/steady_passes.h"
#include "resolver/estimate/exchange.h"
#include "resolver/estimate/probed_operators.h"
#include "resolver/estimate/step.h"
#include "resolver/plan/network.h"

namespace flightplan {
namespace {

constexpr double kGiga = 1e9, kTera = 1e12, kMicro = 1e6;

// WithProfile takes data-sheet units.
std::vector<ProbeFigure> FiguresOf(const FittedProfile& fitted, double strange) {
  std::vector<ProbeFigure> figures;
  for (const FittedFigure& figure : fitted.figures) {
    figures.push_back({figure.id, figure.value / (figure.id == "mm.dense" ? kTera : kGiga), figure.error + strange});
  }
  return figures;
}

// The link of an exchange by this backend, at the catalogue's rate or the one that was measured.
ExchangeLink LinkOf(const GpuRates& rates, Dispatcher backend, bool crosses_domain) {
  const double us = (crosses_domain ? rates.network_us : rates.nvlink_us)[static_cast<size_t>(backend)];
  return {us > 0 ? kMicro / us : 0, !crosses_domain, backend == Dispatcher::kAllToAll};
}

// Bytes a second that the kernels of an exchange move with so many SMs. A copy reads and writes every byte on this
// device; an exchange writes it on another one.
const fit::SaturatingCurve* SendCurve(const FittedProfile& fitted, double* share) {
  *share = 1;
  if (fitted.exchange_by_sms.has_value()) return &*fitted.exchange_by_sms;
  *share = 0.5;
  return fitted.copy_by_sms.has_value() ? &*fitted.copy_by_sms : nullptr;
}

// The step counts apart what the SMs that the exchange holds cost compute; a measured slowdown has that in it.
void SetCorun(const fit::CorunCurve& curve, double sms, StepCoefficients* k) {
  const fit::Slowdown slow = curve.At(sms);
  k->corun_compute = slow.compute * (curve.total_sms - sms) / curve.total_sms;
  k->corun_communication = slow.communication;
}

// The model, the layout and the rates of one question.
struct Question {
  ModelShape shape;
  ModelWork work;
  StageLayout stages;
  Candidate candidate;
  GpuRates rates;
  bool crosses_domain = false;

  // The candidate points at the stages of this very object, which may have been moved.
  Candidate Plan() const {
    Candidate plan = candidate;
    plan.stages = &stages;
    return plan;
  }
  Candidate Plan(bool overlap) const {
    Candidate plan = Plan();
    plan.ep_overlap = overlap;
    if (overlap) plan.shared_expert_overlap = false;
    return plan;
  }
  // Microseconds; 0: none.
  double Step(const GpuRates& with, bool overlap) const {
    StepForecast forecast;
    return ForecastStep(work, Plan(overlap), with, &forecast) ? forecast.us : 0;
  }
};

std::optional<Question> Ask(const NormalizedIntent& intent, const Config& config) {
  absl::StatusOr<ModelShape> shape = MakeShape(intent.model, config, intent.shape.get());
  if (!shape.ok()) return std::nullopt;
  Question q{*std::move(shape), {}, {}, {}, RatesFor(intent)};
  q.work = WorkOf(q.shape);
  q.stages = StagesOf(q.shape, config);
  q.candidate = CandidateOf(config, intent.env, q.shape, q.stages);
  // The fusions choose it, behind those that ask here.
  if (config.origin(Knob::moe_grouped_gemm) != Origin::kCaller) q.candidate.grouped_gemm = true;
  const Candidate& c = q.candidate;
  const int64_t dense = int64_t{c.tp} * c.pp * c.cp, expert = int64_t{c.etp} * c.ep * c.pp;
  if (!q.rates.known || c.ep <= 1 || c.gpus % dense != 0 || c.gpus % expert != 0) return std::nullopt;
  if (c.global_batch_size <= 0 || c.seq_length <= 0) return std::nullopt;
  q.crosses_domain = static_cast<double>(c.ep) * c.etp > q.rates.domain_gpus;
  return q;
}

// NCCL-EP's own benchmark has no reader yet, and an allgather is no exchange.
struct BackendRow {
  Dispatcher backend;
  absl::string_view row;
};
constexpr BackendRow kBackendRows[] = {
    {Dispatcher::kAllToAll, "a2a.nccl"}, {Dispatcher::kDeepEp, "a2a.deepep"}, {Dispatcher::kHybridEp, "a2a.hybridep"}};

const FittedExchange* ExchangeFor(const FittedProfile& fitted, Dispatcher backend, bool inside_domain) {
  for (const BackendRow& each : kBackendRows) {
    if (each.backend == backend) return fitted.Exchange(each.row, inside_domain);
  }
  return nullptr;
}

// What the rate of an exchange inside the domain or beyond it rests on, as WithProbe takes it.
ExchangeSource SourceOf(const FittedProfile& fitted, Dispatcher backend, bool inside_domain) {
  if (const FittedExchange* exchange = ExchangeFor(fitted, backend, inside_domain); exchange != nullptr)
    return exchange->kind == RowKind::kImported ? ExchangeSource::kImported : ExchangeSource::kMeasured;
  const bool flex = backend != Dispatcher::kAllToAll && backend != Dispatcher::kAllGather;
  return flex && inside_domain && fitted.exchange_by_sms.has_value() ? ExchangeSource::kOwnKernels
                                                                     : ExchangeSource::kCatalogue;
}

std::string ExchangeText(const FittedExchange& exchange) {
  return absl::StrCat(exchange.row, exchange.inside_domain ? " over NVLink" : " over the network",
                      exchange.kind == RowKind::kImported ? " (imported)" : "");
}

const FittedCorun* CorunFor(const FittedProfile& fitted, const Question& q) {
  return fitted.CorunOver(LinkOf(q.rates, q.candidate.dispatcher, q.crosses_domain), "gemm");
}

std::string CorunRow(const FittedCorun& cell) {
  return absl::StrCat("corun.matrix, ", cell.communication, " beside ", cell.compute,
                      cell.kind == RowKind::kEmulated ? " (emulated)" : "");
}

void ScaleExchange(double by, GpuRates* rates) {
  for (double& us : rates->nvlink_us) us *= by;
  for (double& us : rates->network_us) us *= by;
  rates->deepep_sm_us *= by;
}

class Evidence final : public ProbeEvidence {
 public:
  using ProbeEvidence::ProbeEvidence;

  std::optional<OverlapOutlook> EpOverlap(const NormalizedIntent& intent, const Config& config) const override {
    if (std::all_of(fitted->corun.begin(), fitted->corun.end(), [&](const FittedCorun& c) { return IsOutdone(c); })) {
      return std::nullopt;
    }
    std::optional<Question> q = Ask(intent, config);
    if (!q.has_value()) return std::nullopt;
    const FittedCorun* corun = CorunFor(*fitted, *q);
    if (corun == nullptr) return std::nullopt;
    if (IsOutdone(*corun)) return std::nullopt;
    KeepSteadyPasses(&q->stages);  // for a dozen forecasts
    const bool own_kernels =
        q->candidate.dispatcher == Dispatcher::kDeepEp || q->candidate.dispatcher == Dispatcher::kHybridEp;
    const double sms = own_kernels ? ExchangeSms(q->candidate, q->crosses_domain) : kUsualExchangeSms;
    SetCorun(corun->curve, sms, &q->rates.k);
    const double off = q->Step(q->rates, false), on = q->Step(q->rates, true);
    if (off <= 0 || on <= 0) return std::nullopt;

    OverlapOutlook outlook;
    const double strange = StrangeError(origin), slowdown_error = corun->Error() + strange;
    outlook.change = on / off - 1;
    const double half = HalfWidth(*q, outlook.change, slowdown_error);
    outlook.low = outlook.change - half;
    outlook.high = outlook.change + half;
    outlook.corun_gain = corun->curve.At(sms).Gain();
    outlook.corun_error = corun->curve.GainError(sms, slowdown_error);
    outlook.corun_kind = corun->kind;
    outlook.sms = sms;
    AddLayer(*q, &outlook);
    const FittedExchange* exchange = ExchangeFor(*fitted, q->candidate.dispatcher, !q->crosses_domain);
    outlook.exchange_source = SourceOf(*fitted, q->candidate.dispatcher, !q->crosses_domain);
    outlook.citations.push_back(Cite(CorunRow(*corun)));
    if (fitted->fc1_by_rows.has_value())
      outlook.citations.push_back(
          Cite(fitted->own_products ? "gemm.fc1 against rows (the probe's own kernel)" : "gemm.fc1 against rows"));
    if (exchange != nullptr) outlook.citations.push_back(Cite(ExchangeText(*exchange)));
    if (outlook.exchange_source == ExchangeSource::kOwnKernels)
      outlook.citations.push_back(Cite("a2a.p2p against SMs (the probe's own kernels)"));
    return outlook;
  }

  std::optional<SmOutlook> DispatcherSms(const NormalizedIntent& intent, const Config& config) const override {
    std::optional<Question> q = Ask(intent, config);
    if (!q.has_value()) return std::nullopt;
    const FittedCorun* corun = CorunFor(*fitted, *q);
    double share = 1;
    const fit::SaturatingCurve* send = SendCurve(*fitted, &share);
    if (corun == nullptr || send == nullptr) return std::nullopt;
    KeepSteadyPasses(&q->stages);  // for a forecast by each number of SMs
    // Where the exchange runs alone more SMs cost nothing; beside compute they do.
    SetCorun(corun->curve, kUsualExchangeSms, &q->rates.k);
    const bool overlap = config.Get(Knob::overlap_moe_expert_parallel_comm).truthy() ||
                         (config.origin(Knob::overlap_moe_expert_parallel_comm) == Origin::kDefault &&
                          q->Step(q->rates, true) < q->Step(q->rates, false));
    // All that does not hang on the exchange is timed once.
    Candidate plan = q->Plan(overlap);
    const LayerTimer layers(q->work, plan, q->rates);
    std::array<double, fit::kSmCounts> us{};
    size_t count = 0;
    for (; count < us.size(); ++count) {
      const double sms = fit::kLeastSms + 2.0 * static_cast<double>(count);
      if (sms > q->rates.sm_count / 2) break;
      plan.num_sms = static_cast<uint16_t>(sms);
      const GpuRates with = WithSms(q->rates, corun->curve, send->At(sms) * share, sms);
      StepForecast step;
      us[count] = ForecastStep(q->work, plan, with, layers.TimeExchanging(plan, with), &step) ? step.us : 0;
    }
    if (count == 0 || us[0] <= 0) return std::nullopt;
    const fit::SmAdvice advice = fit::PickSms(us, count, std::max(send->error, corun->Error()) + StrangeError(origin));
    SmOutlook outlook{advice.best, advice.low, advice.high, corun->kind == RowKind::kEmulated, {}};
    outlook.citations.push_back(Cite(fitted->exchange_by_sms.has_value() ? "a2a against SMs" : "hbm.sm_curve"));
    outlook.citations.push_back(Cite(CorunRow(*corun)));
    return outlook;
  }

 private:
  // What was published of whole steps says more than a link that was stood in for on a card elsewhere.
  bool IsOutdone(const FittedCorun& corun) const {
    return corun.kind == RowKind::kEmulated && origin == ProfileOrigin::kRecorded;
  }

  // Each source of error moved by its own size; they are independent of each other.
  static double HalfWidth(const Question& q, double change, double slowdown_error) {
    const auto moved = [&](auto&& move) {
      GpuRates rates = q.rates;
      move(&rates);
      const double off = q.Step(rates, false), on = q.Step(rates, true);
      return off > 0 ? on / off - 1 - change : 0.0;
    };
    const RateErrors& error = q.rates.error;
    const std::array<double, 5> sides = {moved([&](GpuRates* r) { ScaleExchange(1 + error.exchange, r); }),
                                         moved([&](GpuRates* r) { r->k.corun_compute *= 1 + slowdown_error; }),
                                         moved([&](GpuRates* r) { r->k.corun_communication *= 1 + slowdown_error; }),
                                         moved([&](GpuRates* r) {
                                           for (double& us : r->gemm_us) us *= 1 + error.gemm[0];
                                         }),
                                         moved([&](GpuRates* r) { r->host_us *= 1 + error.host; })};
    // What the schedule itself leaves out: repeated runs of published pairs differ by a per cent.
    double sum = 0.01 * 0.01;
    for (double side : sides) sum += side * side;
    return std::sqrt(sum);
  }

  // The first kind of layer with experts: its exchange, and its experts without attention and shared expert.
  static void AddLayer(const Question& q, OverlapOutlook* outlook) {
    Candidate plan = q.Plan();
    plan.ep_overlap = plan.shared_expert_overlap = false;
    ModelWork experts = q.work;
    for (int i = 0; i < experts.kind_count; ++i) {
      LayerWork& layer = experts.kinds[static_cast<size_t>(i)];
      layer.attention = {};
      layer.mlp.shared_width = 0;
    }
    const LayerTimes times = TimeLayers(experts, plan, q.rates);
    for (int i = 0; i < experts.kind_count; ++i) {
      if (experts.kinds[static_cast<size_t>(i)].mlp.experts <= 0) continue;
      const LayerTime& layer = times.kinds[static_cast<size_t>(i)];
      outlook->exchange_us = layer.fwd_exchange;
      outlook->expert_us = layer.fwd.matmul;
      return;
    }
  }

  // The exchange at the rate that its SMs move, where that is less than the link's.
  static GpuRates WithSms(GpuRates rates, const fit::CorunCurve& corun, double bytes_per_second, double sms) {
    SetCorun(corun, sms, &rates.k);
    const double by_sms = kMicro / std::max(1.0, bytes_per_second);
    const auto slower = [&](double link) { return std::sqrt(std::sqrt(std::pow(link, 4) + std::pow(by_sms, 4))); };
    for (const Dispatcher flex : {Dispatcher::kDeepEp, Dispatcher::kHybridEp, Dispatcher::kNcclEp}) {
      const auto at = static_cast<size_t>(flex);
      rates.nvlink_us[at] = slower(rates.nvlink_us[at]);
      rates.network_us[at] = slower(rates.network_us[at]);
    }
    rates.deepep_sm_us = 0;  // its limit is in nvlink_us now
    return rates;
  }
};

}  // namespace

GpuRates WithProbe(GpuRates rates, const ProbeEvidence& probe, double sms) {
  const FittedProfile& fitted = *probe.fitted;
  const double strange = StrangeError(probe.origin);
  const std::vector<ProbeFigure> figures = FiguresOf(fitted, strange);
  rates = WithProfile(rates, figures);
  if (fitted.attention_forward.has_value() && fitted.attention_backward.has_value()) {
    const auto probed = [&](const FittedAttention& a) {
      return ProbedAttention{a.us_per_flop, a.half_sequence, a.error + strange, a.heads_tokens / kAttentionBlockTokens};
    };
    rates = WithAttention(rates, probed(*fitted.attention_forward), probed(*fitted.attention_backward));
  }
  const double ridge = rates.ridge[static_cast<size_t>(GemmPrecision::kBf16)];
  if (fitted.fc1_by_rows.has_value() && ridge > 0) {
    const double half = fitted.fc1_by_rows->Reaching(0.5);
    if (std::isfinite(half) && half > 0) rates.k.gemm_half_rows_grouped = half / ridge;
  }
  if (fitted.exchange_by_sms.has_value()) {
    const fit::SaturatingCurve& curve = *fitted.exchange_by_sms;
    for (const Dispatcher flex : {Dispatcher::kDeepEp, Dispatcher::kHybridEp, Dispatcher::kNcclEp})
      rates.nvlink_us[static_cast<size_t>(flex)] = kMicro / curve.ceiling;
    rates.deepep_sm_us = kMicro / curve.slope;
  }
  // The band of exchanges stays the catalogue's: it is one for all backends and links.
  for (const BackendRow& each : kBackendRows) {
    const auto at = static_cast<size_t>(each.backend);
    if (const FittedExchange* nvlink = fitted.Exchange(each.row, true); nvlink != nullptr) {
      rates.nvlink_us[at] = nvlink->us_per_byte;
      if (each.backend == Dispatcher::kDeepEp) rates.deepep_sm_us = 0;  // measured with the SMs that it had
    }
    if (const FittedExchange* network = fitted.Exchange(each.row, false); network != nullptr)
      rates.network_us[at] = network->us_per_byte;
  }
  // Only what of an exchange runs over NVLink slows it down in the step.
  const ExchangeLink nvlink = LinkOf(rates, Dispatcher::kAllToAll, /*crosses_domain=*/false);
  if (const FittedCorun* corun = fitted.CorunOver(nvlink, "gemm"); corun != nullptr)
    SetCorun(corun->curve, sms, &rates.k);
  return rates;
}

GpuRates RatesFor(const NormalizedIntent& intent) {
  // The host decides how fast kernels are launched; a site may pair a GPU with another one than usual.
  std::optional<GpuSystem> with_arm;
  if (intent.host_cpu == HostCpuClass::kArm) with_arm.emplace(intent.gpu).host_link = "NVLink-C2C";
  const GpuSystem& gpu = with_arm.has_value() ? *with_arm : intent.gpu;
  GpuRates rates = intent.coefficients != nullptr ? RatesOf(gpu, *intent.coefficients) : RatesOf(gpu);
  if (!rates.known) return rates;
  if (intent.probe != nullptr) {
    rates = WithOperators(WithProbe(rates, *intent.probe), ProbedOperators(intent), StrangeError(intent.probe->origin));
  }
  if (intent.host_cpu == HostCpuClass::kX86Slow) rates = WithSlowHost(rates);
  if (intent.transport == "efa") rates = OverEfa(rates);
  rates.network_measured = HasVerbs(intent.transport) || static_cast<double>(intent.gpu_count) <= rates.domain_gpus;
  return rates;
}

std::shared_ptr<const ProbeEvidence> MakeProbeEvidence(FoundProfile found) {
  if (found.fitted == nullptr) return nullptr;
  return std::make_shared<const Evidence>(std::move(found.fitted), found.origin);
}

}  // namespace flightplan
