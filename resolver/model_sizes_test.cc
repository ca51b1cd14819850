// Sizes of the model that the caller pins are the sizes that are weighed, as in the launch that the answer renders.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/support/answers.h"
#include "tests/support/requests.h"

namespace flightplan {
namespace {

using testing::LaunchOf;
using testing::MostBytes;
using testing::Pin;
using testing::Resolved;
using testing::SetSizes;
using testing::Sizes;
using testing::StepUs;
using testing::Training;
using testing::Validated;

struct Model {
  const char* name;
  int gpus;
  Sizes sizes;
};
constexpr Model kQwen = {"qwen3-30b-a3b", 16, {.tp = 1, .pp = 2, .vpp = 8, .ep = 8}};
constexpr Model kLlama = {"llama-3.1-8b", 8, {.tp = 2, .pp = 1}};
constexpr Model kDeepSeek = {"deepseek-v3", 1024, {.tp = 2, .pp = 8, .vpp = 4, .ep = 64}};
constexpr Model kNext = {"qwen3-next-80b-a3b", 64, {.tp = 1, .pp = 2, .ep = 32}};

v1::ResolveConfigRequest Ask(const Model& model) {
  v1::ResolveConfigRequest request = Training(model.name, "h100-sxm", model.gpus, 4096, 16 * model.gpus);
  SetSizes(model.sizes, &request);
  request.mutable_layout()->set_micro_batch_size(1);
  return request;
}

TEST(ModelSizes, AreWeighedAsPinned) {
  struct Case {
    Model model;
    const char* knob;
    int value;
  };
  for (const Case& c : {Case{kQwen, "num_layers", 32},
                        {kQwen, "hidden_size", 2560},
                        {kQwen, "num_attention_heads", 64},
                        {kQwen, "num_query_groups", 32},
                        {kQwen, "kv_channels", 64},
                        {kQwen, "vocab_size", 300000},
                        {kQwen, "num_moe_experts", 64},
                        {kQwen, "moe_router_topk", 4},
                        {kQwen, "moe_ffn_hidden_size", 1536},
                        {kQwen, "moe_shared_expert_intermediate_size", 768},
                        {kLlama, "ffn_hidden_size", 28672},
                        {kLlama, "hidden_size", 8192},
                        {kLlama, "num_attention_heads", 64},
                        {kDeepSeek, "q_lora_rank", 768},
                        {kDeepSeek, "kv_lora_rank", 1024},
                        {kDeepSeek, "qk_head_dim", 64},
                        {kDeepSeek, "qk_pos_emb_head_dim", 128},
                        {kDeepSeek, "v_head_dim", 256},
                        {kNext, "linear_num_value_heads", 64},
                        {kNext, "linear_value_head_dim", 256}}) {
    SCOPED_TRACE(::testing::Message() << c.model.name << " " << c.knob << "=" << c.value);
    const v1::ResolveConfigResponse plain = Resolved(Ask(c.model));
    v1::ResolveConfigRequest request = Ask(c.model);
    Pin(c.knob, c.value, &request);
    const v1::ResolveConfigResponse answer = Resolved(request);
    EXPECT_NE(std::pair(MostBytes(answer), StepUs(answer)), std::pair(MostBytes(plain), StepUs(plain)));
    if (c.knob != std::string("moe_router_topk")) {
      EXPECT_NE(answer.model().parameters().total_count(), plain.model().parameters().total_count());
    }
    const v1::ValidateConfigResponse judged = Validated(LaunchOf(request, answer));
    EXPECT_DOUBLE_EQ(MostBytes(judged), MostBytes(answer));
    EXPECT_DOUBLE_EQ(judged.estimate().step_time_us().value(), StepUs(answer));
  }
}

TEST(ModelSizes, WindowsAndLayersOfExpertsAreSizesToo) {
  v1::ResolveConfigRequest window = Ask(kQwen), layers = Ask(kQwen), every_second = Ask(kQwen);
  v1::KnobValue tokens;
  for (const int each : {127, 0}) tokens.mutable_list_value()->add_values()->set_int_value(each);
  Pin("window_size", tokens, &window);
  Pin("moe_layer_freq", "[1,0]*24", &layers);
  Pin("moe_layer_freq", 2, &every_second);
  EXPECT_EQ(StepUs(Resolved(layers)), StepUs(Resolved(every_second)));
  for (const v1::ResolveConfigRequest* const request : {&window, &layers, &every_second}) {
    const v1::ResolveConfigResponse answer = Resolved(*request);
    EXPECT_NE(StepUs(answer), StepUs(Resolved(Ask(kQwen))));
    const v1::ValidateConfigResponse judged = Validated(LaunchOf(*request, answer));
    EXPECT_DOUBLE_EQ(MostBytes(judged), MostBytes(answer));
    EXPECT_DOUBLE_EQ(judged.estimate().step_time_us().value(), StepUs(answer));
  }
}

}  // namespace
}  // namespace flightplan
