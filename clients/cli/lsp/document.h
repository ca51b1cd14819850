// One open document as it is judged: the question that its text, its settings and its own comment make, and the answer
// as an editor shows it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "clients/cli/backend.h"
#include "clients/cli/lsp/spot.h"
#include "clients/cli/lsp/text_lines.h"
#include "clients/cli/request.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "rapidjson/document.h"

namespace flightplan::cli {

// What an editor is set to, over which a document's own comment goes.
struct LspSettings {
  StackOptions stack;
  std::string release;       // of the stack that a text shows, where `stack` names none
  int64_t debounce_ms = 20;  // how long a text rests before it is judged
};

// From initializationOptions or didChangeConfiguration: gpu, gpus, stack, release, set, debounceMs. INVALID_ARGUMENT:
// the first setting that is wrong.
absl::StatusOr<LspSettings> ReadLspSettings(const rapidjson::Value& options);

struct Document {
  std::string uri;
  std::string name;  // of the file, by which its form is told
  LaunchForm form = LaunchForm::kWords;
  std::string text;
  int64_t version = 0;
  uint64_t generation = 0;  // of text and settings
};

Document MakeDocument(absl::string_view uri, absl::string_view language);

// A document's answer.
struct Judgement {
  uint64_t generation = 0;
  bool asked = false;  // false: it is no launch that is known
  v1::ValidateConfigRequest request;
  v1::ValidateConfigResponse response;
  struct Diagnostic {
    std::string rule_id;  // empty: not of a rule
    std::string json;     // of LSP
  };
  std::vector<Diagnostic> diagnostics;
};

// Never fails: what cannot be judged has no diagnostics, or one that says so.
Judgement JudgeDocument(const Document& document, const LspSettings& settings, Backend& backend);

// {"start": ..., "end": ...} of two byte offsets.
std::string RangeJson(const TextLines& lines, size_t begin, size_t end);

}  // namespace flightplan::cli
