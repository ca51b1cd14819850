// What ms-swift checks of its own arguments (modelscope/ms-swift@3602360a5). Those that need the words themselves the
// reader finds (stacks/ms_swift/checks.cc); their rows say what they mean.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "resolver/base/integers.h"
#include "resolver/derive/placement.h"
#include "resolver/plan/pipeline_layout.h"
#include "resolver/rules/core/fix_util.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

// swift/megatron/model/utils.py:58-68: what the model's own configuration leaves of the arguments.
void FitToModel(Editor& e) {
  const Facts& f = e.facts();
  if (!f.on(K::num_layers) && f.none(K::hybrid_layer_pattern)) return;  // it stands in the model's folder alone
  const bool swiglu = f.on(K::gated_linear_unit) && f.is(K::activation_func, "silu");
  const bool experts = f.set(K::num_moe_experts);
  if (!swiglu && !f.on(K::add_bias_linear) && f.on(K::bias_activation_fusion)) e.Set(K::bias_activation_fusion, false);
  if (f.on(K::add_bias_linear) && experts && f.on(K::moe_grouped_gemm) && f.on(K::bias_dropout_fusion)) {
    e.Set(K::bias_dropout_fusion, false);
  }
  if (experts) return;
  for (const K size : {K::expert_model_parallel_size, K::expert_tensor_parallel_size}) {
    if (f.set(size) && f.num(size) != 1) e.Set(size, 1);
  }
}

int64_t Replicas(F f) {
  return f.env().world_size.has_value() ? PlaceLayout(f.config(), f.env()).data_parallel_size : 0;
}

// Samples of one microbatch on every replica; 0: not known.
int64_t Unit(F f) { return Product({f.num(K::micro_batch_size), Replicas(f)}).value_or(0); }

std::vector<Patch> NextBatch(F f) {
  const std::optional<int64_t> next = NextMultiple(std::max<int64_t>(1, f.num(K::global_batch_size)), Unit(f));
  return next.has_value() ? std::vector<Patch>{{Assign(K::global_batch_size, *next)}} : std::vector<Patch>();
}

// A stage of prediction layers alone.
bool PredictsWithoutDecoder(F f) {
  const PipelineLayout* const layout = f.layout();
  if (layout == nullptr || layout->fault != PipelineLayout::Fault::kNone || f.num(K::mtp_num_layers) < 1) return false;
  return std::any_of(layout->stages.begin(), layout->stages.end(), [](const std::string& stage) {
    return absl::StrContains(stage, 'm') && !absl::StrContains(stage, 't');
  });
}

// As many stages, by a layout: the last of the ways to spread layers.
std::vector<Patch> LayersBesidePrediction(F f) {
  std::vector<Patch> ways = SpreadLayers(f, static_cast<int64_t>(f.layout()->stages.size()));
  if (ways.size() > 1) ways.erase(ways.begin(), ways.end() - 1);
  return ways;
}

const Rule kRules[] = {
    {.id = "ms-swift.argument",
     .area = "cli",
     .at = {Phase::kParse, 1},
     .source = "ms-swift:swift/megatron/arguments/megatron_args.py:480",
     .when = FoundByReader,
     .needs = "a value of the argument's type"},
    {.id = "ms-swift.unrecognized",
     .area = "cli",
     .at = {Phase::kParse, 2},
     .source = "ms-swift:swift/pipelines/base.py:40",
     .when = FoundByReader,
     .needs = "ms-swift refuses arguments that it does not have, unless --ignore_args_error true"},
    {.id = "ms-swift.former",
     .area = "cli",
     .kind = Kind::kWarning,
     .at = {Phase::kParse, 2},
     .source = "ms-swift:swift/pipelines/base.py:40",
     .when = FoundByReader,
     .needs = "an argument of an older ms-swift is read as what main calls it; main itself refuses the old name"},
    {.id = "ms-swift.missing",
     .area = "data",
     .at = {Phase::kParse, 3},
     .source = "ms-swift:swift/megatron/arguments/sft_args.py:46",
     .when = FoundByReader,
     .needs = "a training has a dataset, and a model to start from"},
    {.id = "ms-swift.selective-method",
     .area = "recompute",
     .at = {Phase::kParse, 4},
     .source = "ms-swift:swift/megatron/arguments/megatron_args.py:801",
     .when = FoundByReader,
     .needs = "a method goes with recompute_granularity full, and ms-swift's default is selective"},
    {.id = "ms-swift.group-by-length",
     .area = "data",
     .at = {Phase::kParse, 5},
     .source = "ms-swift:swift/megatron/arguments/megatron_args.py:804",
     .when = FoundByReader,
     .needs = "group_by_length goes with padding_free false alone"},
    {.id = "ms-swift.uneven-stages",
     .area = "pipeline",
     .at = {Phase::kParse, 6},
     .source = "ms-swift:swift/megatron/arguments/megatron_args.py:835",
     .when = FoundByReader,
     .needs = "the layers of a first or last stage are said only of a pipeline"},
    {.id = "ms-swift.save-limit",
     .area = "checkpoint",
     .at = {Phase::kParse, 7},
     .source = "ms-swift:swift/megatron/arguments/megatron_args.py:860",
     .when = FoundByReader,
     .needs = "save_total_limit is at least 2, and goes without async_save"},
    {.id = "ms-swift.bridge-backend",
     .area = "model",
     .at = {Phase::kParse, 8},
     .source = "ms-swift:swift/megatron/arguments/megatron_args.py:783",
     .when = FoundByReader,
     .needs = "bridge_backend megatron-bridge trains whole models"},
    {.id = "ms-swift.generation-batch",
     .area = "batch",
     .at = {Phase::kParse, 9},
     .source = "ms-swift:swift/megatron/arguments/megatron_args.py:292",
     .when = FoundByReader,
     .needs = "the answers of a generation are whole global batches and whole groups of num_generations"},
    {.id = "ms-swift.tp-overlap-sequence-parallel",
     .area = "tp-overlap",
     .at = {Phase::kParse, 10},
     .source = "ms-swift:swift/megatron/arguments/megatron_args.py:898",
     .reads = {K::tp_comm_overlap, K::sequence_parallel, K::tensor_model_parallel_size},
     .when = [](F f) { return f.on(K::tp_comm_overlap) && !f.on(K::sequence_parallel); },
     .needs = "tp_comm_overlap goes with sequence parallelism, which ms-swift turns off for one GPU",
     .fixes = {{{K::tp_comm_overlap, false}}}},
    {.id = "ms-swift.fsdp-optimizer",
     .area = "fsdp",
     .at = {Phase::kParse, 11},
     .source = "ms-swift:swift/megatron/arguments/megatron_args.py:914",
     .reads = {K::use_megatron_fsdp, K::optimizer},
     .when =
         [](F f) {
           return f.on(K::use_megatron_fsdp) && f.set(K::optimizer) && !f.in(K::optimizer, {"adam", "sgd"});
         },
     .needs = "Megatron-FSDP takes adam or sgd",
     .fixes = {{{K::use_megatron_fsdp, false}}}},
    {.id = "ms-swift.fsdp-connections",
     .area = "fsdp",
     .at = {Phase::kParse, 12},
     .source = "ms-swift:swift/megatron/arguments/megatron_args.py:917",
     .reads = {K::use_megatron_fsdp},
     .reads_env = {"CUDA_DEVICE_MAX_CONNECTIONS"},
     .when =
         [](F f) {
           const absl::string_view connections = f.var("CUDA_DEVICE_MAX_CONNECTIONS");
           return f.on(K::use_megatron_fsdp) && (connections.empty() || connections == "1");
         },
     .needs = "ms-swift exports CUDA_DEVICE_MAX_CONNECTIONS=1 where it is unset, and FSDP needs more",
     .fixes = {{{{}, "32", "CUDA_DEVICE_MAX_CONNECTIONS"}}}},
    {.id = "ms-swift.batch-divisible",
     .area = "batch",
     .at = {Phase::kParse, 13},
     .source = "ms-swift:swift/megatron/arguments/megatron_args.py:952",
     .reads = {K::global_batch_size, K::micro_batch_size},
     .reads_env = {"world_size"},
     .when =
         [](F f) {
           return f.set(K::global_batch_size) && Unit(f) > 0 && !Divisible(f.num(K::global_batch_size), Unit(f));
         },
     .needs = "the global batch is a multiple of the micro batch times the data-parallel size",
     .fix = NextBatch,
     .detail = [](F f) { return absl::StrCat("data parallel size ", Replicas(f)); }},
    {.id = "ms-swift.muon-overlap",
     .area = "optimizer",
     .at = {Phase::kParse, 14},
     .source = "ms-swift:swift/megatron/arguments/megatron_args.py:975",
     .reads = {K::optimizer, K::overlap_grad_reduce, K::overlap_param_gather},
     .when =
         [](F f) {
           return f.is(K::optimizer, "muon") && (f.on(K::overlap_grad_reduce) || f.on(K::overlap_param_gather));
         },
     .needs = "muon overlaps neither gradients nor parameters with compute; dist_muon does",
     .fixes = {{{K::overlap_grad_reduce, false}, {K::overlap_param_gather, false}}}},
    {.id = "ms-swift.fit-to-model",
     .area = "fusion",
     .kind = Kind::kChange,
     .at = {Phase::kModel, 0},
     .source = "ms-swift:swift/megatron/model/utils.py:63",
     .reads = {K::bias_activation_fusion, K::bias_dropout_fusion, K::num_moe_experts, K::num_layers},
     .change = FitToModel},
    {.id = "ms-swift.prediction-stage",
     .area = "pipeline",
     .at = {Phase::kBuild, 300},
     .source = "ms-swift:swift/megatron/arguments/megatron_args.py:617; modelscope/ms-swift#9823 (open)",
     .reads = {K::pipeline_model_parallel_layout, K::mtp_num_layers},
     .when = PredictsWithoutDecoder,
     .needs = "ms-swift builds prediction layers like the decoder layers of their stage: each stage with an m has a t",
     .fix = LayersBesidePrediction},
};

}  // namespace

RuleList MsSwiftArgumentsRules() { return kRules; }

}  // namespace flightplan
