// Composes a model file of LoongForge's from the texts that a caller sent, as Hydra does: the files that its `defaults`
// name, each at its place in the tree, and its own keys.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "resolver/catalog/loongforge.h"
#include "resolver/plan/reading.h"

namespace flightplan {

struct ComposedFile {
  LoongForgeModel model;            // `there` where the file itself was read
  std::vector<std::string> wanted;  // paths that no text was sent for; facts that are built in stand in for them
  std::vector<ParseFinding> findings;
};

// `path` as the launch writes it. A text stands for it that was sent by this path, or by one of which one ends as the
// other does from configs/models/ on. Nothing is executed, and at most 64 files are composed.
ComposedFile ComposeLoongForgeFile(absl::string_view path, const Environment& env);

// The key that a reference names: "a.b" from the root; ".b" beside the key that says it, "..b" a map further up. Empty:
// the text is no such reference alone.
std::optional<std::string> ReferredKey(absl::string_view name, absl::string_view text);

// The variable that "${oc.env:NAME}" names, which must be set. Empty: the text names none, or has a default.
std::optional<std::string> NeededVariable(absl::string_view text);

}  // namespace flightplan
