// The words of an ms-swift launch, argument by argument.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/plan/reading.h"
#include "resolver/stacks/ms_swift/arguments.h"

namespace flightplan {

// One argument with its values.
struct SwiftWritten {
  std::string name;                             // with underscores, as its author wrote it
  const SwiftArgument* argument = nullptr;      // null: ms-swift has none of this name
  const SwiftFormerArgument* former = nullptr;  // of an older ms-swift, by that name
  bool negative = false;                        // --no_name
  std::vector<std::string> values;
  SourcePosition at;
  bool unknown = false;  // its name or a value would have to be executed to be known
};

class SwiftWords {
 public:
  // "sft", "pt" or "rlhf" may stand first, then a YAML file of arguments, which is read from env.model_files. One that
  // is not there is put into out->wanted_files, and out->elsewhere says so.
  SwiftWords(absl::Span<const Argument> args, const Environment& env, ParseResult* out);

  const std::vector<SwiftWritten>& all() const { return all_; }
  bool clear() const { return clear_; }  // every word can be read, and no file is missing
  bool rlhf() const { return rlhf_; }

  // The last one of this name; null: it is not written.
  const SwiftWritten* Find(absl::string_view name) const;
  bool Has(absl::string_view name) const { return Find(name) != nullptr; }
  // Its one value; empty: not written, or not known.
  std::optional<absl::string_view> Text(absl::string_view name) const;
  std::optional<int64_t> Number(absl::string_view name) const;
  std::optional<bool> Bool(absl::string_view name) const;

 private:
  void Add(SwiftWritten written);
  void ReadFlags(absl::Span<const Argument> args);
  void ReadFile(absl::string_view path, const Environment& env, ParseResult* out);

  std::vector<SwiftWritten> all_;
  std::map<std::string, size_t, std::less<>> last_;  // of each name, in all_
  bool clear_ = true, rlhf_ = false;
};

// What argparse makes of a word for a bool field: transformers' string_to_bool. Empty: it refuses it.
std::optional<bool> SwiftBool(absl::string_view word);

}  // namespace flightplan
