// Sequence parallelism, and which layers each pipeline stage owns when they do not divide evenly.
#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "resolver/rules/decide/deliberation.h"
#include "resolver/rules/decide/evidence.h"

namespace flightplan::decide {
namespace {

using K = Knob;

// Beyond these nothing is a pipeline.
constexpr int64_t kMaxStages = 4096;
constexpr int64_t kMaxLayers = 65536;

// One letter a cell: E embedding, t decoder layer, m MTP layer, L loss. Embedding, loss and each MTP layer weigh as
// much as a decoder layer, which is how the published layouts are balanced; what does not divide goes to the middle
// stages.
std::string BalancedLayout(int64_t layers, int64_t mtp, int64_t stages) {
  const int64_t units = layers + mtp + 2;
  std::vector<int64_t> decoder(static_cast<size_t>(stages), units / stages);
  int64_t rest = units % stages;
  for (size_t i = 1; i + 1 < decoder.size() && rest > 0; ++i, --rest) ++decoder[i];
  if (rest > 0) ++decoder.back();
  decoder.front() -= 1;       // the embedding's place
  decoder.back() -= 1 + mtp;  // loss and MTP
  // A tail too heavy for its share takes no decoder layer; what is missing is taken from the last stages before it.
  for (size_t i = decoder.size() - 1; decoder.back() < 0;) {
    if (--i == 0) i = decoder.size() - 2;
    --decoder[i];
    ++decoder.back();
  }
  std::string text;
  for (size_t i = 0; i < decoder.size(); ++i) {
    if (i > 0) text.push_back('|');
    if (i == 0) text.push_back('E');
    text.append(static_cast<size_t>(std::max<int64_t>(0, decoder[i])), 't');
    if (i + 1 == decoder.size()) {
      text.append(static_cast<size_t>(mtp), 'm');
      text.push_back('L');
    }
  }
  return text;
}

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
  if (stages > kMaxStages || layers > kMaxLayers || mtp > kMaxLayers || layers % stages == 0 || split_given ||
      layers + mtp + 2 < stages || !d.value(K::pipeline_model_parallel_layout).is_none()) {
    return;
  }
  d.Choose(K::pipeline_model_parallel_layout, BalancedLayout(layers, mtp, stages),
           {.rule_id = "decide.pipeline-layout",
            .reason = absl::StrCat(layers, " layers do not divide by ", stages, " stages (PP ", f.pp, " x VPP ", f.vpp,
                                   "); embedding, loss", mtp > 0 ? " and MTP" : "", " count as a layer each"),
            .basis = Basis::kRecipes,
            .citations = {"Megatron-Bridge@067f987df perf_recipes/deepseek: Et|(tt|)*30mL"}});
}

}  // namespace flightplan::decide
