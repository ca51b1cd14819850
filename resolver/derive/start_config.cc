#include "resolver/derive/start_config.h"

#include <optional>
#include <utility>

#include "resolver/catalog/bridge_fields.h"
#include "resolver/catalog/defaults.h"
#include "resolver/catalog/loongforge.h"
#include "resolver/derive/model_knobs.h"
#include "resolver/plan/stack.h"

namespace flightplan {
namespace {

void SetLayout(const LayoutWish& layout, Config* config) {
  for (const SizeWish& size : kSizeWishes) {
    const std::optional<int64_t>& wish = layout.*size.wish;
    if (!wish.has_value()) continue;
    // VPP 1 means no interleaving, which upstream spells None: the caller's word as any other size.
    const bool none = size.knob == Knob::virtual_pipeline_model_parallel_size && *wish <= 1;
    config->Set(size.knob, none ? Value() : Value(*wish), Origin::kCaller);
  }
  if (layout.pipeline_model_parallel_layout.has_value()) {
    config->Set(Knob::pipeline_model_parallel_layout, Value(*layout.pipeline_model_parallel_layout), Origin::kCaller);
  }
  if (layout.sequence_parallel.has_value()) {
    config->Set(Knob::sequence_parallel, Value(*layout.sequence_parallel), Origin::kCaller);
  }
}

// The model as its target has it. LoongForge starts what its own file says, which may differ from the published model.
void SetModel(const NormalizedIntent& intent, std::vector<Knob>* absent, Config* config) {
  const std::vector<std::pair<Knob, Value>> knobs = ModelKnobs(intent.model, intent.env, absent);
  const LoongForgeModel* file = nullptr;
  if (StackOf(intent.env).model_files) {
    Config named = *config;
    for (const auto& [knob, value] : knobs) named.Set(knob, value, Origin::kModel);
    for (const auto& [knob, value] : intent.pins) named.Set(knob, value, Origin::kCaller);
    file = LoongForgeModelOf(named);
  }
  for (const auto& [knob, value] : knobs) {
    if (file == nullptr || knob == Knob::model_name || LoongForgeAsksFor(knob)) {
      config->Set(knob, value, Origin::kModel);
    }
  }
  for (const Knob knob : StackOf(intent.env).left_off) {
    if (config->origin(knob) == Origin::kModel) config->Set(knob, Value(), Origin::kModel);
  }
  if (file == nullptr) return;
  config->Set(Knob::model_family, Value(file->type), Origin::kModel);
  for (const auto& [knob, argument] : file->arguments) config->Set(knob, argument.value, Origin::kModel);
}

}  // namespace

Config StartConfig(const NormalizedIntent& intent, std::vector<Knob>* absent) {
  Config config = DefaultsFor(intent.env.target, intent.env.core_release, intent.env.bridge_release, intent.env.mla);
  SetModel(intent, absent, &config);
  SetLayout(intent.layout, &config);
  config.Set(Knob::seq_length, Value(intent.workload.seq_length), Origin::kCaller);
  config.Set(Knob::global_batch_size, Value(intent.workload.global_batch_size), Origin::kCaller);
  if (intent.workload.train_iters.has_value()) {
    config.Set(Knob::train_iters, Value(*intent.workload.train_iters), Origin::kCaller);
  }
  // Megatron-LM's command line requires it, and positions must reach the end of a sequence.
  const Knob positions = Knob::max_position_embeddings;
  if (config.origin(positions) != Origin::kAbsent && config.Get(positions).integer() < intent.workload.seq_length) {
    config.Set(positions, Value(intent.workload.seq_length), Origin::kDecided);
  }
  for (const auto& [knob, value] : intent.pins) config.Set(knob, value, Origin::kCaller);
  const bool adapters = StackOf(intent.env).adapters && AdaptersConfigured(config);
  const Value& scheme = config.Get(Knob::peft_scheme);
  if (adapters && (scheme.is_none() || scheme == Value("lora"))) {  // what the stack makes of the word
    config.Set(Knob::peft_scheme, Value(StackOf(intent.env).lora), Origin::kCaller);
  }
  return config;
}

DerivedPlan Derive(const NormalizedIntent& intent) {
  DerivedPlan plan;
  std::vector<Knob> absent;
  plan.config = StartConfig(intent, &absent);
  // What LoongForge has a file for it can build.
  if (!StackOf(intent.env).model_files || LoongForgeModelOf(plan.config) == nullptr) {
    plan.missing_features = MissingModelFeatures(intent.model, intent.env, absent);
  }
  absl::StatusOr<ModelShape> shape = MakeShape(intent.model, plan.config, intent.shape.get());
  if (shape.ok()) plan.shape = *std::move(shape);
  return plan;
}

std::vector<std::string> OpenLayoutFields(const NormalizedIntent& intent) {
  std::vector<std::string> open;
  const LayoutWish& layout = intent.layout;
  auto pinned = [&](Knob knob) {
    for (const auto& [pin, value] : intent.pins) {
      if (pin == knob) return true;
    }
    return false;
  };
  auto need = [&](const std::optional<int64_t>& size, Knob knob) {
    if (!size.has_value() && !pinned(knob)) open.emplace_back(Name(knob));
  };
  need(layout.tensor_model_parallel_size, Knob::tensor_model_parallel_size);
  need(layout.pipeline_model_parallel_size, Knob::pipeline_model_parallel_size);
  if (intent.model.is_moe()) need(layout.expert_model_parallel_size, Knob::expert_model_parallel_size);
  return open;
}

}  // namespace flightplan
