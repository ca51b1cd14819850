// What mcore_adapter and ROLL's strategy check and change where they build Megatron-Core's configuration
// (alibaba/ROLL@8eb27cc2 mcore_adapter/src/mcore_adapter/models/model_config.py).
#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "resolver/base/integers.h"
#include "resolver/rules/core/grid_util.h"
#include "resolver/rules/core/packing_util.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

constexpr int64_t kManyExperts = 32;

// The layers that the stages share, with those that stand for embedding and loss.
int64_t SharedLayers(F f) {
  return f.num(K::num_layers) + (f.on(K::account_for_embedding_in_pipeline_split) ? 1 : 0) +
         (f.on(K::account_for_loss_in_pipeline_split) ? 1 : 0);
}

// The models that mcore_adapter has a template for, sorted (mcore_adapter/src/mcore_adapter/models/*/__init__.py).
constexpr absl::string_view kTemplates[] = {
    "deepseek_v3", "glm4_moe",   "llama",          "mistral",  "mixtral",      "qwen2",
    "qwen2_5_vl",  "qwen2_moe",  "qwen2_vl",       "qwen3",    "qwen3_5",      "qwen3_5_moe",
    "qwen3_moe",   "qwen3_next", "qwen3_omni_moe", "qwen3_vl", "qwen3_vl_moe", "seed_oss",
};

// Of a model whose type is known: others are looked up in vain, by a KeyError.
bool HasNoTemplate(F f) {
  const std::string& type = f.env().model_type;
  return !type.empty() && !std::binary_search(std::begin(kTemplates), std::end(kTemplates), type);
}

void SetPipelineMessages(Editor& e) {
  const Facts& f = e.facts();
  if (f.none(K::virtual_pipeline_model_parallel_size)) e.Set(K::overlap_p2p_comm, false);
  e.Fill(K::deallocate_pipeline_outputs, true);
  e.Fill(K::batch_p2p_comm, !f.on(K::overlap_p2p_comm));
}

void RecomputeAllLayers(Editor& e) {
  const Facts& f = e.facts();
  if (!f.is(K::recompute_granularity, "full") || f.set(K::recompute_method) || f.set(K::recompute_num_layers)) return;
  e.Set(K::recompute_method, "uniform");
  e.Set(K::recompute_num_layers, 1);
}

void UseSequenceParallelWithExperts(Editor& e) {
  const Facts& f = e.facts();
  if (f.num(K::tensor_model_parallel_size) > 1 && f.num(K::expert_model_parallel_size) > 1) {
    e.Set(K::sequence_parallel, true);
  }
}

// Of its DDP and optimizer configurations, whatever the file says.
void LeaveOff(Editor& e) {
  for (const K knob : e.facts().stack().left_off) e.Set(knob, false);
}

void RouteManyExpertsInFp32(Editor& e) {
  const Facts& f = e.facts();
  if (f.num(K::num_moe_experts) >= kManyExperts && f.none(K::moe_router_dtype)) e.Set(K::moe_router_dtype, "fp32");
}

// Samples that every rank of one model's copies takes at once; 0: not known, or no whole number of copies.
int64_t SamplesAtOnce(F f) {
  const std::optional<int64_t> model = DenseSize(f), world = WorldSize(f);
  if (!model.has_value() || *model <= 0 || !world.has_value() || !Divisible(*world, *model)) return 0;
  return Product({*world / *model, f.num(K::micro_batch_size)}).value_or(0);
}

const Rule kRules[] = {
    {.id = "roll.model-type",
     .area = "model",
     .at = {Phase::kParse, 70},
     .source = "ROLL:mcore_adapter/src/mcore_adapter/models/converter/template.py:653; "
               "mcore_adapter/src/mcore_adapter/models/model_config.py:181",
     .reads_env = {"model_type"},
     .when = HasNoTemplate,
     .needs = "mcore_adapter has no template for this model's type; a stack that builds the model from flags, such as "
              "megatron-lm, needs none"},
    {.id = "roll.hands-on-types",
     .area = "precision",
     .kind = Kind::kChange,
     .at = {Phase::kParse, 90},
     .source = "ROLL:mcore_adapter/src/mcore_adapter/models/model_config.py:331; "
               "roll/distributed/strategy/megatron_strategy.py:1182",
     .reads = {K::bf16, K::fp16, K::use_distributed_optimizer},
     .change = HandOnTypes},
    {.id = "roll.p2p",
     .area = "p2p-overlap",
     .kind = Kind::kChange,
     .at = {Phase::kParse, 91},
     .source = "ROLL:mcore_adapter/src/mcore_adapter/models/model_config.py:315",
     .reads = {K::virtual_pipeline_model_parallel_size, K::overlap_p2p_comm},
     .change = SetPipelineMessages},
    {.id = "roll.recompute-all-layers",
     .area = "recompute",
     .kind = Kind::kChange,
     .at = {Phase::kParse, 92},
     .source = "ROLL:mcore_adapter/src/mcore_adapter/models/model_config.py:359",
     .reads = {K::recompute_granularity, K::recompute_method, K::recompute_num_layers},
     .change = RecomputeAllLayers},
    {.id = "roll.sp-on-with-ep",
     .area = "sequence-parallel",
     .kind = Kind::kChange,
     .at = {Phase::kParse, 93},
     .source = "ROLL:mcore_adapter/src/mcore_adapter/models/model_config.py:368",
     .reads = {K::tensor_model_parallel_size, K::expert_model_parallel_size, K::sequence_parallel},
     .change = UseSequenceParallelWithExperts},
    {.id = "roll.sp-off-at-tp1",
     .area = "sequence-parallel",
     .kind = Kind::kChange,
     .at = {Phase::kParse, 94},
     .source = "ROLL:mcore_adapter/src/mcore_adapter/models/model_config.py:371",
     .reads = {K::tensor_model_parallel_size, K::sequence_parallel},
     .change = DropSequenceParallelAtTp1},
    {.id = "roll.router-fp32",
     .area = "router",
     .kind = Kind::kChange,
     .at = {Phase::kParse, 95},
     .source = "ROLL:mcore_adapter/src/mcore_adapter/models/model_config.py:375",
     .reads = {K::num_moe_experts, K::moe_router_dtype},
     .change = RouteManyExpertsInFp32},
    {.id = "roll.not-handed-on",
     .area = "cli",
     .kind = Kind::kChange,
     .at = {Phase::kParse, 96},
     .source = "ROLL:roll/distributed/strategy/megatron_strategy.py:1154",
     .reads = {K::optimizer_cpu_offload, K::use_precision_aware_optimizer, K::overlap_cpu_optimizer_d2h_h2d,
               K::average_in_collective, K::fp8_param_gather, K::use_megatron_fsdp},
     .change = LeaveOff},
    {.id = "roll.dispatcher-lengths",
     .area = "dispatcher",
     .at = {Phase::kParse, 80},
     .source = "ROLL:mcore_adapter/src/mcore_adapter/training_args.py:292",
     .reads = {K::variable_seq_lengths, K::moe_token_dispatcher_type},
     .when = [](F f) { return f.on(K::variable_seq_lengths) && f.is(K::moe_token_dispatcher_type, "allgather"); },
     .needs = "variable_seq_lengths needs moe_token_dispatcher_type=alltoall, also of a dense model",
     .fixes = {{{K::moe_token_dispatcher_type, "alltoall"}}, {{K::variable_seq_lengths, false}}}},
    {.id = "roll.param-gather",
     .area = "dp-overlap",
     .at = {Phase::kParse, 81},
     .source = "ROLL:roll/distributed/strategy/megatron_strategy.py:119",
     .reads = {K::overlap_param_gather},
     .when = [](F f) { return f.on(K::overlap_param_gather); },
     .needs = "ROLL moves parameters between host and GPUs: overlap_param_gather=false",
     .fixes = {{{K::overlap_param_gather, false}}}},
    {.id = "roll.equal-stages",
     .area = "divisibility",
     .at = {Phase::kModel, 1 << 20},
     .source = "ROLL:mcore_adapter/src/mcore_adapter/models/model_config.py:404",
     .reads = {K::num_layers, K::pipeline_model_parallel_size, K::virtual_pipeline_model_parallel_size,
               K::num_layers_in_first_pipeline_stage, K::num_layers_in_last_pipeline_stage,
               K::account_for_embedding_in_pipeline_split, K::account_for_loss_in_pipeline_split,
               K::pipeline_model_parallel_layout},
     .when =
         [](F f) {
           if (!EndsGiven(f) || f.set(K::pipeline_model_parallel_layout) || f.num(K::num_layers) <= 0) return false;
           const int64_t stages = std::max<int64_t>(1, f.num(K::pipeline_model_parallel_size)) *
                                  std::max<int64_t>(1, f.num(K::virtual_pipeline_model_parallel_size));
           return stages > 0 && SharedLayers(f) % stages != 0;
         },
     .needs = "all stages have as many layers, or pipeline_model_parallel_layout says who has which"},
    {.id = "roll.whole-steps",
     .area = "batch",
     .at = {Phase::kSchedule, 1},
     .source = "ROLL:roll/distributed/strategy/megatron_strategy.py:1289",
     .reads = {K::global_batch_size, K::micro_batch_size, K::tensor_model_parallel_size,
               K::pipeline_model_parallel_size, K::context_parallel_size},
     .reads_env = {"world_size"},
     .when =
         [](F f) {
           const int64_t at_once = SamplesAtOnce(f);
           return at_once > 0 && f.num(K::global_batch_size) > 0 && !Divisible(f.num(K::global_batch_size), at_once);
         },
     .needs =
         "ROLL has no global batch but gradient_accumulation_steps: it must be a multiple of the micro batch times "
         "the data parallel size",
     .fix = [](F f) -> std::vector<Patch> {
       const std::optional<int64_t> up = NextMultiple(f.num(K::global_batch_size), SamplesAtOnce(f));
       if (!up.has_value()) return {};
       return {{Assign(K::global_batch_size, *up)}};
     }},
};

}  // namespace

RuleList RollModelRules() { return kRules; }

}  // namespace flightplan
