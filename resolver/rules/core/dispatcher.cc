// Token dispatcher: allgather, alltoall, flex with its backends.
#include "resolver/rules/core/upstream.h"
#include "resolver/rules/flex_dispatcher.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

bool Ncclep(F f) { return f.is(K::moe_flex_dispatcher_backend, "ncclep"); }

bool OldSmCount(F f) { return f.set(K::moe_deepep_num_sms) || f.set(K::moe_hybridep_num_sms); }
bool SmCountsConflict(F f) {
  return f.none(K::moe_flex_dispatcher_num_sms) && f.set(K::moe_deepep_num_sms) && f.set(K::moe_hybridep_num_sms) &&
         f.value(K::moe_deepep_num_sms) != f.value(K::moe_hybridep_num_sms);
}

// Set only when it says something else than bf16; absent knobs of older releases are unset.
bool NarrowWire(F f) {
  return (f.set(K::moe_dispatch_fwd_dtype) && !f.is(K::moe_dispatch_fwd_dtype, "bf16")) ||
         (f.set(K::moe_combine_bwd_dtype) && !f.is(K::moe_combine_bwd_dtype, "bf16"));
}

bool DeepEp(F f) { return f.on(K::moe_enable_deepep) || f.is(K::moe_flex_dispatcher_backend, "deepep"); }

const Rule kRules[] = {
    {.id = "dispatcher.deepep-flag-needs-flex",
     .area = "dispatcher",
     TRANSFORMER_CONFIG(1745),
     .reads = {K::moe_enable_deepep, K::moe_token_dispatcher_type},
     .when = [](F f) { return f.on(K::moe_enable_deepep) && !Flex(f); },
     .needs = "DeepEP is a backend of the flex dispatcher",
     .fixes = {{{K::moe_enable_deepep, false}}, {{K::moe_token_dispatcher_type, "flex"}}}},
    {.id = "dispatcher.deepep-flag-vs-hybridep",
     .area = "dispatcher",
     TRANSFORMER_CONFIG(1747),
     .core = {.since = 16},
     .reads = {K::moe_enable_deepep, K::moe_flex_dispatcher_backend},
     .when = [](F f) { return f.on(K::moe_enable_deepep) && f.is(K::moe_flex_dispatcher_backend, "hybridep"); },
     .needs = "the flex dispatcher has one backend",
     .fixes = {{{K::moe_enable_deepep, false}}}},
    {.id = "dispatcher.deepep-flag-applied",
     .area = "dispatcher",
     .kind = Kind::kChange,
     TRANSFORMER_CONFIG(1748),
     .core = {.since = 16},
     .reads = {K::moe_enable_deepep, K::moe_flex_dispatcher_backend},
     .change =
         [](Editor& e) {
           if (e.facts().on(K::moe_enable_deepep)) e.Set(K::moe_flex_dispatcher_backend, "deepep");
         }},
    {.id = "dispatcher.deepep-flag-deprecated",
     .area = "dispatcher",
     .kind = Kind::kWarning,
     TRANSFORMER_CONFIG(1749),
     .core = {.since = 16},
     .reads = {K::moe_enable_deepep},
     .when = [](F f) { return f.on(K::moe_enable_deepep); },
     .needs = "write moe_flex_dispatcher_backend=deepep"},
    {.id = "dispatcher.deepep-no-pad-to-capacity",
     .area = "dispatcher",
     TRANSFORMER_CONFIG(1758),
     .reads = {K::moe_token_dispatcher_type, K::moe_flex_dispatcher_backend, K::moe_pad_expert_input_to_capacity},
     .when =
         [](F f) {
           // core 0.15 refused padding with any flex backend.
           return Flex(f) && f.on(K::moe_pad_expert_input_to_capacity) && (DeepEp(f) || !f.core(16));
         },
     .needs = "the deepep backend (the default of flex) cannot pad expert input to capacity",
     .fixes = {{{K::moe_pad_expert_input_to_capacity, false}},
               {{K::moe_token_dispatcher_type, "alltoall"}, {K::moe_enable_deepep, false}}}},
    {.id = "dispatcher.ncclep-needs-flex",
     .area = "dispatcher",
     TRANSFORMER_CONFIG(1765),
     .core = {.since = 19},
     .reads = {K::moe_flex_dispatcher_backend, K::moe_token_dispatcher_type},
     .when = [](F f) { return Ncclep(f) && !Flex(f); },
     .needs = "ncclep is a backend of the flex dispatcher",
     .fixes = {{{K::moe_flex_dispatcher_backend, "deepep"}}},
     .fix = [](F f) -> std::vector<Patch> {
       const bool missing = f.env().capabilities_known && f.env().capabilities.count("ncclep") == 0;
       if (missing) return {};
       return {{Assign(K::moe_token_dispatcher_type, "flex")}};
     }},
    {.id = "dispatcher.ncclep-grouped-tensor-needs-fuser",
     .area = "dispatcher",
     TRANSFORMER_CONFIG(1770),
     .core = {.since = kMain},
     .reads = {K::moe_flex_dispatcher_backend, K::moe_use_grouped_tensor, K::use_transformer_engine_op_fuser},
     .when =
         [](F f) { return Ncclep(f) && f.on(K::moe_use_grouped_tensor) && !f.on(K::use_transformer_engine_op_fuser); },
     .needs = "grouped tensors with ncclep need the op fuser",
     .fixes = {{{K::use_transformer_engine_op_fuser, true}}, {{K::moe_use_grouped_tensor, false}}}},
    {.id = "dispatcher.mxfp8-wire-needs-ncclep",
     .area = "dispatcher",
     TRANSFORMER_CONFIG(1781),
     .core = {.since = kMain},
     .reads = {K::moe_dispatch_fwd_dtype, K::moe_combine_bwd_dtype, K::moe_flex_dispatcher_backend},
     .when = [](F f) { return NarrowWire(f) && !(Flex(f) && Ncclep(f)); },
     .needs = "sending tokens in MXFP8 is a feature of the ncclep backend",
     .fixes = {{{K::moe_dispatch_fwd_dtype, "bf16"}, {K::moe_combine_bwd_dtype, "bf16"}}}},
    {.id = "dispatcher.mxfp8-wire-needs-fuser-gg",
     .area = "dispatcher",
     TRANSFORMER_CONFIG(1786),
     .core = {.since = kMain},
     .reads = {K::moe_dispatch_fwd_dtype, K::moe_combine_bwd_dtype, K::use_transformer_engine_op_fuser,
               K::moe_grouped_gemm},
     .when =
         [](F f) {
           return NarrowWire(f) && Flex(f) && Ncclep(f) &&
                  !(f.on(K::use_transformer_engine_op_fuser) && f.on(K::moe_grouped_gemm));
         },
     .needs = "tokens sent in MXFP8 are consumed by the fused grouped GEMM only",
     .fixes = {{{K::use_transformer_engine_op_fuser, true}, {K::moe_grouped_gemm, true}},
               {{K::moe_dispatch_fwd_dtype, "bf16"}, {K::moe_combine_bwd_dtype, "bf16"}}}},
    {.id = "dispatcher.num-sms-deprecated",
     .area = "dispatcher",
     .kind = Kind::kWarning,
     TRANSFORMER_CONFIG(1801),
     .core = {.since = 19},
     .reads = {K::moe_deepep_num_sms, K::moe_hybridep_num_sms},
     .when = OldSmCount,
     .needs = "write moe_flex_dispatcher_num_sms"},
    {.id = "dispatcher.num-sms-conflict",
     .area = "dispatcher",
     TRANSFORMER_CONFIG(1807),
     .core = {.since = 19},
     .reads = {K::moe_deepep_num_sms, K::moe_hybridep_num_sms, K::moe_flex_dispatcher_num_sms},
     .when = SmCountsConflict,
     .needs = "one number of SMs for the dispatcher",
     .fix =
         [](F f) {
           const Knob used =
               f.is(K::moe_flex_dispatcher_backend, "hybridep") ? K::moe_hybridep_num_sms : K::moe_deepep_num_sms;
           return std::vector<Patch>{{Assign(K::moe_flex_dispatcher_num_sms, f.value(used))}};
         }},
    {.id = "dispatcher.num-sms-routed",
     .area = "dispatcher",
     .kind = Kind::kChange,
     TRANSFORMER_CONFIG(1811),
     .core = {.since = 19},
     .reads = {K::moe_deepep_num_sms, K::moe_hybridep_num_sms, K::moe_flex_dispatcher_num_sms},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           if (!OldSmCount(f) || f.set(K::moe_flex_dispatcher_num_sms) || SmCountsConflict(f)) return;
           const Knob given = f.set(K::moe_deepep_num_sms) ? K::moe_deepep_num_sms : K::moe_hybridep_num_sms;
           e.Set(K::moe_flex_dispatcher_num_sms, f.value(given));
         }},
    {.id = "dispatcher.allgather-no-varlen",
     .area = "dispatcher",
     TRANSFORMER_CONFIG(2979),
     .reads = {K::moe_token_dispatcher_type, K::variable_seq_lengths},
     .when = [](F f) { return f.is(K::moe_token_dispatcher_type, "allgather") && f.on(K::variable_seq_lengths); },
     .needs = "the allgather dispatcher (the default, checked for dense models too) needs equal sequence lengths",
     .fixes = {{{K::moe_token_dispatcher_type, "alltoall"}}}},
    {.id = "dispatcher.permute-fusion-te-2.1",
     .area = "version-gate",
     TRANSFORMER_CONFIG(3000),
     .reads = {K::moe_permute_fusion},
     .reads_env = {"te"},
     .when = [](F f) { return f.on(K::moe_permute_fusion) && !f.te_at_least("2.1.0"); },
     .needs = "the fused permutation needs Transformer Engine 2.1.0",
     .fixes = {{{K::moe_permute_fusion, false}}}},
};

}  // namespace

RuleList CoreDispatcherRules() { return kRules; }

}  // namespace flightplan
