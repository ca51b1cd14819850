// The questions of freedom_check: random ones over every model and GPU of the catalogue, and those that broke once.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/catalog/catalog.h"

namespace flightplan::properties {

class Questions {
 public:
  explicit Questions(const Catalog& catalog);

  // The same question for the same seed.
  v1::ResolveConfigRequest Ask(uint64_t seed) const;

  // 0: no such GPU.
  int64_t DomainOf(const std::string& gpu) const;
  int64_t MemoryOf(const std::string& gpu) const;

 private:
  std::vector<std::string> models_;
  std::vector<std::pair<std::string, int64_t>> gpus_;
  std::map<std::string, int64_t> domains_;  // GPUs of one NVLink domain
};

// Each had a slower answer for a freedom more.
std::vector<v1::ResolveConfigRequest> KnownQuestions();

}  // namespace flightplan::properties
