// Pipeline and virtual pipeline sizes.
#include "resolver/derive/pipeline.h"

#include "absl/strings/str_cat.h"
#include "resolver/base/integers.h"
#include "resolver/rules/core/facts_util.h"
#include "resolver/rules/core/fix_util.h"
#include "resolver/rules/core/grid_util.h"
#include "resolver/rules/megatron_lm/cli_util.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

// Layers to spread over the stages; embedding and loss may count as one each.
int64_t SplitLayers(F f) {
  const int64_t layers = f.num(f.set(K::num_layers) ? K::num_layers : K::decoder_num_layers);
  return layers + (f.on(K::account_for_embedding_in_pipeline_split) ? 1 : 0) +
         (f.on(K::account_for_loss_in_pipeline_split) ? 1 : 0);
}
int WaysToSplit(F f) {
  return (f.set(K::num_layers_per_virtual_pipeline_stage) ? 1 : 0) +
         (f.set(K::num_virtual_stages_per_pipeline_rank) ? 1 : 0) + (f.set(K::pipeline_model_parallel_layout) ? 1 : 0);
}
// The branch that derives the virtual size from --num-layers-per-virtual-pipeline-stage.
bool ByLayers(F f) {
  return f.none(K::pipeline_model_parallel_layout) && f.set(K::num_layers_per_virtual_pipeline_stage) &&
         f.none(K::num_virtual_stages_per_pipeline_rank);
}
std::optional<int64_t> Stages(F f) { return f.layout_stages(); }

void SetVirtualSize(Editor& e, std::optional<int64_t> size) {
  const bool interleaved = size.has_value() && *size != 1;
  e.Set(K::virtual_pipeline_model_parallel_size, interleaved ? Value(*size) : Value());
}

void DeriveFromLayout(Editor& e) {
  const Facts& f = e.facts();
  if (f.none(K::pipeline_model_parallel_layout)) return;
  const std::optional<int64_t> stages = Stages(f);
  if (stages.has_value() && Divisible(*stages, Pp(f))) SetVirtualSize(e, FloorDiv(*stages, Pp(f)));
}

void DeriveVirtualSize(Editor& e) {
  const Facts& f = e.facts();
  std::optional<int64_t> size;
  if (f.set(K::pipeline_model_parallel_layout)) return;
  if (f.set(K::num_virtual_stages_per_pipeline_rank)) {
    size = f.num(K::num_virtual_stages_per_pipeline_rank);
  } else if (ByLayers(f)) {
    size = VirtualStages(SplitLayers(f), Pp(f), f.num(K::num_layers_per_virtual_pipeline_stage));
    if (!size.has_value()) return;
  } else if (f.core(17) && f.set(K::hybrid_layer_pattern)) {
    return;  // the pattern's segments have decided
  }
  SetVirtualSize(e, size);
}

// The caller's pipeline, where it can be kept, comes before a shorter one.
std::vector<Patch> DividingStages(F f) {
  std::vector<Patch> fixes = SpreadLayers(f, Pp(f));
  const std::optional<int64_t> size = NextSmallerFit(SplitLayers(f), 1, Pp(f));
  if (size.has_value()) fixes.push_back({Assign(K::pipeline_model_parallel_size, *size)});
  return fixes;
}
// Whether the world divides by this many stages and the interleaved schedule takes the step's microbatches then; true
// where it cannot be known.
bool ScheduleTakes(F f, int64_t pp) {
  const int64_t replicas = f.env().data_parallel_size.value_or(0);
  const int64_t micro = f.num(K::micro_batch_size);
  if (replicas <= 0 || micro <= 0 || f.none(K::global_batch_size)) return true;
  const std::optional<int64_t> ranks = Product({replicas, Pp(f)});
  if (!ranks.has_value()) return true;
  if (!Divisible(*ranks, pp)) return false;  // the world does not come out
  const std::optional<int64_t> unit = Product({*ranks / pp, micro});
  if (!unit.has_value() || *unit <= 0) return true;
  const int64_t count = FloorDiv(f.num(K::global_batch_size), *unit);
  const Value& given = f.value(K::microbatch_group_size_per_vp_stage);
  const int64_t group = given.is_none() ? pp : given.integer();
  if (group < pp || group > count || group <= 0) return false;
  const int64_t rest = FloorMod(count, group);
  return rest == 0 || rest >= pp;
}

// Fewer stages, as many as the interleaved schedule can feed; else without interleaving.
std::vector<Patch> DividingInterleavedStages(F f) {
  std::optional<int64_t> size = NextSmallerFit(SplitLayers(f), 1, Pp(f));
  const std::optional<int64_t> most = size;
  while (size.has_value() && *size > 1 && !ScheduleTakes(f, *size)) size = NextSmallerFit(SplitLayers(f), 1, *size);
  if (!most.has_value()) return {};
  std::vector<Patch> fixes;
  const int64_t each = f.num(K::num_layers_per_virtual_pipeline_stage);
  if (size.has_value() && *size > 1 && Divisible(FloorDiv(SplitLayers(f), *size), each)) {
    fixes.push_back({Assign(K::pipeline_model_parallel_size, *size)});
  }
  fixes.push_back(
      {Assign(K::pipeline_model_parallel_size, *most), Assign(K::num_layers_per_virtual_pipeline_stage, Value())});
  return fixes;
}

std::vector<Patch> StagesOfLayout(F f) {
  const std::optional<int64_t> stages = Stages(f);
  if (!stages.has_value()) return {{Assign(K::pipeline_model_parallel_layout, Value())}};
  return RanksForStages(f, *stages);
}
std::string LayersText(F f) { return absl::StrCat(SplitLayers(f), " layers to place"); }
std::string StagesText(F f) {
  const std::optional<int64_t> stages = Stages(f);
  return stages.has_value() ? absl::StrCat(*stages, " stages in the layout") : "the layout does not read";
}
std::vector<Patch> NoInterleaving(F) {
  return {{Assign(K::num_layers_per_virtual_pipeline_stage, Value()),
           Assign(K::num_virtual_stages_per_pipeline_rank, Value()),
           Assign(K::virtual_pipeline_model_parallel_size, Value()), Assign(K::pipeline_model_parallel_layout, Value()),
           Assign(K::hybrid_layer_pattern, Value())}};
}

const Rule kRules[] = {
    {.id = "mlm.vpp-one-way",
     .area = "pipeline",
     .at = {Phase::kCliValidate, 928},
     .source = "Megatron-LM:megatron/training/arguments.py:928",
     .reads = {K::num_layers_per_virtual_pipeline_stage, K::num_virtual_stages_per_pipeline_rank,
               K::pipeline_model_parallel_layout},
     .when = [](F f) { return WaysToSplit(f) > 1; },
     .needs = "the virtual pipeline size is given in one way only: layers per stage, stages per rank, or a layout",
     .fixes = {{{K::num_layers_per_virtual_pipeline_stage, kUnset}, {K::num_virtual_stages_per_pipeline_rank, kUnset}},
               {{K::num_layers_per_virtual_pipeline_stage, kUnset}, {K::pipeline_model_parallel_layout, kUnset}},
               {{K::num_virtual_stages_per_pipeline_rank, kUnset}, {K::pipeline_model_parallel_layout, kUnset}}}},
    {.id = "mlm.layout-stages-divisible",
     .area = "pipeline",
     .at = {Phase::kCliValidate, 945},
     .source = "Megatron-LM:megatron/training/arguments.py:945",
     .reads = {K::pipeline_model_parallel_layout, K::pipeline_model_parallel_size},
     .when =
         [](F f) {
           return f.set(K::pipeline_model_parallel_layout) && Stages(f).has_value() && !Divisible(*Stages(f), Pp(f));
         },
     .needs = "the number of | stages must be a multiple of pipeline_model_parallel_size",
     .fix = StagesOfLayout,
     .detail = StagesText},
    {.id = "mlm.layout-reads",
     .area = "pipeline",
     .at = {Phase::kCliValidate, 944},
     .source = "Megatron-LM:megatron/core/transformer/pipeline_parallel_layer_layout.py:315",
     .reads = {K::pipeline_model_parallel_layout},
     .when = [](F f) { return f.set(K::pipeline_model_parallel_layout) && !Stages(f).has_value(); },
     .needs = "a layout holds E, t, m, L, | and multiplications such as (t|)*3",
     .fixes = {{{K::pipeline_model_parallel_layout, kUnset}}}},
    {.id = "mlm.vpp-from-layout",
     .area = "pipeline",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 950},
     .source = "Megatron-LM:megatron/training/arguments.py:950",
     .reads = {K::virtual_pipeline_model_parallel_size, K::pipeline_model_parallel_layout},
     .change = [](Editor& e) { DeriveFromLayout(e); }},
    {.id = "mlm.uneven-needs-vstages",
     .area = "pipeline",
     .at = {Phase::kCliValidate, 955},
     .source = "Megatron-LM:megatron/training/arguments.py:955",
     .reads = {K::num_layers_per_virtual_pipeline_stage, K::num_layers_in_first_pipeline_stage,
               K::num_layers_in_last_pipeline_stage},
     .when = [](F f) { return ByLayers(f) && EndsGiven(f); },
     .needs = "uneven first or last stages need num_virtual_stages_per_pipeline_rank instead of "
              "num_layers_per_virtual_pipeline_stage",
     .fixes = {{{K::num_layers_in_first_pipeline_stage, kUnset}, {K::num_layers_in_last_pipeline_stage, kUnset}},
               {{K::num_layers_per_virtual_pipeline_stage, kUnset}}}},
    {.id = "mlm.vpp-layers-divisible-pp",
     .area = "pipeline",
     .at = {Phase::kCliValidate, 968},
     .source = "Megatron-LM:megatron/training/arguments.py:968",
     .reads = {K::num_layers, K::pipeline_model_parallel_size, K::num_layers_per_virtual_pipeline_stage,
               K::account_for_embedding_in_pipeline_split, K::account_for_loss_in_pipeline_split},
     .when = [](F f) { return ByLayers(f) && !Divisible(SplitLayers(f), Pp(f)); },
     .needs =
         "the layers (plus embedding and loss where they count) must be a multiple of pipeline_model_parallel_size",
     .fix = DividingInterleavedStages,
     .detail = LayersText},
    {.id = "mlm.vpp-layers-divisible-vp",
     .area = "pipeline",
     .at = {Phase::kCliValidate, 972},
     .source = "Megatron-LM:megatron/training/arguments.py:972",
     .reads = {K::num_layers, K::pipeline_model_parallel_size, K::num_layers_per_virtual_pipeline_stage},
     .when =
         [](F f) {
           return ByLayers(f) && Divisible(SplitLayers(f), Pp(f)) &&
                  !Divisible(FloorDiv(SplitLayers(f), Pp(f)), f.num(K::num_layers_per_virtual_pipeline_stage));
         },
     .needs = "the layers of a stage must be a multiple of num_layers_per_virtual_pipeline_stage",
     .fix = [](F f) -> std::vector<Patch> {
       if (Pp(f) <= 1) return {{Assign(K::num_layers_per_virtual_pipeline_stage, Value())}};
       return {{Assign(K::num_layers_per_virtual_pipeline_stage, 1)}};
     },
     .detail = LayersText},
    {.id = "mlm.vpp-derived",
     .area = "pipeline",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 977},
     .source = "Megatron-LM:megatron/training/arguments.py:977",
     .reads = {K::virtual_pipeline_model_parallel_size, K::num_layers_per_virtual_pipeline_stage,
               K::num_virtual_stages_per_pipeline_rank, K::pipeline_model_parallel_layout},
     .change = [](Editor& e) { DeriveVirtualSize(e); }},
    {.id = "mlm.layers-divisible-pp",
     .area = "pipeline",
     .at = {Phase::kCliValidate, 997},
     .source = "Megatron-LM:megatron/training/arguments.py:997",
     .reads = {K::num_layers, K::pipeline_model_parallel_size, K::account_for_embedding_in_pipeline_split,
               K::account_for_loss_in_pipeline_split},
     .when =
         [](F f) {
           return WaysToSplit(f) == 0 && !EndsGiven(f) && f.set(K::num_layers) &&
                  (!f.core(17) || f.none(K::hybrid_layer_pattern)) && !Divisible(SplitLayers(f), Pp(f));
         },
     .needs =
         "the layers (plus embedding and loss where they count) must be a multiple of pipeline_model_parallel_size",
     .fix = DividingStages,
     .detail = LayersText},
    {.id = "mlm.interleaved-needs-pp2",
     .area = "pipeline",
     .at = {Phase::kCliValidate, 1002},
     .source = "Megatron-LM:megatron/training/arguments.py:1002",
     .reads = {K::virtual_pipeline_model_parallel_size, K::pipeline_model_parallel_size, K::overlap_p2p_comm},
     .when =
         [](F f) { return f.set(K::virtual_pipeline_model_parallel_size) && f.on(K::overlap_p2p_comm) && Pp(f) <= 1; },
     .needs = "the interleaved schedule needs pipeline_model_parallel_size of at least 2",
     .fix = NoInterleaving},
    {.id = "mlm.interleaved-no-overlap-needs-pp3",
     .area = "pipeline",
     .at = {Phase::kCliValidate, 1006},
     .source = "Megatron-LM:megatron/training/arguments.py:1006",
     .reads = {K::virtual_pipeline_model_parallel_size, K::pipeline_model_parallel_size, K::overlap_p2p_comm},
     .when =
         [](F f) { return f.set(K::virtual_pipeline_model_parallel_size) && !f.on(K::overlap_p2p_comm) && Pp(f) <= 2; },
     .needs =
         "without point-to-point overlap the interleaved schedule needs pipeline_model_parallel_size of at least 3",
     .fixes = {{{K::overlap_p2p_comm, true}}},
     .fix = [](F f) -> std::vector<Patch> {
       if (Pp(f) == 2) return {};
       return NoInterleaving(f);
     }},
    {.id = "mlm.p2p-overlap-off-without-vpp",
     .area = "pipeline",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 1012},
     .source = "Megatron-LM:megatron/training/arguments.py:1012",
     .reads = {K::virtual_pipeline_model_parallel_size, K::overlap_p2p_comm, K::align_param_gather},
     .change =
         [](Editor& e) {
           if (e.facts().set(K::virtual_pipeline_model_parallel_size)) return;
           e.Set(K::overlap_p2p_comm, false);
           e.Set(K::align_param_gather, false);
         }},
};

}  // namespace

RuleList MegatronLmPipelineRules() { return kRules; }

}  // namespace flightplan
