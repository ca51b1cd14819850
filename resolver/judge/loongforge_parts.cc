#include "resolver/judge/loongforge_parts.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "resolver/catalog/defaults.h"

namespace flightplan {

std::vector<std::pair<Knob, Value>> ModelFileOf(const ParseResult& parsed) {
  std::vector<std::pair<Knob, Value>> keys;
  for (const ParsedKnob& knob : parsed.knobs) {
    if (knob.origin == Origin::kModel) keys.emplace_back(knob.knob, knob.value);
  }
  return keys;
}

void AddParts(const ParseResult& parsed, Environment env, RunResult* run) {
  Found found;
  found.foundation_tensor_parallel_size = run->config.Get(Knob::tensor_model_parallel_size).integer();
  env.mla = false;
  for (const ParsedComponent& part : parsed.components) {
    Config config = DefaultsFor(env.target, env.core_release, env.bridge_release, env.mla);
    for (const ParsedKnob& knob : parsed.knobs) {
      if (knob.origin != Origin::kModel) config.Set(knob.knob, knob.value, knob.origin);
    }
    ApplyKnobs(part.knobs, &config);
    config.Set(Knob::model_component, Value(part.name), Origin::kModel);
    env.model_file.clear();
    for (const ParsedKnob& knob : part.knobs) env.model_file.emplace_back(knob.knob, knob.value);
    for (Finding& finding : Run(std::move(config), env, found).findings) {
      const bool known = std::any_of(run->findings.begin(), run->findings.end(),
                                     [&](const Finding& other) { return other.rule_id == finding.rule_id; });
      if (known || finding.severity != Severity::kError) continue;
      finding.seen = absl::StrCat(part.name, ": ", finding.seen);
      finding.fixes.clear();  // a word of the launch would change the language model, too
      run->findings.push_back(std::move(finding));
    }
  }
}

}  // namespace flightplan
