#include "resolver/estimate/device_memory.h"

#include <gtest/gtest.h>

#include <cmath>

#include "resolver/catalog/memory_coefficients.h"

namespace flightplan {
namespace {

constexpr double kMib = 1 << 20, kGib = 1 << 30;

enum class Kind { kDense, kExperts, kOffload };

Candidate Of(Kind kind) {
  Candidate candidate;
  if (kind == Kind::kOffload) candidate.offload_modules = 1;
  return candidate;
}

StageForecast Allocated(double bytes) {
  StageForecast stage;
  stage.allocated = stage.total = {bytes, bytes, bytes};
  return stage;
}

// max_memory_allocated and max_memory_reserved that runs printed; tests/memory/README.md names them.
struct Pair {
  const char* run;
  Kind kind;
  double allocated, reserved;  // MiB
};

constexpr Pair kPairs[] = {
    {"DeepSeek-V3 of 14 layers, PP4 EP16, rank 0", Kind::kExperts, 65203.93, 74306},
    {"rank 16", Kind::kExperts, 52228.15, 58770},
    {"rank 32", Kind::kExperts, 45200.83, 51772},
    {"rank 48", Kind::kExperts, 48166.26, 56328},
    {"the same, activations on the host, rank 0", Kind::kOffload, 48544.71, 61046},
    {"rank 16", Kind::kOffload, 38760.39, 46330},
    {"rank 32", Kind::kOffload, 34950.25, 42452},
    {"rank 48", Kind::kOffload, 41310.80, 50408},
    {"Ling-mini-2.0", Kind::kExperts, 63359.77, 66802},
    {"Qwen3 MoE under NeMo", Kind::kExperts, 51432, 55004},
    {"GPT 65B, TP4 PP4", Kind::kDense, 47104.31, 48934},
    {"dense 1.7B", Kind::kDense, 50277.16, 53386},
    {"dense 6.4B in FP8", Kind::kDense, 75078.43, 75682},
    {"Llama-2 of 3B, PP4", Kind::kDense, 15754.89, 16334},
    {"Llama-2 7B, PP4", Kind::kDense, 30227.65, 31086},
    {"Llama-3.2 1B under Megatron-Bridge", Kind::kDense, 12003.60, 12232},
    {"Llama-3 8B, TP2 PP2", Kind::kDense, 44819.13, 45930},
};

TEST(DeviceBand, HoldsWhatAllocatorsReserved) {
  for (const Pair& pair : kPairs) {
    const Band band = DeviceBand(Allocated(pair.allocated * kMib), Of(pair.kind), pair.kind == Kind::kExperts, 0);
    EXPECT_NEAR(band.value / (pair.reserved * kMib), 1, 0.08) << pair.run;
    EXPECT_LE(band.low, pair.reserved * kMib) << pair.run;
    EXPECT_GE(band.high, pair.reserved * kMib) << pair.run;
  }
}

TEST(DeviceBand, OfExpertsIsWiderUnlessTheirRowsArePadded) {
  const StageForecast stage = Allocated(50 * kGib);
  Candidate padded;
  padded.drop_pad = true;
  const double experts = DeviceBand(stage, {}, true, 0).value, dense = DeviceBand(stage, {}, false, 0).value;
  EXPECT_GT(experts, dense);
  EXPECT_EQ(DeviceBand(stage, padded, true, 0).value, dense);
}

// The allocator gives freed blocks back where the GPU has no more.
TEST(DeviceBand, EndsAtWhatTheGpuHas) {
  const Band band = DeviceBand(Allocated(75 * kGib), {}, true, 79 * kGib);
  EXPECT_EQ(band.value, 79 * kGib);
  EXPECT_EQ(band.high, 79 * kGib);
  EXPECT_LT(band.low, 79 * kGib);
  EXPECT_EQ(DeviceBand(Allocated(90 * kGib), {}, true, 79 * kGib).low, 79 * kGib);
}

TEST(DeviceBand, CountsCommunicatorsAsUsed) {
  StageForecast stage = Allocated(10 * kGib);
  const double before = DeviceBand(stage, {}, false, 0).value;
  stage.bytes[MemoryPart::kCommunicators] = 3 * memory::kCommunicatorBytes.value;
  EXPECT_NEAR(DeviceBand(stage, {}, false, 0).value - before, 3 * memory::kCommunicatorUsedBytes.value, 1e3);
}

TEST(DeviceBand, IsNeverBelowWhatTheRunMustHave) {
  StageForecast stage = Allocated(10 * kGib);
  stage.total = {11 * kGib, 12 * kGib, 14 * kGib};
  const Band band = DeviceBand(stage, {}, false, 0);
  EXPECT_GE(band.value, 12 * kGib);
  EXPECT_GE(band.high, band.value);
  EXPECT_LE(band.low, band.value);
}

}  // namespace
}  // namespace flightplan
