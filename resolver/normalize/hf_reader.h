// Typed reads from a config.json, with the JSON path in every message. Private to the import.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "rapidjson/document.h"
#include "resolver/plan/model.h"

namespace flightplan {

// Where the language fields of a file stand, with a dot behind; empty: at its root.
absl::string_view HfTextPath(const rapidjson::Value& root);

class HfReader {
 public:
  // `root` outlives the reader. A wrapper keeps its language fields in an object of their own, such as text_config.
  HfReader(const rapidjson::Value& root, ModelSpec* model, std::vector<std::string>* notes);

  ModelSpec& model() { return *model_; }
  void Note(std::string note) {
    if (notes_ != nullptr) notes_->push_back(std::move(note));
  }

  // The value at a dotted path ("rope_scaling.factor"), from the language fields and then from the outer object; null
  // when absent. A present null is found.
  const rapidjson::Value* Find(absl::string_view path) const;
  bool Has(absl::string_view path) const;    // present and not null
  bool InRoot(absl::string_view key) const;  // an object there or beside the language fields
  // "$.text_config.hidden_size: <what>".
  absl::Status Error(absl::string_view path, absl::string_view what) const;

  // The value as a knob value; empty when absent or null. Objects and lists of objects are refused.
  absl::StatusOr<std::optional<Value>> Get(absl::string_view path) const;
  // An integer from min to max, or `fallback` when absent or null.
  absl::StatusOr<int64_t> Int(absl::string_view path, int64_t fallback, int64_t min, int64_t max) const;
  absl::StatusOr<int64_t> RequiredInt(absl::string_view path, int64_t min, int64_t max) const;
  absl::StatusOr<double> Real(absl::string_view path, double fallback) const;
  absl::StatusOr<bool> Bool(absl::string_view path, bool fallback) const;
  absl::StatusOr<std::string> Text(absl::string_view path, absl::string_view fallback) const;
  absl::StatusOr<std::vector<int64_t>> Ints(absl::string_view path) const;       // empty when absent
  absl::StatusOr<std::vector<std::string>> Texts(absl::string_view path) const;  // empty when absent

  // Sets a field of the model, or, for a name that is no field, a knob that the launch must repeat. `path` names the
  // source in messages.
  absl::Status Set(absl::string_view field, const Value& value, absl::string_view path);

 private:
  absl::Status SetKnob(absl::string_view name, const Value& value, absl::string_view path);

  const rapidjson::Value& root_;
  const rapidjson::Value* text_;  // the language fields
  absl::string_view text_path_;   // where they stand: "text_config."; empty: at the root
  ModelSpec* model_;
  std::vector<std::string>* notes_;
};

}  // namespace flightplan
