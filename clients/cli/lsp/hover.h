// What an editor shows of the word under the cursor, offers while one is typed, and does about what is marked. JSON of
// LSP; "null" or an empty list where there is nothing.
#pragma once

#include <set>
#include <string>

#include "clients/cli/backend.h"
#include "clients/cli/lsp/document.h"
#include "clients/cli/lsp/vocabulary.h"
#include "flightplan/v1/catalog_service.pb.h"

namespace flightplan::cli {

// `judgement` may be null or about older text. `rules`: all of them.
std::string HoverJson(const Document& document, TextPosition position, const Vocabulary& vocabulary,
                      const Judgement* judgement, const v1::ListRulesResponse& rules);

inline constexpr size_t kMaxCompletions = 400;  // of more the list says that it is not whole
std::string CompletionJson(const Document& document, TextPosition position, const Vocabulary& vocabulary);

// The repair of the document as edits. `marked`: the rules whose diagnostics the editor asks about, which the actions
// name where they remove them.
std::string CodeActionsJson(const Document& document, const Judgement& judgement, const std::set<std::string>& marked,
                            Backend& backend);

}  // namespace flightplan::cli
