#include "resolver/stacks/loongforge/model_override.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "resolver/base/status_macros.h"
#include "resolver/read/hydra_value.h"

namespace flightplan {
namespace {

// What Hydra 1.3 composes of its own below `hydra`, and whose keys are not listed here.
constexpr absl::string_view kHydraKeys[] = {"run",
                                            "run.dir",
                                            "sweep",
                                            "sweep.dir",
                                            "sweep.subdir",
                                            "output_subdir",
                                            "mode",
                                            "verbose",
                                            "job",
                                            "job.name",
                                            "job.chdir",
                                            "job.id",
                                            "job.num",
                                            "env",
                                            "runtime",
                                            "job.config",
                                            "overrides",
                                            "job.override_dirname",
                                            "job.config_name",
                                            "launcher",
                                            "sweeper",
                                            "job_logging",
                                            "help",
                                            "hydra_help",
                                            "hydra_logging"};
constexpr absl::string_view kHydraMaps[] = {"runtime.",       "overrides.", "job.config.", "job_logging.",
                                            "hydra_logging.", "help.",      "hydra_help."};

bool IsKey(absl::string_view text) {
  return !text.empty() && (absl::ascii_isalpha(text[0]) || text[0] == '_') &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return absl::ascii_isalnum(c) || absl::StrContains("_-./@:$", absl::string_view(&c, 1));
         });
}

}  // namespace

absl::StatusOr<ModelOverride> ReadModelOverride(absl::string_view text) {
  ModelOverride change;
  if (absl::ConsumePrefix(&text, "~")) {
    change.sign = ModelOverride::Sign::kDelete;
  } else if (absl::ConsumePrefix(&text, "++")) {
    change.sign = ModelOverride::Sign::kForce;
  } else if (absl::ConsumePrefix(&text, "+")) {
    change.sign = ModelOverride::Sign::kAdd;
  }
  const size_t sign = text.find('=');
  const bool valued = sign != absl::string_view::npos;
  change.key = std::string(text.substr(0, sign));
  if (!IsKey(change.key) || (!valued && change.sign != ModelOverride::Sign::kDelete)) {
    return absl::InvalidArgumentError(
        "it belongs to no flag, and is no key=value that Hydra could put into the model's YAML");
  }
  if (valued) {
    FLIGHTPLAN_ASSIGN_OR_RETURN(Value value, ReadHydraValue(text.substr(sign + 1)));
    change.value = std::move(value);
  }
  return change;
}

std::optional<std::string> HydraNeeds(const ModelOverride& change) {
  absl::string_view key = change.key;
  if (absl::ConsumePrefix(&key, "hydra/")) return "";  // a group of settings
  if (key == "hydra") return "hydra is a map of settings: name one (hydra.run.dir=DIR)";
  if (!absl::ConsumePrefix(&key, "hydra.")) return std::nullopt;
  const bool known = std::find(std::begin(kHydraKeys), std::end(kHydraKeys), key) != std::end(kHydraKeys);
  const bool below = std::any_of(std::begin(kHydraMaps), std::end(kHydraMaps),
                                 [key](absl::string_view map) { return absl::StartsWith(key, map); });
  switch (change.sign) {
    case ModelOverride::Sign::kDelete:
      return "a setting of Hydra's own cannot be deleted";
    case ModelOverride::Sign::kAdd:
      return known ? "Hydra has this setting: write it without +" : "";
    case ModelOverride::Sign::kChange:
      return known || below || key == "searchpath" || key == "callbacks" ? "" : "Hydra has no such setting";
    case ModelOverride::Sign::kForce:
      break;
  }
  return "";
}

}  // namespace flightplan
