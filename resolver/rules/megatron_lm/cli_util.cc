#include "resolver/rules/megatron_lm/cli_util.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "resolver/base/integers.h"
#include "resolver/catalog/choices.h"
#include "resolver/catalog/loongforge.h"
#include "resolver/plan/stack.h"

namespace flightplan {
namespace {

using K = Knob;

struct ChoiceRow {
  Knob knob;
  absl::string_view flag, choices;  // '|' separated
  FlagForm form;
};
using ChoiceRows = std::vector<ChoiceRow>;

const ChoiceRows& LoongForgeRows() {
  static const auto* const kRows = [] {
    auto* rows = new ChoiceRows();
    for (const LoongForgeFlag& flag : LoongForgeFlags()) {
      if (flag.knob.has_value() && !flag.choices.empty()) {
        rows->push_back({*flag.knob, flag.flag, flag.choices, flag.form});
      }
    }
    return rows;
  }();
  return *kRows;
}

// The flags with choices of one release.
const ChoiceRows& RowsWithChoices(const Environment& env) {
  if (StackOf(env).fork) return LoongForgeRows();
  static const auto* const kRows = [] {
    auto* rows = new std::array<ChoiceRows, kCoreReleases.size()>();
    for (size_t i = 0; i < kCoreReleases.size(); ++i) {
      for (const internal::FlagRow& row : Flags()) {
        if (row.choices[0] == '\0' || !row.releases.Contains(kCoreReleases[i])) continue;
        (*rows)[i].push_back({row.knob, row.flag, row.choices, row.form});
      }
    }
    return rows;
  }();
  const int known = NearestRelease(kCoreReleases, env.core_release);
  const auto at = std::find(kCoreReleases.begin(), kCoreReleases.end(), known) - kCoreReleases.begin();
  return (*kRows)[static_cast<size_t>(at)];
}

bool Allowed(const ChoiceRow& row, const Value& value) {
  if (value.is_list()) {
    return std::all_of(value.list().begin(), value.list().end(), [&](const Value& v) { return Allowed(row, v); });
  }
  if (value.is_none()) return true;
  const std::string text = value.ToText();
  for (absl::string_view choice : absl::StrSplit(row.choices, '|')) {
    if (choice == text) return true;
  }
  return false;
}

// LoongForge asks nothing of what an override of the model's file says instead of a flag.
bool OfTheModelFile(const Facts& f, Knob knob) {
  const auto& file = f.env().model_file;
  return std::any_of(file.begin(), file.end(), [knob](const auto& said) { return said.first == knob; });
}

const ChoiceRow* FirstRefused(const Facts& f) {
  for (const ChoiceRow& row : RowsWithChoices(f.env())) {
    if (f.given(row.knob) && !Allowed(row, f.value(row.knob)) && !OfTheModelFile(f, row.knob)) return &row;
  }
  return nullptr;
}

// Best first. A list is taken for its first item that is none of the choices.
std::vector<absl::string_view> InsteadOf(const ChoiceRow& row, const Value& value) {
  const Value* refused = &value;
  for (const Value& item : value.list()) {
    if (!Allowed(row, item)) {
      refused = &item;
      break;
    }
  }
  const std::vector<absl::string_view> choices = absl::StrSplit(row.choices, '|');
  return ChoicesInstead(row.knob, refused->ToText(), choices);
}

}  // namespace

bool HasCommandLine(const Facts& f) { return f.command_line(); }

bool ArchBelow(const Facts& f, int major) { return f.env().cc_major > 0 && f.env().cc_major < major; }

bool PackageMissing(const Facts& f, absl::string_view package) {
  const bool listed = f.env().capabilities_known || !f.env().packages.empty();
  return listed && f.env().packages.find(package) == f.env().packages.end();
}

bool PackageAtLeast(const Facts& f, absl::string_view package, absl::string_view version) {
  auto it = f.env().packages.find(package);
  return it != f.env().packages.end() && AtLeast(Version::Parse(it->second), version);
}

bool UsesDistCkpt(const Facts& f) { return !f.is(K::ckpt_format, "torch"); }

bool GraphHas(const Facts& f, absl::string_view module) {
  return f.has(f.core(18) ? K::cuda_graph_modules : K::cuda_graph_scope, module);
}

void AddStreamGroup(Editor& e, absl::string_view group) {
  const Facts& f = e.facts();
  if (f.has(K::high_priority_stream_groups, group)) return;
  Value::List groups = f.value(K::high_priority_stream_groups).list();
  groups.emplace_back(group);
  e.Set(K::high_priority_stream_groups, std::move(groups));
}

void DeriveWeightShards(Editor& e, Knob shards, Knob remat_size, Knob tp) {
  const Facts& f = e.facts();
  const int64_t ranks = f.num(tp);
  if (f.none(shards)) {
    e.Set(remat_size, 1);
    return e.Set(shards, ranks);
  }
  if (f.num(shards) >= ranks && Divisible(f.num(shards), ranks)) e.Set(remat_size, FloorDiv(f.num(shards), ranks));
}

bool HasRefusedChoice(const Facts& f) { return HasCommandLine(f) && FirstRefused(f) != nullptr; }

std::string RefusedChoice(const Facts& f) {
  const ChoiceRow* row = FirstRefused(f);
  if (row == nullptr) return "";
  const Value& value = f.value(row->knob);
  return absl::StrCat(row->flag, " ", value.ToText(), ", choices ", row->choices,
                      InsteadOf(*row, value).empty() ? kNoChoiceInstead : "");
}

std::vector<Patch> ChoiceFixes(const Facts& f) {
  const ChoiceRow* row = FirstRefused(f);
  if (row == nullptr) return {};
  std::vector<Patch> fixes;
  for (const absl::string_view choice : InsteadOf(*row, f.value(row->knob))) {
    const bool list = row->form != FlagForm::kValue;
    fixes.push_back({Assign(row->knob, list ? Value(Value::List{Value(choice)}) : Value(choice))});
    if (fixes.size() == 3) break;
  }
  return fixes;
}

}  // namespace flightplan
