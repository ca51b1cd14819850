#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "flightplan/v1/timeline.pb.h"
#include "resolver/base/utf8.h"
#include "resolver/plan/knob_value.h"
#include "resolver/plan/reading.h"
#include "resolver/resolver.h"
#include "tests/support/answers.h"
#include "tests/support/requests.h"

namespace flightplan {
namespace {

using testing::DeepSeekOnH100;
using testing::Pin;
using testing::Resolved;
using testing::TestResolver;
using testing::ViolatedFields;

TEST(RequestBounds, TextThatIsNoUtf8IsTheCallersFault) {
  v1::ResolveConfigRequest request = DeepSeekOnH100();
  request.mutable_layout()->set_pipeline_model_parallel_layout("Et*3|(tt|)*\xabm|L");
  v1::ResolveConfigResponse response;
  EXPECT_EQ(TestResolver().ResolveConfig(request, &response).code(), absl::StatusCode::kInvalidArgument);
}

// tests/properties/extremes_check.cc has the rest of all requests.
TEST(RequestBounds, AFigureThatNoMachineHasIsRefused) {
  v1::ResolveConfigRequest request = DeepSeekOnH100();
  v1::ResolveConfigResponse response;
  for (const double odd : {1e-300, 999'999.0, 1.1e15, std::numeric_limits<double>::quiet_NaN()}) {
    request.mutable_hardware()->mutable_fabric()->set_nvlink_bytes_per_second(odd);
    EXPECT_EQ(ViolatedFields(TestResolver().ResolveConfig(request, &response)),
              std::set<std::string>{"hardware.fabric.nvlink_bytes_per_second"});
  }
  for (const double edge : {1e6, 1e15}) {
    request.mutable_hardware()->mutable_fabric()->set_nvlink_bytes_per_second(edge);
    const absl::Status status = TestResolver().ResolveConfig(request, &response);
    EXPECT_TRUE(status.ok()) << status;
  }
}

// The GPU waits for one or for the other.
TEST(RequestBounds, WaitsAreNoMoreThanAWholeStep) {
  v1::ResolveConfigRequest request = DeepSeekOnH100();
  v1::ResolveConfigResponse response;
  request.mutable_profile()->set_exposed_communication_ratio(0.7);
  request.mutable_profile()->set_host_gap_ratio(0.7);
  EXPECT_EQ(ViolatedFields(TestResolver().ResolveConfig(request, &response)),
            std::set<std::string>{"profile.exposed_communication_ratio"});
  request.mutable_profile()->set_host_gap_ratio(0.3);
  EXPECT_TRUE(TestResolver().ResolveConfig(request, &response).ok());
}

TEST(RequestBounds, OneStageHasNoBubble) {
  v1::ResolveConfigRequest request = DeepSeekOnH100();
  v1::ResolveConfigResponse response;
  request.mutable_profile()->set_pipeline_bubble_ratio(0.3);
  EXPECT_TRUE(TestResolver().ResolveConfig(request, &response).ok());
  request.mutable_layout()->set_pipeline_model_parallel_size(1);
  request.mutable_layout()->clear_virtual_pipeline_model_parallel_size();
  request.mutable_layout()->clear_pipeline_model_parallel_layout();
  EXPECT_EQ(ViolatedFields(TestResolver().ResolveConfig(request, &response)),
            std::set<std::string>{"profile.pipeline_bubble_ratio"});
}

TEST(RequestBounds, AnUnknownReleaseIsToldTheNearest) {
  v1::ResolveConfigRequest request = DeepSeekOnH100();
  request.mutable_target()->set_framework("megatron-lm");
  request.mutable_target()->set_version("0.12");
  const v1::ResolveConfigResponse answer = Resolved(request);
  const v1::Finding* const unknown = testing::FindFinding(answer.findings(), "target.unknown-version");
  ASSERT_NE(unknown, nullptr);
  EXPECT_NE(unknown->seen().find("0.15 is the nearest"), std::string::npos) << unknown->seen();
}

TEST(RequestBounds, WhatIsRefusedIsNamedAsItWasGiven) {
  v1::ResolveConfigRequest request = DeepSeekOnH100();
  request.mutable_software()->set_te_version("banana");
  v1::ResolveConfigResponse response;
  std::string message(TestResolver().ResolveConfig(request, &response).message());
  EXPECT_NE(message.find("'banana' is not a version"), std::string::npos) << message;
  request.mutable_software()->clear_te_version();
  request.mutable_hardware()->set_reserved_bytes(int64_t{100} << 30);
  message = std::string(TestResolver().ResolveConfig(request, &response).message());
  EXPECT_NE(message.find("not 100 GiB"), std::string::npos) << message;
  request.mutable_hardware()->clear_reserved_bytes();
  request.mutable_model()->set_name("foo");
  message = std::string(TestResolver().ResolveConfig(request, &response).message());
  EXPECT_NE(message.find("`flightplan models`"), std::string::npos) << message;
}

TEST(RequestBounds, AnAnswerNeverHoldsHalfACharacter) {
  v1::ResolveConfigRequest request = DeepSeekOnH100();
  request.mutable_layout()->set_pipeline_model_parallel_layout("Et*3|(tt|)*2\xc7\x9a|L");
  v1::ResolveConfigResponse response;
  const absl::Status status = TestResolver().ResolveConfig(request, &response);
  EXPECT_TRUE(status.ok()) << status;
}

// Text of the caller is cut between characters wherever a refusal quotes it.
TEST(RequestBounds, QuotesLongTextsByWholeCharacters) {
  for (const char* shift : {"", "x", "xx"}) {
    std::string text = shift;
    for (int i = 0; i < 100; ++i) text += "\xe6\xa8\xa1";  // 300 bytes, three to a character
    v1::ResolveConfigRequest request = DeepSeekOnH100();
    request.mutable_model()->set_name(text);
    request.mutable_workload()->set_precision(text);
    request.mutable_software()->mutable_dispatchers()->add_backends(text);
    Pin("moe_token_dispatcher_type", text, &request);
    ConfigAnswer answer;
    const absl::Status status = TestResolver().AnswerResolve(request, EvidenceSnapshot::Empty(), &answer);
    EXPECT_EQ(ViolatedFields(status).size(), 4U) << status;
    EXPECT_TRUE(IsUtf8(status.message())) << shift;
  }
}

// Each variable alone is short enough.
TEST(RequestBounds, VariablesHaveABoundTogether) {
  v1::ResolveConfigRequest request = DeepSeekOnH100();
  const std::string value(size_t{64} * 1024 - 2, 'x');
  for (const char* name : {"V1", "V2", "V3", "V4"}) (*request.mutable_env())[name] = value;
  v1::ResolveConfigResponse response;
  EXPECT_TRUE(TestResolver().ResolveConfig(request, &response).ok());
  (*request.mutable_env())["V"] = "";
  v1::ValidateConfigRequest judged;
  *judged.mutable_env() = request.env();
  for (const absl::Status& status :
       {TestResolver().ResolveConfig(request, &response),
        TestResolver().AnswerValidate(judged, EvidenceSnapshot::Empty(), std::make_unique<ConfigAnswer>().get())}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(ViolatedFields(status).count("env"), 1U) << status;
  }
}

TEST(RequestBounds, PackagesHaveABoundEachAndTogether) {
  v1::ResolveConfigRequest request = DeepSeekOnH100();
  const auto fields = [&] {
    v1::ResolveConfigResponse response;
    return ViolatedFields(TestResolver().ResolveConfig(request, &response));
  };
  google::protobuf::Map<std::string, std::string>& packages = *request.mutable_software()->mutable_packages();
  packages[std::string(128, 'n')] = std::string(1024, 'v');
  EXPECT_EQ(fields(), std::set<std::string>());
  packages[std::string(129, 'n')] = "1";
  EXPECT_EQ(fields(), std::set<std::string>{"software.packages"});
  packages.clear();
  packages["deep_ep"] = std::string(1025, 'v');
  EXPECT_EQ(fields(), std::set<std::string>{"software.packages[deep_ep]"});
  packages.clear();
  for (int i = 0; i < 256; ++i) packages[std::to_string(1000 + i)] = std::string(1020, 'v');
  EXPECT_EQ(fields(), std::set<std::string>());
  packages["1"] = "";
  EXPECT_EQ(fields(), std::set<std::string>{"software.packages"});
  v1::ResolveConfigResponse response;
  EXPECT_EQ(TestResolver().ResolveConfig(request, &response).message(),
            "software.packages: is longer than 256 KiB together");
  request.mutable_software()->set_driver_version(std::string(129, '5'));
  request.mutable_software()->set_cudnn_version(std::string(129, '9'));
  request.mutable_software()->mutable_dispatchers()->set_transport(std::string(129, 't'));
  EXPECT_EQ(fields(), (std::set<std::string>{"software.packages", "software.driver_version", "software.cudnn_version",
                                             "software.dispatchers.transport"}));
}

// Each entry is right. tests/properties/extremes_check.cc has long lists of names that are not.
TEST(RequestBounds, AListThatRepeatsItselfHasABound) {
  v1::DescribeTimelineRequest request;
  *request.mutable_resolve() = DeepSeekOnH100();
  for (int i = 0; i < 65; ++i) {
    request.add_zooms(v1::TIMELINE_ZOOM_STEP);
    request.mutable_resolve()->add_dialects("yaml");
    request.mutable_resolve()->mutable_software()->mutable_dispatchers()->add_backends("deepep");
  }
  v1::DescribeTimelineResponse timeline;
  EXPECT_EQ(ViolatedFields(TestResolver().DescribeTimeline(request, &timeline)), std::set<std::string>{"zooms"});
  v1::ResolveConfigResponse response;
  EXPECT_EQ(ViolatedFields(TestResolver().ResolveConfig(request.resolve(), &response)),
            (std::set<std::string>{"dialects", "software.dispatchers.backends"}));
}

TEST(RequestBounds, NamesOfFilesAndFormsHaveABound) {
  v1::ValidateConfigRequest request;
  request.mutable_target()->set_framework("megatron-lm");
  request.mutable_file()->set_text("--num-layers 4\n");
  request.mutable_file()->set_name(std::string(4097, 'f'));
  request.set_input_format(std::string(129, 'f'));
  v1::TextFile* file = request.add_model_files();
  file->set_name(std::string(4097, 'm'));
  v1::ValidateConfigResponse response;
  EXPECT_EQ(ViolatedFields(TestResolver().ValidateConfig(request, &response)),
            (std::set<std::string>{"file.name", "input_format", "model_files[0].name"}));
  request.clear_input_format();
  request.mutable_file()->set_name(std::string(4096, 'f'));
  file->set_name(std::string(4096, 'm'));
  const absl::Status status = TestResolver().ValidateConfig(request, &response);
  EXPECT_TRUE(status.ok()) << status;
}

// A file holds a value of any length; rules look at each name of a list, and are asked again for every fix.
TEST(RequestBounds, AListOfAFileHasTheBoundOfOneInARequest) {
  v1::ValidateConfigRequest request;
  request.mutable_target()->set_framework("megatron-bridge");
  request.set_input_format("bridge-perf");
  v1::ValidateConfigResponse response;
  for (const size_t names : {kMaxNames, kMaxNames + 1}) {
    std::string list = "attn";
    for (size_t i = 1; i < names; ++i) list += ",attn";
    request.mutable_file()->set_text("-m deepseek -mr deepseek_v3 -g gb200 -ng 256 --cuda_graph_scope " + list);
    const absl::Status status = TestResolver().ValidateConfig(request, &response);
    EXPECT_EQ(ViolatedFields(status).count("config"), names > kMaxNames ? 1U : 0U) << status;
  }
}

// More of them are not looked at one by one, only to say that they are too many.
TEST(RequestBounds, APinThatContradictsTheLayoutIsRefused) {
  v1::ResolveConfigRequest request = DeepSeekOnH100();
  v1::ResolveConfigResponse response;
  Pin("tensor_model_parallel_size", 2, &request);
  Pin("seq_length", 4096, &request);
  EXPECT_TRUE(TestResolver().ResolveConfig(request, &response).ok()) << "they say the same";
  Pin("expert_model_parallel_size", 32, &request);
  Pin("global_batch_size", 4096, &request);  // as a fix of the batch is applied
  request.mutable_knobs()->set_pipeline_model_parallel_size(4);
  EXPECT_EQ(ViolatedFields(TestResolver().ResolveConfig(request, &response)),
            (std::set<std::string>{"pinned_knobs[2]", "knobs.pipeline_model_parallel_size"}));
}

// Sizes of a search are 32 bits: 2^32 + 8 were 8.
TEST(RequestBounds, APinnedSizeIsWithinWhatALayoutMayBe) {
  for (const int64_t size : {int64_t{-4294967288}, int64_t{0}, int64_t{1 << 20} + 1, int64_t{4294967304}}) {
    v1::ResolveConfigRequest request = DeepSeekOnH100();
    v1::ResolveConfigResponse response;
    request.clear_layout();
    v1::KnobValue value;
    value.set_int_value(size);
    Pin("tensor_model_parallel_size", value, &request);
    const absl::Status status = TestResolver().ResolveConfig(request, &response);
    EXPECT_EQ(ViolatedFields(status), (std::set<std::string>{"pinned_knobs[0]"})) << size << ": " << status;
    v1::PlanLayoutsRequest open;
    *open.mutable_base() = request;
    v1::PlanResult result;
    EXPECT_EQ(TestResolver().PlanLayouts(open, {}, &result).code(), absl::StatusCode::kInvalidArgument) << size;
  }
}

TEST(RequestBounds, APinnedLengthAndBatchAreTheWorkload) {
  v1::ResolveConfigRequest pinned = DeepSeekOnH100();
  v1::ResolveConfigRequest said = pinned;
  said.mutable_workload()->set_seq_length(8192);
  said.mutable_workload()->set_global_batch_size(1024);
  Pin("seq_length", 8192, &pinned);
  Pin("global_batch_size", 1024, &pinned);
  v1::ResolveConfigResponse by_pin, by_workload;
  ASSERT_TRUE(TestResolver().ResolveConfig(pinned, &by_pin).ok());
  ASSERT_TRUE(TestResolver().ResolveConfig(said, &by_workload).ok());
  EXPECT_EQ(by_pin.estimate().DebugString(), by_workload.estimate().DebugString());
  EXPECT_EQ(by_pin.layout().DebugString(), by_workload.layout().DebugString());

  pinned.clear_pinned_knobs();
  Pin("seq_length", 0, &pinned);
  EXPECT_EQ(ViolatedFields(TestResolver().ResolveConfig(pinned, &by_pin)), (std::set<std::string>{"pinned_knobs[0]"}));
}

TEST(RequestBounds, AWordOnWhatIsNotAskedForIsRefused) {
  v1::ValidateConfigRequest request = testing::WordsOf("megatron-lm", "--num-layers 2");
  v1::ValidateConfigResponse response;
  request.set_repair_convergence(true);
  EXPECT_EQ(ViolatedFields(TestResolver().ValidateConfig(request, &response)),
            (std::set<std::string>{"repair_convergence"}));
  request.clear_repair_convergence();
  request.set_repair_room(true);
  EXPECT_EQ(ViolatedFields(TestResolver().ValidateConfig(request, &response)), (std::set<std::string>{"repair_room"}));
  request.set_repair(true);
  EXPECT_TRUE(TestResolver().ValidateConfig(request, &response).ok());
  request.set_input_format("shell");  // which is a file
  const absl::Status shell = TestResolver().ValidateConfig(request, &response);
  EXPECT_NE(shell.message().find("use argv"), std::string::npos) << shell;
  request.mutable_knobs()->mutable_knobs()->set_num_layers(2);
  EXPECT_EQ(ViolatedFields(TestResolver().ValidateConfig(request, &response)), (std::set<std::string>{"input_format"}));
}

TEST(RequestBounds, AnInputHasABoundOfWords) {
  v1::ValidateConfigResponse response;
  for (const size_t words : {kMaxWords, kMaxWords + 1}) {
    v1::ValidateConfigRequest file, arguments;
    for (v1::ValidateConfigRequest* request : {&file, &arguments}) request->mutable_target()->set_framework("ms-swift");
    std::string text = "--recompute_modules";
    arguments.mutable_arguments()->add_values(text);
    for (size_t i = 1; i < words; ++i) {
      text += " m";
      arguments.mutable_arguments()->add_values("m");
    }
    file.mutable_file()->set_text(text);
    file.set_input_format("argv");
    const bool over = words > kMaxWords;
    EXPECT_EQ(ViolatedFields(TestResolver().ValidateConfig(file, &response)).count("file.text"), over ? 1U : 0U);
    EXPECT_EQ(ViolatedFields(TestResolver().ValidateConfig(arguments, &response)).count("arguments.values"),
              over ? 1U : 0U);
  }
}

TEST(RequestBounds, SaysEverythingThatIsWrongWithTheRequest) {
  v1::ResolveConfigRequest request;
  request.mutable_model()->set_name("deepseek-v33");
  request.mutable_hardware()->set_gpu("h100-sxmm");
  request.mutable_hardware()->set_gpu_count(-8);
  request.mutable_workload()->set_seq_length(-1);
  request.mutable_workload()->set_precision("fp9");
  request.mutable_target()->set_framework("megatron");
  request.mutable_layout()->set_tensor_model_parallel_size(0);
  request.mutable_profile()->set_host_gap_ratio(std::numeric_limits<double>::quiet_NaN());
  request.set_stage(static_cast<v1::Stage>(99));
  request.set_view(static_cast<v1::AnswerView>(99));
  request.add_pinned_knobs()->set_name("moe_router_topkk");
  (*request.mutable_env())["A=B"] = "x";
  v1::ResolveConfigResponse response;
  const absl::Status status = TestResolver().ResolveConfig(request, &response);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  const std::set<std::string> fields = ViolatedFields(status);
  for (const char* field :
       {"model.name", "hardware.gpu", "hardware.gpu_count", "workload.seq_length", "workload.global_batch_size",
        "workload.precision", "target.framework", "layout.tensor_model_parallel_size", "profile.host_gap_ratio",
        "stage", "view", "pinned_knobs[0].name", "env"}) {
    EXPECT_EQ(fields.count(field), 1U) << field;
  }
}

TEST(RequestBounds, RefusesAbsurdSizesWithoutOverflow) {
  v1::ResolveConfigRequest request = DeepSeekOnH100();
  v1::ModelSpec* spec = request.mutable_model()->mutable_spec();
  spec->set_num_layers(std::numeric_limits<int32_t>::max());
  spec->set_hidden_size(-1);
  spec->set_num_moe_experts(std::numeric_limits<int32_t>::max());
  v1::ResolveConfigResponse response;
  const absl::Status status = TestResolver().ResolveConfig(request, &response);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ViolatedFields(status).count("model.spec.num_moe_experts"), 1U);
}

TEST(RequestBounds, AnswersTheLargestSizesItAccepts) {
  v1::ResolveConfigRequest request = DeepSeekOnH100();
  request.mutable_hardware()->set_gpu_count(1 << 20);
  request.mutable_workload()->set_seq_length(1 << 24);
  request.mutable_workload()->set_global_batch_size(1 << 30);
  v1::Layout* layout = request.mutable_layout();
  layout->set_tensor_model_parallel_size(1 << 20);
  layout->set_pipeline_model_parallel_size(1 << 20);
  layout->set_context_parallel_size(1 << 20);
  layout->set_expert_model_parallel_size(1 << 20);
  const v1::ResolveConfigResponse response = Resolved(request);
  EXPECT_EQ(response.outcome(), v1::OUTCOME_INFEASIBLE);
}

TEST(RequestBounds, VirtualStagesThatALayoutContradictsAreRefused) {
  v1::ResolveConfigRequest request = DeepSeekOnH100();
  v1::Layout& layout = *request.mutable_layout();
  layout.set_pipeline_model_parallel_size(2);
  layout.set_pipeline_model_parallel_layout("Et*15|t*15|t*15|t*16,m,L");
  const auto fields = [&](int vpp) {
    layout.set_virtual_pipeline_model_parallel_size(vpp);
    v1::ResolveConfigResponse response;
    return ViolatedFields(TestResolver().ResolveConfig(request, &response));
  };
  EXPECT_EQ(fields(1), (std::set<std::string>{"layout.virtual_pipeline_model_parallel_size"}));
  EXPECT_EQ(fields(4), (std::set<std::string>{"layout.virtual_pipeline_model_parallel_size"}));
  EXPECT_EQ(fields(2), (std::set<std::string>()));
}

}  // namespace
}  // namespace flightplan
