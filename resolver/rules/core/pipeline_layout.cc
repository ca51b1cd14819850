// The pipeline layout: reading it and checking which layers stand where.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "resolver/derive/pipeline.h"
#include "resolver/rules/core/fix_util.h"
#include "resolver/rules/core/upstream.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;
using Fault = PipelineLayout::Fault;

// The layout, when it could be read; null otherwise. Rules about its content have nothing to say about a broken one.
const PipelineLayout* Readable(F f) {
  const PipelineLayout* layout = f.layout();
  return layout != nullptr && layout->fault == Fault::kNone ? layout : nullptr;
}

bool Broken(F f, Fault fault) { return f.layout() != nullptr && f.layout()->fault == fault; }

template <typename Condition>
bool Holds(F f, Condition condition) {
  const PipelineLayout* layout = Readable(f);
  return layout != nullptr && condition(*layout);
}

std::vector<Patch> NoLayout(F f) { return {WithoutLayout(f)}; }

// What else is wrong with such a layout is told once its stages are taken.
std::vector<Patch> RanksOfLayout(F f) {
  const PipelineLayout* layout = f.layout();
  if (layout == nullptr || layout->Count('t') != f.num(K::num_layers)) return {EvenRanks(f)};
  return RanksForStages(f, static_cast<int64_t>(layout->stages.size()));
}

// One decoder layer more, in the shortest stage before the prediction layers, or one less, from the longest.
bool MoveOneLayer(bool add, std::vector<std::string>* stages) {
  std::string* best = nullptr;
  for (std::string& stage : *stages) {
    const bool better = best == nullptr || (add ? stage.size() < best->size() : stage.size() > best->size());
    if (better && (add || absl::StrContains(stage, 't'))) best = &stage;
    if (absl::StrContains(stage, 'm')) break;
  }
  if (best == nullptr) return false;
  if (!add) {
    best->erase(best->find('t'), 1);
  } else {
    best->insert(std::min(best->find_first_not_of("Et"), best->size()), "t");
  }
  return true;
}

// The caller's stages with as many decoder layers as the model has; or no layout.
std::vector<Patch> AllLayers(F f) {
  constexpr int64_t kMostMoves = 1 << 18;  // looks at a stage
  std::vector<Patch> patches = NoLayout(f);
  const PipelineLayout* layout = Readable(f);
  const int64_t layers = f.num(K::num_layers);
  if (layout == nullptr || layers < 1 || layers > kMostLayersOfText || layout->Count('e') > 0) return patches;
  // LoongForge makes the layout of these.
  if (f.fork() && (f.set(K::custom_pipeline_layers) || f.set(K::custom_virtual_pipeline_layers))) return patches;
  std::vector<std::string> stages = layout->stages;
  const int64_t missing = layers - layout->Count('t');
  const int64_t count = static_cast<int64_t>(stages.size());
  if (count > kMostLayersOfText || std::abs(missing) * count > kMostMoves) return patches;
  for (int64_t moved = 0; moved < std::abs(missing); ++moved) {
    if (!MoveOneLayer(missing > 0, &stages)) return patches;
  }
  patches.insert(patches.begin(), {Assign(K::pipeline_model_parallel_layout, absl::StrJoin(stages, "|"))});
  return patches;
}

std::string Culprit(F f) { return f.layout() == nullptr ? "" : "found '" + f.layout()->culprit + "'"; }

std::string CountOf(F f, char letter) {
  const PipelineLayout* layout = Readable(f);
  return layout == nullptr
             ? ""
             : std::string(LayerName(letter)) + " layers in the layout = " + std::to_string(layout->Count(letter));
}

std::string StageCount(F f) {
  return f.layout() == nullptr ? "" : "stages in the layout = " + std::to_string(f.layout()->stages.size());
}

bool OtherSplit(F f) {
  return f.set(K::num_layers_in_first_pipeline_stage) || f.set(K::num_layers_in_last_pipeline_stage) ||
         f.on(K::account_for_embedding_in_pipeline_split) || f.on(K::account_for_loss_in_pipeline_split);
}

bool WrongMtpCount(F f) {
  return Holds(f, [&](const PipelineLayout& l) {
    const int64_t count = l.Count('m');
    return f.none(K::mtp_num_layers) ? count != 0 : count != f.num(K::mtp_num_layers);
  });
}

// Up to core 0.15 prediction layers had to share the very last stage with the loss.
bool MtpOutsideLastStage(F f) {
  return Holds(f, [](const PipelineLayout& l) {
    for (size_t i = 0; i + 1 < l.stages.size(); ++i) {
      if (absl::StrContains(l.stages[i], 'm')) return true;
    }
    return false;
  });
}

const Rule kRules[] = {
    {.id = "pp-layout.exclusive",
     .area = "pipeline-layout",
     TRANSFORMER_CONFIG(2252),
     .reads = {K::pipeline_model_parallel_layout, K::num_layers_in_first_pipeline_stage,
               K::num_layers_in_last_pipeline_stage, K::account_for_embedding_in_pipeline_split,
               K::account_for_loss_in_pipeline_split},
     .when = [](F f) { return f.layout() != nullptr && OtherSplit(f); },
     .needs = "a layout says everything; the other knobs of the pipeline split must be unset",
     .fixes = {{{K::num_layers_in_first_pipeline_stage, kUnset},
                {K::num_layers_in_last_pipeline_stage, kUnset},
                {K::account_for_embedding_in_pipeline_split, false},
                {K::account_for_loss_in_pipeline_split, false}}}},
    {.id = "pp-layout.too-large",
     .area = "pipeline-layout",
     LAYOUT_READING(1),
     .reads = {K::num_layers},
     .when = [](F f) { return Broken(f, Fault::kTooLarge); },
     .needs = "the repeat counts of the layout multiply to more layers than any model has",
     .fix = NoLayout},
    {.id = "pp-layout.list-of-lists",
     .area = "pipeline-layout",
     LAYOUT_READING(35),
     .reads = {K::pipeline_model_parallel_layout},
     .when = [](F f) { return Broken(f, Fault::kNotListOfLists); },
     .needs = "a layout is text such as 'Et*3|(tt|)*29,m|L' or a list of stages, each a list of layer names",
     .fix = NoLayout},
    {.id = "pp-layout.char-known",
     .area = "pipeline-layout",
     LAYOUT_READING(36),
     .reads = {K::pipeline_model_parallel_layout},
     .when = [](F f) { return Broken(f, Fault::kUnknownCharacter); },
     .needs = "a layout is written with E (embedding), t (decoder), m (prediction), L (loss), | between stages and *n",
     .fix = NoLayout,
     .detail = Culprit},
    {.id = "pp-layout.stages-divisible-by-pp",
     .area = "pipeline-layout",
     LAYOUT_READING(41),
     .reads = {K::pipeline_model_parallel_layout, K::pipeline_model_parallel_size},
     .when = [](F f) { return Broken(f, Fault::kStagesNotDivisible); },
     .needs = "the number of stages is a multiple of pipeline_model_parallel_size",
     .fix = RanksOfLayout,
     .detail = StageCount},
    {.id = "pp-layout.element-type",
     .area = "pipeline-layout",
     LAYOUT_READING(62),
     .reads = {K::pipeline_model_parallel_layout},
     .when = [](F f) { return Broken(f, Fault::kElementType); },
     .needs = "the elements of a stage are layer names",
     .fix = NoLayout,
     .detail = Culprit},
    {.id = "pp-layout.element-known",
     .area = "pipeline-layout",
     LAYOUT_READING(68),
     .reads = {K::pipeline_model_parallel_layout},
     .when = [](F f) { return Broken(f, Fault::kElementUnknown); },
     .needs = "a layer is embedding, decoder, mtp or loss",
     .fix = NoLayout,
     .detail = Culprit},
    {.id = "pp-layout.vpp-matches",
     .area = "pipeline-layout",
     TRANSFORMER_CONFIG(2280),
     .reads = {K::virtual_pipeline_model_parallel_size, K::pipeline_model_parallel_layout,
               K::pipeline_model_parallel_size},
     .when =
         [](F f) {
           return f.set(K::virtual_pipeline_model_parallel_size) && Holds(f, [&](const PipelineLayout& l) {
                    return l.virtual_size != f.num(K::virtual_pipeline_model_parallel_size);
                  });
         },
     .needs = "virtual_pipeline_model_parallel_size is the number of stages per pipeline rank, or unset",
     .fixes = {{{K::virtual_pipeline_model_parallel_size, kUnset}}},
     .detail = StageCount},
    {.id = "pp-layout.derives-vpp",
     .area = "pipeline-layout",
     .kind = Kind::kChange,
     TRANSFORMER_CONFIG(2287),
     .reads = {K::virtual_pipeline_model_parallel_size, K::pipeline_model_parallel_layout},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           if (f.set(K::virtual_pipeline_model_parallel_size)) return;
           const PipelineLayout* layout = Readable(f);
           if (layout != nullptr && layout->virtual_size > 1) {
             e.Set(K::virtual_pipeline_model_parallel_size, layout->virtual_size);
           }
         }},
    {.id = "pp-layout.first-embedding",
     .area = "pipeline-layout",
     LAYOUT_VALIDATION(95),
     .reads = {K::pipeline_model_parallel_layout},
     .when = [](F f) { return Holds(f, [](const PipelineLayout& l) { return l.First() != 'E'; }); },
     .needs = "the first layer of the layout is the embedding",
     .fix = NoLayout},
    {.id = "pp-layout.last-loss",
     .area = "pipeline-layout",
     LAYOUT_VALIDATION(98),
     .reads = {K::pipeline_model_parallel_layout},
     .when = [](F f) { return Holds(f, [](const PipelineLayout& l) { return l.Last() != 'L'; }); },
     .needs = "the last layer of the layout is the loss",
     .fix = NoLayout},
    {.id = "pp-layout.one-embedding",
     .area = "pipeline-layout",
     LAYOUT_VALIDATION(103),
     .reads = {K::pipeline_model_parallel_layout},
     .when = [](F f) { return Holds(f, [](const PipelineLayout& l) { return l.Count('E') != 1; }); },
     .needs = "the layout holds the embedding exactly once",
     .fix = NoLayout,
     .detail = [](F f) { return CountOf(f, 'E'); }},
    {.id = "pp-layout.one-loss",
     .area = "pipeline-layout",
     LAYOUT_VALIDATION(106),
     .reads = {K::pipeline_model_parallel_layout},
     .when = [](F f) { return Holds(f, [](const PipelineLayout& l) { return l.Count('L') != 1; }); },
     .needs = "the layout holds the loss exactly once",
     .fix = NoLayout,
     .detail = [](F f) { return CountOf(f, 'L'); }},
    {.id = "pp-layout.decoder-count",
     .area = "pipeline-layout",
     LAYOUT_VALIDATION(107),
     .reads = {K::pipeline_model_parallel_layout, K::num_layers},
     .when =
         [](F f) { return Holds(f, [&](const PipelineLayout& l) { return l.Count('t') != f.num(K::num_layers); }); },
     .needs = "the layout holds as many decoder layers as the model",
     .fix = AllLayers,
     .detail = [](F f) { return CountOf(f, 't'); }},
    {.id = "pp-layout.mtp-count",
     .area = "pipeline-layout",
     LAYOUT_VALIDATION(112),
     .reads = {K::pipeline_model_parallel_layout, K::mtp_num_layers},
     .when = WrongMtpCount,
     .needs = "the layout holds as many prediction layers (m) as mtp_num_layers says",
     .fix = NoLayout,
     .detail = [](F f) { return CountOf(f, 'm'); }},
    {.id = "pp-layout.mtp-after-decoder",
     .area = "pipeline-layout",
     LAYOUT_VALIDATION(117),
     .reads = {K::pipeline_model_parallel_layout},
     .when = [](F f) { return Holds(f, [](const PipelineLayout& l) { return l.DecoderAfterMtp(); }); },
     .needs = "prediction layers come after all decoder layers",
     .fix = NoLayout},
    {.id = "pp-layout.mtp-last-vpp",
     .area = "pipeline-layout",
     LAYOUT_VALIDATION(123),
     .reads = {K::pipeline_model_parallel_layout, K::pipeline_model_parallel_size},
     .when = [](F f) { return Holds(f, [](const PipelineLayout& l) { return l.MtpBeforeLastVirtualStage(); }); },
     .needs = "prediction layers stand in the last virtual stage of their rank",
     .fix = NoLayout},
    {.id = "pp-layout.mtp-with-loss-last",
     .area = "pipeline-layout",
     .at = {Phase::kModel, 2290, 128},
     .source = "Megatron-LM 0.15.3:megatron/core/transformer/pipeline_parallel_layer_layout.py:128",
     .core = {.since = 15, .until = 15},
     .reads = {K::pipeline_model_parallel_layout},
     .when = MtpOutsideLastStage,
     .needs = "core 0.15 keeps prediction layers in the last stage, next to the loss",
     .fix = NoLayout},
    {.id = "pp-layout.mtp-same-stage",
     .area = "pipeline-layout",
     LAYOUT_VALIDATION(129),
     .reads = {K::pipeline_model_parallel_layout, K::mtp_num_layers},
     .when =
         [](F f) { return Holds(f, [&](const PipelineLayout& l) { return l.MtpSpread(f.num(K::mtp_num_layers)); }); },
     .needs = "all prediction layers stand in one stage",
     .fix = NoLayout},
    {.id = "pp-layout.mtp-not-first-rank",
     .area = "pipeline-layout",
     LAYOUT_VALIDATION(133),
     .core = {.since = 16},
     .reads = {K::pipeline_model_parallel_layout, K::pipeline_model_parallel_size},
     .when =
         [](F f) { return Holds(f, [](const PipelineLayout& l) { return l.MtpOnFirstRankBeforeLastVirtualStage(); }); },
     .needs = "prediction layers do not stand on the first pipeline rank",
     .fix = NoLayout},
    {.id = "pp-layout.no-encoder",
     .area = "pipeline-layout",
     LAYOUT_VALIDATION(149),
     .reads = {K::pipeline_model_parallel_layout},
     .when = [](F f) { return Holds(f, [](const PipelineLayout& l) { return l.Count('e') > 0; }); },
     .needs = "a layout cannot place encoder layers",
     .fix = NoLayout},
    {.id = "pp-layout.mtp-standalone",
     .area = "pipeline-layout",
     .kind = Kind::kChange,
     .at = {Phase::kModel, 2290, 1000},
     .source = "Megatron-LM:megatron/core/transformer/transformer_config.py:2290",
     .core = {.since = 16},
     .reads = {K::pipeline_model_parallel_layout},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           if (const PipelineLayout* layout = Readable(f)) e.Set(K::mtp_standalone, layout->MtpStandalone());
         }},
};

}  // namespace

RuleList CorePipelineLayoutRules() { return kRules; }

}  // namespace flightplan
