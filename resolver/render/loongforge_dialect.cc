#include "resolver/render/loongforge_dialect.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "resolver/catalog/loongforge.h"
#include "resolver/render/argparse.h"
#include "resolver/render/hydra_value.h"
#include "resolver/render/loongforge_yaml.h"
#include "resolver/render/megatron_lm_dialect.h"

namespace flightplan {
namespace {

using K = Knob;

const FlagTable& Table() {
  static const auto* const kTable = [] {
    auto* table = new FlagTable();
    for (const LoongForgeFlag& flag : LoongForgeFlags()) {
      table->Add({{flag.flag, flag.knob, flag.form, flag.type, flag.choices}});
    }
    return table;
  }();
  return *kTable;
}

}  // namespace

absl::string_view LoongForgeChoices(Knob knob) {
  for (const LoongForgeFlag& flag : LoongForgeFlags()) {
    if (flag.knob == knob) return flag.choices;
  }
  return "";
}

std::optional<Knob> LoongForgeKey(absl::string_view key) {
  if (key == "fp8_param") return K::fp8_param_gather;  // validators.py:74
  if (IsLoongForgeStructure(key)) return std::nullopt;
  if (const auto knob = FindKnob(key); knob.has_value()) return knob;
  const FlagSpec* spec = Table().Find(absl::StrCat("--", absl::StrReplaceAll(key, {{"_", "-"}})));
  return spec == nullptr ? std::nullopt : spec->knob;
}

namespace {

constexpr absl::string_view kOverrideSource = "LoongForge:loongforge/train/parser.py:131";

// One of Hydra's overrides: num_layers=4, +model.foundation.num_layers=4. They change the model's YAML, whose keys win
// over the flags, so they are read last.
class OverrideReader {
 public:
  explicit OverrideReader(ParseResult* out) : out_(out), flags_(out->knobs.size()) {}

  void Read(const Argument& word) {
    absl::string_view text = word.text;
    while (absl::ConsumePrefix(&text, "+")) {
    }
    const size_t sign = text.find('=');
    if (sign == absl::string_view::npos || sign == 0 || absl::StartsWith(text, "~")) {
      return Report(word, "mlm.argparse", Severity::kError, absl::StrCat("argument ", Printable(word.text)),
                    "it belongs to no flag, and is no key=value that Hydra could put into the model's YAML");
    }
    absl::string_view key = text.substr(0, sign);
    const bool component = absl::ConsumePrefix(&key, "model.") && absl::StrContains(key, ".");
    if (component && !absl::ConsumePrefix(&key, "foundation.")) {
      return Report(word, "input.not-judged", Severity::kInfo, Printable(word.text),
                    "LoongForge judges each component on its own; this answer is for the foundation");
    }
    const std::optional<Knob> knob = LoongForgeKey(key);
    if (!knob.has_value()) return Unknown(word, key);
    const absl::StatusOr<Value> value = ReadHydraValue(text.substr(sign + 1));
    if (!value.ok()) {
      return Report(word, "mlm.argparse", Severity::kError, Printable(word.text),
                    std::string(value.status().message()));
    }
    NoteOverwritten(word, *knob, *value);
    out_->knobs.push_back({*knob, *value, word.at});
  }

 private:
  void Report(const Argument& word, absl::string_view rule_id, Severity severity, std::string seen, std::string needs) {
    if (out_->findings.size() >= kMaxParseFindings) return;
    out_->findings.push_back(
        MakeParseFinding(word.at, rule_id, severity, std::move(seen), std::move(needs), kOverrideSource));
  }

  void Unknown(const Argument& word, absl::string_view key) {
    const absl::string_view nearest = NearestKnobName(key);
    if (IsLoongForgeStructure(key) || nearest.empty()) return;
    Report(word, "lf.yaml-unknown-key", Severity::kWarning, Printable(key),
           absl::StrCat("no argument has this name, so LoongForge passes over it; the nearest is ", nearest));
  }

  // A flag said something else.
  void NoteOverwritten(const Argument& word, Knob knob, const Value& value) {
    for (size_t i = 0; i < flags_; ++i) {
      const ParsedKnob& flag = out_->knobs[i];
      if (flag.knob != knob || flag.value == value) continue;
      return Report(word, "lf.yaml-overrides-args", Severity::kInfo, Printable(word.text),
                    absl::StrCat("it wins over the flag, which says ", Printable(flag.value.ToText())));
    }
  }

  ParseResult* out_;
  size_t flags_;  // knobs that flags set, at the front
};

}  // namespace

ParseResult ParseLoongForge(absl::Span<const Argument> args, const Environment&) {
  ArgparseOptions options;
  options.parser_name = "LoongForge";
  std::vector<Argument> overrides;
  options.leftover = &overrides;
  ParseResult result = ParseArguments(args, Table(), options);
  OverrideReader reader(&result);
  for (const Argument& word : overrides) reader.Read(word);
  return result;
}

Launch RenderLoongForge(const RenderInput& input) {
  Environment env = input.env;
  env.core_release = kLoongForgeCore;
  Launch launch = RenderMegatronLm({input.config, env, input.vars, input.like});
  launch.dialect = "loongforge";
  return launch;
}

}  // namespace flightplan
