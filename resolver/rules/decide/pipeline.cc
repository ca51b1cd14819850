// Sequence parallelism, and which layers each pipeline stage owns when they do not divide evenly.
#include "resolver/derive/pipeline.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "resolver/plan/stack.h"
#include "resolver/rules/decide/deliberation.h"
#include "resolver/rules/decide/evidence.h"
#include "resolver/rules/decide/rows.h"
#include "resolver/rules/prediction_stages.h"

namespace flightplan::decide {
namespace {

using K = Knob;

// Beyond these nothing is a pipeline.
constexpr int64_t kMaxStages = 4096;
constexpr int64_t kMaxLayers = 65536;

constexpr Row kSequenceParallel[] = {
    {.when = [](D d) { return d.f.tp > 1 && d.f.moe; },
     .value = true,
     .why = "TP with experts requires it, and it splits the norms' activations",
     .cites = {evidence::kMoeGuide}},
    {.when = [](D d) { return d.f.tp > 1; },
     .value = true,
     .why = "splits the norms' activations over the TP ranks at no extra traffic",
     .cites = {evidence::kMoeGuide}},
};

int64_t LayersOf(D d) {
  const int64_t layers = d.value(K::num_layers).integer();
  return layers > 0 ? layers : d.intent.model.num_layers;
}
int64_t MtpOf(D d) { return std::max<int64_t>(0, d.value(K::mtp_num_layers).integer()); }

// The caller said how layers are split.
bool SplitGiven(D d) {
  return !d.value(K::num_layers_in_first_pipeline_stage).is_none() ||
         !d.value(K::num_layers_in_last_pipeline_stage).is_none() || d.on(K::account_for_embedding_in_pipeline_split) ||
         d.on(K::account_for_loss_in_pipeline_split) || !d.value(K::pipeline_model_parallel_layout).is_none();
}

bool Divides(D d) {
  const bool hashed = d.stack.fork && d.value(K::moe_n_hash_layers).integer() > 0;
  return LayersOf(d) % (d.f.pp * d.f.vpp) == 0 && !hashed;
}

bool NeedsLayout(D d) {
  if (d.f.pp <= 1 || d.intent.model.hybrid_layer_pattern.has_value() || SplitGiven(d) || Divides(d)) return false;
  const int64_t layers = LayersOf(d), mtp = MtpOf(d), stages = d.f.pp * d.f.vpp;
  return stages <= kMaxStages && layers <= kMaxLayers && mtp <= kMaxLayers && layers + mtp + 2 >= stages;
}

}  // namespace

void DecidePipeline(Deliberation& d) {
  const Features& f = d.f;
  Choose(d, K::sequence_parallel, "decide.sequence-parallel", kSequenceParallel);
  if (!NeedsLayout(d)) return;
  const int64_t layers = LayersOf(d), mtp = MtpOf(d), stages = f.pp * f.vpp;
  const std::vector<int64_t> sizes = WithDecoderBesidePrediction(BalancedStages(layers, mtp, stages), mtp, d.stack);
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
    d.f.stages = StagesOfSizes(f.shape, static_cast<int>(f.pp), static_cast<int>(f.vpp), sizes,
                               d.intent.known_stages != nullptr ? *d.intent.known_stages : StageLayout());
  }
}

}  // namespace flightplan::decide
