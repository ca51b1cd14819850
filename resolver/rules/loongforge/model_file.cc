// What LoongForge says to the model's file and to the words that Hydra puts on top of it. The readers find these, which
// know what was written where (stacks/loongforge/model.cc, stacks/loongforge/yaml.cc); the rows say what they mean.
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

const Rule kRules[] = {
    {.id = "lf.hydra-override",
     .area = "cli",
     .at = {Phase::kLoongForge, 10},
     .source = "LoongForge:loongforge/train/parser.py:131",
     .when = FoundByReader,
     .needs = "a word that is no flag is an override of the model's YAML: key=value changes a key that is there, "
              "+key=value adds one that is not, ++key=value does either, ~key deletes one"},
    {.id = "lf.override-redundant",
     .area = "cli",
     .kind = Kind::kWarning,
     .at = {Phase::kLoongForge, 11},
     .source = "LoongForge:loongforge/train/parser.py:131",
     .when = FoundByReader,
     .needs = "+key=value of a key that is there already; Hydra adds a key only where there is none"},
    {.id = "lf.config-file-exists",
     .area = "model",
     .at = {Phase::kLoongForge, 12},
     .source = "LoongForge:loongforge/train/parser.py:131",
     .when = FoundByReader,
     .needs = "the file that --model-name or --config-file stands for must be there"},
    {.id = "lf.model-type-known",
     .area = "model",
     .at = {Phase::kLoongForge, 13},
     .source = "LoongForge:loongforge/train/parser.py:258",
     .when = FoundByReader,
     .needs = "the model's file must say a model_type that LoongForge has"},
    {.id = "lf.yaml-variable-set",
     .area = "env",
     .at = {Phase::kLoongForge, 78},
     .source = "LoongForge:loongforge/train/validators.py:100",
     .when = FoundByReader,
     .needs = "an environment variable that the model's file refers to (${oc.env:NAME}) must be set"},
    {.id = "lf.yaml-reference",
     .area = "model",
     .at = {Phase::kLoongForge, 77},
     .source = "LoongForge:loongforge/train/parser.py:131",
     .when = FoundByReader,
     .needs = "a reference in the model's file (${key}) must name a key that is there, and lead in no circle"},
    {.id = "lf.yaml-overrides-args",
     .area = "cli",
     .kind = Kind::kInfo,
     .at = {Phase::kLoongForge, 79},
     .source = "LoongForge:loongforge/train/validators.py:79",
     .when = FoundByReader,
     .needs = "a key of the model's YAML, or an override of it, wins over the flag of the same argument"},
    {.id = "lf.value-type",
     .area = "cli",
     .at = {Phase::kLoongForge, 78},
     .source = "LoongForge:loongforge/train/validators.py:100",
     .when = FoundByReader,
     .needs =
         "a key of the model's YAML that LoongForge computes with holds a number: text and None stop it, a parallel "
         "size as 4.0, too"},
    {.id = "lf.yaml-unknown-key",
     .area = "cli",
     .kind = Kind::kWarning,
     .at = {Phase::kLoongForge, 80},
     .source = "LoongForge:loongforge/train/validators.py:98",
     .when = FoundByReader,
     .needs = "a key of the model's YAML that is no argument and no field of its class has no effect"},
    {.id = "lf.config-class",
     .area = "model",
     .at = {Phase::kLoongForge, 81},
     .source = "LoongForge:loongforge/models/utils.py:157",
     .when = FoundByReader,
     .needs =
         "the class that the model's file builds (_target_) must exist and have a field for every key given to it"},
};

}  // namespace

RuleList LoongforgeModelFileRules() { return kRules; }

}  // namespace flightplan
