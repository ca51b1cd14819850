#include "resolver/catalog/loongforge.h"

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"

namespace flightplan {
namespace {

absl::Span<const internal::LoongForgeModelRow> Models() {
  return absl::MakeSpan(internal::kLoongForgeModelRows, static_cast<size_t>(internal::kLoongForgeModelRowCount));
}

}  // namespace

const std::vector<LoongForgeFlag>& LoongForgeFlags() {
  static const auto* const kFlags = [] {
    absl::flat_hash_map<absl::string_view, const internal::FlagRow*> upstream;
    for (const internal::FlagRow& row : Flags()) {
      if (row.releases.Contains(kLoongForgeCore)) upstream[row.flag] = &row;
    }
    auto* flags = new std::vector<LoongForgeFlag>();
    for (int i = 0; i < internal::kLoongForgeFlagRowCount; ++i) {
      const internal::LoongForgeFlagRow& row = internal::kLoongForgeFlagRows[i];
      LoongForgeFlag flag{row.flag, FindKnob(row.dest), row.form, row.type, row.choices, row.own};
      // The knob table knows Megatron-LM's converters of lists, layer patterns and triples.
      if (const auto known = upstream.find(flag.flag); known != upstream.end()) {
        flag.knob = known->second->knob;
        if (row.form != FlagForm::kValue) flag.form = known->second->form;
        flag.type = known->second->type;
      }
      flags->push_back(flag);
    }
    return flags;
  }();
  return *kFlags;
}

absl::string_view LoongForgeFamilyOfName(absl::string_view name) {
  for (const internal::LoongForgeModelRow& row : Models()) {
    for (const absl::string_view known : absl::StrSplit(row.names, '|', absl::SkipEmpty())) {
      if (known == name) return row.family;
    }
  }
  return "";
}

absl::string_view LoongForgeFamilyOfFile(absl::string_view path) {
  for (const internal::LoongForgeModelRow& row : Models()) {
    absl::string_view folder = path;
    if (absl::ConsumeSuffix(&folder, row.path) && (folder.empty() || absl::EndsWith(folder, "/"))) return row.family;
  }
  return "";
}

const std::vector<absl::string_view>& LoongForgeModelNames() {
  static const auto* const kNames = [] {
    auto* names = new std::vector<absl::string_view>();
    for (const internal::LoongForgeModelRow& row : Models()) {
      for (const absl::string_view name : absl::StrSplit(row.names, '|', absl::SkipEmpty())) names->push_back(name);
    }
    return names;
  }();
  return *kNames;
}

}  // namespace flightplan
