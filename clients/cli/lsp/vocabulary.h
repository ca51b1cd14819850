// The words of one stack and release: flags, override paths, their knobs and values. By the knob table, so that a new
// stack or release needs nothing here.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/strings/string_view.h"
#include "resolver/plan/environment.h"
#include "resolver/plan/knob.h"

namespace flightplan::cli {

struct VocabularyWord {
  Knob knob{};
  std::vector<std::string> values;  // known ones; empty: any
};

class Vocabulary {
 public:
  explicit Vocabulary(const Environment& stack);
  const Environment& stack() const { return stack_; }
  // By spelling, sorted.
  const absl::btree_map<std::string, VocabularyWord>& words() const { return words_; }
  // The knob that a word names: a spelling of this stack, of another, or a knob's name; null: none is known.
  const VocabularyWord* Find(absl::string_view name) const;

 private:
  Environment stack_;
  absl::btree_map<std::string, VocabularyWord> words_;
  absl::btree_map<std::string, VocabularyWord> others_;  // what other stacks and releases say, and names of knobs
};

// "megatron-lm", "0.17" as it is judged; empty or unknown: Megatron-LM, the newest.
Environment StackEnvironment(absl::string_view framework, absl::string_view version);

// Class defaults by release: "16", or "0.16..0.18: 1; 0.19..main: 2". Empty: no release of the stack has the knob.
std::string DefaultsText(Knob knob, const Environment& stack);

}  // namespace flightplan::cli
