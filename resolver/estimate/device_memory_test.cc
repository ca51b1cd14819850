#include "resolver/estimate/device_memory.h"

#include <gtest/gtest.h>

#include "resolver/base/bytes.h"
#include "resolver/catalog/memory_coefficients.h"

namespace flightplan {
namespace {

StageForecast Allocated(double bytes) {
  StageForecast stage;
  stage.allocated = stage.total = {bytes, bytes, bytes};
  return stage;
}

// tests/memory/device_check holds the bands to what runs printed.
TEST(CachedShare, IsThatOfTheRunsWhichAreLikeIt) {
  Candidate candidate;
  EXPECT_EQ(&CachedShare(candidate, false), &memory::kCachedDense);
  EXPECT_EQ(&CachedShare(candidate, true), &memory::kCachedExperts);
  candidate.offload_modules = 1;
  EXPECT_EQ(&CachedShare(candidate, true), &memory::kCachedOffload);
  candidate.expandable_segments = true;
  EXPECT_EQ(&CachedShare(candidate, true), &memory::kCachedExpandableExperts);
  EXPECT_EQ(&CachedShare(candidate, false), &memory::kCachedExpandableDense);
}

TEST(CachedShare, IsLargerWhereExpertsAreComputedAgain) {
  Candidate candidate;
  candidate.expandable_segments = true;
  candidate.recompute = RecomputeMode::kSelective;
  candidate.recompute_modules = kDropMoeAct | kDropLayernorm;
  EXPECT_EQ(&CachedShare(candidate, true), &memory::kCachedExpandableExperts);
  candidate.recompute_modules |= kDropMoe;
  EXPECT_EQ(&CachedShare(candidate, true), &memory::kCachedExpandableExpertsAgain);
  candidate.recompute = RecomputeMode::kFullUniform;
  candidate.recompute_modules = 0;
  EXPECT_EQ(&CachedShare(candidate, true), &memory::kCachedExpandableExpertsAgain);
  EXPECT_EQ(&CachedShare(candidate, false), &memory::kCachedExpandableDense);
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
  // What asks for more has no reading: one at the GPU's end would be below what is allocated.
  EXPECT_EQ(DeviceBand(Allocated(90 * kGib), {}, true, 79 * kGib).value, 0);
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
