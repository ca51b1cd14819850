#include "resolver/catalog/defaults.h"

#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "resolver/base/once_each.h"
#include "resolver/catalog/loongforge.h"
#include "resolver/plan/stack.h"

namespace flightplan {
namespace {

// The defaults of one knob, read once: by config class ("core_mla"), or by class and release ("core@core-0.17").
struct KnobDefaults {
  Value main;
  absl::flat_hash_map<absl::string_view, Value> by_class;
};

// The knob table is checked when it is generated, so its JSON always reads.
Value FromTable(absl::string_view json) {
  auto value = ValueFromJson(json);
  return value.ok() ? *std::move(value) : Value();
}

std::vector<KnobDefaults> ReadDefaults() {
  std::vector<KnobDefaults> all(kKnobCount);
  for (int i = 0; i < kKnobCount; ++i) {
    const internal::KnobRow& row = Row(static_cast<Knob>(i));
    all[static_cast<size_t>(i)].main = FromTable(row.default_json);
    for (absl::string_view line : absl::StrSplit(row.defaults, '\n', absl::SkipEmpty())) {
      const std::pair<absl::string_view, absl::string_view> entry = absl::StrSplit(line, absl::MaxSplits('\t', 1));
      all[static_cast<size_t>(i)].by_class.emplace(entry.first, FromTable(entry.second));
    }
  }
  return all;
}

const Value& Pick(const KnobDefaults& defaults, absl::string_view config_class, absl::string_view release) {
  auto exact = defaults.by_class.find(absl::StrCat(config_class, "@", release));
  if (exact != defaults.by_class.end()) return exact->second;
  auto of_class = defaults.by_class.find(config_class);
  return of_class != defaults.by_class.end() ? of_class->second : defaults.main;
}

struct Flavour {
  Target target;
  int core_release;
  int bridge_release;
  bool mla;
  const Stack& stack() const { return StackOf(target); }
  bool bridge() const { return stack().container; }
  std::string release_name() const {
    const int release = bridge() ? bridge_release : core_release;
    return release == kMain ? "main" : absl::StrCat(bridge() ? "bridge-" : "core-", ReleaseText(release));
  }
  std::string class_of(Section section) const {
    if (section == Section::kDdp) return "ddp";
    if (section == Section::kOptimizer) return "optimizer";
    return absl::StrCat(bridge() ? "bridge" : "core", mla ? "_mla" : "");
  }
};

// Of a stack with words of its own, whose defaults stand beside them: "ms_swift.argument", "ms_swift.default". What has
// a word is there, whether a class of upstream's has it or not.
void SetOwnDefaults(const Stack& stack, Config* config) {
  if (stack.vocabulary.empty()) return;
  const std::string defaults = absl::StrCat(stack.vocabulary.substr(0, stack.vocabulary.find('.')), ".default");
  for (int i = 0; i < kKnobCount; ++i) {
    const Knob knob = static_cast<Knob>(i);
    const bool absent = config->origin(knob) == Origin::kAbsent;
    if (absent && WordFor(knob, stack.vocabulary).empty()) continue;
    const Value value = FromTable(WordFor(knob, defaults));
    if (absent || !value.is_none()) config->Set(knob, value, Origin::kDefault);
  }
}

Config Build(const Flavour& flavour, const std::vector<KnobDefaults>& defaults) {
  Config config;
  const std::string release_name = flavour.release_name();
  for (int i = 0; i < kKnobCount; ++i) {
    const Knob knob = static_cast<Knob>(i);
    const internal::KnobRow& row = Row(knob);
    const bool present =
        flavour.bridge() ? row.bridge.Contains(flavour.bridge_release) : row.core.Contains(flavour.core_release);
    const bool own_flag = flavour.stack().fork && absl::StartsWith(WordFor(knob, kLoongForgeWord), "--");
    const bool adapters = flavour.stack().adapters && row.section == Section::kPeft;
    if (!present && !own_flag && !adapters) continue;
    config.Set(knob, Pick(defaults[static_cast<size_t>(i)], flavour.class_of(row.section), release_name),
               Origin::kDefault);
  }
  for (const auto& [knob, value] : flavour.stack().adapter_switches) config.Set(knob, Value(value), Origin::kDefault);
  SetOwnDefaults(flavour.stack(), &config);
  if (!flavour.stack().command_line) return config;
  for (const internal::FlagRow& flag : Flags()) {  // on a command line argparse's defaults replace the classes'
    if (!flag.releases.Contains(flavour.core_release)) continue;
    config.Set(flag.knob, FromTable(flag.default_json), Origin::kDefault);
  }
  if (!flavour.stack().fork) return config;
  for (const LoongForgeFlag& flag : LoongForgeFlags()) {
    if (flag.knob.has_value()) config.Set(*flag.knob, FromTable(flag.default_json), Origin::kDefault);
  }
  return config;
}

}  // namespace

const Config& DefaultsFor(Target target, int core_release, int bridge_release, bool mla) {
  using Key = std::tuple<Target, int, int, bool>;
  static const auto* const kRead = new std::vector<KnobDefaults>(ReadDefaults());
  static const auto* const kConfigs = [] {
    auto* all = new OnceEach<Key, Config>();
    for (const Stack* stack : AllStacks()) {
      const bool bridge = stack->container;
      for (int release : bridge ? absl::Span<const int>(kBridgeReleases) : kCoreReleases) {
        for (bool is_mla : {false, true}) {
          all->Add(Key(stack->target, bridge ? 0 : release, bridge ? release : kMain, is_mla));
        }
      }
    }
    return all;
  }();
  const bool is_bridge = StackOf(target).container;
  const Flavour flavour{target, is_bridge ? 0 : NearestRelease(kCoreReleases, core_release),
                        is_bridge ? NearestRelease(kBridgeReleases, bridge_release) : kMain, mla};
  return kConfigs->At(Key(target, flavour.core_release, flavour.bridge_release, mla), [&] {
    auto config = std::make_unique<Config>(Build(flavour, *kRead));
    config->KeepForever();
    return config;
  });
}

}  // namespace flightplan
