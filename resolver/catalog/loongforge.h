// LoongForge's flags, of a program of its own and not Megatron-LM's with a few more, and its model files. Sources:
// resolver/catalog/loongforge_flags.tsv, loongforge_models.tsv.
#pragma once

#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "resolver/plan/knob.h"

namespace flightplan {

// The release of Megatron-Core that LoongForge's fork of it started from.
inline constexpr int kLoongForgeCore = 15;

struct LoongForgeFlag {
  absl::string_view flag;
  std::optional<Knob> knob;  // empty: the parser knows the flag, but no rule or renderer needs its value
  FlagForm form;
  ValueType type;             // of one value
  absl::string_view choices;  // '|' separated; empty: any
  bool own;                   // LoongForge's own, not of its Megatron fork
};

// In the table's order.
const std::vector<LoongForgeFlag>& LoongForgeFlags();

// The family (model_type) of a model file: by a name that --model-name takes, or by a path that ends as one in
// LoongForge's checkout does. Empty: there is none.
absl::string_view LoongForgeFamilyOfName(absl::string_view name);
absl::string_view LoongForgeFamilyOfFile(absl::string_view path);
// What --model-name takes.
const std::vector<absl::string_view>& LoongForgeModelNames();

namespace internal {

struct LoongForgeFlagRow {
  const char* flag;
  const char* dest;  // argparse destination
  FlagForm form;
  ValueType type;
  const char* choices;
  bool own;
};
extern const LoongForgeFlagRow kLoongForgeFlagRows[];
extern const int kLoongForgeFlagRowCount;

struct LoongForgeModelRow {
  const char* path;
  const char* names;   // '|' separated
  const char* family;  // empty: the checkout has no such file, or the file no model_type
};
extern const LoongForgeModelRow kLoongForgeModelRows[];
extern const int kLoongForgeModelRowCount;

}  // namespace internal
}  // namespace flightplan
