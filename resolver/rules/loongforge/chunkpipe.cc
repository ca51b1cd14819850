// ChunkPipe, LoongForge's fine-tuning in chunks of a sequence (baidu-baige/LoongForge@c6275661,
// loongforge/train/validators.py, the end of _validate_extra_sft_args), in its order.
#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "resolver/base/integers.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

bool Chunked(F f) { return f.is(K::training_phase, "sft") && f.on(K::enable_chunkpipe); }
int64_t Tp(F f) { return f.num(K::tensor_model_parallel_size); }

// World size over a grid; nothing where the product overflows.
std::optional<int64_t> Replicas(F f, int64_t a, int64_t b, int64_t c) {
  int64_t product = 0;
  if (!f.env().world_size.has_value() || __builtin_mul_overflow(a, b, &product) ||
      __builtin_mul_overflow(product, c, &product))
    return std::nullopt;
  return FloorDiv(*f.env().world_size, product);
}

struct DataParallel {
  int64_t attention = 0, expert = 0;
};

std::optional<DataParallel> DataParallelOf(F f) {
  const int64_t pp = f.num(K::pipeline_model_parallel_size);
  const int64_t ep = std::max<int64_t>(1, f.num(K::expert_model_parallel_size));
  const int64_t etp = f.none(K::expert_tensor_parallel_size) ? Tp(f) : f.num(K::expert_tensor_parallel_size);
  const auto attention = Replicas(f, Tp(f), pp, f.num(K::context_parallel_size));
  const auto expert = Replicas(f, etp, pp, ep);
  if (!attention.has_value() || !expert.has_value()) return std::nullopt;
  return DataParallel{*attention, *expert};
}

bool Uneven(F f) {
  const auto dp = DataParallelOf(f);
  return dp.has_value() && dp->attention != dp->expert;
}
bool VirtualStages(F f) {
  return f.on(K::num_virtual_stages_per_pipeline_rank) && f.num(K::num_virtual_stages_per_pipeline_rank) != 1;
}

constexpr StaticPatch kChunkPipeOff = {{K::enable_chunkpipe, false}};

const Rule kRules[] = {
    {.id = "lf.chunkpipe-stream",
     .area = "sft",
     .at = {Phase::kLoongForge, 233},
     .source = "LoongForge:loongforge/train/validators.py:233",
     .reads = {K::enable_chunkpipe, K::sft_data_streaming},
     .when = [](F f) { return Chunked(f) && f.on(K::sft_data_streaming); },
     .needs = "ChunkPipe sorts all samples by length, so it cannot stream them",
     .fixes = {{{K::sft_data_streaming, false}}, kChunkPipeOff}},
    {.id = "lf.chunkpipe-loader-save",
     .area = "sft",
     .at = {Phase::kLoongForge, 237},
     .source = "LoongForge:loongforge/train/validators.py:237",
     .reads = {K::enable_chunkpipe, K::dataloader_save},
     .when = [](F f) { return Chunked(f) && f.on(K::dataloader_save); },
     .needs = "ChunkPipe resumes from the number of consumed samples; it saves no data loader",
     .fixes = {{{K::dataloader_save, kUnset}}, kChunkPipeOff}},
    {.id = "lf.chunkpipe-cp",
     .area = "sft",
     .at = {Phase::kLoongForge, 242},
     .source = "LoongForge:loongforge/train/validators.py:242",
     .reads = {K::enable_chunkpipe, K::context_parallel_size},
     .when = [](F f) { return Chunked(f) && f.num(K::context_parallel_size) != 1; },
     .needs = "ChunkPipe cuts the sequence itself: context_parallel_size must be 1",
     .fixes = {{{K::context_parallel_size, 1}}, kChunkPipeOff}},
    {.id = "lf.chunkpipe-chunk-tp",
     .area = "sft",
     .at = {Phase::kLoongForge, 247},
     .source = "LoongForge:loongforge/train/validators.py:247",
     .reads = {K::chunksize, K::tensor_model_parallel_size, K::sequence_parallel, K::enable_chunkpipe},
     .when = [](F f) { return Chunked(f) && f.on(K::sequence_parallel) && !Divisible(f.num(K::chunksize), Tp(f)); },
     .needs = "with sequence parallelism tensor_model_parallel_size must divide chunksize",
     .fixes = {{{K::sequence_parallel, false}}, kChunkPipeOff}},
    {.id = "lf.chunkpipe-mtp-ogr",
     .area = "sft",
     .at = {Phase::kLoongForge, 255},
     .source = "LoongForge:loongforge/train/validators.py:255",
     .reads = {K::overlap_grad_reduce, K::mtp_num_layers, K::enable_chunkpipe},
     .when = [](F f) { return Chunked(f) && f.num(K::mtp_num_layers) > 0 && f.on(K::overlap_grad_reduce); },
     .needs = "ChunkPipe with MTP marks shared gradients ready twice, so their reduction cannot overlap",
     .fixes = {{{K::overlap_grad_reduce, false}, {K::overlap_param_gather, false}}, kChunkPipeOff}},
    {.id = "lf.chunkpipe-loss",
     .area = "sft",
     .at = {Phase::kLoongForge, 267},
     .source = "LoongForge:loongforge/train/validators.py:267",
     .reads = {K::legacy_reporting_loss_reduction, K::calculate_per_token_loss, K::enable_chunkpipe},
     .when =
         [](F f) {
           return Chunked(f) && !f.on(K::calculate_per_token_loss) && f.on(K::legacy_reporting_loss_reduction);
         },
     .needs = "the loss of a sample in chunks is reported in the new form only",
     .fixes = {{{K::legacy_reporting_loss_reduction, false}}, {{K::calculate_per_token_loss, true}}}},
    {.id = "lf.chunkpipe-vpp-dp",
     .area = "sft",
     .at = {Phase::kLoongForge, 296},
     .source = "LoongForge:loongforge/train/validators.py:298",
     .reads = {K::num_virtual_stages_per_pipeline_rank, K::expert_model_parallel_size, K::expert_tensor_parallel_size,
               K::tensor_model_parallel_size},
     .reads_env = {"world_size"},
     .when = [](F f) { return Chunked(f) && VirtualStages(f) && Uneven(f); },
     .needs = "ChunkPipe with virtual stages needs as many replicas of the attention as of the experts",
     .fixes = {{{K::num_virtual_stages_per_pipeline_rank, kUnset}}},
     .detail =
         [](F f) {
           const auto dp = DataParallelOf(f).value_or(DataParallel{});
           return absl::StrCat(dp.attention, " replicas of the attention, ", dp.expert, " of the experts");
         }},
    {.id = "lf.chunkpipe-synthesis",
     .area = "sft",
     .kind = Kind::kChange,
     .at = {Phase::kLoongForge, 297},
     .source = "LoongForge:loongforge/train/validators.py:303",
     .reads = {K::chunkpipe_enable_synthesis, K::expert_model_parallel_size, K::expert_tensor_parallel_size,
               K::tensor_model_parallel_size},
     .reads_env = {"world_size"},
     .change =
         [](Editor& e) {
           if (Chunked(e.facts())) e.Set(K::chunkpipe_enable_synthesis, Uneven(e.facts()));
         }},
};

}  // namespace

RuleList LoongforgeChunkpipeRules() { return kRules; }

}  // namespace flightplan
