// What LoongForge checks and changes when a language model is fine-tuned (baidu-baige/LoongForge@c6275661,
// loongforge/train/validators.py, _validate_extra_sft_args), in its order.
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

bool Sft(F f) { return f.is(K::training_phase, "sft"); }
bool Packed(F f) { return Sft(f) && f.on(K::packing_sft_data); }

// Lengths vary unless they were asked to be fixed, or a feature needs tensors of one shape.
bool LengthsVary(F f) {
  const bool one_shape =
      f.num(K::num_moe_experts) > 0 && f.in(K::moe_token_dispatcher_type, {"allgather", "alltoall_seq"});
  return !f.on(K::use_fixed_seq_lengths) && !f.on(K::tp_comm_overlap) && !one_shape;
}

bool RingGathers(F f) {
  const int64_t cp = f.num(K::context_parallel_size);
  const int64_t degree = f.none(K::context_parallel_ulysses_degree) ? 1 : f.num(K::context_parallel_ulysses_degree);
  return cp > 1 && degree < cp && f.is(K::cp_comm_type, "allgather");
}

const Rule kRules[] = {
    {.id = "lf.sft-pack-needs-mbs",
     .area = "sft",
     .at = {Phase::kLoongForge, 200},
     .source = "LoongForge:loongforge/train/validators.py:200",
     .reads = {K::training_phase, K::packing_sft_data, K::micro_batch_size},
     .when = [](F f) { return Sft(f) && f.on(K::packing_sft_data) && f.none(K::micro_batch_size); },
     .needs = "packed data needs --micro-batch-size",
     .fixes = {{{K::micro_batch_size, 1}}}},
    {.id = "lf.sft-tokenizer",
     .area = "sft",
     .at = {Phase::kLoongForge, 146},
     .source = "LoongForge:loongforge/train/validators.py:146",
     .reads = {K::tokenizer_type, K::training_phase},
     .when = [](F f) { return Sft(f) && !f.is(K::tokenizer_type, "HFTokenizer"); },
     .needs = "fine-tuning reads its data with HFTokenizer only",
     .fixes = {{{K::tokenizer_type, "HFTokenizer"}}}},
    {.id = "lf.sft-dataloader",
     .area = "sft",
     .kind = Kind::kChange,
     .at = {Phase::kLoongForge, 150},
     .source = "LoongForge:loongforge/train/validators.py:150",
     .reads = {K::training_phase, K::dataloader_type},
     .change =
         [](Editor& e) {
           if (Sft(e.facts())) e.Set(K::dataloader_type, "external");
         }},
    {.id = "lf.sft-template",
     .area = "sft",
     .at = {Phase::kLoongForge, 156},
     .source = "LoongForge:loongforge/train/validators.py:156",
     .reads = {K::chat_template, K::training_phase},
     .when = [](F f) { return Sft(f) && f.none(K::chat_template); },
     .needs = "fine-tuning needs --chat-template; \"empty\" leaves the text as it is",
     .fixes = {{{K::chat_template, "empty"}}}},
    {.id = "lf.sft-prompt-history",
     .area = "sft",
     .at = {Phase::kLoongForge, 159},
     .source = "LoongForge:loongforge/train/validators.py:159",
     .reads = {K::train_on_prompt, K::history_mask_loss, K::training_phase},
     .when = [](F f) { return Sft(f) && f.on(K::train_on_prompt) && f.on(K::history_mask_loss); },
     .needs = "train_on_prompt counts the loss of what history_mask_loss masks: choose one",
     .fixes = {{{K::history_mask_loss, false}}, {{K::train_on_prompt, false}}}},
    // The table calls a missing file an error; upstream ships the file, so what happens is a default.
    {.id = "lf.sft-dataset-config",
     .area = "sft",
     .kind = Kind::kChange,
     .at = {Phase::kLoongForge, 164},
     .source = "LoongForge:loongforge/train/validators.py:164 (the default file is part of the repository)",
     .reads = {K::sft_dataset_config, K::training_phase},
     .change =
         [](Editor& e) {
           if (!Sft(e.facts()) || e.facts().set(K::sft_dataset_config)) return;
           e.Set(K::sft_dataset_config, "configs/data/sft_dataset_config.yaml");
         }},
    {.id = "lf.sft-stream-sort",
     .area = "sft",
     .at = {Phase::kLoongForge, 178},
     .source = "LoongForge:loongforge/train/validators.py:178",
     .reads = {K::sft_sort_batch, K::sft_data_streaming, K::training_phase},
     .when = [](F f) { return Sft(f) && f.on(K::sft_data_streaming) && f.on(K::sft_sort_batch); },
     .needs = "streamed samples cannot be sorted into batches",
     .fixes = {{{K::sft_sort_batch, false}}, {{K::sft_data_streaming, false}}}},
    {.id = "lf.sft-variable-seq",
     .area = "sequence",
     .kind = Kind::kChange,
     .at = {Phase::kLoongForge, 182},
     .source = "LoongForge:loongforge/train/validators.py:182",
     .reads = {K::variable_seq_lengths, K::use_fixed_seq_lengths, K::tp_comm_overlap, K::moe_token_dispatcher_type,
               K::num_moe_experts},
     .change =
         [](Editor& e) {
           if (Sft(e.facts())) e.Set(K::variable_seq_lengths, LengthsVary(e.facts()));
         }},
    {.id = "lf.sft-packing-mbs",
     .area = "batch",
     .kind = Kind::kChange,
     .at = {Phase::kLoongForge, 200},
     .source = "LoongForge:loongforge/train/validators.py:200",
     .reads = {K::micro_batch_size, K::packing_sft_data},
     .change =
         [](Editor& e) {
           if (Packed(e.facts()) && e.facts().num(K::micro_batch_size) > 1) e.Set(K::micro_batch_size, 1);
         }},
    // Upstream compares with the text "allgather". Its flag makes a list, which is never equal to a text: only a key of
    // the model's YAML can get here.
    {.id = "lf.sft-packing-cp",
     .area = "context-parallel",
     .kind = Kind::kChange,
     .at = {Phase::kLoongForge, 208},
     .source = "LoongForge:loongforge/train/validators.py:208",
     .reads = {K::cp_comm_type, K::packing_sft_data, K::context_parallel_size, K::context_parallel_ulysses_degree},
     .change =
         [](Editor& e) {
           if (Packed(e.facts()) && RingGathers(e.facts())) e.Set(K::cp_comm_type, "p2p");
         }},
    {.id = "lf.sft-padding",
     .area = "sft",
     .kind = Kind::kChange,
     .at = {Phase::kLoongForge, 222},
     .source = "LoongForge:loongforge/train/validators.py:222",
     .reads = {K::padding_side, K::training_phase},
     .change =
         [](Editor& e) {
           if (Sft(e.facts()) && e.facts().is(K::padding_side, "left")) e.Set(K::padding_side, "right");
         }},
};

}  // namespace

RuleList LoongforgeSftRules() { return kRules; }

}  // namespace flightplan
