#include "resolver/estimate/probe_outlook.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "probe/fit/sm_advice.h"
#include "resolver/estimate/step.h"

namespace flightplan {
namespace {

constexpr double kGiga = 1e9, kTera = 1e12, kMicro = 1e6;

// WithProfile takes data-sheet units.
std::vector<ProbeFigure> FiguresOf(const FittedProfile& fitted, double strange) {
  std::vector<ProbeFigure> figures;
  for (const FittedFigure& figure : fitted.figures) {
    const bool flops = figure.id == "mm.dense" || figure.id == "attn.core.fwd" || figure.id == "attn.core.bwd";
    figures.push_back({figure.id, figure.value / (flops ? kTera : kGiga), figure.error + strange});
  }
  return figures;
}

// An exchange that leaves the NVLink domain is what the paced link stands for; inside it peers are written to directly.
const FittedCorun* CorunFor(const FittedProfile& fitted, bool crosses_domain) {
  for (absl::string_view communication : crosses_domain ? std::array<absl::string_view, 3>{"paced", "push", "nccl"}
                                                        : std::array<absl::string_view, 3>{"push", "nccl", "paced"}) {
    if (const FittedCorun* cell = fitted.Corun(communication, "gemm"); cell != nullptr) return cell;
  }
  return nullptr;
}

// Bytes a second that the kernels of an exchange move with so many SMs. A copy reads and writes every byte on this
// device; an exchange writes it on another one.
const fit::SaturatingCurve* SendCurve(const FittedProfile& fitted, double* share) {
  *share = 1;
  if (fitted.exchange_by_sms.has_value()) return &*fitted.exchange_by_sms;
  *share = 0.5;
  return fitted.copy_by_sms.has_value() ? &*fitted.copy_by_sms : nullptr;
}

void SetCorun(const fit::CorunCurve& curve, double sms, StepCoefficients* k) {
  const fit::Slowdown slow = curve.At(sms);
  k->corun_compute = slow.compute;
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
  // Microseconds; 0: none.
  double Step(const GpuRates& with, bool overlap) const {
    Candidate plan = Plan();
    plan.ep_overlap = overlap;
    if (overlap) plan.shared_expert_overlap = false;
    StepForecast forecast;
    return ForecastStep(work, plan, with, &forecast) ? forecast.us : 0;
  }
};

std::optional<Question> Ask(const NormalizedIntent& intent, const Config& config) {
  absl::StatusOr<ModelShape> shape = MakeShape(intent.model, config);
  if (!shape.ok()) return std::nullopt;
  Question q{*std::move(shape), {}, {}, {}, RatesFor(intent)};
  q.work = WorkOf(q.shape);
  q.stages = StagesOf(q.shape, config);
  q.candidate = CandidateOf(config, intent.env, q.shape, q.stages);
  const Candidate& c = q.candidate;
  const int64_t dense = int64_t{c.tp} * c.pp * c.cp, expert = int64_t{c.etp} * c.ep * c.pp;
  if (!q.rates.known || c.ep <= 1 || c.gpus % dense != 0 || c.gpus % expert != 0) return std::nullopt;
  if (c.global_batch_size <= 0 || c.seq_length <= 0) return std::nullopt;
  q.crosses_domain = static_cast<double>(c.ep) * c.etp > q.rates.domain_gpus;
  return q;
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
    std::optional<Question> q = Ask(intent, config);
    if (!q.has_value()) return std::nullopt;
    const FittedCorun* corun = CorunFor(*fitted, q->crosses_domain);
    if (corun == nullptr) return std::nullopt;
    const double sms = q->candidate.num_sms > 0 ? q->candidate.num_sms : kUsualExchangeSms;
    SetCorun(corun->curve, sms, &q->rates.k);
    const double off = q->Step(q->rates, false), on = q->Step(q->rates, true);
    if (off <= 0 || on <= 0) return std::nullopt;

    OverlapOutlook outlook;
    const double strange = StrangeError(origin), slowdown_error = corun->curve.error + strange;
    outlook.change = on / off - 1;
    const double half = HalfWidth(*q, outlook.change, slowdown_error);
    outlook.low = outlook.change - half;
    outlook.high = outlook.change + half;
    outlook.corun_gain = corun->curve.At(sms).Gain();
    outlook.corun_error = corun->curve.GainError(sms) + strange;
    outlook.sms = sms;
    AddLayer(*q, &outlook);
    outlook.exchange_measured = !q->crosses_domain && fitted->exchange.has_value();
    outlook.citations.push_back(Cite(absl::StrCat("corun.matrix, ", corun->communication, " beside ", corun->compute)));
    if (fitted->fc1_by_rows.has_value()) outlook.citations.push_back(Cite("gemm.fc1 against rows"));
    if (outlook.exchange_measured) outlook.citations.push_back(Cite("a2a against bytes"));
    return outlook;
  }

  std::optional<SmOutlook> DispatcherSms(const NormalizedIntent& intent, const Config& config) const override {
    std::optional<Question> q = Ask(intent, config);
    if (!q.has_value()) return std::nullopt;
    const FittedCorun* corun = CorunFor(*fitted, q->crosses_domain);
    double share = 1;
    const fit::SaturatingCurve* send = SendCurve(*fitted, &share);
    if (corun == nullptr || send == nullptr) return std::nullopt;
    // Where the exchange runs alone more SMs cost nothing; beside compute they do.
    SetCorun(corun->curve, kUsualExchangeSms, &q->rates.k);
    const bool overlap = config.Get(Knob::overlap_moe_expert_parallel_comm).truthy() ||
                         (config.origin(Knob::overlap_moe_expert_parallel_comm) == Origin::kDefault &&
                          q->Step(q->rates, true) < q->Step(q->rates, false));
    std::array<double, fit::kSmCounts> us{};
    size_t count = 0;
    for (; count < us.size(); ++count) {
      const double sms = fit::kLeastSms + 2.0 * static_cast<double>(count);
      if (sms > q->rates.sm_count / 2) break;
      us[count] = q->Step(WithSms(q->rates, corun->curve, send->At(sms) * share, sms), overlap);
    }
    if (count == 0 || us[0] <= 0) return std::nullopt;
    const fit::SmAdvice advice =
        fit::PickSms(us, count, std::max(send->error, corun->curve.error) + StrangeError(origin));
    SmOutlook outlook{advice.best, advice.low, advice.high, {}};
    outlook.citations.push_back(Cite(fitted->exchange_by_sms.has_value() ? "a2a against SMs" : "hbm.sm_curve"));
    outlook.citations.push_back(Cite(absl::StrCat("corun.matrix, ", corun->communication, " beside ", corun->compute)));
    return outlook;
  }

 private:
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
  rates = WithProfile(std::move(rates), figures);
  const double ridge = rates.ridge[static_cast<size_t>(GemmPrecision::kBf16)];
  if (fitted.fc1_by_rows.has_value() && ridge > 0) {
    const double half = fitted.fc1_by_rows->Reaching(0.5);
    if (std::isfinite(half) && half > 0) rates.k.gemm_half_rows_grouped = half / ridge;
  }
  if (fitted.exchange.has_value()) {
    rates.nvlink_us[static_cast<size_t>(Dispatcher::kAllToAll)] = fitted.exchange->large.us_per_byte;
    rates.error.exchange = fitted.exchange->error + strange;
  }
  if (fitted.exchange_by_sms.has_value()) {
    const fit::SaturatingCurve& curve = *fitted.exchange_by_sms;
    for (const Dispatcher flex : {Dispatcher::kDeepEp, Dispatcher::kHybridEp, Dispatcher::kNcclEp})
      rates.nvlink_us[static_cast<size_t>(flex)] = kMicro / curve.ceiling;
    rates.deepep_sm_us = kMicro / curve.slope;
  }
  if (const FittedCorun* corun = CorunFor(fitted, /*crosses_domain=*/false); corun != nullptr)
    SetCorun(corun->curve, sms, &rates.k);
  return rates;
}

GpuRates RatesFor(const NormalizedIntent& intent) {
  GpuSystem gpu = intent.gpu;
  // The host decides how fast kernels are launched; a site may pair a GPU with another one than usual.
  if (intent.host_cpu == HostCpuClass::kArm) gpu.host_link = "NVLink-C2C";
  GpuRates rates = RatesOf(gpu);
  if (!rates.known) return rates;
  if (intent.probe != nullptr) rates = WithProbe(std::move(rates), *intent.probe);
  if (intent.host_cpu == HostCpuClass::kX86Slow) rates = WithSlowHost(std::move(rates));
  if (intent.transport == "efa") rates = OverEfa(std::move(rates));
  return rates;
}

std::shared_ptr<const ProbeEvidence> MakeProbeEvidence(FoundProfile found) {
  if (found.fitted == nullptr) return nullptr;
  return std::make_shared<const Evidence>(std::move(found.fitted), found.origin);
}

}  // namespace flightplan
