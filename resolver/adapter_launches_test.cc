#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "tests/support/answers.h"
#include "tests/support/requests.h"

namespace flightplan {
namespace {

using testing::FileOf;
using testing::FindEntry;
using testing::MostBytes;
using testing::Pin;
using testing::Resolved;
using testing::Training;
using testing::Validated;

// Of the same adapters, in the same samples: what was resolved is what is judged.
TEST(AdapterLaunches, TrainsTheAdaptersThatWereForecast) {
  struct Row {
    const char* framework;
    const char* model;
    const char* gpu;
    int gpus;
  };
  for (const Row& row :
       {Row{"megatron-bridge", "qwen3-30b-a3b", "h100-sxm", 8}, Row{"megatron-bridge", "llama-3.1-8b", "h100-sxm", 8},
        Row{"megatron-bridge", "moonlight-16b-a3b", "h100-sxm", 8},
        Row{"megatron-bridge", "gpt-oss-20b", "h100-sxm", 8}, Row{"megatron-bridge", "qwen3-235b-a22b", "h200-sxm", 16},
        Row{"verl", "qwen3-30b-a3b", "h100-sxm", 16}, Row{"nemo-rl", "qwen3-30b-a3b", "h100-sxm", 16},
        Row{"roll", "qwen3-30b-a3b", "h100-sxm", 16}, Row{"ms-swift", "qwen3-30b-a3b", "h100-sxm", 16},
        Row{"miles", "qwen3-30b-a3b", "h100-sxm", 16}}) {
    SCOPED_TRACE(absl::StrCat(row.framework, " ", row.model));
    v1::ResolveConfigRequest request = Training(row.model, row.gpu, row.gpus, 4096, 64);
    request.mutable_target()->set_framework(row.framework);
    Pin("peft.scheme", "lora", &request);
    const v1::ResolveConfigResponse plan = Resolved(request);
    ASSERT_GT(plan.launches_size(), 0);
    v1::ValidateConfigRequest launch = FileOf(row.framework, "a.sh", plan.launches(0).text());
    *launch.mutable_hardware() = request.hardware();
    const v1::ValidateConfigResponse judged = Validated(launch);
    EXPECT_TRUE(judged.accepted_by_stack());
    const v1::ConfigEntry* const rank = FindEntry(judged.config(), "peft.dim");
    const v1::ConfigEntry* const names = FindEntry(judged.config(), "peft.target_modules");
    EXPECT_NE(FindEntry(judged.config(), "peft.scheme"), nullptr);
    // The container's own defaults are what is wanted, and a recipe's may be.
    const bool container = row.framework == std::string("megatron-bridge");
    ASSERT_TRUE(container || (rank != nullptr && names != nullptr));
    EXPECT_TRUE(rank == nullptr || rank->value().int_value() == 32);
    EXPECT_TRUE(names == nullptr || names->value().list_value().values_size() == 4);
    if (!judged.has_estimate()) continue;
    EXPECT_NEAR(MostBytes(judged) / MostBytes(plan), 1, 0.01);
  }
}

}  // namespace
}  // namespace flightplan
