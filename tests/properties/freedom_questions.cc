#include "tests/properties/freedom_questions.h"

#include <iterator>
#include <random>

namespace flightplan::properties {
namespace {

struct KnownQuestion {
  const char* model;
  const char* gpu;
  int gpus, seq;
  int batch;  // samples of a step
  const char* target;
  int tp, pp, vpp, ep;  // vpp 0: left open
  v1::Stage stage;
  bool recent_te;  // TE 2.12.0; else not said
};

constexpr KnownQuestion kKnownQuestions[] = {
    {"qwen3-vl-30b-a3b", "h100-sxm", 128, 8192, 1024, "megatron-lm", 1, 2, 2, 32, v1::STAGE_TUNE, true},
    {"qwen2.5-72b", "rtx-pro-6000-server", 128, 16384, 256, "megatron-lm", 1, 8, 0, 1, v1::STAGE_PRODUCTION, false},
    {"ernie-4.5-21b-a3b", "b300-sxm", 16, 4096, 128, "megatron-bridge", 2, 2, 8, 4, v1::STAGE_TUNE, false},
    {"ernie-4.5-21b-a3b", "h100-sxm", 128, 16384, 512, "megatron-bridge", 1, 2, 0, 16, v1::STAGE_TUNE, false},
    {"llama-4-maverick", "a100-sxm-80gb", 256, 16384, 512, "megatron-lm", 4, 8, 0, 16, v1::STAGE_PRODUCTION, false},
    {"step-3.5-flash", "h200-sxm", 128, 4096, 256, "megatron-bridge", 1, 1, 0, 32, v1::STAGE_TUNE, true},
    {"gpt-oss-120b", "a800-sxm-80gb", 128, 8192, 128, "megatron-bridge", 1, 1, 0, 32, v1::STAGE_TUNE, false},
    {"step-3", "rtx-pro-6000-server", 256, 4096, 512, "megatron-lm", 8, 2, 2, 16, v1::STAGE_TUNE, false},
    {"step-3", "a100-sxm-80gb", 64, 16384, 128, "megatron-lm", 8, 2, 0, 16, v1::STAGE_BRING_UP, true},
    {"glm-4.6", "l40s", 128, 4096, 128, "megatron-bridge", 2, 4, 0, 32, v1::STAGE_BRING_UP, true},
    {"ernie-4.5-300b-a47b", "gb200-nvl16-or-partial", 256, 4096, 256, "megatron-lm", 1, 8, 4, 4, v1::STAGE_TUNE, true},
    {"qwen3.5-35b-a3b", "h200-sxm", 256, 4096, 512, "megatron-lm", 4, 4, 0, 8, v1::STAGE_TUNE, true},
    {"qwen2-57b-a14b", "a100-sxm-80gb", 64, 4096, 512, "megatron-lm", 1, 4, 0, 8, v1::STAGE_TUNE, false},
    {"qwen3.5-122b-a10b", "h20-sxm-96gb", 128, 16384, 256, "megatron-bridge", 1, 2, 0, 8, v1::STAGE_TUNE, false},
    {"ling-mini-2.0", "h800-sxm", 64, 16384, 128, "megatron-bridge", 8, 1, 0, 8, v1::STAGE_PRODUCTION, false},
    {"minimax-m2.5", "gb300-nvl72", 128, 16384, 128, "loongforge", 1, 1, 0, 32, v1::STAGE_TUNE, false},
    {"qwen3.5-397b-a17b", "h20-sxm-96gb", 256, 4096, 2048, "loongforge", 1, 2, 0, 64, v1::STAGE_TUNE, false},
    {"qwen3-coder-480b-a35b", "rtx-pro-6000-server", 128, 4096, 256, "loongforge", 1, 4, 0, 32, v1::STAGE_TUNE, false},
    {"megatron-gpt-22b", "h800-sxm", 128, 4096, 1024, "loongforge", 1, 4, 0, 1, v1::STAGE_PRODUCTION, true},
    {"qwen1.5-moe-a2.7b", "rtx-pro-6000-server", 16, 8192, 128, "roll", 2, 1, 1, 1, v1::STAGE_PRODUCTION, true},
    {"dbrx", "h100-sxm", 1024, 4096, 2048, "megatron-lm", 2, 2, 4, 16, v1::STAGE_PRODUCTION, true},
    {"step-3.5-flash", "h100-sxm", 1024, 4096, 1024, "loongforge", 1, 1, 0, 32, v1::STAGE_TUNE, true},
    {"qwen3.5-122b-a10b", "b300-sxm", 8, 16384, 64, "verl", 1, 1, 0, 4, v1::STAGE_BRING_UP, false},
    {"qwen3.5-35b-a3b", "a100-sxm-80gb", 128, 8192, 128, "slime", 1, 4, 0, 16, v1::STAGE_TUNE, false},
    {"qwen3.5-397b-a17b", "h100-sxm", 1024, 4096, 1024, "loongforge", 1, 2, 0, 64, v1::STAGE_PRODUCTION, true},
    {"step-3.5-flash", "b200-sxm", 64, 4096, 64, "megatron-lm", 4, 1, 1, 8, v1::STAGE_PRODUCTION, true},
    {"deepseek-v2", "gb200-nvl16-or-partial", 32, 8192, 64, "flagscale", 4, 1, 1, 32, v1::STAGE_TUNE, true},
    {"grok-1", "h200-sxm", 128, 4096, 128, "megatron-lm", 8, 4, 0, 4, v1::STAGE_PRODUCTION, true},
    {"qwen3.5-397b-a17b", "gb200-nvl16-or-partial", 128, 4096, 256, "primus", 4, 4, 0, 4, v1::STAGE_PRODUCTION, false},
    {"nemotron-3.5-lightning-30b-a3b", "a800-sxm-80gb", 1024, 16384, 2048, "nemo-rl", 1, 1, 0, 32, v1::STAGE_BRING_UP,
     true},
    {"qwen3-235b-a22b", "gb200-nvl72", 512, 8192, 1024, "roll", 1, 1, 1, 32, v1::STAGE_PRODUCTION, true},
    {"ernie-4.5-300b-a47b", "a800-sxm-80gb", 64, 16384, 256, "loongforge", 1, 4, 0, 16, v1::STAGE_PRODUCTION, true},
    {"qwen3.5-397b-a17b", "h20-sxm-96gb", 256, 16384, 1024, "loongforge", 2, 2, 0, 32, v1::STAGE_PRODUCTION, false},
    {"deepseek-v2", "h200-sxm", 32, 8192, 32, "loongforge", 1, 2, 0, 16, v1::STAGE_TUNE, false},
    {"deepseek-v3", "h20-sxm-96gb", 1024, 16384, 2048, "ms-swift", 1, 8, 0, 16, v1::STAGE_TUNE, true},
    {"kimi-k2", "b200-sxm", 256, 4096, 2048, "loongforge", 1, 4, 0, 16, v1::STAGE_TUNE, true},
    {"qwen3.5-122b-a10b", "a800-sxm-80gb", 128, 16384, 1024, "loongforge", 2, 2, 4, 32, v1::STAGE_PRODUCTION, false},
    {"qwen3-coder-480b-a35b", "b200-sxm", 256, 4096, 512, "megatron-bridge", 1, 2, 0, 32, v1::STAGE_PRODUCTION, false},
    {"dbrx", "b200-sxm", 32, 16384, 128, "flagscale", 1, 2, 0, 4, v1::STAGE_TUNE, false},
    {"qwen2-57b-a14b", "a100-sxm-80gb", 64, 16384, 128, "megatron-bridge", 2, 1, 0, 8, v1::STAGE_TUNE, true},
    {"glm-4.5", "h20-sxm-96gb", 512, 16384, 512, "loongforge", 1, 8, 0, 8, v1::STAGE_TUNE, false},
    {"kimi-k2", "a800-sxm-80gb", 1024, 8192, 8192, "megatron-lm", 8, 2, 0, 64, v1::STAGE_PRODUCTION, true},
    {"glm-4.5", "gb200-nvl72", 128, 8192, 512, "megatron-lm", 1, 4, 0, 4, v1::STAGE_PRODUCTION, false},
    {"glm-4.5", "a100-sxm-80gb", 256, 16384, 512, "megatron-lm", 2, 4, 0, 16, v1::STAGE_PRODUCTION, false},
    {"kimi-k2", "h200-sxm", 1024, 4096, 1024, "megatron-bridge", 4, 2, 0, 32, v1::STAGE_PRODUCTION, false},
    {"qwen3-coder-480b-a35b", "h800-sxm", 256, 16384, 512, "megatron-bridge", 1, 8, 0, 8, v1::STAGE_PRODUCTION, true},
    {"gpt-oss-120b", "b200-sxm", 128, 8192, 1024, "megatron-bridge", 8, 4, 0, 32, v1::STAGE_TUNE, true},
    {"ling-mini-2.0", "h100-sxm", 128, 16384, 128, "loongforge", 1, 4, 0, 16, v1::STAGE_TUNE, true},
    {"qwen3-vl-30b-a3b", "rtx-pro-6000-server", 8, 4096, 16, "slime", 1, 2, 0, 4, v1::STAGE_PRODUCTION, true},
    {"deepseek-v2-lite", "h100-sxm", 256, 16384, 1024, "megatron-lm", 1, 4, 2, 16, v1::STAGE_TUNE, false},
    {"deepseek-v2", "a100-sxm-80gb", 1024, 8192, 4096, "megatron-bridge", 4, 8, 0, 4, v1::STAGE_PRODUCTION, true},
    {"kimi-k2", "a800-sxm-80gb", 256, 4096, 2048, "loongforge", 2, 4, 8, 64, v1::STAGE_PRODUCTION, true},
    {"dbrx", "gb200-nvl72", 2048, 16384, 2048, "loongforge", 1, 1, 0, 16, v1::STAGE_PRODUCTION, false},
    {"kimi-linear-48b-a3b", "h100-sxm", 1024, 16384, 2048, "loongforge", 1, 2, 4, 32, v1::STAGE_PRODUCTION, false},
    {"qwen3-vl-30b-a3b", "h800-sxm", 128, 16384, 1024, "megatron-lm", 2, 4, 2, 16, v1::STAGE_TUNE, false},
    {"qwen3.5-35b-a3b", "a800-sxm-80gb", 32, 4096, 64, "megatron-lm", 8, 2, 0, 8, v1::STAGE_PRODUCTION, false},
    {"glm-4.5", "h100-sxm", 32, 8192, 256, "loongforge", 8, 4, 1, 8, v1::STAGE_BRING_UP, false},
    {"grok-1", "b300-sxm", 256, 4096, 256, "megatron-bridge", 8, 8, 0, 1, v1::STAGE_PRODUCTION, true},
    {"qwen3-vl-235b-a22b", "rtx-pro-6000-server", 2048, 8192, 4096, "loongforge", 1, 8, 0, 16, v1::STAGE_TUNE, false},
    {"glm-4.5", "h800-sxm", 128, 16384, 512, "nemo-rl", 1, 8, 0, 16, v1::STAGE_TUNE, false},
    {"qwen3.5-27b", "a800-sxm-80gb", 256, 16384, 512, "flagscale", 4, 8, 2, 1, v1::STAGE_PRODUCTION, true},
    {"deepseek-v4-pro", "h200-sxm", 512, 4096, 2048, "loongforge", 1, 4, 2, 32, v1::STAGE_PRODUCTION, false},
    {"ernie-4.5-21b-a3b", "rtx-pro-6000-server", 256, 16384, 512, "megatron-lm", 1, 2, 1, 4, v1::STAGE_BRING_UP, true},
    {"minimax-m2.5", "h20-sxm-96gb", 2048, 8192, 4096, "nemo-rl", 2, 2, 4, 32, v1::STAGE_PRODUCTION, true},
    {"deepseek-v3", "l40s", 512, 4096, 1024, "ms-swift", 1, 8, 1, 64, v1::STAGE_TUNE, true},
};

v1::ResolveConfigRequest RequestOf(const KnownQuestion& known) {
  v1::ResolveConfigRequest request;
  request.mutable_model()->set_name(known.model);
  request.mutable_hardware()->set_gpu(known.gpu);
  request.mutable_hardware()->set_gpu_count(known.gpus);
  request.mutable_workload()->set_seq_length(known.seq);
  request.mutable_workload()->set_global_batch_size(known.batch);
  request.mutable_target()->set_framework(known.target);
  request.set_stage(known.stage);
  v1::Layout* const layout = request.mutable_layout();
  layout->set_tensor_model_parallel_size(known.tp);
  layout->set_pipeline_model_parallel_size(known.pp);
  layout->set_expert_model_parallel_size(known.ep);
  if (known.vpp > 0) layout->set_virtual_pipeline_model_parallel_size(known.vpp);
  if (known.recent_te) request.mutable_software()->set_te_version("2.12.0");
  return request;
}

}  // namespace

Questions::Questions(const Catalog& catalog) {
  for (const ModelSpec& model : catalog.models()) models_.push_back(model.name);
  for (const GpuSystem& gpu : catalog.gpus()) {
    if (gpu.hbm_bytes.has_value()) gpus_.push_back({gpu.name, *gpu.hbm_bytes});
    domains_[gpu.name] = gpu.nvlink_domain_gpus;
  }
}

v1::ResolveConfigRequest Questions::Ask(uint64_t seed) const {
  std::mt19937_64 random(seed);
  const auto pick = [&](const auto& list) { return list[random() % std::size(list)]; };
  v1::ResolveConfigRequest request;
  request.mutable_model()->set_name(pick(models_));
  request.mutable_hardware()->set_gpu(pick(gpus_).first);
  static constexpr int kCounts[] = {8, 16, 32, 64, 128, 256, 512, 1024, 2048};
  const int gpus = pick(kCounts);
  request.mutable_hardware()->set_gpu_count(gpus);
  static constexpr int kSequences[] = {4096, 4096, 8192, 16384};
  request.mutable_workload()->set_seq_length(pick(kSequences));
  static constexpr int kBatches[] = {1, 2, 4, 8};
  request.mutable_workload()->set_global_batch_size(int64_t{gpus} * pick(kBatches));
  static constexpr const char* kTargets[] = {
      "megatron-lm", "megatron-bridge", "loongforge", "megatron-lm", "megatron-bridge", "loongforge", "flagscale",
      "ms-swift",    "nemo-rl",         "primus",     "roll",        "slime",           "verl"};
  request.mutable_target()->set_framework(pick(kTargets));
  static constexpr v1::Stage kStages[] = {v1::STAGE_PRODUCTION, v1::STAGE_TUNE, v1::STAGE_BRING_UP};
  request.set_stage(pick(kStages));
  static constexpr int kSizes[] = {1, 1, 2, 4, 8};
  static constexpr int kExperts[] = {1, 4, 8, 16, 32, 64};
  v1::Layout* layout = request.mutable_layout();
  layout->set_tensor_model_parallel_size(pick(kSizes));
  layout->set_pipeline_model_parallel_size(pick(kSizes));
  layout->set_expert_model_parallel_size(pick(kExperts));
  if (random() % 2 == 0) layout->set_virtual_pipeline_model_parallel_size(pick(kSizes));
  if (random() % 2 == 0) request.mutable_software()->set_te_version("2.12.0");
  return request;
}

int64_t Questions::DomainOf(const std::string& gpu) const {
  const auto known = domains_.find(gpu);
  return known == domains_.end() ? 0 : known->second;
}

int64_t Questions::MemoryOf(const std::string& gpu) const {
  for (const auto& [name, bytes] : gpus_) {
    if (name == gpu) return bytes;
  }
  return 0;
}

std::vector<v1::ResolveConfigRequest> KnownQuestions() {
  std::vector<v1::ResolveConfigRequest> requests;
  for (const KnownQuestion& question : kKnownQuestions) requests.push_back(RequestOf(question));
  return requests;
}

}  // namespace flightplan::properties
