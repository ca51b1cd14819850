// Inference options that training launches pass through.
#include "resolver/base/integers.h"
#include "resolver/rules/megatron_lm/cli_util.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

const Rule kRules[] = {
    {.id = "mlm.inference-pp",
     .area = "inference",
     .at = {Phase::kCliValidate, 1856},
     .source = "Megatron-LM:megatron/training/arguments.py:1856",
     .reads = {K::inference_batch_times_seqlen_threshold, K::pipeline_model_parallel_size},
     .when =
         [](F f) {
           return f.num(K::inference_batch_times_seqlen_threshold) > -1 && f.num(K::pipeline_model_parallel_size) <= 1;
         },
     .needs = "inference_batch_times_seqlen_threshold needs pipeline parallelism",
     .fixes = {{{K::inference_batch_times_seqlen_threshold, -1}}}},
    {.id = "mlm.inference-pp-cg",
     .area = "inference",
     .at = {Phase::kCliValidate, 1858},
     .source = "Megatron-LM:megatron/training/arguments.py:1858",
     .reads = {K::inference_batch_times_seqlen_threshold, K::cuda_graph_impl},
     .when =
         [](F f) { return f.num(K::inference_batch_times_seqlen_threshold) > -1 && !f.is(K::cuda_graph_impl, "none"); },
     .needs = "microbatched pipeline inference excludes CUDA graphs",
     .fixes = {{{K::inference_batch_times_seqlen_threshold, -1}}}},
    {.id = "mlm.inference-buffer",
     .area = "inference",
     .at = {Phase::kCliValidate, 1861},
     .source = "Megatron-LM:megatron/training/arguments.py:1861",
     .core = {0, 17},
     .reads = {K::inference_dynamic_batching, K::inference_dynamic_batching_buffer_size_gb},
     .when =
         [](F f) {
           return f.on(K::inference_dynamic_batching) && f.none(K::inference_dynamic_batching_buffer_size_gb);
         },
     .needs = "dynamic batching needs a buffer size",
     .fixes = {{{K::inference_dynamic_batching, false}}}},
    {.id = "mlm.inference-block-size",
     .area = "inference",
     .at = {Phase::kCliValidate, 1862},
     .source = "Megatron-LM:megatron/training/arguments.py:1862",
     .core = {0, 17},
     .reads = {K::inference_dynamic_batching, K::inference_dynamic_batching_block_size},
     .when =
         [](F f) {
           return f.on(K::inference_dynamic_batching) &&
                  !Divisible(f.num(K::inference_dynamic_batching_block_size), 256);
         },
     .needs = "the block size must be a multiple of 256",
     .fixes = {{{K::inference_dynamic_batching_block_size, 256}}}},
    {.id = "mlm.inference-flashinfer-sampling",
     .area = "inference",
     .at = {Phase::kCliValidate, 1863},
     .source = "Megatron-LM:megatron/training/arguments.py:1863",
     .core = {18, 18},
     .reads = {K::inference_dynamic_batching_sampling_backend},
     .reads_env = {"flashinfer"},
     .when =
         [](F f) {
           return f.is(K::inference_dynamic_batching_sampling_backend, "flashinfer") && PackageMissing(f, "flashinfer");
         },
     .needs = "FlashInfer sampling needs FlashInfer",
     .fixes = {{{K::inference_dynamic_batching_sampling_backend, "torch"}}}},
};

}  // namespace

RuleList MegatronLmInferenceRules() { return kRules; }

}  // namespace flightplan
