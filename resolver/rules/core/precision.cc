// Number formats of parameters, activations and pipeline messages.
#include "resolver/rules/core/upstream.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

const Rule kRules[] = {
    {.id = "amp.autocast-default",
     .area = "precision",
     .kind = Kind::kChange,
     MODEL_PARALLEL_CONFIG(533),
     .reads = {K::autocast_dtype, K::params_dtype},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           if (f.none(K::autocast_dtype)) e.Set(K::autocast_dtype, f.value(K::params_dtype));
         }},
    {.id = "fp32-residual.pipeline-dtype-warn",
     .area = "pipeline",
     .kind = Kind::kWarning,
     TRANSFORMER_CONFIG(1423),
     .core = {.since = 17},
     .reads = {K::fp32_residual_connection, K::pipeline_dtype},
     .when =
         [](F f) {
           return f.on(K::fp32_residual_connection) && f.set(K::pipeline_dtype) && !f.is(K::pipeline_dtype, "fp32");
         },
     .needs = "an fp32 residual stream crosses pipeline stages in fp32: pipeline_dtype is overwritten",
     .fixes = {{{K::pipeline_dtype, "fp32"}}}},
    {.id = "fp32-residual.pipeline-dtype",
     .area = "pipeline",
     .kind = Kind::kChange,
     TRANSFORMER_CONFIG(1430),
     .core = {.since = 17},
     .reads = {K::fp32_residual_connection, K::pipeline_dtype},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           if (f.on(K::fp32_residual_connection) && f.set(K::pipeline_dtype)) e.Set(K::pipeline_dtype, "fp32");
         }},
    {.id = "precision.fp16-and-bf16",
     .area = "precision",
     TRANSFORMER_CONFIG(1433),
     .reads = {K::fp16, K::bf16},
     .when = [](F f) { return f.on(K::fp16) && f.on(K::bf16); },
     .needs = "one of fp16 and bf16, not both",
     .fixes = {{{K::fp16, false}}, {{K::bf16, false}}}},
};

}  // namespace

RuleList CorePrecisionRules() { return kRules; }

}  // namespace flightplan
