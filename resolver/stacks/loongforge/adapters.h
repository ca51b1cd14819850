// The adapters that a model's file of LoongForge trains in place of the weights: its `peft_config`, of a class that is
// Megatron-Bridge's of the same name (baidu-baige/LoongForge@c6275661 loongforge/models/common/peft/lora_config.py).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "resolver/catalog/loongforge.h"
#include "resolver/plan/config.h"
#include "resolver/plan/reading.h"

namespace flightplan {

// What the file and the words on top of it say of a key; null: nothing.
struct LoongForgeValueAt {
  const Value* value = nullptr;
  SourcePosition at;
};
using LoongForgeKeys = std::function<LoongForgeValueAt(const std::string& key)>;

void TakeLoongForgeAdapters(const LoongForgeKeys& keys, ParseResult* out);

// The words that say a configuration's adapters over what the model's file says of them; null: it is not known.
// `unspelled`: knobs that its classes have no field for.
std::vector<std::string> LoongForgeAdapterWords(const LoongForgeModel* file, const Config& config,
                                                std::vector<Knob>* unspelled);

}  // namespace flightplan
