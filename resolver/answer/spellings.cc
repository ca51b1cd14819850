#include "resolver/answer/spellings.h"

#include <map>

#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/base/wire_writer.h"
#include "resolver/catalog/spellings.h"
#include "resolver/plan/stack.h"

namespace flightplan {

Spellings::Spellings(const Environment& env) {
  using M = v1::ConfigEntry;
  WireWriter w(size_t{128} << 10);
  for (int i = 0; i < kKnobCount; ++i) {
    const Knob knob = static_cast<Knob>(i);
    const std::string text = SpellingOf(knob, env);
    const size_t begin = w.size();
    w.Text(M::kNameFieldNumber, Name(knob));
    const size_t middle = w.size();
    w.Text(M::kSpellingFieldNumber, text);
    places_.push_back({static_cast<uint32_t>(begin), static_cast<uint16_t>(middle - begin),
                       static_cast<uint16_t>(w.size() - middle), static_cast<uint16_t>(text.size())});
  }
  bytes_ = std::string(w.bytes());
}

const Spellings& Spellings::Of(const Environment& env) {
  // All releases of a container spell a knob alike; a command line's flags depend on the release, and a stack
  // with words of its own has one set of them.
  static const auto* const kContainer = [] {
    Environment container;
    for (const Stack* stack : AllStacks()) {
      if (stack->container) container.target = stack->target;
    }
    return new Spellings(container);
  }();
  static const auto* const kFlags = [] {
    auto* flags = new std::map<int, Spellings>();
    for (int release : kCoreReleases) {
      Environment flag_env;
      flag_env.core_release = release;
      flags->emplace(release, Spellings(flag_env));
    }
    return flags;
  }();
  static const auto* const kOwnWords = [] {
    auto* by_target = new std::map<Target, Spellings>();
    for (const Stack* stack : AllStacks()) {
      Environment own;
      own.target = stack->target;
      if (!stack->vocabulary.empty()) by_target->emplace(stack->target, Spellings(own));
    }
    return by_target;
  }();
  if (const auto own = kOwnWords->find(env.target); own != kOwnWords->end()) return own->second;
  if (StackOf(env).container) return *kContainer;
  return kFlags->at(NearestRelease(kCoreReleases, env.core_release));
}

}  // namespace flightplan
