// Models on GPUs of the catalogue, to time.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "resolver/catalog/catalog.h"
#include "resolver/derive/pipeline.h"
#include "resolver/estimate/step.h"

namespace flightplan {

inline const Catalog& TheCatalog() {
  static const Catalog& catalog = *new Catalog(*Catalog::Builtin());
  return catalog;
}

// A model on one pipeline; the layout is the caller's to change.
struct Case {
  ModelShape shape;
  ModelWork work;
  StageLayout stages;
  Candidate plan;
  GpuRates rates;

  Case(const std::string& model, const std::string& gpu, int gpus, int pp = 1, int vpp = 1)
      : shape(*MakeShape(**TheCatalog().FindModel(model))),
        work(WorkOf(shape)),
        rates(RatesOf(**TheCatalog().FindGpu(gpu))) {
    Config config;
    config.Set(Knob::pipeline_model_parallel_size, Value(pp), Origin::kCaller);
    if (vpp > 1) config.Set(Knob::virtual_pipeline_model_parallel_size, Value(vpp), Origin::kCaller);
    stages = StagesOf(shape, config);
    plan.gpus = gpus;
    plan.pp = pp;
    plan.vpp = stages.vpp;
    plan.seq_length = 4096;
    plan.global_batch_size = 512;
    plan.loss = LossKind::kTeFused;
    plan.distributed_optimizer = plan.overlap_grad_reduce = plan.overlap_param_gather = true;
  }
  StepForecast Forecast() {
    plan.stages = &stages;
    StepForecast forecast;
    EXPECT_TRUE(ForecastStep(work, plan, rates, &forecast));
    return forecast;
  }
};

}  // namespace flightplan
