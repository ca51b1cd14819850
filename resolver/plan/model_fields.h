// The fields of ModelSpec by name, with their ranges, and what must hold between them.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/plan/fields.h"
#include "resolver/plan/model.h"

namespace flightplan {

using ModelField = Field<ModelSpec>;

// Every field but `computed` and `knobs`, in the order of the struct; names are those of the members.
absl::Span<const ModelField> ModelFields();
const ModelField* FindModelField(absl::string_view name);  // null: no such field

// Sets a field from a value as a file gives it. Layer patterns (moe_layer_freq, linear_attention_freq,
// csa_compress_ratios) may also be written as Megatron's expressions: "[0]*3+[1]*58", "([1,1,1,0])*12", or as an
// integer N. They need num_layers to be set first.
absl::Status SetModelField(const ModelField& field, const Value& value, ModelSpec* model);

// The shortest expression in the same form: {0,0,0,1,1} -> "[0]*3+[1]*2"; a repeated unit becomes "([1,1,1,0])*12".
std::string FormatPattern(const std::vector<int64_t>& pattern);

struct ModelFault {
  absl::string_view field;
  std::string what;
};
// What must hold between fields: sizes that divide, lists as long as the model, fields that come together. Empty:
// sound.
std::vector<ModelFault> CheckModel(const ModelSpec& model);

}  // namespace flightplan
