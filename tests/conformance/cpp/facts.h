// An answer as facts: names with lists of values, all text, so that answers of different clients can be compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace flightplan::conformance {

class Facts {
 public:
  void Add(const std::string& name, absl::string_view value);
  void Add(const std::string& name, const char* value) { Add(name, absl::string_view(value)); }
  void Add(const std::string& name, bool value) { Add(name, value ? "true" : "false"); }
  void Add(const std::string& name, int64_t value);
  void Add(const std::string& name, int32_t value) { Add(name, int64_t{value}); }
  void Add(const std::string& name, double value);  // millionths, cut to an integer

  // Empty where there is no such fact.
  const std::vector<std::string>& Values(const std::string& name) const;
  // The sum of the hashes of all facts; those with '~' in their name do not count.
  uint64_t Fingerprint() const;
  // One "name: value" a line.
  std::string Text() const;
  size_t size() const { return values_.size(); }

 private:
  std::map<std::string, std::vector<std::string>> values_;
};

}  // namespace flightplan::conformance
