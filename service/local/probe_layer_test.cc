#include "service/local/probe_layer.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "google/rpc/error_details.pb.h"
#include "resolver/catalog/catalog.h"

namespace flightplan::service {
namespace {

const Catalog& TheCatalog() {
  static const Catalog& catalog = *new Catalog(*Catalog::Builtin());
  return catalog;
}

v1::RunProbeRequest Of(const std::string& model) {
  v1::RunProbeRequest request;
  request.mutable_model()->set_name(model);
  return request;
}

// The layer, or the fields that are wrong: "!layout seq_length".
std::string LayerOf(const v1::RunProbeRequest& request) {
  Violations violations;
  std::string layer = ProbedLayer(request, TheCatalog(), &violations);
  if (violations.empty()) return layer;
  google::rpc::BadRequest bad;
  bad.ParseFromString(std::string(*violations.ToStatus().GetPayload(kBadRequestPayload)));
  std::string fields = "!";
  for (const auto& violation : bad.field_violations()) fields += (fields.size() > 1 ? " " : "") + violation.field();
  return fields;
}

TEST(ProbedLayer, IsTheWorkersOwnWithoutAModel) {
  EXPECT_EQ(LayerOf({}), "");
  v1::RunProbeRequest request;
  request.mutable_layout()->set_expert_model_parallel_size(16);
  EXPECT_EQ(LayerOf(request), "!model");
  request = {};
  request.set_seq_length(8192);
  EXPECT_EQ(LayerOf(request), "!model");
}

TEST(ProbedLayer, IsWhatOneRankHasOfTheModel) {
  EXPECT_EQ(
      LayerOf(Of("qwen3-30b-a3b")),
      "tokens=4096,hidden=2048,experts=128,topk=8,ffn=768,ranks=8,sequence=4096,heads=32,kv_heads=4,head_dim=128");
  v1::RunProbeRequest request = Of("qwen3-30b-a3b");
  v1::Layout& layout = *request.mutable_layout();
  layout.set_tensor_model_parallel_size(2);
  layout.set_context_parallel_size(4);
  layout.set_expert_model_parallel_size(32);
  layout.set_expert_tensor_parallel_size(2);
  layout.set_micro_batch_size(2);
  request.set_seq_length(16384);
  EXPECT_EQ(
      LayerOf(request),
      "tokens=4096,hidden=2048,experts=128,topk=8,ffn=384,ranks=32,sequence=16384,heads=32,kv_heads=4,head_dim=128");
}

// Latent attention has no heads of keys; 60 experts are not shared out by eight.
TEST(ProbedLayer, LeavesOutWhatTheModelHasNot) {
  EXPECT_EQ(LayerOf(Of("deepseek-v3")), "tokens=4096,hidden=7168,experts=256,topk=8,ffn=2048,ranks=8,sequence=4096");
  EXPECT_TRUE(absl::StrContains(LayerOf(Of("qwen1.5-moe-a2.7b")), "experts=60,topk=4,ffn=1408,ranks=6,"));
  v1::RunProbeRequest own;
  own.mutable_model()->set_hf_config_json(
      R"({"architectures": ["MixtralForCausalLM"], "model_type": "mixtral", "hidden_size": 1024, "num_hidden_layers": 4,
          "num_attention_heads": 16, "num_key_value_heads": 8, "intermediate_size": 2048, "vocab_size": 32000,
          "num_local_experts": 16, "num_experts_per_tok": 2})");
  EXPECT_EQ(LayerOf(own),
            "tokens=4096,hidden=1024,experts=16,topk=2,ffn=2048,ranks=8,sequence=4096,heads=16,kv_heads=8,head_dim=64");
}

TEST(ProbedLayer, NamesTheFieldThatIsWrong) {
  EXPECT_EQ(LayerOf(Of("nobodys-model")), "!model.name");
  EXPECT_EQ(LayerOf(Of("llama2-13b")), "!model");
  v1::RunProbeRequest request = Of("deepseek-v3");
  request.mutable_layout()->set_expert_model_parallel_size(7);
  EXPECT_EQ(LayerOf(request), "!layout.expert_model_parallel_size");
  request.mutable_layout()->set_expert_model_parallel_size(1);
  EXPECT_EQ(LayerOf(request), "!layout.expert_model_parallel_size");
  request.mutable_layout()->set_expert_model_parallel_size(0);
  EXPECT_EQ(LayerOf(request), "!layout.expert_model_parallel_size");
  request.mutable_layout()->set_expert_model_parallel_size(8);
  request.mutable_layout()->set_expert_tensor_parallel_size(3);
  request.mutable_layout()->set_context_parallel_size(3);
  EXPECT_EQ(LayerOf(request), "!layout layout.expert_tensor_parallel_size");
  for (const int64_t length : {int64_t{0}, int64_t{-1}, (int64_t{1} << 24) + 1}) {
    request = Of("deepseek-v3");
    request.set_seq_length(length);
    EXPECT_EQ(LayerOf(request), "!seq_length") << length;
  }
}

}  // namespace
}  // namespace flightplan::service
