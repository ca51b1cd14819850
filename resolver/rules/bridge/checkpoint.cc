// What a checkpoint's place and format must be beside the rest of a Bridge configuration; what CheckpointConfig itself
// refuses is in training.cc. Lines are those of NVIDIA-NeMo/Megatron-Bridge@067f987df
// src/megatron/bridge/training/config.py.
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

const Rule kRules[] = {
    // Of a folder nothing is known here; that there is none by this name, is.
    {.id = "bridge-ckpt.pretrained-named",
     .area = "checkpoint",
     .at = {Phase::kContainer, 1406, 594},
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:594",
     .reads = {K::pretrained_checkpoint},
     .when =
         [](F f) { return f.value(K::pretrained_checkpoint).is_text() && f.text(K::pretrained_checkpoint).empty(); },
     .needs =
         "a folder that exists: checkpoint.pretrained_checkpoint=PATH; where nothing is loaded it is null, not empty",
     .fixes = {{{K::pretrained_checkpoint, kUnset}}}},
    {.id = "bridge-ckpt.hf-export-source",
     .area = "checkpoint",
     .at = {Phase::kContainer, 1527},
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1211",
     .bridge = {.since = 6},
     .reads = {K::also_save_hf_checkpoint, K::hf_source_path, K::hf_model_id, K::tokenizer_tokenizer_model},
     // By the caller's own word: a recipe says one of them.
     .when =
         [](F f) {
           const bool known = f.given(K::hf_model_id) && f.given(K::tokenizer_tokenizer_model);
           return f.on(K::also_save_hf_checkpoint) && known && !f.on(K::hf_source_path) && !f.on(K::hf_model_id) &&
                  !f.on(K::tokenizer_tokenizer_model);
         },
     .needs = "weights for Hugging Face take their config and tokenizer from a model there: checkpoint.hf_source_path, "
              "model.hf_model_id or tokenizer.tokenizer_model",
     .fixes = {{{K::also_save_hf_checkpoint, false}}}},
    {.id = "bridge-ckpt.distopt-format",
     .area = "checkpoint",
     .at = {Phase::kContainer, 1563},
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1563",
     .bridge = {.since = 5},
     .reads = {K::use_gloo_process_groups, K::use_distributed_optimizer, K::ckpt_format},
     .when =
         [](F f) {
           return !f.on(K::use_gloo_process_groups) && f.on(K::use_distributed_optimizer) && f.given(K::ckpt_format) &&
                  !f.in(K::ckpt_format, {"torch_dist", "fsdp_dtensor"});
         },
     .needs = "without Gloo groups the distributed optimizer is saved in the formats torch_dist and fsdp_dtensor only",
     .fixes = {{{K::ckpt_format, "torch_dist"}}, {{K::use_gloo_process_groups, true}}}},
};

}  // namespace

RuleList BridgeCheckpointRules() { return kRules; }

}  // namespace flightplan
