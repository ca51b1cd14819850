// The overrides of a verl launch, key by key.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/plan/knob.h"
#include "resolver/plan/reading.h"
#include "resolver/plan/value.h"

namespace flightplan {

// One override: "+a.b=value".
struct VerlOverride {
  std::string path;  // "a.b"
  int plus = 0;      // how many '+' stand before it
  std::string text;  // behind '='
  SourcePosition at;
  bool unknown = false;  // the value would have to be executed to be known
};

// The maps below the actor that take the fields of Megatron's classes.
struct VerlMap {
  Section of;
  absl::string_view path;
};
inline constexpr VerlMap kVerlMaps[] = {{Section::kModel, "megatron.override_transformer_config."},
                                        {Section::kDdp, "megatron.override_ddp_config."},
                                        {Section::kOptimizer, "optim.override_optimizer_config."}};

// Where a field of one of Megatron's classes is added ("+actor_rollout_ref.actor.megatron..."); empty: nowhere.
std::string VerlAddedKey(Knob knob);

class VerlWords {
 public:
  // `args`: the module first, "verl.trainer.main_ppo", where the words come from a launch.
  explicit VerlWords(absl::Span<const Argument> args);

  const std::vector<VerlOverride>& all() const { return all_; }
  absl::string_view module() const { return module_; }  // empty: the words come alone
  absl::string_view config() const { return config_; }  // of --config-name, without ".yaml"
  bool clear() const { return clear_; }                 // every key can be read

  // The last one of this path; null: it is not written.
  const VerlOverride* Find(absl::string_view path) const;
  bool Has(absl::string_view path) const { return Find(path) != nullptr; }
  // Its value, `usual` where it is not written. Empty: it cannot be known here.
  std::optional<Value> Get(absl::string_view path, Value usual = Value()) const;
  // Empty: not known, or no such value.
  std::optional<int64_t> Number(absl::string_view path, int64_t usual) const;
  std::optional<bool> Bool(absl::string_view path, bool usual) const;

 private:
  std::vector<VerlOverride> all_;
  std::string module_, config_;
  bool clear_ = true;
};

// What says whether a model's prediction layers are built and trained, each word of it "enable", "enable_train" ...
// (verl/workers/config/model.py:141).
inline constexpr absl::string_view kVerlPredictionLayers = "actor_rollout_ref.model.mtp.";

// What says which adapters are trained (verl/trainer/config/ppo_megatron_trainer.yaml:40); a rank of 0: none.
struct VerlAdapterKey {
  absl::string_view path;
  Knob knob{};
};
inline constexpr VerlAdapterKey kVerlAdapterKeys[] = {
    {"actor_rollout_ref.model.lora.type", Knob::peft_scheme},
    {"actor_rollout_ref.model.lora.rank", Knob::peft_dim},
    {"actor_rollout_ref.model.lora.alpha", Knob::peft_alpha},
    {"actor_rollout_ref.model.lora.dropout", Knob::peft_dropout},
    {"actor_rollout_ref.model.lora.target_modules", Knob::peft_target_modules},
    {"actor_rollout_ref.model.lora.exclude_modules", Knob::peft_exclude_modules},
};

}  // namespace flightplan
