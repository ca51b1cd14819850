#include "resolver/stacks/spelling.h"

#include "resolver/stacks/loongforge/dialect.h"
#include "resolver/stacks/loongforge/yaml.h"
#include "resolver/stacks/yaml_schema.h"

namespace flightplan {
namespace {

constexpr InputFormat kFormats[] = {
    {.name = "argv", .arguments = ParseLoongForge},
    {.name = "loongforge-yaml", .file = ParseLoongForgeYaml, .schema = LoongForgeYamlSchema, .part = true},
};

constexpr OutputDialect kDialects[] = {
    {"loongforge", RenderLoongForge},
};

}  // namespace

extern const StackSpelling kLoongforgeSpelling;
const StackSpelling kLoongforgeSpelling = {.target = Target::kLoongForge, .formats = kFormats, .dialects = kDialects};

}  // namespace flightplan
