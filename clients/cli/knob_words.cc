#include "clients/cli/knob_words.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "clients/cli/lsp/vocabulary.h"
#include "flightplan/v1/catalog_service.pb.h"

namespace flightplan::cli {

absl::Status GetKnobByWord(absl::string_view word, Backend& backend, v1::KnobInfo* knob) {
  v1::GetKnobRequest request;
  request.set_name(std::string(word));
  absl::Status status = backend.GetKnob(request, knob);
  if (!absl::IsNotFound(status)) return status;
  word = word.substr(0, word.find('='));
  absl::ConsumePrefix(&word, "--");
  const Vocabulary vocabulary(StackEnvironment("", ""));
  const VocabularyWord* const known =
      vocabulary.Find(absl::StrContains(word, '.') ? std::string(word) : absl::StrCat("--", word));
  if (known == nullptr) return status;
  request.set_name(std::string(Name(known->knob)));
  return backend.GetKnob(request, knob);
}

}  // namespace flightplan::cli
