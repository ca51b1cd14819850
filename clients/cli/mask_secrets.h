// Takes secrets out of what is written to be shown to others: the values of variables, flags and keys whose name ends
// like that of a secret (NamesASecret), as in the server's log.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "google/protobuf/message.h"

namespace flightplan::cli {

// "export HF_TOKEN=abc" is "export HF_TOKEN=***"; "--hf-token abc" and a YAML or JSON key alike. A reference
// ($HF_TOKEN) is none.
std::string MaskSecrets(absl::string_view text);

// One word of a command line or of a list of arguments, which may have spaces; `before`: the word before it.
std::string MaskSecretWord(absl::string_view before, absl::string_view word);

// All text of a message: maps by their keys, lists as words.
void MaskSecretsIn(google::protobuf::Message* message);

}  // namespace flightplan::cli
