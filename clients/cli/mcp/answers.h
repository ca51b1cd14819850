// The structured part of a tool's answer: a few hundred bytes of the facts that a program branches on. The page beside
// it has the rest.
#pragma once

#include <string>
#include <vector>

#include "clients/cli/mcp/tools.h"
#include "google/protobuf/message.h"

namespace flightplan::cli {

inline constexpr int kMaxShownFindings = 12;  // the number of the others is said

// The JSON schema of a kind.
std::string OutputSchema(ToolAnswer answer);

// JSON of an answer that a command printed: a response of resolve, validate, plan, convert, models ... Empty for one
// that has no structured form.
std::string StructuredOf(const google::protobuf::Message& message);

// JSON of the whole: `answers` are what StructuredOf made of the command's answers. Empty: they are not of this kind.
std::string StructuredAnswer(ToolAnswer answer, const std::vector<std::string>& answers);

}  // namespace flightplan::cli
