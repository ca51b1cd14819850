#include "resolver/judge/weigh_config.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "resolver/base/bytes.h"
#include "resolver/base/saturating.h"
#include "resolver/catalog/memory_coefficients.h"
#include "resolver/derive/adapters.h"
#include "resolver/derive/model_from_knobs.h"
#include "resolver/derive/placement.h"
#include "resolver/derive/shape.h"
#include "resolver/pipeline/apply_evidence.h"
#include "resolver/pipeline/known_shape.h"

namespace flightplan {
namespace {

// Without these no memory is forecast, whatever their defaults are.
struct Size {
  Knob knob{};
  bool of_state = true;  // parameters, gradients and optimizer state depend on it
};
constexpr Size kSizes[] = {{Knob::num_layers},
                           {Knob::hybrid_layer_pattern},
                           {Knob::hybrid_override_pattern},
                           {Knob::hidden_size},
                           {Knob::ffn_hidden_size},
                           {Knob::num_attention_heads},
                           {Knob::vocab_size},
                           {Knob::num_moe_experts},
                           {Knob::moe_ffn_hidden_size},
                           {Knob::tensor_model_parallel_size},
                           {Knob::pipeline_model_parallel_size},
                           {Knob::context_parallel_size},
                           {Knob::expert_model_parallel_size},
                           {Knob::expert_tensor_parallel_size},
                           {Knob::moe_router_topk, false},
                           {Knob::seq_length, false},
                           {Knob::micro_batch_size, false}};

// The first size whose value cannot be read here; null: none.
const Size* UnreadSize(absl::Span<const Knob> unread) {
  const auto* at = std::find_if(std::begin(kSizes), std::end(kSizes), [unread](const Size& size) {
    return std::find(unread.begin(), unread.end(), size.knob) != unread.end();
  });
  return at == std::end(kSizes) ? nullptr : at;
}

WeighedConfig Lacks(std::string input, absl::string_view why) {
  WeighedConfig weighed;
  weighed.standing.missing_input = std::move(input);
  weighed.not_judged = absl::StrCat("memory: ", why);
  return weighed;
}

bool ExpertsComeOutEven(const ModelSpec& model, const Config& config) {
  const int64_t ep = std::max<int64_t>(1, config.Get(Knob::expert_model_parallel_size).integer());
  return model.num_moe_experts.value_or(0) % ep == 0;
}

// What no knob says of a layer, the classes of the model that is named do.
void TakeFromNamed(const ModelSpec& named, ModelSpec* model) {
  model->norms_per_layer = named.norms_per_layer;
  model->layernorm_no_bias = named.layernorm_no_bias;
  if (model->qk_layernorm.value_or(false)) model->qk_layernorm_kind = named.qk_layernorm_kind;
  if (named.attention == "gqa+block-sparse" && model->attention == "gqa" && named.num_layers == model->num_layers) {
    model->attention = named.attention;
    model->index_n_heads = named.index_n_heads;
    model->index_head_dim = named.index_head_dim;
    model->num_indexer_layers = named.num_indexer_layers;
  }
}

// DeepSeek-V4's attention and residual streams, which its own classes build over those of MLA.
void TakeCompressedAttention(const ModelSpec& named, ModelSpec* model) {
  model->attention = named.attention;
  model->kv_lora_rank = named.kv_lora_rank;
  model->qk_head_dim = named.qk_head_dim;
  model->kv_channels = named.kv_channels;
  model->num_query_groups = named.num_query_groups;
  model->o_groups = named.o_groups;
  model->o_lora_rank = named.o_lora_rank;
  model->dsa_indexer_n_heads = named.dsa_indexer_n_heads;
  model->dsa_indexer_head_dim = named.dsa_indexer_head_dim;
  model->dsa_indexer_topk = named.dsa_indexer_topk;
  model->csa_window_size = named.csa_window_size;
  model->csa_compress_ratios = named.csa_compress_ratios;
  // One more for each MTP depth, of which a launch may have fewer.
  model->csa_compress_ratios.resize(std::min(
      named.csa_compress_ratios.size(), static_cast<size_t>(model->num_layers + model->mtp_num_layers.value_or(0))));
  model->num_residual_streams = named.num_residual_streams;
  model->mhc_sinkhorn_iterations = named.mhc_sinkhorn_iterations;
  model->moe_n_hash_layers = named.moe_n_hash_layers;
}

// As if every value of `config` were known.
WeighedConfig Forecast(const WeighingInputs& inputs, const GpuSystem& gpu, const Config& config,
                       const Environment& env) {
  std::optional<Knob> missing;
  auto model = ModelFromKnobs(config, &missing);
  if (!model.ok()) return Lacks(missing.has_value() ? std::string(Name(*missing)) : "", model.status().message());
  if (const ModelSpec* const named = inputs.named; named != nullptr) {
    TakeFromNamed(*named, &*model);
    const bool same = named->num_layers == model->num_layers && model->is_mla();
    if (named->attention == "csa-hybrid" && same) TakeCompressedAttention(*named, &*model);
  }
  if (!ExpertsComeOutEven(*model, config)) return Lacks("", "the experts do not come out even");
  const bool known = inputs.like != nullptr && inputs.like->intent.model == *model;
  std::shared_ptr<const ModelShape> own = known ? inputs.like->intent.shape : KnownShape(*model);
  auto shape = MakeShape(*model, config, own.get());
  if (!shape.ok()) return Lacks("", shape.status().message());
  const auto weighed_model = std::make_shared<WeighedModel>();
  weighed_model->intent.model = *std::move(model);
  weighed_model->intent.shape = std::move(own);
  weighed_model->intent.gpu = gpu;
  weighed_model->intent.env = env;
  weighed_model->intent.gpu_count = env.world_size.value_or(0);
  if (inputs.basis != nullptr) {
    weighed_model->intent.probe = inputs.basis->probe;
    weighed_model->intent.transport = inputs.basis->transport;
    weighed_model->intent.host_cpu = inputs.basis->host_cpu;
    weighed_model->evidence = inputs.basis->evidence;
  }
  // By what of the model the profile's rows are chosen.
  weighed_model->intent.workload.seq_length = config.Get(Knob::seq_length).integer();
  if (const Value& indexer = config.Get(Knob::dsa_kernel_backend); indexer.is_text() && indexer.text() != "none")
    weighed_model->intent.pins.emplace_back(Knob::dsa_kernel_backend, indexer);
  weighed_model->shape = *std::move(shape);
  weighed_model->config = config;
  weighed_model->reference_forward = inputs.others != nullptr && inputs.others->reference_forward;
  WeighedConfig weighed;
  if (inputs.fullest_alone) weighed_model->intent.view = View::kVerdict;
  weighed.estimate = Estimate(weighed_model->intent, weighed_model->shape, PlaceLayout(config, env), config, env.vars,
                              inputs.stages != nullptr ? *inputs.stages : StageLayout());
  if (weighed.estimate->stages.empty()) return Lacks("", "the layout does not come out even");
  weighed.model = weighed_model;
  weighed.standing.fit = weighed.estimate->fit;
  return weighed;
}

// Copies of the weights take what the weights do on the fullest stage. What a caller says of others' memory counts
// them.
WeighedConfig ForecastBesideCopies(const WeighingInputs& inputs, GpuSystem gpu, const Config& config,
                                   const Environment& env) {
  const MemoryOfOthers* const others = inputs.others;
  const int copies = others == nullptr ? 0 : others->weight_copies;
  WeighingInputs of_all = inputs;
  if (copies > 0) of_all.fullest_alone = false;  // the weights of another stage may be more
  WeighedConfig alone = Forecast(of_all, gpu, config, env);
  const bool counted = gpu.reserved_bytes.has_value() && !others->gpu_share.has_value();
  if (copies <= 0 || counted || !alone.estimate.has_value() || !gpu.hbm_bytes.has_value()) return alone;
  double weights = 0;
  for (const StageForecast& stage : alone.estimate->stages) {
    weights = std::max(weights, stage.bytes[MemoryPart::kParameters]);
  }
  const int64_t held = std::min<int64_t>(std::llround(copies * weights), *gpu.hbm_bytes - 1);
  const int64_t before = gpu.reserved_bytes.value_or(0);
  Reserve(held, &gpu);
  gpu.reserved_bytes = before + held;
  return Forecast(inputs, gpu, config, env);
}

// To what runs like this one needed.
void MoveByEvidence(WeighedConfig* weighed) {
  if (!weighed->estimate.has_value() || weighed->model->evidence == nullptr) return;
  const WeighedModel& model = *weighed->model;
  ApplyMemoryEvidence(model.intent, model.config, *model.evidence, &*weighed->estimate, &weighed->by_evidence);
  weighed->standing.fit = weighed->estimate->fit;
}

int64_t LeastState(const WeighedConfig& weighed) {
  if (!weighed.estimate.has_value()) return 0;
  return std::llround(static_cast<double>(weighed.estimate->static_bytes) * memory::kStaticSpread.low);
}

// What keeps memory from being forecast whatever the sizes are; empty: nothing does.
std::optional<WeighedConfig> NotModelled(const MemoryOfOthers& others, const GpuSystem& gpu) {
  if (!others.not_modelled.empty()) return Lacks("", absl::StrCat(others.not_modelled, " are not modelled"));
  if (others.holder.empty() || others.gpu_share.has_value() || gpu.reserved_bytes.has_value()) return std::nullopt;
  return Lacks("hardware.reserved_bytes",
               absl::StrCat(others.holder, " holds memory of the same GPUs, how much is not said"));
}

// Where one input is missing: what the rest says at least.
int64_t LeastWithout(const WeighingInputs& inputs, const GpuSystem& gpu, const std::string& missing,
                     const Config& config, const Environment& env) {
  if (missing != Name(Knob::vocab_size)) return 0;
  Config least = config;
  least.Set(Knob::vocab_size, Value(1), Origin::kDefault);
  return LeastState(Forecast(inputs, gpu, least, env));
}

}  // namespace

Candidate CandidateOf(const WeighedModel& model, const Environment& env, const StageLayout& stages) {
  Candidate candidate = CandidateOf(model.config, env, model.shape, stages);
  candidate.reference_forward = model.reference_forward;
  return candidate;
}

Config AsTrained(const MemoryOfOthers* others, const Config& config) {
  Config trained = config;
  if (others == nullptr || others->sequences_a_sample <= 1) return trained;
  for (const Knob size : {Knob::micro_batch_size, Knob::global_batch_size}) {
    const Value& samples = config.Get(size);
    if (!samples.is_int() || samples.integer() < 1) continue;
    trained.Set(size, Value(SaturatingMul(samples.integer(), others->sequences_a_sample)), Origin::kUpstream);
  }
  return trained;
}

bool ComesOutEven(const ModelSpec& model, const Config& config, const Environment& env) {
  const Placement placement = PlaceLayout(config, env);
  return ExpertsComeOutEven(model, config) && placement.data_parallel_size > 0 &&
         (!model.is_moe() || placement.expert_data_parallel_size > 0);
}

WeighedConfig EstimateConfig(const WeighingInputs& inputs, const Config& config, const Environment& env) {
  if (!inputs.gpu->has_value()) return Lacks("hardware.gpu", "no GPU is given");
  const GpuSystem& gpu = **inputs.gpu;
  const Size* const unread = UnreadSize(inputs.unread);
  WeighedConfig weighed;
  std::optional<WeighedConfig> not_modelled =
      inputs.others != nullptr ? NotModelled(*inputs.others, gpu) : std::nullopt;
  if (const std::string adapters = AdaptersNotModelled(config); !adapters.empty()) {
    not_modelled = Lacks("", absl::StrCat(adapters, " are not modelled"));
  }
  if (not_modelled.has_value()) {
    weighed = *not_modelled;
  } else if (!env.world_size.has_value()) {
    weighed = Lacks("hardware.gpu_count", "the number of GPUs is not known");
  } else if (unread != nullptr && unread->of_state) {
    weighed = Lacks(std::string(Name(unread->knob)), absl::StrCat(Name(unread->knob), " cannot be read here"));
  } else {
    weighed = ForecastBesideCopies(inputs, gpu, AsTrained(inputs.others, config), env);
    MoveByEvidence(&weighed);
    MemoryStanding& standing = weighed.standing;
    const bool at_most = inputs.others != nullptr && !inputs.others->counted_too.empty();
    if (at_most && weighed.estimate.has_value() && standing.fit != FitVerdict::kFits) {
      const double total = weighed.estimate->stages[weighed.estimate->fullest].total.value;
      weighed = Lacks("", absl::StrFormat("at most %.0f GiB, with %s", total / kGib, inputs.others->counted_too));
    } else if (!weighed.estimate.has_value()) {
      standing.at_least_bytes = LeastWithout(inputs, gpu, standing.missing_input, config, env);
    } else if (unread != nullptr) {
      const int64_t least = LeastState(weighed);
      weighed = Lacks(std::string(Name(unread->knob)), absl::StrCat(Name(unread->knob), " cannot be read here"));
      weighed.standing.at_least_bytes = least;
    }
  }
  MemoryStanding& standing = weighed.standing;
  const GpuSystem& left = weighed.model != nullptr ? weighed.model->intent.gpu : gpu;
  standing.usable_bytes = left.hbm_bytes.value_or(0);
  standing.reserved_bytes = left.reserved_bytes.value_or(0);
  if (standing.usable_bytes > 0 && standing.at_least_bytes > standing.usable_bytes) {
    standing.fit = FitVerdict::kDoesNotFit;
  }
  return weighed;
}

WeighedConfig WeighConfig(const WeighingInputs& inputs, RunResult* run) {
  WeighedConfig weighed = EstimateConfig(inputs, run->config, run->env);
  if (weighed.estimate.has_value()) {
    JudgeMemory(*weighed.estimate->memory(), run);
  } else if (const int64_t least = weighed.standing.at_least_bytes; weighed.standing.fit == FitVerdict::kDoesNotFit) {
    JudgeMemory(
        {least, least, least, least, weighed.standing.usable_bytes, /*at_least=*/true, weighed.standing.reserved_bytes},
        run);
  }
  return weighed;
}

}  // namespace flightplan
