#include "resolver/stacks/spelling.h"

#include "resolver/stacks/megatron_lm/dialect.h"
#include "resolver/stacks/megatron_lm/yaml.h"
#include "resolver/stacks/yaml_schema.h"

namespace flightplan {
namespace {

constexpr InputFormat kFormats[] = {
    {.name = "argv", .arguments = ParseMegatronLm},
    {.name = "megatron-lm-yaml", .file = ParseMegatronLmYaml, .schema = MegatronLmYamlSchema},
};

constexpr OutputDialect kDialects[] = {
    {"megatron-lm", RenderMegatronLm},
    {"megatron-lm-one-gpu", RenderOneGpuCheck},
};

}  // namespace

extern const StackSpelling kMegatronLmSpelling;
const StackSpelling kMegatronLmSpelling = {.target = Target::kMegatronLm, .formats = kFormats, .dialects = kDialects};

}  // namespace flightplan
