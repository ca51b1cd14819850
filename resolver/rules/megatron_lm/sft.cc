// What supervised fine-tuning by Megatron-LM's own scripts refuses in its first step (NVIDIA/Megatron-LM@d98e8a64dd).
#include "resolver/plan/stack.h"
#include "resolver/rules/core/graph_util.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

bool Sft(F f) { return RunsMegatronLm(f.stack()) && f.on(K::sft); }
// Documents of one sequence that attend to themselves alone: the batch says where they end.
bool Packs(F f) {
  return Sft(f) || (RunsMegatronLm(f.stack()) && f.core(19) && f.on(K::dataloader_inter_document_masking));
}
bool GraphsAttention(F f) {
  return GraphImpl(f, "transformer_engine") && (!f.on(GraphModulesKnob(f)) || Captures(f, "attn"));
}

const Rule kRules[] = {
    {.id = "build.sft-no-mask",
     .area = "data",
     .at = {Phase::kBuild, 20174},
     .source = "Megatron-LM:megatron/training/datasets/sft_dataset.py:174",
     .core = {.since = 16},
     .reads = {K::sft, K::create_attention_mask_in_dataloader, K::reset_attention_mask, K::reset_position_ids},
     .when =
         [](F f) {
           return Sft(f) && (f.on(K::create_attention_mask_in_dataloader) || f.on(K::reset_attention_mask) ||
                             f.on(K::reset_position_ids));
         },
     .needs = "samples of fine-tuning are packed and come without an attention mask, and mask and positions are not "
              "reset",
     .fixes = {{{K::create_attention_mask_in_dataloader, false},
                {K::reset_attention_mask, false},
                {K::reset_position_ids, false}}}},
    {.id = "build.sft-tokenizer",
     .area = "tokenizer",
     .at = {Phase::kBuild, 20175},
     .source = "Megatron-LM:megatron/core/tokenizers/text/text_tokenizer.py:146",
     .core = {.since = 16},
     .reads = {K::sft, K::tokenizer_type},
     .when =
         [](F f) {
           return Sft(f) && f.set(K::tokenizer_type) &&
                  !f.in(K::tokenizer_type, {"SFTTokenizer", "MultimodalTokenizer"});
         },
     .needs = "of the tokenizers SFTTokenizer alone reads the conversations of fine-tuning",
     .fixes = {{{K::tokenizer_type, "SFTTokenizer"}}, {{K::sft, false}}}},
    {.id = "build.packed-no-attn-te-graph",
     .area = "cuda-graph",
     .at = {Phase::kBuild, 20176},
     .source = "Megatron-LM:megatron/core/transformer/transformer_layer.py:1336",
     .core = {.since = 16},
     .reads = {K::sft, K::dataloader_inter_document_masking, K::cuda_graph_impl, K::cuda_graph_modules,
               K::cuda_graph_scope},
     .when = [](F f) { return Packs(f) && GraphsAttention(f); },
     .needs = "attention in a graph of Transformer Engine takes no packed sequences",
     .fix = [](F f) -> std::vector<Patch> {
       return {DropGraphModules(f, {"attn"}), GraphsOff(f)};
     }},
};

}  // namespace

RuleList MegatronLmSftRules() { return kRules; }

}  // namespace flightplan
