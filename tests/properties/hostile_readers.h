// Every reader of what strangers write, with the language that it reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tests/properties/hostile.h"

namespace flightplan::properties {

// `max_bytes` and `work`: as they are served.
struct Reader {
  std::string name;
  Language language;
  size_t max_bytes;
  uint64_t work;
  std::function<absl::Status(const std::string&)> read;
};

// `corpus`: a folder with seeds for each; without them the process ends, since a reader without seeds is hardly read.
std::vector<Reader> Readers(const std::filesystem::path& corpus);

// Makes what the readers share, so that it is no text's.
void PrepareReaders();

}  // namespace flightplan::properties
