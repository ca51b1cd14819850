// What LoongForge's fork of Megatron-LM checks and changes in validate_args beyond core 0.15
// (baidu-baige/Loong-Megatron@a77508627, megatron/training/arguments.py), and what it stops at when the learning-rate
// schedule, the mesh and the chat template are made.
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "resolver/base/integers.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

constexpr size_t kMaxStages = 4096;

bool GraphsOn(F f) { return f.set(K::cuda_graph_impl) && !f.is(K::cuda_graph_impl, "none"); }
bool Sft(F f) { return f.is(K::training_phase, "sft"); }
bool Chunked(F f) { return f.on(K::enable_chunkpipe); }
// Chunks of a sequence; 0: there is no chunk size.
int64_t Chunks(F f) { return f.on(K::chunksize) ? FloorDiv(f.num(K::seq_length), f.num(K::chunksize)) : 0; }

// "3,4": two entries; without a comma LoongForge reads none.
size_t Entries(absl::string_view list) {
  return absl::StrContains(list, ',') ? std::vector<absl::string_view>(absl::StrSplit(list, ',')).size() : 0;
}

std::optional<int64_t> DataParallel(F f) {
  int64_t ranks = 0;
  if (!f.env().world_size.has_value() ||
      __builtin_mul_overflow(f.num(K::tensor_model_parallel_size), f.num(K::pipeline_model_parallel_size), &ranks) ||
      __builtin_mul_overflow(ranks, f.num(K::context_parallel_size), &ranks) || ranks <= 0) {
    return std::nullopt;
  }
  return FloorDiv(*f.env().world_size, ranks);
}

// "3,4" becomes [3, 4].
void ParseRecomputeList(Editor& e) {
  const Value& list = e.facts().value(K::custom_pipeline_recompute_layers);
  if (!list.is_text() || Entries(list.text()) == 0) return;
  Value::List layers;
  for (const absl::string_view item : absl::StrSplit(list.text(), ',')) {
    int64_t layer = 0;
    if (layers.size() >= kMaxStages || !absl::SimpleAtoi(item, &layer)) return;
    layers.emplace_back(layer);
  }
  e.Set(K::custom_pipeline_recompute_layers, Value(std::move(layers)));
}

// A fine-tuning batch must hold the chunks of one sequence on every rank.
void InflateBatch(Editor& e) {
  const Facts& f = e.facts();
  if (!Chunked(f) || Chunks(f) <= 0) return;
  e.Set(K::sft_chunkpipe_mode, Sft(f));
  e.Set(K::chunk_num_per_seq, Chunks(f));
  if (!Sft(f)) return;
  const std::optional<int64_t> dp = DataParallel(f);
  int64_t ranks = 0, least = 0;
  if (!dp.has_value() || f.none(K::global_batch_size) ||
      __builtin_mul_overflow(*dp, f.num(K::micro_batch_size), &ranks) || ranks <= 0 ||
      __builtin_mul_overflow(ranks, Chunks(f), &least)) {
    return;
  }
  if (FloorDiv(f.num(K::global_batch_size), ranks) < Chunks(f)) e.Set(K::global_batch_size, least);
}

constexpr StaticPatch kChunkPipeOff = {{K::enable_chunkpipe, false}};

const Rule kRules[] = {
    {.id = "lff.recompute-list-full",
     .area = "recompute",
     .at = {Phase::kCliValidate, 547},
     .source = "Loong-Megatron:megatron/training/arguments.py:547",
     .reads = {K::custom_pipeline_recompute_layers, K::recompute_granularity},
     .when = [](F f) { return f.set(K::custom_pipeline_recompute_layers) && !f.is(K::recompute_granularity, "full"); },
     .needs = "custom_pipeline_recompute_layers counts whole layers: recompute_granularity must be full",
     .fixes = {{{K::recompute_granularity, "full"}, {K::recompute_method, "uniform"}},
               {{K::custom_pipeline_recompute_layers, kUnset}}}},
    {.id = "lff.recompute-list-count",
     .area = "recompute",
     .at = {Phase::kCliValidate, 551},
     .source = "Loong-Megatron:megatron/training/arguments.py:551",
     .reads = {K::custom_pipeline_recompute_layers, K::pipeline_model_parallel_size},
     .when =
         [](F f) {
           return f.value(K::custom_pipeline_recompute_layers).is_text() &&
                  static_cast<int64_t>(Entries(f.text(K::custom_pipeline_recompute_layers))) !=
                      f.num(K::pipeline_model_parallel_size);
         },
     .needs = "custom_pipeline_recompute_layers needs one number for each pipeline stage, between commas",
     .fixes = {{{K::custom_pipeline_recompute_layers, kUnset}, {K::recompute_num_layers, 1}}}},
    {.id = "lff.recompute-list-parsed",
     .area = "recompute",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 558},
     .source = "Loong-Megatron:megatron/training/arguments.py:558",
     .reads = {K::custom_pipeline_recompute_layers},
     .change = ParseRecomputeList},
    {.id = "lff.selective-fp8-needs-fp8",
     .area = "fp8",
     .at = {Phase::kCliValidate, 707},
     .source = "Loong-Megatron:megatron/training/arguments.py:707",
     .reads = {K::selective_fp8, K::fp8},
     .when = [](F f) { return f.on(K::selective_fp8) && f.none(K::fp8); },
     .needs = "selective_fp8 chooses among FP8 GEMMs: set --fp8-format",
     .fixes = {{{K::selective_fp8, false}}}},
    {.id = "lff.selective-fp8-names-alone",
     .area = "fp8",
     .at = {Phase::kCliValidate, 713},
     .source = "Loong-Megatron:megatron/training/arguments.py:713",
     .reads = {K::selective_fp8_allowed_ub_names, K::selective_fp8},
     .when = [](F f) { return f.on(K::selective_fp8_allowed_ub_names) && !f.on(K::selective_fp8); },
     .needs = "selective_fp8_allowed_ub_names needs --selective-fp8",
     .fixes = {{{K::selective_fp8_allowed_ub_names, kUnset}}}},
    {.id = "mlm.gg-bf16",
     .area = "precision",
     .at = {Phase::kCliValidate, 915},
     .source = "Loong-Megatron:megatron/training/arguments.py:915",
     .reads = {K::moe_grouped_gemm, K::bf16},
     .when = [](F f) { return f.on(K::moe_grouped_gemm) && !f.on(K::bf16); },
     .needs = "core 0.15 groups expert GEMMs in bf16 only",
     .fixes = {{{K::bf16, true}, {K::fp16, false}}, {{K::moe_grouped_gemm, false}}}},
    {.id = "lff.cdmc-warning-only",
     .area = "env",
     .kind = Kind::kWarning,
     .at = {Phase::kCliValidate, 997},
     .source = "Loong-Megatron:megatron/training/arguments.py:997",
     .reads = {K::tensor_model_parallel_size, K::context_parallel_size, K::sequence_parallel},
     .reads_env = {"CUDA_DEVICE_MAX_CONNECTIONS", "gpu"},
     .when =
         [](F f) {
           const bool parallel = f.num(K::tensor_model_parallel_size) > 1 || f.num(K::context_parallel_size) > 1;
           const bool overlaps = f.on(K::overlap_moe_expert_parallel_comm) || f.on(K::preprocess_data_on_cpu) ||
                                 f.on(K::use_torch_fsdp2) || f.on(K::use_megatron_fsdp);
           return parallel && !overlaps && f.env().cc_major > 0 && f.env().cc_major < 10 &&
                  f.var("CUDA_DEVICE_MAX_CONNECTIONS") != "1";
         },
     .needs = "before Blackwell, tensor and context parallelism overlap with GEMMs only with "
              "CUDA_DEVICE_MAX_CONNECTIONS=1"},
    {.id = "mlm.spec-vs-moe",
     .area = "moe",
     .at = {Phase::kCliValidate, 1079},
     .source = "Loong-Megatron:megatron/training/arguments.py:1079",
     .reads = {K::spec, K::num_moe_experts},
     .when = [](F f) { return f.set(K::spec) && f.on(K::num_moe_experts); },
     .needs = "core 0.15 takes no --spec of a model with experts",
     .fixes = {{{K::spec, kUnset}}}},
    {.id = "mlm.ep-no-fp16",
     .area = "precision",
     .at = {Phase::kCliValidate, 1093},
     .source = "Loong-Megatron:megatron/training/arguments.py:1093",
     .reads = {K::expert_model_parallel_size, K::fp16},
     .when = [](F f) { return f.num(K::expert_model_parallel_size) > 1 && f.on(K::fp16); },
     .needs = "core 0.15 has no expert parallelism in fp16",
     .fixes = {{{K::fp16, false}, {K::bf16, true}}}},
    {.id = "lff.mtp-shared-needs-two",
     .area = "mtp",
     .at = {Phase::kCliValidate, 1244},
     .source = "Loong-Megatron:megatron/training/arguments.py:1244",
     .reads = {K::mtp_shared_layers, K::mtp_num_layers},
     .when = [](F f) { return f.on(K::mtp_shared_layers) && f.on(K::mtp_num_layers) && f.num(K::mtp_num_layers) <= 1; },
     .needs = "shared MTP layers need mtp_num_layers of 2 or more",
     .fixes = {{{K::mtp_shared_layers, false}}, {{K::mtp_num_layers, 2}}}},
    {.id = "mlm.cg-expandable",
     .area = "cuda-graph",
     .at = {Phase::kCliValidate, 1254},
     .source = "Loong-Megatron:megatron/training/arguments.py:1254",
     .reads = {K::cuda_graph_impl},
     .reads_env = {"PYTORCH_CUDA_ALLOC_CONF"},
     .when =
         [](F f) {
           return GraphsOn(f) && absl::StrContains(f.var("PYTORCH_CUDA_ALLOC_CONF"), "expandable_segments:True");
         },
     .needs = "CUDA graphs of core 0.15 cannot use expandable_segments",
     .fixes = {{{K::cuda_graph_impl, "none"}}}},
    {.id = "mlm.cg-not-full-recompute",
     .area = "cuda-graph",
     .at = {Phase::kCliValidate, 1256},
     .source = "Loong-Megatron:megatron/training/arguments.py:1256",
     .reads = {K::cuda_graph_impl, K::recompute_granularity},
     .when = [](F f) { return GraphsOn(f) && f.is(K::recompute_granularity, "full"); },
     .needs = "CUDA graphs cannot recompute whole layers in core 0.15",
     .fixes = {{{K::cuda_graph_impl, "none"}}}},
    {.id = "lff.chunkpipe-mask",
     .area = "chunkpipe",
     .at = {Phase::kCliValidate, 1262},
     .source = "Loong-Megatron:megatron/training/arguments.py:1262",
     .reads = {K::enable_chunkpipe, K::create_attention_mask_in_dataloader},
     .when = [](F f) { return Chunked(f) && f.on(K::create_attention_mask_in_dataloader); },
     .needs = "ChunkPipe makes its own masks: --no-create-attention-mask-in-dataloader",
     .fixes = {{{K::create_attention_mask_in_dataloader, false}}, kChunkPipeOff}},
    {.id = "lff.chunkpipe-size",
     .area = "chunkpipe",
     .at = {Phase::kCliValidate, 1263},
     .source = "Loong-Megatron:megatron/training/arguments.py:1263",
     .reads = {K::enable_chunkpipe, K::chunksize},
     .when = [](F f) { return Chunked(f) && !f.on(K::chunksize); },
     .needs = "ChunkPipe needs --chunksize",
     .fixes = {kChunkPipeOff}},
    {.id = "lff.chunkpipe-keep-negative",
     .area = "chunkpipe",
     .at = {Phase::kCliValidate, 1264},
     .source = "Loong-Megatron:megatron/training/arguments.py:1264",
     .reads = {K::enable_chunkpipe, K::keep_activations_chunks},
     .when = [](F f) { return Chunked(f) && f.num(K::keep_activations_chunks) < 0; },
     .needs = "keep_activations_chunks counts chunks: 0 or more",
     .fixes = {{{K::keep_activations_chunks, 0}}}},
    {.id = "lff.chunkpipe-seq-divides",
     .area = "chunkpipe",
     .at = {Phase::kCliValidate, 1270},
     .source = "Loong-Megatron:megatron/training/arguments.py:1270",
     .reads = {K::enable_chunkpipe, K::seq_length, K::chunksize},
     .when =
         [](F f) {
           return Chunked(f) && !Sft(f) && f.on(K::chunksize) && !Divisible(f.num(K::seq_length), f.num(K::chunksize));
         },
     .needs = "chunksize must divide seq_length",
     .fixes = {kChunkPipeOff}},
    {.id = "lff.chunkpipe-pp-divides",
     .area = "chunkpipe",
     .at = {Phase::kCliValidate, 1272},
     .source = "Loong-Megatron:megatron/training/arguments.py:1272",
     .reads = {K::enable_chunkpipe, K::seq_length, K::chunksize, K::pipeline_model_parallel_size},
     .when =
         [](F f) {
           return Chunked(f) && !Sft(f) && f.on(K::chunksize) &&
                  !Divisible(Chunks(f), f.num(K::pipeline_model_parallel_size));
         },
     .needs = "pipeline_model_parallel_size must divide the chunks of a sequence",
     .fixes = {kChunkPipeOff}},
    {.id = "lff.chunkpipe-gbs-inflated",
     .area = "chunkpipe",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 1276},
     .source = "Loong-Megatron:megatron/training/arguments.py:1276",
     .reads = {K::enable_chunkpipe, K::global_batch_size, K::seq_length, K::chunksize},
     .change = InflateBatch},
    {.id = "lff.chunkpipe-keep-too-many",
     .area = "chunkpipe",
     .at = {Phase::kCliValidate, 1311},
     .source = "Loong-Megatron:megatron/training/arguments.py:1311",
     .reads = {K::enable_chunkpipe, K::keep_activations_chunks, K::seq_length, K::chunksize},
     .when = [](F f) { return Chunked(f) && f.on(K::chunksize) && f.num(K::keep_activations_chunks) > Chunks(f); },
     .needs = "keep_activations_chunks can be at most the chunks of a sequence",
     .fixes = {{{K::keep_activations_chunks, 0}}}},
    {.id = "lff.chunkpipe-no-recompute",
     .area = "chunkpipe",
     .at = {Phase::kCliValidate, 1314},
     .source = "Loong-Megatron:megatron/training/arguments.py:1314",
     .reads = {K::enable_chunkpipe, K::recompute_granularity, K::recompute_method, K::recompute_num_layers,
               K::custom_pipeline_recompute_layers},
     .when =
         [](F f) {
           return Chunked(f) && (f.on(K::recompute_granularity) || f.on(K::recompute_method) ||
                                 f.on(K::recompute_num_layers) || f.on(K::custom_pipeline_recompute_layers));
         },
     .needs = "ChunkPipe keeps or drops activations of whole chunks: no recompute beside it",
     .fixes = {{{K::recompute_granularity, kUnset},
                {K::recompute_method, kUnset},
                {K::recompute_num_layers, kUnset},
                {K::custom_pipeline_recompute_layers, kUnset}}}},
    {.id = "lf.chat-template-kwargs",
     .area = "sft",
     .at = {Phase::kCliValidate, 9000},
     .source = "LoongForge:loongforge/utils/global_vars.py:104",
     .reads = {K::chat_template_kwargs, K::chat_template},
     .when =
         [](F f) {
           return f.on(K::chat_template_kwargs) && f.set(K::chat_template) &&
                  !absl::EndsWith(f.text(K::chat_template), "-hf");
         },
     .needs = "only the tokenizer's own templates, named *-hf, take chat_template_kwargs",
     .fixes = {{{K::chat_template_kwargs, kUnset}}}},
    {.id = "lf.ddp-buckets",
     .area = "ddp",
     .at = {Phase::kDdp, 1},
     .source = "LoongForge:loongforge/train/training_utils.py:954",
     .reads = {K::ddp_num_buckets, K::ddp_bucket_size},
     .when =
         [](F f) { return f.set(K::ddp_num_buckets) && (f.set(K::ddp_bucket_size) || f.num(K::ddp_num_buckets) <= 0); },
     .needs = "ddp_num_buckets is above 0 and excludes ddp_bucket_size",
     .fixes = {{{K::ddp_num_buckets, kUnset}}}},
    {.id = "lff.train-length",
     .area = "schedule",
     .at = {Phase::kOptimizer, 9047},
     .source = "Loong-Megatron:megatron/training/training.py:1047",
     .reads = {K::train_iters, K::train_samples},
     .when = [](F f) { return f.env().written && !f.on(K::train_iters) && !f.on(K::train_samples); },
     .needs = "training needs a length: --train-iters or --train-samples"},
    {.id = "lff.lr-set",
     .area = "schedule",
     .at = {Phase::kOptimizer, 9062},
     .source = "Loong-Megatron:megatron/core/optimizer_param_scheduler.py:62",
     .reads = {K::lr},
     .when = [](F f) { return f.env().written && !f.set(K::lr); },
     .needs = "the schedule needs a learning rate: --lr"},
    {.id = "lff.lr-warmup-below-decay",
     .area = "schedule",
     .at = {Phase::kOptimizer, 9074},
     .source = "Loong-Megatron:megatron/core/optimizer_param_scheduler.py:74",
     .reads = {K::lr_warmup_iters, K::lr_warmup_fraction, K::lr_decay_iters, K::train_iters},
     .when =
         [](F f) {
           if (!f.on(K::train_iters)) return false;
           const bool decay = f.on(K::lr_decay_iters);
           if (f.set(K::lr_warmup_fraction)) return f.real(K::lr_warmup_fraction) >= 1;
           return f.num(K::lr_warmup_iters) >= f.num(decay ? K::lr_decay_iters : K::train_iters);
         },
     .needs = "the learning rate's warm-up must end before its decay does",
     .fixes = {{{K::lr_warmup_iters, 0}, {K::lr_warmup_fraction, kUnset}}}},
    {.id = "lff.lr-wsd-needs-decay",
     .area = "schedule",
     .at = {Phase::kOptimizer, 9078},
     .source = "Loong-Megatron:megatron/core/optimizer_param_scheduler.py:78",
     .reads = {K::lr_decay_style, K::lr_wsd_decay_iters, K::lr_wsd_decay_samples, K::train_iters, K::train_samples},
     .when =
         [](F f) {
           const bool iterations = f.on(K::train_iters);
           return f.is(K::lr_decay_style, "WSD") && (iterations || f.on(K::train_samples)) &&
                  f.none(iterations ? K::lr_wsd_decay_iters : K::lr_wsd_decay_samples);
         },
     .needs = "the warm-up, stable, decay schedule needs the length of its decay: --lr-wsd-decay-iters, or "
              "--lr-wsd-decay-samples where the training's length is in samples"},
    {.id = "lff.weight-decay-positive",
     .area = "schedule",
     .at = {Phase::kOptimizer, 9082},
     .source = "Loong-Megatron:megatron/core/optimizer_param_scheduler.py:82",
     .reads = {K::weight_decay, K::start_weight_decay},
     .when = [](F f) { return f.set(K::lr) && f.real(K::start_weight_decay) < 0; },
     .needs = "weights decay by 0 or more",
     .fixes = {{{K::weight_decay, 0}, {K::start_weight_decay, 0}}}},
    {.id = "lf.hetero-full-gbs",
     .area = "parallel",
     .at = {Phase::kMesh, 268},
     .source = "LoongForge:loongforge/train/initialize.py:268",
     .reads = {K::enable_full_hetero_dp, K::global_batch_size, K::tensor_model_parallel_size,
               K::pipeline_model_parallel_size, K::context_parallel_size},
     .reads_env = {"world_size"},
     .when =
         [](F f) {
           const std::optional<int64_t> dp = DataParallel(f);
           return f.on(K::enable_full_hetero_dp) && dp.has_value() && f.num(K::global_batch_size) < *dp;
         },
     .needs = "full heterogeneous data parallelism needs a sequence for every rank: a larger global_batch_size",
     .fixes = {{{K::enable_full_hetero_dp, false}}}},
    {.id = "lf.hetero-full-cp",
     .area = "parallel",
     .at = {Phase::kMesh, 252},
     .source = "LoongForge:loongforge/train/initialize.py:252",
     .reads = {K::enable_full_hetero_dp, K::context_parallel_size},
     .when = [](F f) { return f.on(K::enable_full_hetero_dp) && f.num(K::context_parallel_size) != 1; },
     .needs = "full heterogeneous data parallelism needs context_parallel_size 1",
     .fixes = {{{K::context_parallel_size, 1}}, {{K::enable_full_hetero_dp, false}}}},
};

}  // namespace

RuleList LoongforgeForkRules() { return kRules; }

}  // namespace flightplan
