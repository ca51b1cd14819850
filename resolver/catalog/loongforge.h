// LoongForge's flags, of a program of its own and not Megatron-LM's with a few more, and its model files. Sources:
// resolver/stacks/loongforge/*.tsv.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/strings/string_view.h"
#include "resolver/plan/config.h"
#include "resolver/plan/knob.h"
#include "resolver/plan/value.h"

namespace flightplan {

struct LoongForgeFlag {
  absl::string_view flag;
  std::optional<Knob> knob;  // empty: the parser knows the flag, but no rule or renderer needs its value
  FlagForm form;
  ValueType type;             // of one value
  absl::string_view choices;  // '|' separated; empty: any
  absl::string_view default_json;
  bool own;  // LoongForge's own, not of its Megatron fork
};

// In the table's order.
const std::vector<LoongForgeFlag>& LoongForgeFlags();
// Choices of the flag that sets a knob, '|' separated; "": any, or those of the knob table.
absl::string_view LoongForgeChoices(Knob knob);

// An argument in a model's file: its key as an override spells it ("model.foundation.num_layers"), and what it says.
struct LoongForgeArgument {
  std::string key;
  Value value;
};

// A model file with the files under it (Hydra's defaults), composed.
struct LoongForgeModel {
  std::string path;                          // in LoongForge's checkout
  absl::btree_map<std::string, Value> keys;  // by their dotted names; ${...} as it is written
  std::vector<std::string> gone;             // classes that it builds and LoongForge does not have
  bool there = false;                        // false: --model-name knows a name for a file that is not there
  std::string type;                          // model_type, which LoongForge calls the family; "": it says none
  std::string foundation;                    // before the keys of the language model: "" or "model.foundation."
  absl::btree_map<Knob, LoongForgeArgument> arguments;  // of the language model; without what only a launch would know
};

// By a path that ends as one in LoongForge's checkout does, or by a name that --model-name takes, in any case of its
// letters. Null: there is none.
const LoongForgeModel* FindLoongForgeFile(absl::string_view path);
const LoongForgeModel* FindLoongForgeModel(absl::string_view name);
// Their paths.
std::vector<absl::string_view> LoongForgeFiles();
// What some of them says of the language model.
const std::vector<Knob>& LoongForgeFileKnobs();
// Whether its model files leave this knob of the model to the command line. Without its flags a token has two experts.
bool LoongForgeAsksFor(Knob knob);
// What a launch with this configuration reads: of model_name, else of config_file. Null: another file, or none.
const LoongForgeModel* LoongForgeModelOf(const Config& config);

// The knob that a key of a model's file or an override sets: an argument's name (num_experts), or another knob's.
std::optional<Knob> LoongForgeKey(absl::string_view key);
// Whether a key says what to build (a class, a path, a function): no argument, and no misspelt one.
bool IsLoongForgeStructure(absl::string_view key);
// What a value of a model's file stands for: ${act:silu} is "silu". Empty where it holds another reference.
std::optional<Value> LoongForgeValue(const Value& written);

// Whether a config class of LoongForge's, by its dotted name (_target_), has a field of this name. True for a class
// that is not known.
bool LoongForgeClassTakes(absl::string_view target, absl::string_view field);
bool LoongForgeHasClass(absl::string_view target);  // one that its model files build
// Whether it is such a class without latent attention, which refuses the fields that multi_latent_attention brings.
bool LoongForgeClassLacksMla(absl::string_view target);
// The model types that it trains (loongforge/utils/constants.py): first those whose file is one map of arguments, then
// those whose file has a map for each component.
absl::Span<const absl::string_view> LoongForgeFamilies();
// What --model-name takes.
const std::vector<absl::string_view>& LoongForgeModelNames();

namespace internal {

struct LoongForgeFlagRow {
  const char* flag;
  const char* dest;  // argparse destination
  FlagForm form;
  ValueType type;
  const char* choices;
  const char* default_json;
  bool own;
};
extern const LoongForgeFlagRow kLoongForgeFlagRows[];
extern const int kLoongForgeFlagRowCount;

struct LoongForgeModelRow {
  const char* path;
  const char* names;  // '|' separated
  const char* gone;   // '|' separated
  bool there;
};
extern const LoongForgeModelRow kLoongForgeModelRows[];
extern const int kLoongForgeModelRowCount;

// A file under the model's, and where its keys go: "model.foundation", or "" for the top.
struct LoongForgeDefaultRow {
  int model;
  const char* package;
  const char* path;
};
extern const LoongForgeDefaultRow kLoongForgeDefaultRows[];
extern const int kLoongForgeDefaultRowCount;

struct LoongForgeClassRow {
  const char* name;
  bool transformer_config;  // it has the fields of the fork's TransformerConfig, too
  bool mla;                 // and those of its MLATransformerConfig
  const char* fields;       // '|' separated
};
extern const LoongForgeClassRow kLoongForgeClassRows[];
extern const int kLoongForgeClassRowCount;

struct LoongForgeKeyRow {
  int model;
  const char* key;
  const char* json;
};
extern const LoongForgeKeyRow kLoongForgeKeyRows[];
extern const int kLoongForgeKeyRowCount;

}  // namespace internal
}  // namespace flightplan
