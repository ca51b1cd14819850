#include "resolver/explain/model_message.h"

#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "flightplan/v1/hardware.pb.h"
#include "flightplan/v1/model.pb.h"
#include "google/protobuf/descriptor.h"
#include "resolver/plan/model_fields.h"

namespace flightplan {
namespace {

// The contract's counts are 32 bits wide; a site's entry may hold more, and then the largest one is shown.
int32_t Narrow(int64_t value) {
  if (value > std::numeric_limits<int32_t>::max()) return std::numeric_limits<int32_t>::max();
  if (value < std::numeric_limits<int32_t>::min()) return std::numeric_limits<int32_t>::min();
  return static_cast<int32_t>(value);
}

// Sets a message field from an optional member, when there is a value.
template <class T, class Message, class Arg>
void Put(const std::optional<T>& value, Message* message, void (Message::*set)(Arg)) {
  if (!value.has_value()) return;
  if constexpr (std::is_same_v<T, int64_t> && std::is_same_v<Arg, int32_t>) {
    (message->*set)(Narrow(*value));
  } else {
    (message->*set)(*value);
  }
}

// The model's numbers that ModelSpec has no field for: they travel in extra_dimensions under the member's name.
const std::vector<const ModelField*>& ExtraFields() {
  static const auto* const kExtra = [] {
    auto* extra = new std::vector<const ModelField*>();
    for (const ModelField& field : ModelFields()) {
      const bool number = std::holds_alternative<std::optional<int64_t> ModelSpec::*>(field.member) ||
                          std::holds_alternative<std::optional<double> ModelSpec::*>(field.member);
      const std::string name(field.name);
      if (number && name.rfind("published_", 0) != 0 && v1::ModelSpec::descriptor()->FindFieldByName(name) == nullptr) {
        extra->push_back(&field);
      }
    }
    return extra;
  }();
  return *kExtra;
}

void ShapeToMessage(const ModelSpec& model, v1::ModelSpec* message) {
  using M = v1::ModelSpec;
  message->set_num_layers(Narrow(model.num_layers));
  message->set_hidden_size(Narrow(model.hidden_size));
  Put(model.ffn_hidden_size, message, &M::set_ffn_hidden_size);
  message->set_num_attention_heads(Narrow(model.num_attention_heads));
  message->set_num_query_groups(Narrow(model.num_query_groups));
  Put(model.kv_channels, message, &M::set_kv_channels);
  message->set_vocab_size(Narrow(model.vocab_size));
  message->set_tie_embeddings(model.tie_embeddings.value_or(false));
  message->set_attention(model.attention);
  Put(model.q_lora_rank, message, &M::set_q_lora_rank);
  Put(model.kv_lora_rank, message, &M::set_kv_lora_rank);
  Put(model.qk_head_dim, message, &M::set_qk_head_dim);
  Put(model.qk_pos_emb_head_dim, message, &M::set_qk_pos_emb_head_dim);
  Put(model.v_head_dim, message, &M::set_v_head_dim);
  message->set_activation(model.activation);
  message->set_normalization(model.normalization);
  message->set_qk_layernorm(model.qk_layernorm.value_or(false));
  message->set_add_qkv_bias(model.add_qkv_bias.value_or(false));
  message->set_add_bias_linear(model.add_bias_linear.value_or(false));
  Put(model.max_position_embeddings, message, &M::set_max_position_embeddings);
  Put(model.rotary_base, message, &M::set_rotary_base);
  Put(model.rotary_percent, message, &M::set_rotary_percent);
  if (model.rope_scaling_type.has_value()) message->set_rope_scaling_type(*model.rope_scaling_type);
  Put(model.window_size, message, &M::set_window_size);
  Put(model.mtp_num_layers, message, &M::set_mtp_num_layers);
}

void ExpertsToMessage(const ModelSpec& model, v1::ModelSpec* message) {
  using M = v1::ModelSpec;
  Put(model.num_moe_experts, message, &M::set_num_moe_experts);
  Put(model.moe_router_topk, message, &M::set_moe_router_topk);
  Put(model.moe_ffn_hidden_size, message, &M::set_moe_ffn_hidden_size);
  Put(model.moe_shared_expert_intermediate_size, message, &M::set_moe_shared_expert_intermediate_size);
  message->set_moe_shared_expert_gate(model.moe_shared_expert_gate.value_or(false));
  Put(model.moe_latent_size, message, &M::set_moe_latent_size);
  if (!model.moe_layer_freq.empty()) message->set_moe_layer_freq(FormatPattern(model.moe_layer_freq));
  if (model.moe_router_score_function.has_value()) {
    message->set_moe_router_score_function(*model.moe_router_score_function);
  }
  Put(model.moe_router_pre_softmax, message, &M::set_moe_router_pre_softmax);
  message->set_moe_router_enable_expert_bias(model.moe_router_enable_expert_bias.value_or(false));
  Put(model.moe_router_num_groups, message, &M::set_moe_router_num_groups);
  Put(model.moe_router_group_topk, message, &M::set_moe_router_group_topk);
  Put(model.moe_router_topk_scaling_factor, message, &M::set_moe_router_topk_scaling_factor);
}

}  // namespace

void ModelToMessage(const ModelSpec& model, v1::ModelSpec* message) {
  message->set_name(model.name);
  message->set_family(model.family);
  if (model.hf_id.has_value()) message->set_hf_id(*model.hf_id);
  if (model.architecture.has_value()) message->set_architecture(*model.architecture);
  ShapeToMessage(model, message);
  ExpertsToMessage(model, message);
  for (const ModelField* field : ExtraFields()) {
    const Value value = GetField(*field, model);
    if (!value.is_none()) (*message->mutable_extra_dimensions())[std::string(field->name)] = value.real();
  }
  if (model.computed.has_value()) {
    v1::ParameterCounts* counts = message->mutable_parameters();
    counts->set_total_count(model.computed->total);
    counts->set_total_with_mtp_count(model.computed->total_with_mtp);
    counts->set_active_count(model.computed->active);
    counts->set_active_without_input_embedding_count(model.computed->active_without_input_embedding);
  }
  for (const std::string& source : model.sources) message->add_sources(source);
  message->set_notes(model.notes);
}

void GpuToMessage(const GpuSystem& gpu, v1::GpuSystem* message) {
  using G = v1::GpuSystem;
  message->set_name(gpu.name);
  for (const std::string& alias : gpu.aliases) message->add_aliases(alias);
  message->set_device_name(gpu.device_name);
  if (gpu.cc_major > 0) message->set_compute_capability(absl::StrCat(gpu.cc_major, ".", gpu.cc_minor));
  Put(gpu.hbm_bytes, message, &G::set_hbm_bytes);
  Put(gpu.hbm_bytes_per_second, message, &G::set_hbm_bytes_per_second);
  Put(gpu.bf16_flops_per_second, message, &G::set_bf16_flops_per_second);
  Put(gpu.fp8_flops_per_second, message, &G::set_fp8_flops_per_second);
  Put(gpu.fp4_flops_per_second, message, &G::set_fp4_flops_per_second);
  Put(gpu.sm_count, message, &G::set_sm_count);
  Put(gpu.nvlink_bytes_per_second, message, &G::set_nvlink_bytes_per_second);
  message->set_nvlink_domain_gpu_count(Narrow(gpu.nvlink_domain_gpus));
  Put(gpu.nic_bytes_per_second, message, &G::set_nic_bytes_per_second);
  Put(gpu.host_link_bytes_per_second, message, &G::set_host_link_bytes_per_second);
  message->set_gpus_per_node_count(Narrow(gpu.gpus_per_node));
  for (const std::string& backend : gpu.flex_backends) message->add_flex_backends(backend);
  for (const std::string& recipe : gpu.fp8_recipes) message->add_fp8_recipes(recipe);
  message->set_source(gpu.source);
  message->set_notes(gpu.notes);
}

}  // namespace flightplan
