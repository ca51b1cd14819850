// What nvidia-smi and gpustat print of the memory of each GPU.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace flightplan {

struct GpuMemory {
  int64_t index = -1;  // on its node; -1: not said
  std::string name;    // as the driver has it, maybe cut by the table; empty: not said
  double used = 0;     // bytes
  double total = 0;    // bytes; 0: not said
};

// Reads line by line, because a GPU of the table has two lines, and a CSV its columns in the first.
class GpuTableReader {
 public:
  // A GPU's memory, where the line ends its entry: of the table, of gpustat's line, of the CSV of
  // `nvidia-smi --query-gpu=...,memory.used,...` with its head line.
  std::optional<GpuMemory> Read(absl::string_view line);

 private:
  std::optional<GpuMemory> ReadTable(absl::string_view line);
  std::optional<GpuMemory> ReadCsv(absl::string_view line);
  bool ReadCsvHead(absl::string_view line);

  int64_t index_ = -1;  // of the entry that the table is in
  std::string name_;
  // Of the CSV: where its columns are; npos: it has none.
  size_t columns_ = 0;
  size_t used_at_ = 0, total_at_ = 0, index_at_ = 0, name_at_ = 0;
};

}  // namespace flightplan
