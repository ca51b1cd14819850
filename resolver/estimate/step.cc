#include "resolver/estimate/step.h"

#include "resolver/estimate/schedule.h"

namespace flightplan {
namespace {

// Chosen, neither measured alone.
constexpr double kTransferExposed = 0.8, kInterleavedExposed = 0.35;  // of what a stage hands on
constexpr double kHandOnLatency = 0.5;                                // of a collective's

}  // namespace

bool ForecastStep(const ModelWork& work, const Candidate& plan, const GpuRates& rates, StepForecast* out) {
  return ForecastStep(work, plan, rates, rates.known ? TimeLayers(work, plan, rates) : LayerTimes(), out);
}

bool ForecastStep(const ModelWork& work, const Candidate& plan, const GpuRates& rates, const LayerTimes& layers,
                  StepForecast* out) {
  return Schedule(work, plan, rates, layers).Run(out);
}

double StepUsBelow(double limit_us, const ModelWork& work, const Candidate& plan, const GpuRates& rates,
                   const LayerTimes& layers, StepForecast* out) {
  return Schedule(work, plan, rates, layers).UsBelow(limit_us, out);
}

PipelineTransfer PipelineTransferOf(const GpuRates& rates, double gpus, double stage_bytes, double microbatches,
                                    double pp, double vpp) {
  if (pp <= 1) return {};
  const bool near = gpus <= rates.domain_gpus;
  const double hop = stage_bytes * (near ? rates.collective_nvlink_us : rates.collective_network_us) +
                     kHandOnLatency * rates.k.collective_latency_us;
  const double steady = 2 * microbatches * vpp * hop, left = vpp > 1 ? kInterleavedExposed : kTransferExposed;
  return {steady * left + 2 * (pp - 1) * hop, steady * (1 - left)};
}

double PipelineTransferUs(const GpuRates& rates, double gpus, double stage_bytes, double microbatches, double pp,
                          double vpp) {
  return PipelineTransferOf(rates, gpus, stage_bytes, microbatches, pp, vpp).exposed;
}

}  // namespace flightplan
