// Questions for the tests of the search, and what it found.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "resolver/catalog/catalog.h"
#include "resolver/derive/pipeline.h"
#include "resolver/planner/search.h"

namespace flightplan {

// A question about a catalogue model, with everything that it points at.
struct Setting {
  ModelSpec spec;
  ModelShape shape;
  ModelWork work;
  SearchQuestion question;

  Setting(const char* model, const char* gpu, int64_t gpus, int64_t batch, double gib) {
    const Catalog catalog = *Catalog::Builtin();
    spec = **catalog.FindModel(model);
    shape = *MakeShape(spec);
    work = WorkOf(shape);
    question.shape = &shape;
    question.work = &work;
    question.rates = RatesOf(**catalog.FindGpu(gpu));
    question.memory = {gib * (1u << 30), {9, 8}};
    question.layout.gpus = gpus;
    question.layout.global_batch_size = batch;
    question.layout.seq_length = 4096;
    question.execution.exchanges = {{}, {Dispatcher::kDeepEp, false, false, 0}, {Dispatcher::kDeepEp, true, true, 0}};
    question.execution.graphs = {{}, {GraphImpl::kTransformerEngine, kGraphAttn | kGraphMoeRouter}};
    question.execution.recomputes = RecomputeSets(shape);
    question.execution.optimizer_offloads = {0, 1};
    question.base = [](const LayoutSizes&) {
      Candidate c;
      c.distributed_optimizer = true;
      return c;
    };
    question.stages = [this](int pp, int vpp) {
      std::vector<std::shared_ptr<const StageLayout>> splits;
      for (const std::vector<int64_t>& sizes :
           StageSplits(shape.num_layers, shape.mtp_depths, pp, vpp, TailLayers(work))) {
        splits.push_back(std::make_shared<const StageLayout>(StagesOfSizes(shape, pp, vpp, sizes)));
      }
      return splits;
    };
    question.keep = 8;
  }

  // Of as many layers, all with experts.
  void Deepen(int layers) {
    spec.num_layers = layers;
    spec.moe_layer_freq.assign(static_cast<size_t>(layers), 1);
    shape = *MakeShape(spec);
    work = WorkOf(shape);
  }
};

inline std::vector<LayoutSizes> LegalLayouts(const ModelShape& shape, const LayoutQuestion& question, size_t limit) {
  std::vector<LayoutSizes> layouts;
  VisitLayouts(
      shape, question, [](const LayoutSizes&) {},
      [&](const LayoutSizes& sizes) {
        layouts.push_back(sizes);
        return layouts.size() < limit;
      });
  return layouts;
}

using Ranked = std::vector<std::pair<double, LayoutSizes>>;

inline Ranked Found(const SearchQuestion& q) {
  Ranked ranked;
  for (const FoundPlan& plan : Search(q).plans) {
    ranked.emplace_back(q.objective == SearchObjective::kStepTime ? plan.step.us : plan.memory.value, plan.sizes);
  }
  return ranked;
}

inline void ExpectSame(const Ranked& found, const Ranked& all) {
  ASSERT_EQ(found.size(), all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_DOUBLE_EQ(found[i].first, all[i].first) << "rank " << i;
    EXPECT_TRUE(found[i].second == all[i].second) << "rank " << i;
  }
}

}  // namespace flightplan
