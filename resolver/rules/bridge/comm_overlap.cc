// Communication overlap: what CommOverlapConfig checks, and what it writes over the model, DDP and optimizer configs.
// A value that stands only on the model is lost here; the same field under comm_overlap counts.
// Its checks of the expert overlap stand in expert_overlap.cc.
// Lines are those of NVIDIA-NeMo/Megatron-Bridge@067f987df src/megatron/bridge/training/comm_overlap.py.
#include "resolver/catalog/bridge_fields.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

constexpr int kApply = 618;  // the model half is written over the model
constexpr int kApplyDp = 642;
constexpr int64_t kBucketSize = int64_t{128} * 1024 * 1024;

bool Configured(F f) { return CommOverlapConfigured(f.config()); }

// Not known counts as more than one: a training job has several.
bool DataParallel(F f) { return f.none(K::data_parallel_size) || f.num(K::data_parallel_size) > 1; }

bool TpAsked(F f) { return Configured(f) && f.on(K::comm_overlap_tp_comm_overlap); }
bool TpWide(F f) { return f.num(K::tensor_model_parallel_size) >= 2; }
bool TpStays(F f) { return TpAsked(f) && TpWide(f) && f.on(K::sequence_parallel) && f.te_installed(); }

bool Pipelined(F f) { return f.num(K::pipeline_model_parallel_size) > 1; }
bool Interleaved(F f) { return Pipelined(f) && f.num(K::virtual_pipeline_model_parallel_size) > 1; }
bool DpHalfRuns(F f) { return Configured(f) && f.on(K::use_distributed_optimizer); }

// Bridge's own value unless the caller wrote one under comm_overlap.
void Write(Editor& e, K to, K user, const Value& otherwise) {
  const Value& wished = e.facts().value(user);
  e.Set(to, wished.is_none() ? otherwise : wished);
}
void WriteP2p(Editor& e, bool overlap, bool batch) {
  Write(e, K::overlap_p2p_comm, K::comm_overlap_overlap_p2p_comm, overlap);
  Write(e, K::batch_p2p_comm, K::comm_overlap_batch_p2p_comm, batch);
}
void WriteDp(Editor& e, bool on, const Value& bucket_size) {
  Write(e, K::bucket_size, K::comm_overlap_bucket_size, bucket_size);
  Write(e, K::overlap_grad_reduce, K::comm_overlap_overlap_grad_reduce, on);
  Write(e, K::overlap_param_gather, K::comm_overlap_overlap_param_gather, on);
  Write(e, K::optimizer_overlap_param_gather, K::comm_overlap_overlap_param_gather, on);
  Write(e, K::overlap_param_gather_with_optimizer_step, K::comm_overlap_overlap_param_gather_with_optimizer_step,
        false);
}

const Rule kRules[] = {
    {.id = "tp-overlap.off-tp-lt-2",
     .area = "tp-overlap",
     .kind = Kind::kWarning,
     .at = {Phase::kCommOverlap, 444},
     .source = "Megatron-Bridge:src/megatron/bridge/training/comm_overlap.py:444",
     .reads = {K::comm_overlap_tp_comm_overlap, K::tensor_model_parallel_size},
     .when = [](F f) { return TpAsked(f) && !TpWide(f); },
     .needs = "TP overlap needs TP of at least 2; it is switched off",
     .fixes = {{{K::comm_overlap_tp_comm_overlap, false}}}},
    {.id = "tp-overlap.off-no-sp",
     .area = "tp-overlap",
     .kind = Kind::kWarning,
     .at = {Phase::kCommOverlap, 447},
     .source = "Megatron-Bridge:src/megatron/bridge/training/comm_overlap.py:447",
     .reads = {K::comm_overlap_tp_comm_overlap, K::sequence_parallel},
     .when = [](F f) { return TpAsked(f) && TpWide(f) && !f.on(K::sequence_parallel); },
     .needs = "TP overlap needs sequence parallelism; it is switched off",
     .fixes = {{{K::sequence_parallel, true}}, {{K::comm_overlap_tp_comm_overlap, false}}}},
    {.id = "tp-overlap.off-no-te",
     .area = "tp-overlap",
     .kind = Kind::kWarning,
     .at = {Phase::kCommOverlap, 450},
     .source = "Megatron-Bridge:src/megatron/bridge/training/comm_overlap.py:450",
     .reads = {K::comm_overlap_tp_comm_overlap},
     .reads_env = {"te"},
     .when = [](F f) { return TpAsked(f) && TpWide(f) && f.on(K::sequence_parallel) && !f.te_installed(); },
     .needs = "TP overlap needs Transformer Engine; it is switched off",
     .fixes = {{{K::comm_overlap_tp_comm_overlap, false}}}},
    {.id = "comm-overlap.tp-flag-written",
     .area = "tp-overlap",
     .kind = Kind::kChange,
     .at = {Phase::kCommOverlap, kApply, 0},
     .source = "Megatron-Bridge:src/megatron/bridge/training/comm_overlap.py:434",
     .reads = {K::comm_overlap_tp_comm_overlap, K::tp_comm_overlap},
     .change =
         [](Editor& e) {
           if (Configured(e.facts())) e.Set(K::tp_comm_overlap, TpStays(e.facts()));
         }},
    {.id = "p2p-overlap.on-with-vpp",
     .area = "pp-overlap",
     .kind = Kind::kChange,
     .at = {Phase::kCommOverlap, kApply, 1},
     .source = "Megatron-Bridge:src/megatron/bridge/training/comm_overlap.py:454",
     .reads = {K::comm_overlap_overlap_p2p_comm, K::comm_overlap_batch_p2p_comm},
     .change =
         [](Editor& e) {
           if (Configured(e.facts()) && Interleaved(e.facts())) WriteP2p(e, true, false);
         }},
    {.id = "p2p-overlap.off-without-vpp",
     .area = "pp-overlap",
     .kind = Kind::kChange,
     .at = {Phase::kCommOverlap, kApply, 2},
     .source = "Megatron-Bridge:src/megatron/bridge/training/comm_overlap.py:458",
     .reads = {K::comm_overlap_overlap_p2p_comm, K::comm_overlap_batch_p2p_comm},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           if (Configured(f) && Pipelined(f) && !Interleaved(f)) WriteP2p(e, false, true);
         }},
    {.id = "p2p-overlap.off-pp1",
     .area = "pp-overlap",
     .kind = Kind::kChange,
     .at = {Phase::kCommOverlap, kApply, 3},
     .source = "Megatron-Bridge:src/megatron/bridge/training/comm_overlap.py:461",
     .reads = {K::comm_overlap_overlap_p2p_comm, K::comm_overlap_batch_p2p_comm},
     .change =
         [](Editor& e) {
           if (Configured(e.facts()) && !Pipelined(e.facts())) WriteP2p(e, false, false);
         }},
    {.id = "comm-overlap.model-defaults-written",
     .area = "ep-overlap",
     .kind = Kind::kChange,
     .at = {Phase::kCommOverlap, kApply, 4},
     .source = "Megatron-Bridge:src/megatron/bridge/training/comm_overlap.py:436",
     .reads = {K::comm_overlap_overlap_moe_expert_parallel_comm, K::comm_overlap_delay_wgrad_compute,
               K::comm_overlap_defer_embedding_wgrad_compute, K::comm_overlap_wgrad_deferral_limit},
     .change =
         [](Editor& e) {
           if (!Configured(e.facts())) return;
           Write(e, K::defer_embedding_wgrad_compute, K::comm_overlap_defer_embedding_wgrad_compute, false);
           Write(e, K::wgrad_deferral_limit, K::comm_overlap_wgrad_deferral_limit, -1);
           Write(e, K::overlap_moe_expert_parallel_comm, K::comm_overlap_overlap_moe_expert_parallel_comm, false);
           Write(e, K::delay_wgrad_compute, K::comm_overlap_delay_wgrad_compute, false);
         }},
    {.id = "tp-overlap.default-ub-config",
     .area = "tp-overlap",
     .kind = Kind::kWarning,
     .at = {Phase::kCommOverlap, 621},
     .source = "Megatron-Bridge:src/megatron/bridge/training/comm_overlap.py:621",
     .reads = {K::comm_overlap_tp_comm_overlap, K::comm_overlap_tp_comm_overlap_cfg},
     .when = [](F f) { return TpStays(f) && f.none(K::comm_overlap_tp_comm_overlap_cfg); },
     .needs = "without a user-buffer config TP overlap runs with Transformer Engine's defaults"},
    {.id = "tp-overlap.ub-config-dict",
     .area = "tp-overlap",
     .kind = Kind::kChange,
     .at = {Phase::kCommOverlap, 628},
     .source = "Megatron-Bridge:src/megatron/bridge/training/comm_overlap.py:628",
     .reads = {K::comm_overlap_tp_comm_overlap_cfg, K::comm_overlap_tp_comm_bootstrap_backend},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           if (!Configured(f)) return;
           e.Set(K::tp_comm_overlap_cfg, f.value(K::comm_overlap_tp_comm_overlap_cfg));
           e.Set(K::tp_comm_bootstrap_backend, f.value(K::comm_overlap_tp_comm_bootstrap_backend));
         }},
    {.id = "dp-overlap.on-with-dp",
     .area = "dp-overlap",
     .kind = Kind::kChange,
     .at = {Phase::kCommOverlap, kApplyDp, 0},
     .source = "Megatron-Bridge:src/megatron/bridge/training/comm_overlap.py:576",
     .reads = {K::comm_overlap_overlap_grad_reduce, K::comm_overlap_overlap_param_gather, K::comm_overlap_bucket_size},
     .reads_env = {"data_parallel_size"},
     .change =
         [](Editor& e) {
           if (DpHalfRuns(e.facts()) && DataParallel(e.facts())) WriteDp(e, true, kBucketSize);
         }},
    {.id = "dp-overlap.off-dp1",
     .area = "dp-overlap",
     .kind = Kind::kChange,
     .at = {Phase::kCommOverlap, kApplyDp, 1},
     .source = "Megatron-Bridge:src/megatron/bridge/training/comm_overlap.py:569",
     .reads = {K::comm_overlap_overlap_grad_reduce, K::comm_overlap_overlap_param_gather, K::comm_overlap_bucket_size},
     .reads_env = {"data_parallel_size"},
     .change =
         [](Editor& e) {
           if (DpHalfRuns(e.facts()) && !DataParallel(e.facts())) WriteDp(e, false, Value());
         }},
    {.id = "dp-overlap.align-param-gather",
     .area = "dp-overlap",
     .kind = Kind::kChange,
     .at = {Phase::kCommOverlap, kApplyDp, 2},
     .source = "Megatron-Bridge:src/megatron/bridge/training/comm_overlap.py:580",
     .reads = {K::comm_overlap_align_param_gather},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           if (!DpHalfRuns(f)) return;
           Write(e, K::align_param_gather, K::comm_overlap_align_param_gather, DataParallel(f) && Interleaved(f));
         }},
    {.id = "dp-overlap.needs-ddp-distopt",
     .area = "dp-overlap",
     .kind = Kind::kInfo,
     .at = {Phase::kCommOverlap, 636},
     .source = "Megatron-Bridge:src/megatron/bridge/training/comm_overlap.py:636",
     .reads = {K::use_distributed_optimizer, K::comm_overlap_overlap_grad_reduce, K::comm_overlap_overlap_param_gather,
               K::comm_overlap_bucket_size, K::comm_overlap_align_param_gather},
     .when =
         [](F f) {
           const bool asked = f.set(K::comm_overlap_overlap_grad_reduce) ||
                              f.set(K::comm_overlap_overlap_param_gather) || f.set(K::comm_overlap_bucket_size) ||
                              f.set(K::comm_overlap_align_param_gather);
           return Configured(f) && asked && !f.on(K::use_distributed_optimizer);
         },
     .needs = "the data-parallel half of comm_overlap has an effect only when ddp.use_distributed_optimizer is set "
              "(the optimizer's flag of that name is looked at later)",
     .fixes = {{{K::use_distributed_optimizer, true}, {K::optimizer_use_distributed_optimizer, true}}}},
    {.id = "comm-overlap.fields-copied",
     .area = "ep-overlap",
     .kind = Kind::kChange,
     .at = {Phase::kCommOverlap, kApplyDp, 3},
     .source = "Megatron-Bridge:src/megatron/bridge/training/comm_overlap.py:590",
     .reads = {K::comm_overlap_delay_wgrad_compute, K::ddp_delay_wgrad_compute},
     .change =
         [](Editor& e) {
           // The DP half knows no default for this field and copies what the caller wrote, also None.
           const Facts& f = e.facts();
           if (DpHalfRuns(f)) e.Set(K::ddp_delay_wgrad_compute, f.value(K::comm_overlap_delay_wgrad_compute));
         }},
};

}  // namespace

RuleList BridgeCommOverlapRules() { return kRules; }

}  // namespace flightplan
