#include "resolver/catalog/derivatives.h"

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"

namespace flightplan {
namespace {

using NameByFlag = absl::flat_hash_map<absl::string_view, absl::string_view>;

// Of derivatives that share a flag the first one has it.
const NameByFlag& NamesByFlag() {
  static const auto* const kNames = [] {
    auto* names = new NameByFlag();
    for (const Derivative& derivative : Derivatives()) {
      for (const absl::string_view flag : derivative.flags) names->try_emplace(flag, derivative.name);
    }
    return names;
  }();
  return *kNames;
}

}  // namespace

absl::string_view DerivativeOf(absl::Span<const Argument> args) {
  const NameByFlag& names = NamesByFlag();
  for (const Argument& arg : args) {
    if (!absl::StartsWith(arg.text, "--")) continue;
    const auto name = names.find(absl::string_view(arg.text).substr(0, arg.text.find('=')));
    if (name != names.end()) return name->second;
  }
  return "";
}

}  // namespace flightplan
