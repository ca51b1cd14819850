// SARIF 2.1.0: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html. The section of each part is named
// where the choice was not free.
#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include <algorithm>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "clients/cli/batch_pages.h"
#include "resolver/base/digest.h"

namespace flightplan::cli {
namespace {

using doors::Verdict;

class SarifWriter {
 public:
  SarifWriter() : json_(buffer_) { json_.SetIndent(' ', 1); }

  void Object(absl::string_view key) {
    Key(key);
    json_.StartObject();
  }
  void Object() { json_.StartObject(); }
  void EndObject() { json_.EndObject(); }
  void Array(absl::string_view key) {
    Key(key);
    json_.StartArray();
  }
  void EndArray() { json_.EndArray(); }
  void Text(absl::string_view key, absl::string_view value) {
    Key(key);
    json_.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
  }
  void Number(absl::string_view key, int64_t value) {
    Key(key);
    json_.Int64(value);
  }
  void Bool(absl::string_view key, bool value) {
    Key(key);
    json_.Bool(value);
  }
  // A message object (3.11).
  void Message(absl::string_view key, absl::string_view text) {
    Object(key);
    Text("text", text);
    EndObject();
  }
  std::string Take() { return absl::StrCat(absl::string_view(buffer_.GetString(), buffer_.GetSize()), "\n"); }

 private:
  void Key(absl::string_view key) { json_.Key(key.data(), static_cast<rapidjson::SizeType>(key.size())); }

  rapidjson::StringBuffer buffer_;
  rapidjson::PrettyWriter<rapidjson::StringBuffer> json_;
};

// A path as a URI reference (3.4.3): everything but the unreserved characters of RFC 3986 and '/' is escaped.
std::string UriOf(absl::string_view path) {
  std::string uri = absl::StartsWith(path, "/") ? "file://" : "";
  while (absl::ConsumePrefix(&path, "./")) {
  }
  for (char c : path) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("-._~/", absl::string_view(&c, 1))) {
      uri += c;
    } else {
      absl::StrAppendFormat(&uri, "%%%02X", static_cast<unsigned char>(c));
    }
  }
  return uri;
}

void Location(const std::string& path, const doors::FindingLine* at, SarifWriter* out) {
  out->Array("locations");
  out->Object();
  out->Object("physicalLocation");
  out->Object("artifactLocation");
  out->Text("uri", UriOf(path));
  if (!absl::StartsWith(path, "/")) out->Text("uriBaseId", "%SRCROOT%");
  out->EndObject();
  if (at != nullptr) {
    // What was not written has no line; code hosts drop a result without one, so it stands at the first.
    out->Object("region");
    out->Number("startLine", std::max(1, at->line));
    if (at->line > 0 && at->column > 0) out->Number("startColumn", at->column);
    out->EndObject();
  }
  out->EndObject();
  out->EndObject();
  out->EndArray();
}

using RuleIndex = std::map<std::string, int64_t>;

void Rules(const RuleIndex& rules, const std::function<std::string(const std::string&)>& rule_text, SarifWriter* out) {
  std::vector<const std::string*> ids(rules.size());
  for (const auto& [id, index] : rules) ids[static_cast<size_t>(index)] = &id;
  out->Array("rules");
  for (const std::string* id : ids) {
    out->Object();
    out->Text("id", *id);
    if (const std::string text = rule_text(*id); !text.empty()) out->Message("shortDescription", text);
    out->Message("help", absl::StrCat("flightplan explain ", *id));
    out->EndObject();
  }
  out->EndArray();
}

std::string MessageOf(const doors::FindingLine& line) {
  std::string text = line.seen;
  if (!line.needs.empty()) absl::StrAppend(&text, "\nNeeds: ", line.needs);
  if (!line.fix.empty()) absl::StrAppend(&text, "\nFix: ", line.fix);
  for (const std::string& other : line.other_fixes) absl::StrAppend(&text, "\nOr: ", other);
  return text;
}

void Result(const BatchItem& item, const doors::FindingLine& line, const RuleIndex& rules, SarifWriter* out) {
  out->Object();
  out->Text("ruleId", line.rule_id);
  out->Number("ruleIndex", rules.at(line.rule_id));
  out->Text("level", line.error ? "error" : "warning");
  out->Message("message", MessageOf(line));
  Location(item.path, &line, out);
  // Stable over edits elsewhere in the file, so that a host does not show an old finding as new (3.27.17).
  out->Object("partialFingerprints");
  out->Text("flightplan/v1", Sha256Hex(absl::StrCat(item.path, "\n", line.rule_id, "\n", line.seen)).substr(0, 32));
  out->EndObject();
  out->EndObject();
}

// Files that were not judged are the tool's own notifications (3.20.21), not results about the code.
void Invocation(const std::vector<BatchItem>& items, SarifWriter* out) {
  out->Array("invocations");
  out->Object();
  out->Bool("executionSuccessful", true);
  out->Array("toolExecutionNotifications");
  for (const BatchItem& item : items) {
    if (item.review.verdict != Verdict::kNotJudged) continue;
    out->Object();
    out->Text("level", "note");
    out->Message("message", absl::StrCat("not judged: ", absl::StrJoin(item.review.not_judged, "; ")));
    Location(item.path, nullptr, out);
    out->EndObject();
  }
  out->EndArray();
  out->EndObject();
  out->EndArray();
}

}  // namespace

std::string RenderBatchSarif(const std::vector<BatchItem>& items, absl::string_view version,
                             const std::function<std::string(const std::string& rule_id)>& rule_text) {
  RuleIndex rules;
  for (const BatchItem& item : items) {
    for (const doors::FindingLine& line : item.review.lines) rules.emplace(line.rule_id, 0);
  }
  int64_t next = 0;
  for (auto& [id, index] : rules) index = next++;

  SarifWriter out;
  out.Object();
  out.Text("$schema", "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json");
  out.Text("version", "2.1.0");
  out.Array("runs");
  out.Object();
  out.Object("tool");
  out.Object("driver");
  out.Text("name", "flightplan");
  out.Text("semanticVersion", version);
  Rules(rules, rule_text, &out);
  out.EndObject();
  out.EndObject();
  Invocation(items, &out);
  out.Text("columnKind", "utf16CodeUnits");
  out.Array("results");
  for (const BatchItem& item : items) {
    for (const doors::FindingLine& line : item.review.lines) Result(item, line, rules, &out);
  }
  out.EndArray();
  out.EndObject();
  out.EndArray();
  out.EndObject();
  return out.Take();
}

}  // namespace flightplan::cli
