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

double LoggedFlopsPerToken(const ModelShape& shape, Target target, double seq_length, IndexerLoss loss) {
  ModelShape logged = shape;
  if (logged.mamba_heads > 0) logged.mamba_head_dim = 2 * logged.hidden / logged.mamba_heads;
  // Only a ConfigContainer's stack has a count of its own; the others run Megatron-LM's.
  if (!StackOf(target).container) {
    logged.indexer_topk = 0;
    for (LayerKind& kind : logged.kinds) kind.window = kind.compress_ratio = 0, kind.indexer = false;
    return FlopsPerToken(WorkOf(logged), seq_length);
  }
  const ModelWork work = WorkOf(logged);
  double flops = FlopsPerToken(work, seq_length, loss);
  // Compressed attention's indexer is counted with all three passes, over every pooled key.
  for (size_t i = 0; i < static_cast<size_t>(work.kind_count); ++i) {
    const AttentionWork& attention = work.kinds[i].attention;
    if (attention.index_width <= 0 || attention.window <= 0) continue;
    constexpr double kThreePasses = 3 * 2;
    const double all = attention.index_weights + attention.index_width * seq_length / attention.ratio;
    flops += (work.totals[i] + work.mtp_depths * work.mtp_layers[i]) *
             (kThreePasses * all - IndexerFlops(attention, seq_length, loss));
  }
  return flops;
}

Throughput ThroughputOf(const StepModel& model, const Candidate& candidate, Target target, const StepForecast& forecast,
                        const StepOutlook& outlook) {
  Throughput out;
  out.communication = PathsOf(forecast, outlook);
  const double seq = static_cast<double>(candidate.seq_length);
  const double tokens = static_cast<double>(candidate.global_batch_size) * seq;
  const double gpus = static_cast<double>(candidate.gpus), seconds = outlook.us / kMicro;
  out.step_flops = LoggedFlopsPerToken(model.shape(), target, seq, candidate.indexer_loss) * tokens;
  out.computed_flops = outlook.model_flops;
  if (seconds <= 0 || gpus <= 0) return out;
  out.tokens_per_second = tokens / seconds;
  out.tokens_per_second_per_gpu = out.tokens_per_second / gpus;
  out.flops_per_second_per_gpu = out.step_flops / seconds / gpus;
  const double peak_us = PeakUs(model, candidate);
  if (peak_us <= 0) return out;
  out.peak_flops_per_second = kMicro / peak_us;
  out.mfu = out.computed_flops / seconds / gpus / out.peak_flops_per_second;
  return out;
}

}  // namespace flightplan
