#include "resolver/catalog/spellings.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "resolver/catalog/bridge_fields.h"
#include "resolver/plan/stack.h"

namespace flightplan {
namespace {

// The launch copies them (rules/megatron_lm/transformer_config.cc).
constexpr std::pair<Knob, Knob> kCopied[] = {
    {Knob::fp8_param, Knob::fp8_param_gather},
    {Knob::fp4_param, Knob::fp4_param_gather},
    {Knob::grad_reduce_in_fp32, Knob::accumulate_allreduce_grads_in_fp32},
    {Knob::check_for_nan_in_grad, Knob::check_for_nan_in_loss_and_grad},
    {Knob::num_buckets, Knob::ddp_num_buckets},
    {Knob::bucket_size, Knob::ddp_bucket_size},
    {Knob::pad_buckets_for_high_nccl_busbw, Knob::ddp_pad_buckets_for_high_nccl_busbw},
    {Knob::reduce_scatter_with_fp32_accumulation, Knob::ddp_reduce_scatter_with_fp32_accumulation},
    {Knob::param_name_patterns_for_fp32_local_accumulation, Knob::ddp_param_name_patterns_for_fp32_local_accumulation},
    {Knob::average_in_collective, Knob::ddp_average_in_collective},
    {Knob::ddp_delay_wgrad_compute, Knob::delay_wgrad_compute},
    {Knob::optimizer_bf16, Knob::bf16},
    {Knob::optimizer_fp16, Knob::fp16},
    {Knob::optimizer_fp8_recipe, Knob::fp8_recipe},
    {Knob::optimizer_overlap_param_gather, Knob::overlap_param_gather},
    {Knob::optimizer_reuse_grad_buf_for_mxfp8_param_ag, Knob::reuse_grad_buf_for_mxfp8_param_ag},
    {Knob::optimizer_use_distributed_optimizer, Knob::use_distributed_optimizer}};

}  // namespace

absl::Span<const std::pair<Knob, Knob>> CopiedArguments() { return kCopied; }

std::string OwnSpelling(Knob knob, const Stack& stack) {
  const absl::string_view word = WordFor(knob, stack.vocabulary);
  if (!word.empty()) return absl::StrCat(stack.before_word, word);
  return stack.added_key == nullptr ? "" : stack.added_key(knob);
}

std::string SpellingOf(Knob knob, const Environment& env) {
  if (StackOf(env).container) {
    const absl::string_view section = BridgeSectionOf(knob);
    return section.empty() ? "" : absl::StrCat(section, ".", FieldNameOf(knob));
  }
  if (const Stack& stack = StackOf(env); !stack.vocabulary.empty()) return OwnSpelling(knob, stack);
  const internal::FlagRow* const flag = FirstFlag(knob, NearestRelease(kCoreReleases, env.core_release));
  return flag == nullptr ? "" : std::string(flag->flag);
}

std::string TargetName(const Environment& env) {
  return absl::StrCat(StackOf(env).name, " ", ReleaseText(ReleaseOf(env)));
}

}  // namespace flightplan
