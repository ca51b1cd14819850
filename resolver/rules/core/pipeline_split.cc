// Uneven pipeline stages without a layout: fewer layers in the first or last stage, or embedding and loss counted as
// layers. Upstream looks at these only when no layout is given.
#include <string>

#include "resolver/base/integers.h"
#include "resolver/rules/core/grid_util.h"
#include "resolver/rules/core/upstream.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

bool CountsEnds(F f) {
  return f.on(K::account_for_embedding_in_pipeline_split) || f.on(K::account_for_loss_in_pipeline_split);
}
bool UsesEnds(F f) { return f.none(K::pipeline_model_parallel_layout) && EndsGiven(f); }
bool UsesCounts(F f) { return f.none(K::pipeline_model_parallel_layout) && !EndsGiven(f) && CountsEnds(f); }
bool Virtual(F f) { return f.set(K::virtual_pipeline_model_parallel_size); }

// Layers and stages between the given ends.
struct Middle {
  int64_t layers;
  int64_t stages;
};
Middle MiddleOf(F f) {
  Middle middle = {f.num(K::num_layers), f.num(K::pipeline_model_parallel_size)};
  for (Knob end : {K::num_layers_in_first_pipeline_stage, K::num_layers_in_last_pipeline_stage}) {
    if (f.none(end)) continue;
    if (__builtin_sub_overflow(middle.layers, f.num(end), &middle.layers)) middle.layers = 0;
    if (__builtin_sub_overflow(middle.stages, 1, &middle.stages)) middle.stages = 0;
  }
  return middle;
}

int64_t CountedLayers(F f) {
  const int64_t extra = (f.on(K::account_for_embedding_in_pipeline_split) ? 1 : 0) +
                        (f.on(K::account_for_loss_in_pipeline_split) ? 1 : 0);
  int64_t layers = 0;
  return __builtin_add_overflow(f.num(K::num_layers), extra, &layers) ? f.num(K::num_layers) : layers;
}

bool EndNotPositive(F f, Knob end) { return UsesEnds(f) && f.set(end) && f.num(end) <= 0; }
bool EndNotDivisible(F f, Knob end) {
  return UsesEnds(f) && f.set(end) && Virtual(f) &&
         !Divisible(f.num(end), f.num(K::virtual_pipeline_model_parallel_size));
}

std::string MiddleText(F f) {
  const Middle middle = MiddleOf(f);
  return "between the ends: " + std::to_string(middle.layers) + " layers for " + std::to_string(middle.stages) +
         " stages";
}
std::string CountedText(F f) { return "layers with embedding and loss = " + std::to_string(CountedLayers(f)); }

// Counting embedding and loss would wake up once the ends are no longer given.
constexpr StaticFixes kEvenEnds = {{{K::num_layers_in_first_pipeline_stage, kUnset},
                                    {K::num_layers_in_last_pipeline_stage, kUnset},
                                    {K::account_for_embedding_in_pipeline_split, false},
                                    {K::account_for_loss_in_pipeline_split, false}}};
constexpr StaticFixes kNoCounting = {
    {{K::account_for_embedding_in_pipeline_split, false}, {K::account_for_loss_in_pipeline_split, false}}};

const Rule kRules[] = {
    {.id = "pp-split.first-last-vs-account",
     .area = "pipeline-layout",
     TRANSFORMER_CONFIG(2235),
     .reads = {K::num_layers_in_first_pipeline_stage, K::num_layers_in_last_pipeline_stage,
               K::account_for_embedding_in_pipeline_split, K::account_for_loss_in_pipeline_split},
     .when = [](F f) { return EndsGiven(f) && CountsEnds(f); },
     .needs = "the ends are either given by number of layers or found by counting embedding and loss",
     .fixes = kNoCounting},
    {.id = "pp-split.first-positive",
     .area = "pipeline-layout",
     TRANSFORMER_CONFIG(2304),
     .reads = {K::num_layers_in_first_pipeline_stage},
     .when = [](F f) { return EndNotPositive(f, K::num_layers_in_first_pipeline_stage); },
     .needs = "the first stage holds at least one layer",
     .fixes = kEvenEnds},
    {.id = "pp-split.first-vpp-divisible",
     .area = "pipeline-layout",
     TRANSFORMER_CONFIG(2312),
     .reads = {K::num_layers_in_first_pipeline_stage, K::virtual_pipeline_model_parallel_size},
     .when = [](F f) { return EndNotDivisible(f, K::num_layers_in_first_pipeline_stage); },
     .needs = "the layers of the first stage split evenly over its virtual stages",
     .fixes = kEvenEnds},
    {.id = "pp-split.last-positive",
     .area = "pipeline-layout",
     TRANSFORMER_CONFIG(2323),
     .reads = {K::num_layers_in_last_pipeline_stage},
     .when = [](F f) { return EndNotPositive(f, K::num_layers_in_last_pipeline_stage); },
     .needs = "the last stage holds at least one layer",
     .fixes = kEvenEnds},
    {.id = "pp-split.last-vpp-divisible",
     .area = "pipeline-layout",
     TRANSFORMER_CONFIG(2331),
     .reads = {K::num_layers_in_last_pipeline_stage, K::virtual_pipeline_model_parallel_size},
     .when = [](F f) { return EndNotDivisible(f, K::num_layers_in_last_pipeline_stage); },
     .needs = "the layers of the last stage split evenly over its virtual stages",
     .fixes = kEvenEnds},
    {.id = "pp-split.middle-mismatch",
     .area = "pipeline-layout",
     TRANSFORMER_CONFIG(2342),
     .core = {.since = 16},
     .reads = {K::num_layers, K::pipeline_model_parallel_size, K::num_layers_in_first_pipeline_stage,
               K::num_layers_in_last_pipeline_stage},
     .when =
         [](F f) {
           const Middle middle = MiddleOf(f);
           return UsesEnds(f) && (middle.layers != 0) != (middle.stages != 0);
         },
     .needs = "layers remain for the middle stages exactly when there are middle stages",
     .fixes = kEvenEnds,
     .detail = MiddleText},
    {.id = "pp-split.middle-divisible",
     .area = "pipeline-layout",
     TRANSFORMER_CONFIG(2350),
     .reads = {K::num_layers, K::pipeline_model_parallel_size, K::num_layers_in_first_pipeline_stage,
               K::num_layers_in_last_pipeline_stage},
     .when =
         [](F f) {
           const Middle middle = MiddleOf(f);
           return UsesEnds(f) && middle.stages != 0 && !Divisible(middle.layers, middle.stages);
         },
     .needs = "the layers between the ends split evenly over the middle stages",
     .fixes = kEvenEnds,
     .detail = MiddleText},
    {.id = "pp-split.middle-vpp-divisible",
     .area = "pipeline-layout",
     TRANSFORMER_CONFIG(2364),
     .reads = {K::num_layers, K::pipeline_model_parallel_size, K::num_layers_in_first_pipeline_stage,
               K::num_layers_in_last_pipeline_stage, K::virtual_pipeline_model_parallel_size},
     .when =
         [](F f) {
           const Middle middle = MiddleOf(f);
           return UsesEnds(f) && Virtual(f) && middle.stages != 0 &&
                  !Divisible(FloorDiv(middle.layers, middle.stages), f.num(K::virtual_pipeline_model_parallel_size));
         },
     .needs = "the layers of each middle stage split evenly over its virtual stages",
     .fixes = kEvenEnds,
     .detail = MiddleText},
    {.id = "pp-account.pp-divisible",
     .area = "pipeline-layout",
     TRANSFORMER_CONFIG(2383),
     .reads = {K::num_layers, K::pipeline_model_parallel_size, K::account_for_embedding_in_pipeline_split,
               K::account_for_loss_in_pipeline_split},
     .when =
         [](F f) {
           return UsesCounts(f) && !Virtual(f) && !Divisible(CountedLayers(f), f.num(K::pipeline_model_parallel_size));
         },
     .needs = "layers plus counted embedding and loss split evenly over the pipeline",
     .fixes = kNoCounting,
     .detail = CountedText},
    {.id = "pp-account.pp-divisible-vpp",
     .area = "pipeline-layout",
     TRANSFORMER_CONFIG(2396),
     .reads = {K::num_layers, K::pipeline_model_parallel_size, K::account_for_embedding_in_pipeline_split,
               K::account_for_loss_in_pipeline_split},
     .when =
         [](F f) {
           return UsesCounts(f) && Virtual(f) && !Divisible(CountedLayers(f), f.num(K::pipeline_model_parallel_size));
         },
     .needs = "layers plus counted embedding and loss split evenly over the pipeline",
     .fixes = kNoCounting,
     .detail = CountedText},
    {.id = "pp-account.vpp-divisible",
     .area = "pipeline-layout",
     TRANSFORMER_CONFIG(2409),
     .reads = {K::num_layers, K::pipeline_model_parallel_size, K::virtual_pipeline_model_parallel_size,
               K::account_for_embedding_in_pipeline_split, K::account_for_loss_in_pipeline_split},
     .when =
         [](F f) {
           return UsesCounts(f) && Virtual(f) &&
                  !Divisible(FloorDiv(CountedLayers(f), f.num(K::pipeline_model_parallel_size)),
                             f.num(K::virtual_pipeline_model_parallel_size));
         },
     .needs = "the layers of each pipeline rank split evenly over its virtual stages",
     .fixes = kNoCounting,
     .detail = CountedText},
};

}  // namespace

RuleList CorePipelineSplitRules() { return kRules; }

}  // namespace flightplan
