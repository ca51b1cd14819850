// Config container: the checkpoint section.
#include "resolver/rules/megatron_lm/cli_util.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

bool Cli(F f) { return f.command_line(); }

const Rule kRules[] = {
    {.id = "mlm.async-nvrx",
     .area = "checkpoint",
     .at = {Phase::kContainer, 665},
     .source = "Megatron-LM:megatron/training/config/training_config.py:665",
     .core = {18, kMain},
     .reads = {K::async_save, K::async_strategy, K::ckpt_format},
     .reads_env = {"nvidia_resiliency_ext"},
     .when =
         [](F f) {
           return Cli(f) && f.on(K::async_save) && f.is(K::async_strategy, "nvrx") &&
                  f.in(K::ckpt_format, {"torch_dcp", "fsdp_dtensor"}) && PackageMissing(f, "nvidia_resiliency_ext");
         },
     .needs = "asynchronous saving in this format needs nvidia-resiliency-ext",
     .fixes = {{{K::async_save, false}}, {{K::async_strategy, "mcore"}}}},
    {.id = "mlm.verify-integrity-ckpt",
     .area = "checkpoint",
     .at = {Phase::kContainer, 671},
     .source = "Megatron-LM:megatron/training/config/training_config.py:671",
     .core = {18, kMain},
     .reads = {K::verify_integrity, K::ckpt_format},
     .when = [](F f) { return Cli(f) && f.on(K::verify_integrity) && !f.is(K::ckpt_format, "torch_dist"); },
     .needs = "verify_integrity needs ckpt_format torch_dist",
     .fixes = {{{K::verify_integrity, false}}, {{K::ckpt_format, "torch_dist"}}}},
    {.id = "ddp.buckets-xor",
     .area = "ddp",
     .at = {Phase::kDdp, 100276},
     .source = "Megatron-LM:megatron/training/training.py:1446",
     .core = {0, 17},
     .reads = {K::ddp_num_buckets, K::ddp_bucket_size},
     .when = [](F f) { return Cli(f) && f.set(K::ddp_num_buckets) && f.set(K::ddp_bucket_size); },
     .needs = "buckets are given by number or by size",
     .fixes = {{{K::ddp_num_buckets, kUnset}}, {{K::ddp_bucket_size, kUnset}}}},
    {.id = "ddp.buckets-positive",
     .area = "ddp",
     .at = {Phase::kDdp, 100277},
     .source = "Megatron-LM:megatron/training/training.py:1448",
     .core = {0, 17},
     .reads = {K::ddp_num_buckets},
     .when = [](F f) { return Cli(f) && f.set(K::ddp_num_buckets) && f.num(K::ddp_num_buckets) <= 0; },
     .needs = "the number of buckets must be above 0",
     .fixes = {{{K::ddp_num_buckets, kUnset}}}},
};

}  // namespace

RuleList MegatronLmContainerRules() { return kRules; }

}  // namespace flightplan
