// What the config classes that a model's file builds (_target_) say to its keys.
#pragma once

#include <string>

#include "absl/container/btree_map.h"
#include "absl/types/span.h"
#include "resolver/catalog/loongforge.h"
#include "resolver/plan/reading.h"

namespace flightplan {

// A key of the file as it is at the end, and the word that said so last.
struct ModelKey {
  Value value;
  SourcePosition at;
  bool written = false;  // by a word of the command line
};
using ModelKeys = absl::btree_map<std::string, ModelKey>;

struct ComposedModel {
  const LoongForgeModel& file;  // before the words
  bool own;                     // the caller's: nobody has held its keys against their classes
  SourcePosition named;         // by which word
  const ModelKeys& keys;
};

// Says of `words`, the arguments of the same launch, and of the keys what no class takes.
void CheckModelClasses(const ComposedModel& model, absl::Span<const ParsedKnob> words,
                       std::vector<ParseFinding>* findings);

}  // namespace flightplan
