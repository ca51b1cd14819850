#include "resolver/catalog/derivatives.h"

#include <algorithm>
#include <array>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"

namespace flightplan {
namespace {

using NameByFlag = absl::flat_hash_map<absl::string_view, absl::string_view>;

// Of derivatives that share a flag the first one has it. Forks stand apart: they are told by flags of both.
const NameByFlag& NamesByFlag(bool forks) {
  static const auto* const kNames = [] {
    auto* names = new std::array<NameByFlag, 2>();
    for (const Derivative& derivative : Derivatives()) {
      NameByFlag& of_kind = (*names)[derivative.fork_of.empty() ? 0 : 1];
      for (const absl::string_view flag : derivative.flags) of_kind.try_emplace(flag, derivative.name);
    }
    return names;
  }();
  return (*kNames)[forks ? 1 : 0];
}

absl::string_view FlagOf(const Argument& arg) {
  return absl::StartsWith(arg.text, "--") ? absl::string_view(arg.text).substr(0, arg.text.find('=')) : "";
}

}  // namespace

bool IsForkOf(absl::string_view fork, absl::string_view name) {
  const absl::Span<const Derivative> all = Derivatives();
  return std::any_of(all.begin(), all.end(),
                     [&](const Derivative& one) { return one.name == fork && one.fork_of == name; });
}

absl::string_view DerivativeOf(absl::Span<const Argument> args, absl::string_view asked) {
  absl::string_view name;
  for (const Argument& arg : args) {
    const absl::string_view flag = FlagOf(arg);
    if (flag.empty()) continue;
    const auto found = NamesByFlag(/*forks=*/false).find(flag);
    if (found == NamesByFlag(/*forks=*/false).end()) continue;
    const bool of_asked = found->second == asked || IsForkOf(asked, found->second);
    if (name.empty() || of_asked) name = found->second;
    if (asked.empty() || of_asked) break;
  }
  if (name.empty()) return "";
  for (const Argument& arg : args) {
    const auto fork = NamesByFlag(/*forks=*/true).find(FlagOf(arg));
    if (fork != NamesByFlag(/*forks=*/true).end() && IsForkOf(fork->second, name)) return fork->second;
  }
  return name;
}

}  // namespace flightplan
