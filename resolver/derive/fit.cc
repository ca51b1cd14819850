#include "resolver/derive/fit.h"

#include <algorithm>
#include <cmath>

#include "resolver/base/status_macros.h"
#include "resolver/derive/parameters.h"
#include "resolver/plan/pipeline_layout.h"

namespace flightplan {
namespace {

constexpr int64_t kMaxStages = 4096;  // beyond any real pipeline; keeps absurd sizes cheap

int64_t Size(const Config& config, Knob knob) { return std::max<int64_t>(1, config.Get(knob).integer()); }

// Bytes of a dtype knob; `standard` where it is not set.
double DtypeBytes(const Config& config, Knob knob, double standard) {
  const absl::string_view dtype = config.Get(knob).text();
  if (dtype == "fp32" || dtype == "float32") return 4;
  if (dtype == "bf16" || dtype == "bfloat16" || dtype == "fp16" || dtype == "float16") return 2;
  if (dtype == "fp8" || dtype == "uint8") return 1;
  return standard;
}

// Bytes per parameter by part, before sharding. Sources: Megatron-LM@d98e8a64dd megatron/core/optimizer
// (distrib_optimizer, DDP buffers); the table of the static-memory formulas.
struct BytesPerParameter {
  double weight = 2;  // outside low-precision linear layers
  double gradient = 4;
  double state = 12;
};

BytesPerParameter BytesOf(const Config& config) {
  BytesPerParameter bytes;
  const bool reduced_gradients = config.Get(Knob::grad_reduce_in_fp32).is_bool() &&
                                 !config.Get(Knob::grad_reduce_in_fp32).truthy() &&
                                 !config.Get(Knob::accumulate_allreduce_grads_in_fp32).truthy();
  if (config.Get(Knob::use_precision_aware_optimizer).truthy()) {
    bytes.gradient = DtypeBytes(config, Knob::main_grads_dtype, 4);
    bytes.state = DtypeBytes(config, Knob::main_params_dtype, 4) + DtypeBytes(config, Knob::exp_avg_dtype, 4) +
                  DtypeBytes(config, Knob::exp_avg_sq_dtype, 4);
  } else if (reduced_gradients) {
    bytes.gradient = 2;
    bytes.state = 16;  // a sharded fp32 copy of the gradients comes on top
  }
  if (config.Get(Knob::optimizer_cpu_offload).truthy()) {
    bytes.state *= 1 - std::clamp(config.Get(Knob::optimizer_offload_fraction).real(), 0.0, 1.0);
  }
  return bytes;
}

// Bytes of one weight of a linear layer. Low-precision GEMMs keep their own copies next to the bf16 weight, or in its
// place when the weight itself is kept in that precision (fp8_param, fp4_param). Two copies, by rows and by columns,
// but on Blackwell one layout serves both for per-tensor scales. Embedding, norms and router always stay bf16; so do
// MLA's down projections here, 0.1 % of DeepSeek-V3.
double LinearWeightBytes(const Config& config, int cc_major) {
  const auto on = [&](Knob knob) { return config.Get(knob).truthy(); };
  constexpr double kBf16 = 2;
  double copies = 0;
  if (on(Knob::fp4)) {
    copies = 2 * (0.5 + 1.0 / 16);  // a scale of one byte for 16 values
  } else if (on(Knob::fp8)) {
    const absl::string_view recipe = config.Get(Knob::fp8_recipe).text();
    if (recipe == "mxfp8") {
      copies = 2 * (1 + 1.0 / 32);  // a scale of one byte for 32 values
    } else if (recipe == "blockwise") {
      copies = 2 * (1 + 4.0 / (128 * 128));  // an fp32 scale for a block
    } else {
      copies = cc_major >= 10 ? 1 : 2;
    }
  } else {
    return kBf16;
  }
  const bool primary = on(Knob::fp4) ? on(Knob::fp4_param) || on(Knob::fp4_param_gather)
                                     : on(Knob::fp8_param) || on(Knob::fp8_param_gather);
  return primary ? copies : kBf16 + copies;
}

struct Sharding {
  double weights_by = 1;
  double states_by = 1;
};

Sharding ShardingOf(const Config& config, int64_t group) {
  Sharding sharding;
  const double size = static_cast<double>(std::max<int64_t>(1, group));
  // Several optimizer instances each hold the whole state.
  const double instances = static_cast<double>(Size(config, Knob::num_distributed_optimizer_instances));
  if (config.Get(Knob::use_distributed_optimizer).truthy()) sharding.states_by = std::max(1.0, size / instances);
  if (config.Get(Knob::use_megatron_fsdp).truthy() &&
      config.Get(Knob::data_parallel_sharding_strategy).text() == "optim_grads_params") {
    sharding.weights_by = size;
    sharding.states_by = size;
  }
  return sharding;
}

void Add(double parameters, double weight_bytes, const BytesPerParameter& bytes, const Sharding& sharding,
         StaticMemory* memory) {
  memory->parameters += std::llround(parameters * weight_bytes / sharding.weights_by);
  memory->gradients += std::llround(parameters * bytes.gradient / sharding.weights_by);
  memory->optimizer_state += std::llround(parameters * bytes.state / sharding.states_by);
}

std::vector<int64_t> EvenCells(int64_t cells, int64_t stages) {
  std::vector<int64_t> sizes(static_cast<size_t>(stages), cells / stages);
  for (int64_t i = 0; i < cells % stages; ++i) ++sizes[static_cast<size_t>(i)];
  return sizes;
}

// The vocabulary is padded to a multiple of the knob times TP; the factor is 1 where that does not change it.
double PaddedVocabulary(const ModelSpec& model, const Config& config) {
  const auto vocabulary = static_cast<double>(model.vocab_size);
  const double multiple = static_cast<double>(Size(config, Knob::make_vocab_size_divisible_by)) *
                          static_cast<double>(Size(config, Knob::tensor_model_parallel_size));
  if (model.vocab_size < 1 || multiple > 1e9) return 1;
  return std::ceil(vocabulary / multiple) * multiple / vocabulary;
}

// Sizes of the stages without a layout string, in decoder layers.
std::vector<int64_t> EvenStages(int64_t layers, int64_t stages, const Config& config) {
  std::vector<int64_t> sizes(static_cast<size_t>(stages), 0);
  const Value& first = config.Get(Knob::num_layers_in_first_pipeline_stage);
  const Value& last = config.Get(Knob::num_layers_in_last_pipeline_stage);
  // The embedding and the loss may each take the place of one layer.
  const bool embedding = stages > 1 && config.Get(Knob::account_for_embedding_in_pipeline_split).truthy();
  const bool loss = stages > 1 && config.Get(Knob::account_for_loss_in_pipeline_split).truthy();
  if (embedding || loss) {
    std::vector<int64_t> cells = EvenCells(layers + (embedding ? 1 : 0) + (loss ? 1 : 0), stages);
    if (embedding && cells.front() > 0) --cells.front();
    if (loss && cells.back() > 0) --cells.back();
    return cells;
  }
  int64_t rest = layers;
  int64_t open = stages;
  if (first.is_int() && stages > 1) {
    sizes.front() = std::clamp<int64_t>(first.integer(), 0, rest);
    rest -= sizes.front();
    --open;
  }
  if (last.is_int() && stages > 1) {
    sizes.back() = std::clamp<int64_t>(last.integer(), 0, rest);
    rest -= sizes.back();
    --open;
  }
  int64_t extra = open > 0 ? rest % open : 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const bool fixed =
        (i == 0 && first.is_int() && stages > 1) || (i + 1 == sizes.size() && last.is_int() && stages > 1);
    if (fixed || open <= 0) continue;
    sizes[i] = rest / open + (extra > 0 ? 1 : 0);
    if (extra > 0) --extra;
  }
  return sizes;
}

std::vector<StageContents> FromLayout(const PipelineLayout& layout, int64_t ranks) {
  std::vector<StageContents> stages(static_cast<size_t>(ranks));
  int64_t next = 0;
  for (size_t i = 0; i < layout.stages.size(); ++i) {
    StageContents& stage = stages[i % static_cast<size_t>(ranks)];
    for (char letter : layout.stages[i]) {
      if (letter == 't') stage.layers.push_back(next++);
      if (letter == 'E') stage.embedding = true;
      if (letter == 'L') stage.output = true;
      if (letter == 'm') ++stage.mtp_depths;
    }
  }
  return stages;
}

}  // namespace

std::vector<StageContents> SplitStages(const ModelSpec& model, const Config& config) {
  const int64_t ranks = std::min(Size(config, Knob::pipeline_model_parallel_size), kMaxStages);
  const Value& written = config.Get(Knob::pipeline_model_parallel_layout);
  if (!written.is_none() && ranks > 1) {
    const PipelineLayout layout = ParsePipelineLayout(written, ranks);
    if (layout.fault == PipelineLayout::Fault::kNone && layout.Count('t') == model.num_layers) {
      return FromLayout(layout, ranks);
    }
  }
  std::vector<StageContents> stages(static_cast<size_t>(ranks));
  const std::vector<int64_t> sizes = EvenStages(model.num_layers, ranks, config);
  int64_t next = 0;
  // With interleaving a rank's chunks are spread; which layers it holds matters little for its sum, how many does.
  for (size_t i = 0; i < stages.size(); ++i) {
    for (int64_t k = 0; k < sizes[i]; ++k) stages[i].layers.push_back(next++);
  }
  stages.front().embedding = true;
  stages.back().output = true;
  stages.back().mtp_depths = model.mtp_num_layers.value_or(0);
  return stages;
}

absl::StatusOr<std::vector<StaticMemory>> StaticMemoryByStage(const ModelSpec& model, const Config& config,
                                                              const Placement& placement, int cc_major) {
  FLIGHTPLAN_ASSIGN_OR_RETURN(const ModelParameters parameters, CountParameters(model));
  const double tp = static_cast<double>(Size(config, Knob::tensor_model_parallel_size));
  const double expert_split = static_cast<double>(Size(config, Knob::expert_model_parallel_size)) *
                              static_cast<double>(Size(config, Knob::expert_tensor_parallel_size));
  const BytesPerParameter bytes = BytesOf(config);
  // Data and context parallel ranks form one group for everything but the routed experts.
  const Sharding dense = ShardingOf(config, placement.data_parallel_size * Size(config, Knob::context_parallel_size));
  const Sharding expert = ShardingOf(config, placement.expert_data_parallel_size);
  const double linear_bytes = LinearWeightBytes(config, cc_major);
  const double padding = PaddedVocabulary(model, config);
  std::vector<StaticMemory> memory;
  for (const StageContents& stage : SplitStages(model, config)) {
    StaticMemory& sum = memory.emplace_back();
    PartParameters part;
    for (int64_t layer : stage.layers) {
      if (layer >= static_cast<int64_t>(parameters.layers.size())) break;
      const PartParameters& p = parameters.layers[static_cast<size_t>(layer)];
      part.split += p.split;
      part.replicated += p.replicated;
      part.expert += p.expert;
    }
    part.split += stage.mtp_depths * parameters.mtp_depth.split;
    part.replicated += stage.mtp_depths * parameters.mtp_depth.replicated;
    part.expert += stage.mtp_depths * parameters.mtp_depth.expert;
    // Tied weights are held by the last stage too, and the stage that runs MTP builds an embedding of its own.
    const bool extra_embedding = !stage.embedding && (stage.mtp_depths > 0 || (stage.output && parameters.output == 0));
    double vocabulary = 0;
    if (stage.embedding || extra_embedding) vocabulary += static_cast<double>(parameters.embedding);
    if (stage.embedding) part.replicated += parameters.positions;
    if (stage.output) {
      vocabulary += static_cast<double>(parameters.output);
      part.replicated += parameters.head.split + parameters.head.replicated;
    }
    Add(static_cast<double>(part.split) / tp, linear_bytes, bytes, dense, &sum);
    Add(static_cast<double>(part.replicated) + vocabulary * padding / tp, bytes.weight, bytes, dense, &sum);
    Add(static_cast<double>(part.expert) / expert_split, linear_bytes, bytes, expert, &sum);
  }
  return memory;
}

}  // namespace flightplan
