// Multi-token prediction.
#include "resolver/rules/core/upstream.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

const Rule kRules[] = {
    {.id = "mtp.hsm-needs-two",
     .area = "mtp",
     TRANSFORMER_CONFIG(1417),
     .core = {.since = kMain},
     .reads = {K::mtp_hsm, K::mtp_num_layers},
     .when = [](F f) { return f.on(K::mtp_hsm) && f.num(K::mtp_num_layers) < 2; },
     .needs = "mtp_hsm combines prediction layers and needs mtp_num_layers of at least 2",
     .fixes = {{{K::mtp_hsm, false}}}},
};

}  // namespace

RuleList CoreMtpRules() { return kRules; }

}  // namespace flightplan
