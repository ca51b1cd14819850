#include "resolver/runlog/memory_snapshot.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "resolver/base/status_macros.h"
#include "resolver/runlog/pickle.h"

namespace flightplan {
namespace {

// Keys and actions as the allocator writes them: pytorch/pytorch torch/csrc/cuda/memory_snapshot.cpp and
// torch/cuda/_memory_viz.py.
constexpr int64_t kRounding = 512;  // c10/core/AllocatorConfig.h: kMinBlockSize
constexpr int64_t kLargestBlock = int64_t{1} << 50;
constexpr size_t kMostText = 4096;                // of a name that is looked at
constexpr size_t kMostVisits = size_t{16} << 20;  // values that are shared may be met more often than they are there

using Sums = std::array<double, kMemoryCauses>;

double Total(const Sums& sums) {
  double total = 0;
  for (const double sum : sums) total += sum;
  return total;
}

bool Holds(absl::string_view text, std::initializer_list<absl::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [text](absl::string_view word) { return absl::StrContains(text, word); });
}

// What a frame says of its whole stack; a lower one wins.
enum class Sign : uint8_t { kOptimizer, kBackward, kForward, kModel, kElse, kNone };

Sign SignOf(absl::string_view file, absl::string_view function) {
  file = file.substr(0, kMostText);
  function = function.substr(0, kMostText);
  if (Holds(file, {"/core/optimizer/", "/torch/optim/", "/optimizers/"})) return Sign::kOptimizer;
  if (function == "backward" || Holds(function, {"::Engine::evaluate_function"})) return Sign::kBackward;
  if (function == "forward" || function == "forward_step") return Sign::kForward;
  if (function == "__init__" || function == "reset_parameters" || Holds(function, {"_initialize_affine_weight"})) {
    return Sign::kModel;
  }
  return Sign::kElse;
}

MemoryCause CauseOf(Sign sign) {
  switch (sign) {
    case Sign::kOptimizer:
      return MemoryCause::kOptimizerState;
    case Sign::kModel:
      return MemoryCause::kParametersAndGradients;
    case Sign::kBackward:
      return MemoryCause::kBackward;
    case Sign::kForward:
      return MemoryCause::kForward;
    case Sign::kElse:
      return MemoryCause::kOther;
    case Sign::kNone:
      return MemoryCause::kUnknown;
  }
  return MemoryCause::kUnknown;
}

struct Block {
  double size = 0;   // that it takes
  double asked = 0;  // rounded up: of large ones the allocator may give more
  MemoryCause cause = MemoryCause::kUnknown;
};
using Blocks = absl::flat_hash_map<int64_t, Block>;  // by address

class Reader {
 public:
  explicit Reader(const Pickle& pickle) : pickle_(pickle) {}

  absl::StatusOr<MemorySnapshot> Read() {
    const std::optional<Id> segments = pickle_.Get(pickle_.root(), "segments");
    const std::optional<Id> traces = pickle_.Get(pickle_.root(), "device_traces");
    if (!segments.has_value()) return absl::InvalidArgumentError("it is no snapshot of PyTorch's allocator");
    const absl::Span<const Id> by_device = traces.has_value() ? pickle_.Items(*traces) : absl::Span<const Id>();
    MemorySnapshot fullest;
    for (const int64_t device : DevicesOf(*segments, by_device.size())) {
      const bool traced = device >= 0 && static_cast<size_t>(device) < by_device.size();
      const MemorySnapshot snapshot = Of(
          device, *segments, traced ? pickle_.Items(by_device[static_cast<size_t>(device)]) : absl::Span<const Id>());
      if (std::max(snapshot.peak, snapshot.allocated) > std::max(fullest.peak, fullest.allocated)) fullest = snapshot;
    }
    if (visits_ > kMostVisits) return absl::InvalidArgumentError("it holds more than is read");
    return fullest;
  }

 private:
  using Id = Pickle::Id;

  // False: enough.
  bool Visit() { return ++visits_ <= kMostVisits; }

  int64_t Number(Id dict, absl::string_view key) const {
    const std::optional<Id> value = pickle_.Get(dict, key);
    return value.has_value() ? pickle_.Number(*value) : 0;
  }
  absl::string_view Text(Id dict, absl::string_view key) const {
    const std::optional<Id> value = pickle_.Get(dict, key);
    return value.has_value() ? pickle_.Text(*value) : absl::string_view();
  }

  std::vector<int64_t> DevicesOf(Id segments, size_t traced) {
    std::vector<int64_t> devices;
    const auto add = [&devices](int64_t device) {
      constexpr size_t kMostDevices = 64;  // a process sees those of one node
      if (devices.size() < kMostDevices && std::find(devices.begin(), devices.end(), device) == devices.end()) {
        devices.push_back(device);
      }
    };
    for (size_t i = 0; i < traced; ++i) add(static_cast<int64_t>(i));
    for (const Id segment : pickle_.Items(segments)) {
      if (!Visit()) break;
      add(Number(segment, "device"));
    }
    return devices;
  }

  MemoryCause Cause(Id dict) {
    const std::optional<Id> frames = pickle_.Get(dict, "frames");
    if (!frames.has_value()) return MemoryCause::kUnknown;
    const auto [place, added] = stacks_.try_emplace(*frames, MemoryCause::kUnknown);
    if (!added) return place->second;
    Sign sign = Sign::kNone;
    for (const Id frame : pickle_.Items(*frames)) {
      if (!Visit()) break;
      sign = std::min(sign, FrameSign(frame));
    }
    return place->second = CauseOf(sign);
  }

  // Stacks share their frames.
  Sign FrameSign(Id frame) {
    const auto [place, added] = frames_.try_emplace(frame, Sign::kElse);
    if (added) place->second = SignOf(Text(frame, "filename"), Text(frame, "name"));
    return place->second;
  }

  static double Rounded(int64_t size) {
    if (size <= 0 || size > kLargestBlock) return 0;
    const int64_t rounded = (size + kRounding - 1) / kRounding * kRounding;
    return static_cast<double>(rounded);
  }

  MemorySnapshot Of(int64_t device, Id segments, absl::Span<const Id> trace) {
    MemorySnapshot snapshot;
    snapshot.device = device;
    const Blocks last = LiveBlocks(device, segments, &snapshot.reserved);
    Sums sums = {};
    for (const auto& [address, block] : last) sums[static_cast<size_t>(block.cause)] += block.size;
    snapshot.allocated = Total(sums);
    snapshot.by_cause = sums;
    if (!trace.empty()) Replay(trace, last, &snapshot);
    return snapshot;
  }

  Blocks LiveBlocks(int64_t device, Id segments, double* reserved) {
    Blocks live;
    for (const Id segment : pickle_.Items(segments)) {
      if (!Visit()) break;
      if (Number(segment, "device") != device) continue;
      *reserved += Rounded(Number(segment, "total_size"));
      const std::optional<Id> blocks = pickle_.Get(segment, "blocks");
      if (!blocks.has_value()) continue;
      int64_t address = Number(segment, "address");
      for (const Id block : pickle_.Items(*blocks)) {
        if (!Visit()) break;
        const int64_t written = Number(block, "address");  // PyTorch below 2.1 writes none
        const int64_t size = Number(block, "size"), asked = Number(block, "requested_size");
        if (absl::StartsWith(Text(block, "state"), "active")) {
          live[written != 0 ? written : address] = {Rounded(size), Rounded(asked > 0 ? asked : size), Cause(block)};
        }
        if (size > 0 && size <= kLargestBlock && address < (int64_t{1} << 62)) address += size;
      }
    }
    return live;
  }

  // The history from its first event to its last. What is given back in it without having been taken was there before.
  void Replay(absl::Span<const Id> trace, const Blocks& last, MemorySnapshot* snapshot) {
    Blocks live;
    Sums now = {}, most = {}, before = {};
    double highest = 0;
    const size_t unknown = static_cast<size_t>(MemoryCause::kUnknown);
    for (const Id event : trace) {
      if (!Visit()) break;
      ++snapshot->events;
      const absl::string_view action = Text(event, "action");
      const int64_t address = Number(event, "addr");
      if (action == "oom") ++snapshot->out_of_memory;
      if (action == "alloc") {
        Block block = {Rounded(Number(event, "size")), Rounded(Number(event, "size")), Cause(event)};
        // The history has only what was asked; the block that is there now, or was taken like it, has its size.
        const auto now_there = last.find(address);
        if (now_there != last.end() && now_there->second.asked == block.asked) block.size = now_there->second.size;
        live[address] = block;
        now[static_cast<size_t>(block.cause)] += block.size;
        if (Total(now) > highest) {
          highest = Total(now);
          most = now;
        }
      } else if (action == "free_completed") {
        const auto known = live.find(address);
        const Block block = known != live.end() ? known->second : Block{.size = Rounded(Number(event, "size"))};
        now[static_cast<size_t>(block.cause)] -= block.size;
        if (known == live.end()) before[unknown] += block.size;
        if (known != live.end()) live.erase(known);
      }
    }
    for (const auto& [address, block] : last) {
      if (!live.contains(address)) before[static_cast<size_t>(block.cause)] += block.size;
    }
    for (size_t i = 0; i < kMemoryCauses; ++i) snapshot->by_cause[i] = std::max(0.0, most[i] + before[i]);
    snapshot->peak = Total(snapshot->by_cause);
  }

  const Pickle& pickle_;
  size_t visits_ = 0;
  absl::flat_hash_map<Id, MemoryCause> stacks_;  // by their list of frames
  absl::flat_hash_map<Id, Sign> frames_;
};

}  // namespace

absl::string_view Name(MemoryCause cause) {
  switch (cause) {
    case MemoryCause::kParametersAndGradients:
      return "parameters_and_gradients";
    case MemoryCause::kOptimizerState:
      return "optimizer_state";
    case MemoryCause::kForward:
      return "forward";
    case MemoryCause::kBackward:
      return "backward";
    case MemoryCause::kOther:
      return "other";
    case MemoryCause::kUnknown:
      return "unknown";
  }
  return "";
}

absl::StatusOr<MemorySnapshot> ReadMemorySnapshot(absl::string_view bytes) {
  FLIGHTPLAN_ASSIGN_OR_RETURN(const Pickle pickle, Pickle::Read(bytes));
  return Reader(pickle).Read();
}

}  // namespace flightplan
