// Checkpoint formats and options.
#include "resolver/base/integers.h"
#include "resolver/rules/megatron_lm/cli_util.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

bool Gloo(F f) { return f.on(K::use_gloo_process_groups); }

// Checkpoints of the optimizer's state that any other layout can read.
bool SavesFullyReshardable(F f) {
  const bool sharded = f.on(K::use_distributed_optimizer) || f.on(K::use_layer_wise_distributed_optimizer);
  return sharded && f.on(K::dist_ckpt_optim_fully_reshardable) && !f.is(K::ckpt_format, "fsdp_dtensor");
}

const Rule kRules[] = {
    {.id = "mlm.checkpoint-args-need-load",
     .area = "checkpoint",
     .at = {Phase::kParse, 94},
     .source = "Megatron-LM:megatron/training/arguments.py:94",
     .reads = {K::use_checkpoint_args, K::load, K::pretrained_checkpoint},
     .when = [](F f) { return f.on(K::use_checkpoint_args) && f.none(K::load) && f.none(K::pretrained_checkpoint); },
     .needs = "a model that is described by its checkpoint needs one to read: --load, or --pretrained-checkpoint",
     .fixes = {{{K::use_checkpoint_args, false}}}},
    {.id = "mlm.checkpoint-args-not-local",
     .area = "checkpoint",
     .at = {Phase::kParse, 95},
     .source = "Megatron-LM:megatron/training/arguments.py:95",
     .core = {.since = 18},
     .reads = {K::use_checkpoint_args, K::non_persistent_ckpt_type},
     .when = [](F f) { return f.on(K::use_checkpoint_args) && f.is(K::non_persistent_ckpt_type, "local"); },
     .needs = "a model that is described by its checkpoint is loaded before local checkpoints can be: without "
              "--non-persistent-ckpt-type local",
     .fixes = {{{K::non_persistent_ckpt_type, "global"}}, {{K::use_checkpoint_args, false}}}},
    {.id = "mlm.ckpt-convert-save",
     .area = "checkpoint",
     .at = {Phase::kCliValidate, 393},
     .source = "Megatron-LM:megatron/training/arguments.py:393",
     .reads = {K::ckpt_convert_format, K::ckpt_convert_save},
     .when = [](F f) { return f.set(K::ckpt_convert_format) && f.none(K::ckpt_convert_save); },
     .needs = "converting a checkpoint needs ckpt_convert_save",
     .fixes = {{{K::ckpt_convert_format, kUnset}}}},
    {.id = "mlm.ckpt-convert-load",
     .area = "checkpoint",
     .at = {Phase::kCliValidate, 394},
     .source = "Megatron-LM:megatron/training/arguments.py:394",
     .reads = {K::ckpt_convert_format, K::load},
     .when = [](F f) { return f.set(K::ckpt_convert_format) && f.none(K::load); },
     .needs = "converting a checkpoint needs load",
     .fixes = {{{K::ckpt_convert_format, kUnset}}}},
    {.id = "mlm.np-ckpt-type",
     .area = "checkpoint",
     .at = {Phase::kCliValidate, 398},
     .source = "Megatron-LM:megatron/training/arguments.py:398",
     .reads = {K::non_persistent_ckpt_type},
     .when =
         [](F f) {
           return f.set(K::non_persistent_ckpt_type) && !f.in(K::non_persistent_ckpt_type, {"global", "local"});
         },
     .needs = "non_persistent_ckpt_type must be global or local",
     .fixes = {{{K::non_persistent_ckpt_type, "global"}}, {{K::non_persistent_ckpt_type, kUnset}}}},
    {.id = "mlm.np-ckpt-nvrx",
     .area = "checkpoint",
     .at = {Phase::kCliValidate, 406},
     .source = "Megatron-LM:megatron/training/arguments.py:406",
     .reads = {K::non_persistent_ckpt_type},
     .reads_env = {"nvidia_resiliency_ext"},
     .when =
         [](F f) { return f.is(K::non_persistent_ckpt_type, "local") && PackageMissing(f, "nvidia_resiliency_ext"); },
     .needs = "local checkpoints need nvidia-resiliency-ext",
     .fixes = {{{K::non_persistent_ckpt_type, "global"}}}},
    {.id = "mlm.save-interval",
     .area = "checkpoint",
     .at = {Phase::kCliValidate, 1362},
     .source = "Megatron-LM:megatron/training/arguments.py:1362",
     .reads = {K::save, K::save_interval},
     .when = [](F f) { return f.set(K::save) && f.none(K::save_interval); },
     .needs = "save needs save_interval",
     .fixes = {{{K::save_interval, 500}}, {{K::save, kUnset}}}},
    {.id = "mlm.save-interval-positive",
     .area = "checkpoint",
     .at = {Phase::kCliValidate, 1363},
     .source = "Megatron-LM:megatron/training/arguments.py:1363",
     .reads = {K::save, K::save_interval},
     .when = [](F f) { return f.set(K::save) && f.set(K::save_interval) && f.num(K::save_interval) <= 0; },
     .needs = "save_interval must be above 0",
     .fixes = {{{K::save_interval, 500}}}},
    {.id = "mlm.save-retain-positive",
     .area = "checkpoint",
     .at = {Phase::kCliValidate, 1365},
     .source = "Megatron-LM:megatron/training/arguments.py:1365",
     .reads = {K::save, K::save_retain_interval},
     .when =
         [](F f) { return f.set(K::save) && f.set(K::save_retain_interval) && f.num(K::save_retain_interval) <= 0; },
     .needs = "save_retain_interval must be above 0",
     .fixes = {{{K::save_retain_interval, kUnset}}}},
    {.id = "mlm.save-retain-multiple",
     .area = "checkpoint",
     .at = {Phase::kCliValidate, 1366},
     .source = "Megatron-LM:megatron/training/arguments.py:1366",
     .reads = {K::save, K::save_interval, K::save_retain_interval},
     .when =
         [](F f) {
           return f.set(K::save) && f.set(K::save_retain_interval) && f.num(K::save_retain_interval) > 0 &&
                  !Divisible(f.num(K::save_retain_interval), f.num(K::save_interval));
         },
     .needs = "save_retain_interval must be a multiple of save_interval",
     .fixes = {{{K::save_retain_interval, kUnset}}}},
    {.id = "mlm.save-params-vs-opg",
     .area = "checkpoint",
     .at = {Phase::kCliValidate, 1368},
     .source = "Megatron-LM:megatron/training/arguments.py:1368",
     .core = {18, kMain},
     .reads = {K::save, K::save_params_interval, K::overlap_param_gather},
     .when = [](F f) { return f.set(K::save) && f.set(K::save_params_interval) && f.on(K::overlap_param_gather); },
     .needs = "save_params_interval excludes overlap_param_gather",
     .fixes = {{{K::save_params_interval, kUnset}}, {{K::overlap_param_gather, false}}}},
    {.id = "mlm.ckpt-dcp",
     .area = "checkpoint",
     .at = {Phase::kCliValidate, 1668},
     .source = "Megatron-LM:megatron/training/arguments.py:1668",
     .reads = {K::ckpt_format, K::use_torch_fsdp2},
     .when = [](F f) { return f.is(K::ckpt_format, "torch_dcp") && !f.on(K::use_torch_fsdp2); },
     .needs = "ckpt_format torch_dcp needs torch FSDP2",
     .fixes = {{{K::ckpt_format, "torch_dist"}}}},
    {.id = "mlm.ckpt-dcp-tp",
     .area = "checkpoint",
     .at = {Phase::kCliValidate, 1669},
     .source = "Megatron-LM:megatron/training/arguments.py:1669",
     .reads = {K::ckpt_format, K::tensor_model_parallel_size},
     .when = [](F f) { return f.is(K::ckpt_format, "torch_dcp") && f.num(K::tensor_model_parallel_size) > 1; },
     .needs = "ckpt_format torch_dcp excludes tensor parallelism",
     .fixes = {{{K::ckpt_format, "torch_dist"}}, {{K::tensor_model_parallel_size, 1}}}},
    {.id = "mlm.ckpt-dcp-pp",
     .area = "checkpoint",
     .at = {Phase::kCliValidate, 1671},
     .source = "Megatron-LM:megatron/training/arguments.py:1671",
     .reads = {K::ckpt_format, K::pipeline_model_parallel_size},
     .when = [](F f) { return f.is(K::ckpt_format, "torch_dcp") && f.num(K::pipeline_model_parallel_size) > 1; },
     .needs = "ckpt_format torch_dcp excludes pipeline parallelism",
     .fixes = {{{K::ckpt_format, "torch_dist"}}, {{K::pipeline_model_parallel_size, 1}}}},
    {.id = "mlm.ckpt-fsdp-dtensor",
     .area = "checkpoint",
     .at = {Phase::kCliValidate, 1676},
     .source = "Megatron-LM:megatron/training/arguments.py:1676",
     .reads = {K::ckpt_format, K::use_megatron_fsdp},
     .when = [](F f) { return f.is(K::ckpt_format, "fsdp_dtensor") && !f.on(K::use_megatron_fsdp); },
     .needs = "ckpt_format fsdp_dtensor needs Megatron-FSDP",
     .fixes = {{{K::ckpt_format, "torch_dist"}}}},
    {.id = "mlm.nogloo-dist-ckpt",
     .area = "checkpoint",
     .at = {Phase::kCliValidate, 1750},
     .source = "Megatron-LM:megatron/training/arguments.py:1750",
     .reads = {K::use_gloo_process_groups, K::use_distributed_optimizer, K::ckpt_format},
     .when = [](F f) { return !Gloo(f) && f.on(K::use_distributed_optimizer) && !UsesDistCkpt(f); },
     .needs = "without Gloo groups the distributed optimizer needs a distributed checkpoint format",
     .fixes = {{{K::ckpt_format, "torch_dist"}}}},
    {.id = "mlm.nogloo-mem-efficient",
     .area = "checkpoint",
     .at = {Phase::kCliValidate, 1753},
     .source = "Megatron-LM:megatron/training/arguments.py:1753",
     .reads = {K::use_gloo_process_groups, K::distrib_optim_fully_reshardable_mem_efficient},
     .when =
         [](F f) {
           return !Gloo(f) && f.on(K::use_distributed_optimizer) && f.on(K::dist_ckpt_optim_fully_reshardable) &&
                  f.on(K::distrib_optim_fully_reshardable_mem_efficient);
         },
     .needs = "the memory-efficient fully reshardable checkpoint needs Gloo groups",
     .fixes = {{{K::distrib_optim_fully_reshardable_mem_efficient, false}}}},
    {.id = "mlm.ckpt-pg-cache",
     .area = "checkpoint",
     .at = {Phase::kCliValidate, 1799},
     .source = "Megatron-LM:megatron/training/arguments.py:1799",
     .core = {kMain, kMain},
     .reads = {K::ckpt_pg_tensors_cache_path, K::ckpt_fully_parallel_save_process_group,
               K::ckpt_fully_parallel_load_process_group},
     .when =
         [](F f) {
           return f.set(K::ckpt_pg_tensors_cache_path) && f.value(K::ckpt_fully_parallel_save_process_group) !=
                                                              f.value(K::ckpt_fully_parallel_load_process_group);
         },
     .needs = "the cache needs the same process group for save and load",
     .fix = [](F f) -> std::vector<Patch> {
       return {{Assign(K::ckpt_fully_parallel_load_process_group, f.value(K::ckpt_fully_parallel_save_process_group))}};
     }},
    {.id = "mlm.main-params-no-load-optim",
     .area = "checkpoint",
     .at = {Phase::kCliValidate, 1812},
     .source = "Megatron-LM:megatron/training/arguments.py:1812",
     .reads = {K::load_main_params_from_ckpt, K::no_load_optim},
     .when = [](F f) { return f.on(K::load_main_params_from_ckpt) && !f.on(K::no_load_optim); },
     .needs = "load_main_params_from_ckpt needs no_load_optim",
     .fixes = {{{K::no_load_optim, true}}, {{K::load_main_params_from_ckpt, false}}}},
    {.id = "mlm.async-save-off",
     .area = "checkpoint",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 1815},
     .source = "Megatron-LM:megatron/training/arguments.py:1815",
     .reads = {K::async_save, K::use_persistent_ckpt_worker, K::ckpt_format},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           if (f.fork()) return;  // not in its fork
           if (UsesDistCkpt(f) && !f.on(K::use_persistent_ckpt_worker)) e.Set(K::async_save, false);
         }},
    {.id = "mlm.async-strategy",
     .area = "checkpoint",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 1823},
     .source = "Megatron-LM:megatron/training/arguments.py:1823",
     .reads = {K::async_save, K::async_strategy},
     .change =
         [](Editor& e) {
           if (!e.facts().on(K::async_save)) e.Set(K::async_strategy, "mcore");
         }},
    {.id = "mlm.logits-top-k",
     .area = "checkpoint",
     .at = {Phase::kCliValidate, 1826},
     .source = "Megatron-LM:megatron/training/arguments.py:1826",
     .core = {19, kMain},
     .reads = {K::logits_save_dir, K::logits_save_top_k},
     .when = [](F f) { return f.set(K::logits_save_dir) && f.none(K::logits_save_top_k); },
     .needs = "saving logits needs logits_save_top_k",
     .fixes = {{{K::logits_save_dir, kUnset}}}},
    {.id = "mlm.logits-async",
     .area = "checkpoint",
     .at = {Phase::kCliValidate, 1827},
     .source = "Megatron-LM:megatron/training/arguments.py:1827",
     .core = {19, kMain},
     .reads = {K::logits_save_dir, K::async_save},
     .when = [](F f) { return f.set(K::logits_save_dir) && !f.on(K::async_save); },
     .needs = "saving logits needs async_save with a persistent checkpoint worker",
     .fixes = {{{K::logits_save_dir, kUnset}}, {{K::async_save, true}, {K::use_persistent_ckpt_worker, true}}}},
    {.id = "mlm.freeze-all-layers",
     .area = "checkpoint",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 1840},
     .source = "Megatron-LM:megatron/training/arguments.py:1840",
     .core = {19, kMain},
     .reads = {K::freeze_all_layers, K::use_distributed_optimizer, K::overlap_param_gather},
     .change =
         [](Editor& e) {
           if (!e.facts().on(K::freeze_all_layers)) return;
           e.Set(K::use_distributed_optimizer, false);
           e.Set(K::overlap_param_gather, false);
         }},
    {.id = "mlm.override-iter-finetune",
     .area = "checkpoint",
     .at = {Phase::kCliValidate, 1852},
     .source = "Megatron-LM:megatron/training/arguments.py:1852",
     .core = {19, kMain},
     .reads = {K::override_ckpt_iteration, K::finetune},
     .when = [](F f) { return f.set(K::override_ckpt_iteration) && f.on(K::finetune); },
     .needs = "override_ckpt_iteration excludes finetune",
     .fixes = {{{K::override_ckpt_iteration, kUnset}}, {{K::finetune, false}}}},
    {.id = "mlm.skip-train-no-load-optim",
     .area = "checkpoint",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 1873},
     .source = "Megatron-LM:megatron/training/arguments.py:1873",
     .reads = {K::skip_train, K::no_load_optim, K::perform_rl_step},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           const bool exempt = f.on(K::perform_rl_step) && f.core(17);  // RL trains all the same
           if (f.on(K::skip_train) && !exempt) e.Set(K::no_load_optim, true);
         }},
    {.id = "mlm.local-ckpt-dir",
     .area = "checkpoint",
     .at = {Phase::kCliValidate, 1895},
     .source = "Megatron-LM:megatron/training/arguments.py:1895",
     .reads = {K::non_persistent_ckpt_type, K::non_persistent_local_ckpt_dir},
     .when = [](F f) { return f.is(K::non_persistent_ckpt_type, "local") && f.none(K::non_persistent_local_ckpt_dir); },
     .needs = "local checkpoints need non_persistent_local_ckpt_dir",
     .fixes = {{{K::non_persistent_ckpt_type, "global"}}}},
    {.id = "mlm.replication-jump",
     .area = "checkpoint",
     .at = {Phase::kCliValidate, 1897},
     .source = "Megatron-LM:megatron/training/arguments.py:1897",
     .reads = {K::replication, K::replication_jump},
     .when = [](F f) { return f.on(K::replication) && f.none(K::replication_jump); },
     .needs = "replication needs replication_jump",
     .fixes = {{{K::replication, false}}}},
    {.id = "mlm.replication-local",
     .area = "checkpoint",
     .at = {Phase::kCliValidate, 1898},
     .source = "Megatron-LM:megatron/training/arguments.py:1898",
     .reads = {K::replication, K::non_persistent_ckpt_type},
     .when = [](F f) { return f.on(K::replication) && !f.is(K::non_persistent_ckpt_type, "local"); },
     .needs = "replication needs non_persistent_ckpt_type local",
     .fixes = {{{K::replication, false}}}},
    {.id = "mlm.replication-jump-dropped",
     .area = "checkpoint",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 1900},
     .source = "Megatron-LM:megatron/training/arguments.py:1900",
     .reads = {K::replication, K::replication_jump},
     .change =
         [](Editor& e) {
           if (!e.facts().on(K::replication)) e.Set(K::replication_jump, Value());
         }},
    // Not before the first save, when hours of training are lost.
    {.id = "mlm.async-save-not-legacy",
     .area = "checkpoint",
     .at = {Phase::kBuild, 50766},
     .source = "Megatron-LM:megatron/training/checkpointing.py:766",
     .reads = {K::async_save, K::ckpt_format, K::save},
     .when =
         [](F f) {
           return HasCommandLine(f) && f.on(K::async_save) && f.set(K::save) && f.set(K::ckpt_format) &&
                  !UsesDistCkpt(f);
         },
     .needs = "checkpoints of the format torch are not saved in the background: the first save stops the run",
     .fixes = {{{K::ckpt_format, "torch_dist"}}, {{K::async_save, false}}}},
    {.id = "mlm.local-ckpt-not-reshardable",
     .area = "checkpoint",
     .at = {Phase::kBuild, 50988},
     .source = "Megatron-LM:megatron/training/checkpointing.py:988",
     .reads = {K::non_persistent_ckpt_type, K::dist_ckpt_optim_fully_reshardable, K::use_distributed_optimizer},
     .when =
         [](F f) {
           return HasCommandLine(f) && f.is(K::non_persistent_ckpt_type, "local") && SavesFullyReshardable(f);
         },
     .needs = "local checkpoints hold the optimizer's state as it is sharded: the first one stops the run with "
              "--dist-ckpt-optim-fully-reshardable",
     .fixes = {{{K::dist_ckpt_optim_fully_reshardable, false}}, {{K::non_persistent_ckpt_type, "global"}}}},
};

}  // namespace

RuleList MegatronLmCheckpointRules() { return kRules; }

}  // namespace flightplan
