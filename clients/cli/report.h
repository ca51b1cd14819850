// `--format html`: an answer as one file without outside references, the page of clients/web with the answer in it.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "google/protobuf/message.h"

namespace flightplan::cli {

// What was asked and answered while the report was made: the page asks it again of the file. Without secrets, which a
// report would carry to whoever it is sent to (mask_secrets.h); so is all else of it.
struct RecordedCall {
  std::string rpc;  // "flightplan.v1.ResolverService/ResolveConfig"
  std::string request, answer;
};
RecordedCall Recorded(absl::string_view rpc, const google::protobuf::Message& request,
                      const google::protobuf::Message& answer);

struct Report {
  std::string command;             // its name
  std::string line;                // as a person types it
  std::string text;                // what the terminal prints, for whoever reads without scripts
  std::vector<std::string> names;  // of a judged launch, or of the two sides of a comparison
  std::string diff;                // of a judged launch, to its repaired text
  std::vector<RecordedCall> calls;
};

std::string RenderReport(const Report& report);

// "flightplan resolve --model deepseek-v3 ...", to be typed as it stands, but for secrets.
std::string LineOf(absl::string_view command, absl::Span<const std::string> args);

// What embed_report.py has packed.
std::string Unpacked(absl::string_view packed);

// Text as it may stand in an element, and in an attribute in double quotes.
std::string HtmlText(absl::string_view text);

// The page, gzipped, as it is built in (embed_report.py).
absl::string_view PackedReportPage();

}  // namespace flightplan::cli
