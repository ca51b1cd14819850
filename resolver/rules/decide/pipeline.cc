// Sequence parallelism, and which layers each pipeline stage owns when they do not divide evenly.
#include "resolver/derive/pipeline.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "resolver/plan/stack.h"
#include "resolver/rules/decide/deliberation.h"
#include "resolver/rules/decide/evidence.h"

namespace flightplan::decide {
namespace {

using K = Knob;

// Beyond these nothing is a pipeline.
constexpr int64_t kMaxStages = 4096;
constexpr int64_t kMaxLayers = 65536;

}  // namespace

void DecidePipeline(Deliberation& d) {
  const Features& f = d.f;
  if (f.tp > 1) {
    d.Choose(K::sequence_parallel, true,
             {.rule_id = "decide.sequence-parallel",
              .reason = f.moe ? "TP with experts requires it, and it splits the norms' activations"
                              : "splits the norms' activations over the TP ranks at no extra traffic",
              .citations = {evidence::kMoeGuide}});
  }
  if (f.pp <= 1 || d.intent.model.hybrid_layer_pattern.has_value()) return;
  const int64_t layers =
      d.value(K::num_layers).integer() > 0 ? d.value(K::num_layers).integer() : d.intent.model.num_layers;
  const int64_t stages = f.pp * f.vpp;
  const int64_t mtp = std::max<int64_t>(0, d.value(K::mtp_num_layers).integer());
  const bool split_given = !d.value(K::num_layers_in_first_pipeline_stage).is_none() ||
                           !d.value(K::num_layers_in_last_pipeline_stage).is_none() ||
                           d.on(K::account_for_embedding_in_pipeline_split) ||
                           d.on(K::account_for_loss_in_pipeline_split);
  const bool hashed = StackOf(d.intent.env).fork && d.value(K::moe_n_hash_layers).integer() > 0;
  const bool even = layers % stages == 0 && !hashed;
  if (stages > kMaxStages || layers > kMaxLayers || mtp > kMaxLayers || even || split_given ||
      layers + mtp + 2 < stages || !d.value(K::pipeline_model_parallel_layout).is_none()) {
    return;
  }
  const std::vector<int64_t> sizes = BalancedStages(layers, mtp, stages);
  d.Choose(K::pipeline_model_parallel_layout, LayoutText(sizes, mtp),
           {.rule_id = "decide.pipeline-layout",
            .reason = absl::StrCat(layers, " layers ",
                                   layers % stages == 0 ? "with hash routing need a layout for " : "do not divide by ",
                                   stages, " stages (PP ", f.pp, " x VPP ", f.vpp, "); embedding, loss",
                                   mtp > 0 ? " and MTP" : "", " count as a layer each"),
            .basis = Basis::kRecipes,
            .citations = {"Megatron-Bridge@067f987df perf_recipes/deepseek: Et|(tt|)*30mL"}});
  // What fits is judged by the stages that will run.
  if (f.shape.num_layers == layers && f.shape.mtp_depths == mtp) {
    d.f.stages = StagesOfSizes(f.shape, static_cast<int>(f.pp), static_cast<int>(f.vpp), sizes);
  }
}

}  // namespace flightplan::decide
