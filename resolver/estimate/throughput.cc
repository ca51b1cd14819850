#include "resolver/estimate/throughput.h"

#include "resolver/plan/stack.h"

namespace flightplan {
namespace {

constexpr double kMicro = 1e6;

double ShareOf(const StepOutlook& outlook, absl::string_view wall) {
  for (const WallShare& share : outlook.walls) {
    if (share.name == wall) return share.ratio;
  }
  return 0;
}

std::array<CommunicationPath, 5> PathsOf(const StepForecast& forecast, const StepOutlook& outlook) {
  const StepParts& p = forecast.parts;
  const HiddenCommunication& h = forecast.hidden;
  std::array<CommunicationPath, 5> paths = {{{"expert_parallel", p.expert_exchange, h.expert_exchange},
                                             {"tensor_parallel", p.tensor_parallel, h.tensor_parallel},
                                             {"context_parallel", p.context_parallel, h.context_parallel},
                                             {"pipeline_parallel", p.pipeline_transfer, h.pipeline_transfer},
                                             {"data_parallel", p.data_parallel, h.data_parallel}}};
  const double exposed = p.communication();
  const double to_exposed = exposed > 0 ? ShareOf(outlook, "communication") * outlook.us / exposed : 0;
  const double to_hidden = forecast.us > 0 ? outlook.us / forecast.us : 0;
  for (CommunicationPath& path : paths) {
    path.exposed_us *= to_exposed;
    path.hidden_us *= to_hidden;
  }
  return paths;
}

// Microseconds of one FLOP at the peak. A GPU without units for the precision computes in bf16.
double PeakUs(const StepModel& model, const Candidate& candidate) {
  const double own = model.rates().peak_us[static_cast<size_t>(candidate.precision)];
  return own > 0 ? own : model.rates().peak_us[0];
}

}  // namespace

double LeastStepUs(const StepModel& model, const Candidate& candidate) {
  if (candidate.gpus <= 0) return 0;
  const double tokens = static_cast<double>(candidate.global_batch_size) * static_cast<double>(candidate.seq_length);
  return FlopsPerToken(WorkOf(model.shape()), 0) * ComputedShare(candidate) * tokens * PeakUs(model, candidate) /
         static_cast<double>(candidate.gpus);
}

double LoggedFlopsPerToken(const ModelShape& shape, Target target, double seq_length) {
  ModelShape logged = shape;
  // Only a ConfigContainer's stack has a count of its own; the others run Megatron-LM's.
  const bool clips_windows = StackOf(target).container;
  for (LayerKind& kind : logged.kinds) {
    if (!clips_windows) kind.window = 0;
  }
  if (logged.mamba_heads > 0) logged.mamba_head_dim = 2 * logged.hidden / logged.mamba_heads;
  return FlopsPerToken(WorkOf(logged), seq_length);
}

Throughput ThroughputOf(const StepModel& model, const Candidate& candidate, Target target, const StepForecast& forecast,
                        const StepOutlook& outlook) {
  Throughput out;
  out.communication = PathsOf(forecast, outlook);
  const double seq = static_cast<double>(candidate.seq_length);
  const double tokens = static_cast<double>(candidate.global_batch_size) * seq;
  const double gpus = static_cast<double>(candidate.gpus), seconds = outlook.us / kMicro;
  out.step_flops = LoggedFlopsPerToken(model.shape(), target, seq) * tokens;
  if (seconds <= 0 || gpus <= 0) return out;
  out.tokens_per_second = tokens / seconds;
  out.tokens_per_second_per_gpu = out.tokens_per_second / gpus;
  out.flops_per_second_per_gpu = out.step_flops / seconds / gpus;
  const double peak_us = PeakUs(model, candidate);
  if (peak_us <= 0) return out;
  out.peak_flops_per_second = kMicro / peak_us;
  out.mfu = out.flops_per_second_per_gpu / out.peak_flops_per_second;
  return out;
}

}  // namespace flightplan
