#include "resolver/runlog/gpu_table.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "resolver/base/bytes.h"
#include "resolver/runlog/scan.h"

namespace flightplan {
namespace {

constexpr size_t kNone = absl::string_view::npos;
constexpr int64_t kMostMib = int64_t{16} << 20;  // 16 TiB
constexpr int64_t kMostIndex = 1024;
constexpr size_t kLongestName = 64;
constexpr size_t kMostColumns = 64;

// "33717MiB / 81252MiB" or "33321 / 81559 MB" with the unit that is asked for.
std::optional<GpuMemory> ReadPair(absl::string_view text, absl::string_view between) {
  const size_t slash = text.find(between);
  if (slash == kNone) return std::nullopt;
  absl::string_view before = text.substr(0, slash);
  size_t begin = before.size();
  while (begin > 0 && absl::ascii_isdigit(static_cast<unsigned char>(before[begin - 1]))) --begin;
  before.remove_prefix(begin);
  absl::string_view after = text.substr(slash + between.size());
  const std::optional<int64_t> used = TakeInteger(&before), total = TakeInteger(&after);
  if (!used.has_value() || !total.has_value() || *used > *total || *total > kMostMib || *total == 0)
    return std::nullopt;
  after = absl::StripLeadingAsciiWhitespace(after);
  if (!absl::StartsWith(after, "MiB") && !absl::StartsWith(after, "MB")) return std::nullopt;
  GpuMemory gpu;
  gpu.used = static_cast<double>(*used) * kMib;
  gpu.total = static_cast<double>(*total) * kMib;
  return gpu;
}

std::string CutName(absl::string_view name) {
  return std::string(absl::StripAsciiWhitespace(name).substr(0, kLongestName));
}

}  // namespace

std::optional<GpuMemory> GpuTableReader::ReadTable(absl::string_view line) {
  line = absl::StripAsciiWhitespace(line);
  if (absl::StartsWith(line, "[")) {  // gpustat: [0] NVIDIA H100 80GB HBM3 | 38'C,  53 % | 33321 / 81559 MB | ...
    absl::string_view rest = line.substr(1);
    const std::optional<int64_t> index = TakeInteger(&rest);
    if (!index.has_value() || *index > kMostIndex || !absl::ConsumePrefix(&rest, "]")) return std::nullopt;
    std::optional<GpuMemory> gpu = ReadPair(rest, " / ");
    if (!gpu.has_value()) return std::nullopt;
    gpu->index = *index;
    gpu->name = CutName(rest.substr(0, rest.find('|')));
    return gpu;
  }
  if (!absl::StartsWith(line, "|")) return std::nullopt;
  if (absl::StrContains(line, "MiB /")) {
    std::optional<GpuMemory> gpu = ReadPair(line, "MiB /");
    if (!gpu.has_value()) return std::nullopt;
    gpu->index = index_;
    gpu->name = name_;
    index_ = -1;
    return gpu;
  }
  absl::string_view rest = line.substr(1);  // |   0  NVIDIA A100-SXM-80GB     On   | 00000000:10:00.0 Off | ...
  const std::optional<int64_t> index = TakeInteger(&rest);
  if (!index.has_value() || *index > kMostIndex || !absl::StartsWith(rest, "  ")) return std::nullopt;
  rest = absl::StripLeadingAsciiWhitespace(rest.substr(0, rest.find('|')));
  index_ = *index;
  name_ = CutName(rest.substr(0, rest.find("  ")));
  return std::nullopt;
}

bool GpuTableReader::ReadCsvHead(absl::string_view line) {
  if (!absl::StrContains(line, "memory.used") || !absl::StrContains(line, ',')) return false;
  if (absl::StrContains(line, "--query-gpu")) return false;  // the command itself
  const std::vector<absl::string_view> names = absl::StrSplit(line, ',');
  if (names.size() > kMostColumns) return false;
  used_at_ = total_at_ = index_at_ = name_at_ = kNone;
  for (size_t i = 0; i < names.size(); ++i) {
    const absl::string_view name = absl::StripAsciiWhitespace(names[i]);
    if (absl::StartsWith(name, "memory.used")) used_at_ = i;
    if (absl::StartsWith(name, "memory.total")) total_at_ = i;
    if (name == "index") index_at_ = i;
    if (name == "name") name_at_ = i;
  }
  columns_ = used_at_ == kNone ? 0 : names.size();
  return columns_ > 0;
}

std::optional<GpuMemory> GpuTableReader::ReadCsv(absl::string_view line) {
  if (columns_ == 0 || std::count(line.begin(), line.end(), ',') + 1 != static_cast<std::ptrdiff_t>(columns_)) {
    return std::nullopt;
  }
  const std::vector<absl::string_view> cells = absl::StrSplit(line, ',');
  const auto whole = [&cells](size_t at) -> std::optional<int64_t> {
    if (at == kNone) return std::nullopt;
    absl::string_view cell = cells[at];
    const std::optional<int64_t> value = TakeInteger(&cell);
    cell = absl::StripAsciiWhitespace(cell);
    return cell.empty() || cell == "MiB" ? value : std::nullopt;
  };
  const std::optional<int64_t> used = whole(used_at_), total = whole(total_at_), index = whole(index_at_);
  if (!used.has_value() || *used > kMostMib || total.value_or(*used) < *used) return std::nullopt;
  GpuMemory gpu;
  gpu.used = static_cast<double>(*used) * kMib;
  gpu.total = total.value_or(0) > kMostMib ? 0 : static_cast<double>(total.value_or(0)) * kMib;
  if (index.has_value() && *index <= kMostIndex) gpu.index = *index;
  if (name_at_ != kNone) gpu.name = CutName(cells[name_at_]);
  return gpu;
}

std::optional<GpuMemory> GpuTableReader::Read(absl::string_view line) {
  if (ReadCsvHead(line)) return std::nullopt;
  if (std::optional<GpuMemory> gpu = ReadCsv(line); gpu.has_value()) return gpu;
  return ReadTable(line);
}

}  // namespace flightplan
