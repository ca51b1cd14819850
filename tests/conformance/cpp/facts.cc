#include "tests/conformance/cpp/facts.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace flightplan::conformance {
namespace {

uint64_t Fnv1a(absl::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return hash;
}

}  // namespace

void Facts::Add(const std::string& name, absl::string_view value) { values_[name].emplace_back(value); }

void Facts::Add(const std::string& name, int64_t value) { Add(name, absl::StrCat(value)); }

void Facts::Add(const std::string& name, double value) { Add(name, static_cast<int64_t>(value * 1e6)); }

const std::vector<std::string>& Facts::Values(const std::string& name) const {
  static const auto* const kNone = new std::vector<std::string>();
  const auto it = values_.find(name);
  return it == values_.end() ? *kNone : it->second;
}

uint64_t Facts::Fingerprint() const {
  constexpr absl::string_view kNul("\0", 1);
  uint64_t sum = 0;
  for (const auto& [name, values] : values_) {
    if (absl::StrContains(name, '~')) continue;
    for (size_t i = 0; i < values.size(); ++i) sum += Fnv1a(absl::StrCat(name, kNul, i, kNul, values[i]));
  }
  return sum;
}

std::string Facts::Text() const {
  std::string text;
  for (const auto& [name, values] : values_) {
    for (const std::string& value : values) absl::StrAppend(&text, name, ": ", value, "\n");
  }
  return text;
}

}  // namespace flightplan::conformance
