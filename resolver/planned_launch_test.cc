#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "tests/support/answers.h"
#include "tests/support/requests.h"

namespace flightplan {
namespace {

using testing::FindFinding;
using testing::Pin;
using testing::QwenOnSixteen;
using testing::Resolved;
using testing::SetSizes;

constexpr char kNotWritten[] = "launch.pin-not-written";

v1::ResolveConfigRequest Question(const char* framework) {
  v1::ResolveConfigRequest request = QwenOnSixteen();
  SetSizes({.tp = 1, .pp = 1, .ep = 8}, &request);
  request.mutable_target()->set_framework(framework);
  return request;
}

// What the answer says of the caller's word that its launch may leave out.
template <typename T>
v1::Severity SaidOf(const char* framework, const char* knob, const T& value) {
  v1::ResolveConfigRequest request = Question(framework);
  Pin(knob, value, &request);
  const v1::ResolveConfigResponse response = Resolved(request);
  const v1::Finding* const found = FindFinding(response.findings(), kNotWritten);
  if (found == nullptr) return v1::SEVERITY_UNSPECIFIED;
  EXPECT_TRUE(absl::StartsWith(found->seen(), absl::StrCat(knob, "="))) << found->seen();
  EXPECT_EQ(response.will_run(), found->severity() != v1::SEVERITY_ERROR);
  return found->severity();
}

TEST(PlannedLaunch, AdaptersThatItCannotSayAreAnError) {
  for (const char* framework : {"megatron-lm", "slime", "vime", "primus"}) {
    EXPECT_EQ(SaidOf(framework, "peft.scheme", "lora"), v1::SEVERITY_ERROR) << framework;
  }
  for (const char* framework :
       {"megatron-bridge", "ms-swift", "miles", "verl", "nemo-rl", "roll", "flagscale", "loongforge"}) {
    EXPECT_EQ(SaidOf(framework, "peft.scheme", "lora"), v1::SEVERITY_UNSPECIFIED) << framework;
  }
}

TEST(PlannedLaunch, WhatChangesTheMemoryIsAnErrorAndTheRestAWarning) {
  EXPECT_EQ(SaidOf("nemo-rl", "use_megatron_fsdp", true), v1::SEVERITY_ERROR);
  EXPECT_EQ(SaidOf("ms-swift", "num_distributed_optimizer_instances", 2), v1::SEVERITY_ERROR);
  EXPECT_EQ(SaidOf("megatron-lm", "decoupled_weight_decay", false), v1::SEVERITY_ERROR);
  EXPECT_EQ(SaidOf("megatron-lm", "disable_parameter_transpose_cache", true), v1::SEVERITY_WARNING);
}

TEST(PlannedLaunch, WhatItSaysByAnotherWordIsNoFinding) {
  EXPECT_EQ(SaidOf("megatron-lm", "average_in_collective", true), v1::SEVERITY_UNSPECIFIED);
  EXPECT_EQ(SaidOf("megatron-bridge", "ddp_bucket_size", 100'000'000), v1::SEVERITY_UNSPECIFIED);
  EXPECT_EQ(SaidOf("megatron-bridge", "dataset.kind", "gpt"), v1::SEVERITY_UNSPECIFIED);
  EXPECT_EQ(SaidOf("nemo-rl", "fp16", true), v1::SEVERITY_UNSPECIFIED);
  for (const char* framework :
       {"megatron-lm", "megatron-bridge", "slime", "ms-swift", "verl", "nemo-rl", "roll", "primus", "flagscale"}) {
    EXPECT_EQ(SaidOf(framework, "use_distributed_optimizer", true), v1::SEVERITY_UNSPECIFIED) << framework;
    EXPECT_EQ(SaidOf(framework, "micro_batch_size", 1), v1::SEVERITY_UNSPECIFIED) << framework;
    EXPECT_EQ(SaidOf(framework, "recompute_granularity", "full"), v1::SEVERITY_UNSPECIFIED) << framework;
    EXPECT_EQ(SaidOf(framework, "vocab_size", 151'936), v1::SEVERITY_UNSPECIFIED) << framework;
    EXPECT_EQ(SaidOf(framework, "swiglu", true), v1::SEVERITY_UNSPECIFIED) << framework;
    EXPECT_EQ(SaidOf(framework, "bf16", true), v1::SEVERITY_UNSPECIFIED) << framework;
  }
}

}  // namespace
}  // namespace flightplan
