// ConfigContainer.validate: packed sequences and the datasets that bring them.
// Lines are those of NVIDIA-NeMo/Megatron-Bridge@067f987df src/megatron/bridge/training/config.py.
#include <vector>

#include "absl/strings/string_view.h"
#include "resolver/rules/bridge/graph_modules_util.h"
#include "resolver/rules/core/facts_util.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

constexpr Place Late(int line) { return {Phase::kContainer, line}; }
constexpr Place Early(int line) { return {Phase::kContainerStart, line}; }

bool OfflinePacking(F f) { return f.on(K::dataset_offline_packing_specs); }
bool PadsToMax(F f) { return f.on(K::dataset_pad_to_max_length); }
bool TeGraph(F f) { return f.is(K::cuda_graph_impl, "transformer_engine"); }
// The whole iteration, the whole layer (no modules named), or attention by name.
bool CapturesAttention(F f) {
  return FullIterationGraph(f) || (TeGraph(f) && (!AnyPerLayerGraphModule(f) || HasGraphModule(f, "attn")));
}
bool CapturesRouter(F f) {
  return !AnyPerLayerGraphModule(f) || HasGraphModule(f, "moe") || HasGraphModule(f, "moe_router") ||
         HasGraphModule(f, "moe_preprocess");
}

// An Energon dataset whose own size of a micro batch is not that of `knob`.
bool EnergonWithOtherBatch(F f, K knob) {
  return f.is(K::dataset_kind, "energon") && f.set(K::dataset_micro_batch_size) && f.set(knob) &&
         f.num(K::dataset_micro_batch_size) != f.num(knob);
}

constexpr absl::string_view kPacksMany =
    "packing within the batch joins the sequences of a micro batch, so it needs more than one of them";

const Rule kRules[] = {
    {.id = "dataset.epochs-need-sft",
     .area = "dataset",
     .at = Early(1262),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1262",
     .bridge = {.since = 6},
     .reads = {K::num_epochs, K::dataset_kind},
     // A recipe whose dataset nobody named may well be of that kind.
     .when = [](F f) { return f.set(K::num_epochs) && f.given(K::dataset_kind) && !f.is(K::dataset_kind, "sft"); },
     .needs = "epochs are counted on a GPTSFTDatasetConfig only, whose size is known; others train by train_iters",
     .fixes = {{{K::num_epochs, kUnset}}, {{K::dataset_kind, "sft"}}}},
    {.id = "dataset.epochs-by-batches",
     .area = "dataset",
     .at = Early(1267),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1266",
     .bridge = {.since = 6},
     .reads = {K::num_epochs, K::dataset_dataloader_type},
     .when =
         [](F f) {
           return f.set(K::num_epochs) && f.given(K::dataset_dataloader_type) &&
                  !f.is(K::dataset_dataloader_type, "batch");
         },
     .needs = "epochs are counted with the loader of whole batches, the default of that dataset: dataloader_type=batch",
     .fixes = {{{K::dataset_dataloader_type, "batch"}}, {{K::num_epochs, kUnset}}}},
    {.id = "dataset.packing-one-kind",
     .area = "dataset",
     .at = Early(1277),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1277",
     .bridge = {.since = 6},
     .reads = {K::dataset_enable_offline_packing, K::dataset_enable_in_batch_packing},
     .when = [](F f) { return f.on(K::dataset_enable_offline_packing) && f.on(K::dataset_enable_in_batch_packing); },
     .needs = "sequences are packed either ahead of time or within the batch",
     .fixes = {{{K::dataset_enable_in_batch_packing, false}}}},
    {.id = "offline-packing.switch-and-specs",
     .area = "dataset",
     .at = Early(1279),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1280",
     .bridge = {.since = 6},
     .reads = {K::dataset_enable_offline_packing, K::dataset_offline_packing_specs},
     // Each by the caller's own word: what a recipe has beside the other is not known.
     .when =
         [](F f) {
           const bool both = f.given(K::dataset_enable_offline_packing) && f.given(K::dataset_offline_packing_specs);
           return both && OfflinePacking(f) != f.on(K::dataset_enable_offline_packing);
         },
     .needs = "data that is packed ahead of time is switched on and described: enable_offline_packing=true with "
              "offline_packing_specs, or false with none",
     .fix =
         [](F f) {
           Patch off = {Assign(K::dataset_enable_offline_packing, false),
                        Assign(K::dataset_offline_packing_specs, false)};
           std::vector<Patch> patches = {off};
           if (OfflinePacking(f)) patches.insert(patches.begin(), {Assign(K::dataset_enable_offline_packing, true)});
           return patches;
         }},
    {.id = "offline-packing.cu-seqlens-need-pad",
     .area = "dataset",
     .at = Early(1290),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1290",
     .bridge = {.since = 6},
     .reads = {K::dataset_offline_packing_specs, K::dataset_offline_packing_specs_pad_cu_seqlens,
               K::dataset_pad_to_max_length},
     .when =
         [](F f) {
           return OfflinePacking(f) && f.on(K::dataset_offline_packing_specs_pad_cu_seqlens) && !PadsToMax(f);
         },
     .needs = "sequence boundaries of a fixed shape need sequences padded to the maximum",
     .fixes = {{{K::dataset_pad_to_max_length, true}}}},
    {.id = "offline-packing.graph-needs-pad",
     .area = "cuda-graph",
     .at = Early(1300),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1300",
     .bridge = {.since = 6},
     .reads = {K::dataset_offline_packing_specs, K::cuda_graph_impl, K::dataset_pad_to_max_length},
     .when = [](F f) { return OfflinePacking(f) && (FullIterationGraph(f) || TeGraph(f)) && !PadsToMax(f); },
     .needs = "a CUDA graph needs the same token count in every step",
     .fixes = {{{K::dataset_pad_to_max_length, true}}, {{K::cuda_graph_impl, "none"}}}},
    {.id = "offline-packing.graph-attn-needs-cu-seqlens",
     .area = "cuda-graph",
     .at = Early(1306),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1306",
     .bridge = {.since = 6},
     .reads = {K::dataset_offline_packing_specs, K::cuda_graph_impl, K::cuda_graph_modules,
               K::dataset_offline_packing_specs_pad_cu_seqlens},
     .when =
         [](F f) {
           return OfflinePacking(f) && CapturesAttention(f) && !f.on(K::dataset_offline_packing_specs_pad_cu_seqlens);
         },
     .needs = "packed attention inside a CUDA graph needs sequence boundaries of a fixed shape",
     .fixes = {{{K::dataset_offline_packing_specs_pad_cu_seqlens, true}, {K::dataset_pad_to_max_length, true}},
               {{K::cuda_graph_impl, "none"}}}},
    {.id = "energon.micro-batch-same",
     .area = "dataset",
     .at = Early(1321),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1319",
     .bridge = {.since = 6},
     .reads = {K::dataset_kind, K::dataset_micro_batch_size, K::micro_batch_size},
     .when = [](F f) { return EnergonWithOtherBatch(f, K::micro_batch_size); },
     .needs = "an Energon dataset makes micro batches of the size that is trained: dataset.micro_batch_size as "
              "train.micro_batch_size",
     .fix = [](F f) { return std::vector<Patch>{{Assign(K::dataset_micro_batch_size, f.num(K::micro_batch_size))}}; }},
    {.id = "energon-packing.micro-batch-one",
     .area = "dataset",
     .at = Early(1329),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1329",
     .bridge = {.since = kMain},
     .reads = {K::dataset_packing_buffer_size, K::micro_batch_size},
     .when = [](F f) { return NativeEnergonPacking(f) && f.num(K::micro_batch_size) != 1; },
     .needs = "native Energon packing makes one packed sequence of a micro batch, so its size is 1",
     .fixes = {{{K::micro_batch_size, 1}}, {{K::dataset_packing_buffer_size, kUnset}}}},
    {.id = "energon-packing.loss-per-token",
     .area = "dataset",
     .at = Early(1331),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1331",
     .bridge = {.since = kMain},
     .reads = {K::dataset_packing_buffer_size, K::calculate_per_token_loss, K::average_in_collective},
     .when =
         [](F f) {
           return NativeEnergonPacking(f) && (!f.on(K::calculate_per_token_loss) || f.on(K::average_in_collective));
         },
     .needs = "packed sequences differ in tokens, so the loss is counted per token and not averaged over ranks",
     .fixes = {{{K::calculate_per_token_loss, true}, {K::average_in_collective, false}},
               {{K::dataset_packing_buffer_size, kUnset}}}},
    {.id = "energon-packing.no-mtp",
     .area = "mtp",
     .at = Early(1335),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1335",
     .bridge = {.since = kMain},
     .reads = {K::dataset_packing_buffer_size, K::mtp_num_layers},
     .when = [](F f) { return NativeEnergonPacking(f) && f.num(K::mtp_num_layers) > 0; },
     .needs = "native Energon packing does not carry MTP",
     .fixes = {{{K::dataset_packing_buffer_size, kUnset}}, {{K::mtp_num_layers, kUnset}}}},
    {.id = "energon-packing.no-cuda-graph",
     .area = "cuda-graph",
     .at = Early(1339),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1339",
     .bridge = {.since = kMain},
     .reads = {K::dataset_packing_buffer_size, K::cuda_graph_impl},
     .when =
         [](F f) { return NativeEnergonPacking(f) && f.set(K::cuda_graph_impl) && !f.is(K::cuda_graph_impl, "none"); },
     .needs = "native Energon packing changes shapes from step to step",
     .fixes = {{{K::cuda_graph_impl, "none"}}}},
    {.id = "energon-packing.no-pp",
     .area = "pipeline",
     .at = Early(1344),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1344",
     .bridge = {.since = kMain},
     .reads = {K::dataset_packing_buffer_size, K::pipeline_model_parallel_size},
     .when = [](F f) { return NativeEnergonPacking(f) && f.num(K::pipeline_model_parallel_size) > 1; },
     .needs = "native Energon packing runs without pipeline parallelism",
     .fixes = {{{K::dataset_packing_buffer_size, kUnset}}}},
    {.id = "energon.validation-batch-same",
     .area = "dataset",
     .at = Late(1444),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1446",
     .bridge = {.since = 6},
     .reads = {K::dataset_kind, K::dataset_micro_batch_size, K::dataset_do_validation, K::eval_micro_batch_size},
     .when =
         [](F f) {
           const bool validates = f.none(K::dataset_do_validation) || f.on(K::dataset_do_validation);
           return validates && EnergonWithOtherBatch(f, K::eval_micro_batch_size);
         },
     .needs = "an Energon dataset makes validation's micro batches, too: validation.eval_micro_batch_size as "
              "dataset.micro_batch_size, or unset",
     .fixes = {{{K::eval_micro_batch_size, kUnset}}}},
    {.id = "offline-packing.size-positive",
     .area = "dataset",
     .at = Late(1602),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1602",
     .bridge = {.since = 6},
     .reads = {K::dataset_enable_offline_packing, K::dataset_offline_packing_specs_packed_sequence_size, K::seq_length},
     .when =
         [](F f) {
           const K size = K::dataset_offline_packing_specs_packed_sequence_size;
           return f.on(K::dataset_enable_offline_packing) && f.given(size) && f.num(size) <= 0;
         },
     .needs = "a packed sequence has a length above 0: dataset.offline_packing_specs.packed_sequence_size",
     .fix =
         [](F f) {
           std::vector<Patch> patches;
           const int64_t length = f.num(K::seq_length);
           if (length > 0) {
             patches.push_back({Assign(K::dataset_offline_packing_specs_packed_sequence_size, length)});
           }
           return patches;
         }},
    {.id = "offline-packing.micro-batch-one",
     .area = "dataset",
     .at = Late(1606),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1606",
     .bridge = {.since = 6},
     .reads = {K::dataset_enable_offline_packing, K::micro_batch_size},
     .when = [](F f) { return f.on(K::dataset_enable_offline_packing) && f.num(K::micro_batch_size) > 1; },
     .needs =
         "a packed sequence is a micro batch of its own: micro_batch_size 1, a global batch smaller by as much and "
         "packed sequences longer by as much train the same",
     .fixes = {{{K::micro_batch_size, 1}}}},
    {.id = "in-batch-packing.micro-batch-many",
     .area = "dataset",
     .at = Late(1619),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1619",
     .bridge = {.since = 6},
     .reads = {K::dataset_enable_in_batch_packing, K::micro_batch_size},
     .when = [](F f) { return f.on(K::dataset_enable_in_batch_packing) && f.num(K::micro_batch_size) == 1; },
     .needs = kPacksMany,
     .fixes = {{{K::dataset_enable_in_batch_packing, false}}}},
    {.id = "in-batch-packing.micro-batch-many",
     .area = "dataset",
     .at = Late(1619),
     .source = "Megatron-Bridge 0.5.1:src/megatron/bridge/training/config.py:1356",
     .bridge = {.until = 5},
     .reads = {K::dataset_pack_sequences_in_batch, K::micro_batch_size},
     .when = [](F f) { return f.on(K::dataset_pack_sequences_in_batch) && f.num(K::micro_batch_size) == 1; },
     .needs = kPacksMany,
     .fixes = {{{K::dataset_pack_sequences_in_batch, false}}}},
    {.id = "build.packed-moe-no-router-graph",
     .area = "cuda-graph",
     .at = {Phase::kBuild, 20195},
     .source = "Megatron-Bridge:src/megatron/bridge/training/gpt_step.py:195",
     .bridge = {.since = kMain},
     .reads = {K::dataset_offline_packing_specs, K::num_moe_experts, K::cuda_graph_impl, K::cuda_graph_modules},
     .when = [](F f) { return OfflinePacking(f) && f.on(K::num_moe_experts) && TeGraph(f) && CapturesRouter(f); },
     .needs = "packed data comes with a mask of its padding, which captured routers do not read: the first step stops",
     .fixes = {{{K::cuda_graph_impl, "none"}}}},
};

}  // namespace

RuleList BridgePackingRules() { return kRules; }

}  // namespace flightplan
