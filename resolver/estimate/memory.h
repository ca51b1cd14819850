// Says whether a plan fits: the memory of one GPU of every stage with its error band. The formulas are those of
// derive/memory; what is added here is how far each part may be off.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"
#include "resolver/derive/memory.h"

namespace flightplan {

struct GpuMemory {
  double capacity = 0;  // bytes a process can have; 0: not known
  MemoryDevice device;
  double node_memory = 0;  // main memory of one node; 0: not known
  int gpus_per_node = 8;
};

struct Band {
  double low = 0, value = 0, high = 0;
};

enum class FitVerdict : uint8_t {
  kUnknown,     // not judged: an input is missing
  kFits,        // the upper end of the band is within the capacity
  kMarginal,    // the point forecast is, the upper end of the band is not
  kDoesNotFit,  // the point forecast is above the capacity
};
absl::string_view Name(FitVerdict verdict);  // "fits"

// Share of a GPU's memory that the forecast of a plan of ours may fill. Held out, nine forecasts in ten are within 4.2
// % of what was measured (tests/memory), so that a plan inside it fits with nine chances in ten.
inline constexpr double kRoom = 0.94;
// Up to here some nine in ten still start; of those that fill all of it one in two.
inline constexpr double kTightRoom = 0.97;
// Shares of the memory that plans may fill, as every search tries them: those that fit with nine chances in ten, and
// then those that may just fit.
inline constexpr double kRooms[] = {kRoom, kTightRoom, 1};
// The first of kRooms that holds a plan which fills this share, above all of them the share itself: what fills no more
// ranks as the plan does.
double RoomOf(double filled);
// The share that may be filled in the place of a plan that fills `filled`. Nearly the same, one backend's buffers more,
// is no less likely to fit; but what fills more than the next of kRooms ranks behind the plan.
double RoomInPlaceOf(double filled);

struct StageForecast {
  int rank = 0;
  StageBytes bytes;
  Band allocated;  // PyTorch's max_memory_allocated
  Band total;      // what the device must have
  Band device;     // what nvidia-smi shows (estimate/device_memory); only in the forecast of an answer
};

struct MemoryForecast {
  StageForecast fullest;
  FitVerdict verdict = FitVerdict::kUnknown;
  // The part that makes up most of the half of the band in which the capacity lies: what to measure or to pin down.
  MemoryPart widest = MemoryPart::kParameters;
};

// No allocation; a microsecond or two. The fullest stage is the one with the largest total.
void ForecastMemory(const ModelShape& shape, const Candidate& candidate, const GpuMemory& gpu, MemoryForecast* out);

// One stage of a prepared model; `widest` (optional): the part that contributes most to the upper half of the band.
StageForecast ForecastStage(const MemoryModel& model, const Candidate& candidate, int rank,
                            MemoryPart* widest = nullptr);

FitVerdict Judge(const Band& total, double capacity);

// A candidate whose bound is above the capacity cannot be judged kFits or kMarginal: parameters, gradients and
// optimizer state alone, at the lower end of their band.
double MemoryLowerBound(const MemoryModel& model);
// Main memory of a node whose ranks are all of this stage.
Band ForecastHost(const MemoryModel& model, const Candidate& candidate, int rank, const GpuMemory& gpu);

double MemoryLowerBound(const ModelShape& shape, const Candidate& candidate, const MemoryDevice& device);

}  // namespace flightplan
