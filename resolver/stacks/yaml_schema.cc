#include "resolver/stacks/yaml_schema.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "resolver/base/json.h"
#include "resolver/catalog/bridge_fields.h"
#include "resolver/catalog/defaults.h"
#include "resolver/catalog/loongforge.h"
#include "resolver/stacks/knob_schema.h"
#include "resolver/stacks/megatron_bridge/override_reader.h"

namespace flightplan {
namespace {

// The knobs that a flat map of the format may have, by every name.
void AddKnobs(const SchemaFormat& format, Members* properties) {
  for (int i = 0; i < kKnobCount; ++i) {
    const Knob knob = static_cast<Knob>(i);
    if (!Has(format.releases(knob)) || absl::StrContains(Name(knob), ".")) continue;
    properties->Add(Name(knob), KnobSchema(knob, format));
    for (absl::string_view alias : absl::StrSplit(Row(knob).aliases, ',', absl::SkipEmpty())) {
      properties->Add(alias, KnobSchema(knob, format));
    }
  }
}

std::string Head(absl::string_view title) {
  return absl::StrCat(R"("$schema": "https://json-schema.org/draft/2020-12/schema",)",
                      "\n\"title\": ", JsonQuoted(title), ",\n\"type\": \"object\"");
}

// Upstream's classes and flags of the rooms of Megatron-LM, of all releases together.
ReleaseRange MegatronReleases(Knob knob) {
  constexpr ReleaseRange kNone = {1, 0};
  const Section section = Row(knob).section;
  if (section == Section::kLaunch || section == Section::kMixedPrecision || section == Section::kCommOverlap)
    return kNone;
  ReleaseRange all = Row(knob).core;
  for (const internal::FlagRow& flag : Flags()) {
    if (flag.knob != knob) continue;
    all = Has(all) ? ReleaseRange{std::min(all.since, flag.releases.since), std::max(all.until, flag.releases.until)}
                   : flag.releases;
  }
  return all;
}

// Everything that the fork's release has, as one release: what came later is not there.
ReleaseRange ForkReleases(Knob knob) {
  const bool own = !WordFor(knob, kLoongForgeWord).empty();
  const bool there = own || Row(knob).core.Contains(kLoongForgeCore) || FirstFlag(knob, kLoongForgeCore) != nullptr;
  return there && LoongForgeKey(Name(knob)) == knob ? ReleaseRange{} : ReleaseRange{1, 0};
}

ReleaseRange BridgeReleases(Knob knob) { return Row(knob).bridge; }

std::string BridgeSection(absl::string_view section, const SchemaFormat& format) {
  Members properties;
  for (int i = 0; i < kKnobCount; ++i) {
    const Knob knob = static_cast<Knob>(i);
    const absl::string_view field = FieldNameOf(knob);
    if (FindBridgeField(section, field) != knob || absl::StrContains(field, ".") || !Has(format.releases(knob)))
      continue;
    properties.Add(field, KnobSchema(knob, format));
  }
  // A name instead of its fields; nothing at all.
  const absl::string_view type = section == "mixed_precision"           ? R"(["object", "string", "null"])"
                                 : section == "comm_overlap"            ? R"(["object", "null"])"
                                 : OverrideReader::LooksInside(section) ? R"("object")"
                                                                        : R"(["object", "null"])";
  Members members;
  members.Add("type", type);
  members.Add("properties", properties.Object());
  return members.Object();
}

}  // namespace

std::string MegatronLmYamlSchema() {
  const SchemaFormat format = {.title = "Megatron-LM --yaml-cfg file",
                               .stack = "Megatron-LM",
                               .defaults = DefaultsFor(Target::kMegatronLm, kMain, kMain, /*mla=*/false),
                               .releases = MegatronReleases,
                               .first_release = kCoreReleases[0]};
  Members properties;
  AddKnobs(format, &properties);
  // Upstream keeps a key that it does not know without a word; a map only groups keys.
  return absl::StrCat(
      "{\n", Head(format.title), ",\n\"properties\": ", properties.Object(),
      ",\n\"additionalProperties\": {\"anyOf\": [{\"not\": {\"type\": \"object\"}}, {\"$ref\": \"#\"}]}",
      ",\n\"$defs\": ", KnobDefinitions("").Object(), "\n}\n");
}

std::string BridgeYamlSchema() {
  const SchemaFormat format = {.title = "Megatron-Bridge ConfigContainer",
                               .stack = "Bridge",
                               .defaults = DefaultsFor(Target::kMegatronBridge, kMain, kMain, /*mla=*/false),
                               .releases = BridgeReleases,
                               .first_release = kBridgeReleases[0],
                               .with_flags = false};
  Members sections;
  for (absl::string_view section : OverrideReader::Sections()) sections.Add(section, BridgeSection(section, format));
  sections.Add("env_vars", R"({"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}})");
  // A switch is Python's truth of a number, too: recipes set manual_gc_eval to 100.
  const Members definitions =
      KnobDefinitions(R"({"type": "object", "required": ["_target_"]})", /*numbers_are_switches=*/true);
  // The container has no other sections. In one, a provider or a dump has fields that are not known here.
  return absl::StrCat("{\n", Head(format.title), ",\n\"properties\": ", sections.Object(),
                      ",\n\"patternProperties\": {\"^_\": true},\n\"additionalProperties\": false,\n\"$defs\": ",
                      definitions.Object(), "\n}\n");
}

std::string LoongForgeYamlSchema() {
  const SchemaFormat format = {.title = "LoongForge model file",
                               .stack = "LoongForge",
                               .defaults = DefaultsFor(Target::kLoongForge, kLoongForgeCore, kMain, /*mla=*/false),
                               .releases = ForkReleases,
                               .first_release = kLoongForgeCore,
                               .own_choices = LoongForgeChoices,
                               .open_models = true};
  Members properties;
  AddKnobs(format, &properties);
  Members definitions = KnobDefinitions(R"({"type": "object"})");
  definitions.Add("arguments", absl::StrCat("{\"properties\": ", properties.Object(), "}"));
  // A language model's arguments, or `model:` with a map of them for each component; unknown keys are passed over.
  constexpr absl::string_view kModel = R"({"$ref": "#/$defs/arguments", "additionalProperties": )"
                                       R"({"anyOf": [{"not": {"type": "object"}}, {"$ref": "#/$defs/arguments"}]}})";
  return absl::StrCat("{\n", Head(format.title),
                      ",\n\"$ref\": \"#/$defs/arguments\",\n\"properties\": {\"model\": ", kModel,
                      "},\n\"$defs\": ", definitions.Object(), "\n}\n");
}

}  // namespace flightplan
