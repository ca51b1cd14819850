#include "resolver/normalize/model_message.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "flightplan/v1/model.pb.h"
#include "google/rpc/error_details.pb.h"
#include "resolver/catalog/catalog.h"
#include "resolver/normalize/violations.h"
#include "resolver/resolver.h"

namespace flightplan {
namespace {

v1::ModelSpec SmallMoe() {
  v1::ModelSpec message;
  message.set_num_layers(4);
  message.set_hidden_size(512);
  message.set_num_attention_heads(8);
  message.set_vocab_size(1000);
  message.set_num_moe_experts(16);
  message.set_moe_router_topk(2);
  message.set_moe_ffn_hidden_size(256);
  return message;
}

std::map<std::string, std::string> FaultsOf(const v1::ModelSpec& message) {
  Violations violations;
  ModelFromMessage(message, "spec", &violations);
  const auto payload = violations.ToStatus().GetPayload(kBadRequestPayload);
  google::rpc::BadRequest details;
  std::map<std::string, std::string> faults;
  if (!payload.has_value() || !details.ParseFromString(std::string(*payload))) return faults;
  for (const auto& fault : details.field_violations()) faults[fault.field()] = fault.description();
  return faults;
}

TEST(ModelMessage, EveryCatalogueModelComesBack) {
  const Catalog catalog = *Catalog::Builtin();
  for (ModelSpec model : catalog.models()) {
    std::sort(model.knobs.begin(), model.knobs.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    v1::ModelSpec sent;
    ModelToMessage(model, &sent);
    Violations violations;
    ModelSpec back = ModelFromMessage(sent, "spec", &violations);
    EXPECT_TRUE(violations.empty()) << model.name << ": " << violations.ToStatus();
    back.computed = model.computed;  // what answers alone say
    back.sources = model.sources;
    back.notes = model.notes;
    v1::ModelSpec again;
    ModelToMessage(back, &again);
    EXPECT_EQ(again.DebugString(), sent.DebugString()) << model.name;
  }
}

TEST(ModelMessage, CompletesWhatIsLeftOut) {
  Violations violations;
  const ModelSpec model = ModelFromMessage(SmallMoe(), "spec", &violations);
  EXPECT_TRUE(violations.empty()) << violations.ToStatus();
  EXPECT_EQ(model.name, "unnamed");
  EXPECT_EQ(model.num_query_groups, 8);
  EXPECT_EQ(model.kv_channels, 64);
  EXPECT_EQ(model.attention, "gqa");
  EXPECT_TRUE(model.gated_linear_unit);
  EXPECT_EQ(model.moe_layer_freq, (std::vector<int64_t>{1, 1, 1, 1}));

  v1::ModelSpec message = SmallMoe();
  message.set_activation("squared_relu");
  message.set_ffn_hidden_size(2048);
  message.set_moe_layer_freq("2");
  EXPECT_EQ(ModelFromMessage(message, "spec", &violations).moe_layer_freq, (std::vector<int64_t>{1, 0, 1, 0}));
  message.set_moe_layer_freq("[0]*1+[1]*3");
  const ModelSpec other = ModelFromMessage(message, "spec", &violations);
  EXPECT_TRUE(violations.empty()) << violations.ToStatus();
  EXPECT_FALSE(other.gated_linear_unit);
  EXPECT_EQ(other.moe_layer_freq, (std::vector<int64_t>{0, 1, 1, 1}));
}

TEST(ModelMessage, NamesWhatIsWrong) {
  v1::ModelSpec message = SmallMoe();
  message.set_num_layers(0);
  message.set_moe_router_topk(17);
  message.set_attention("mla");
  message.set_name(std::string(300, 'x'));
  (*message.mutable_extra_dimensions())["num_layerz"] = 3;
  (*message.mutable_extra_dimensions())["mamba_num_heads"] = 0.5;
  (*message.mutable_extra_fields())["linear_attention_freq"].set_string_value("[1]*");
  (*message.mutable_extra_fields())["attention_output_gate"].set_int_value(1);
  (*message.mutable_extra_fields())["\xe6\xa8\xa1"].set_bool_value(true);
  message.add_knobs()->set_name("layernorm_epsilonn");
  const std::map<std::string, std::string> faults = FaultsOf(message);
  for (const char* field : {"spec.num_layers", "spec.moe_router_topk", "spec.kv_lora_rank", "spec.name",
                            "spec.extra_dimensions[num_layerz]", "spec.extra_dimensions[mamba_num_heads]",
                            "spec.extra_fields[linear_attention_freq]", "spec.extra_fields[attention_output_gate]",
                            "spec.extra_fields[\xe6\xa8\xa1]", "spec.knobs[0].name"}) {
    EXPECT_EQ(faults.count(field), 1U) << field;
  }
  EXPECT_NE(faults.at("spec.extra_dimensions[num_layerz]").find("mamba_num_heads"), std::string::npos);
}

TEST(ModelMessage, OneFaultForAField) {
  v1::ModelSpec message = SmallMoe();
  message.set_num_layers(-1);
  EXPECT_EQ(FaultsOf(message).at("spec.num_layers"), "is -1; needs an integer from 1 to 10000");
}

}  // namespace
}  // namespace flightplan
