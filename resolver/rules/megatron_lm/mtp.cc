// Multi-token prediction.
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

bool NeitherRopeNorNone(F f) { return f.on(K::mtp_num_layers) && !f.in(K::position_embedding_type, {"rope", "none"}); }

const Rule kRules[] = {
    {.id = "mlm.mtp-position-embedding",
     .area = "mtp",
     .at = {Phase::kCliValidate, 883},
     .source = "Megatron-LM:megatron/training/arguments.py:883",
     .core = {17, kMain},
     .reads = {K::mtp_num_layers, K::position_embedding_type},
     .when = NeitherRopeNorNone,
     .needs = "MTP needs position_embedding_type rope or none",
     .fixes = {{{K::position_embedding_type, "rope"}}}},
    {.id = "mlm.mtp-position-embedding",
     .area = "mtp",
     .at = {Phase::kCliValidate, 1944},
     .source = "Megatron-LM@core_v0.16.1 megatron/training/arguments.py:1229",
     .core = {0, 16},  // where it stands behind the alias for rope (mlm.rotary-alias)
     .reads = {K::mtp_num_layers, K::position_embedding_type},
     .when = NeitherRopeNorNone,
     .needs = "MTP needs position_embedding_type rope or none",
     .fixes = {{{K::position_embedding_type, "rope"}}}},
    {.id = "mlm.mtp-hsm-off",
     .area = "mtp",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 895},
     .source = "Megatron-LM:megatron/training/arguments.py:895",
     .core = {17, kMain},
     .reads = {K::mtp_hsm, K::mtp_num_layers},
     .change =
         [](Editor& e) {
           if (e.facts().on(K::mtp_hsm) && e.facts().num(K::mtp_num_layers) < 2) e.Set(K::mtp_hsm, false);
         }},
    {.id = "mlm.mtp-position-embedding-2",
     .area = "mtp",
     .at = {Phase::kCliValidate, 1945},
     .source = "Megatron-LM:megatron/training/arguments.py:1945",
     .core = {17, kMain},
     .reads = {K::mtp_num_layers, K::position_embedding_type},
     .when =
         [](F f) {
           return f.on(K::mtp_num_layers) &&
                  !f.in(K::position_embedding_type, {"learned_absolute", "rope", "mrope", "none"});
         },
     .needs = "MTP needs position_embedding_type learned_absolute, rope, mrope or none",
     .fixes = {{{K::position_embedding_type, "rope"}}}},
};

}  // namespace

RuleList MegatronLmMtpRules() { return kRules; }

}  // namespace flightplan
