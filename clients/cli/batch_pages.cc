#include "clients/cli/batch_pages.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "clients/cli/table.h"
#include "clients/cli/text.h"
#include "resolver/base/utf8.h"

namespace flightplan::cli {
namespace {

using doors::FindingLine;
using doors::Verdict;
using Json = rapidjson::Writer<rapidjson::StringBuffer>;

Style StyleOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kAllowed:
      return Style::kGreen;
    case Verdict::kWarned:
      return Style::kYellow;
    case Verdict::kRefused:
      return Style::kRed;
    case Verdict::kNotJudged:
      return Style::kDim;
  }
  return Style::kPlain;
}

std::string WordOf(Verdict verdict) {
  return verdict == Verdict::kNotJudged ? "not judged" : std::string(VerdictWord(verdict));
}

std::string FirstLine(const BatchItem& item) {
  if (item.review.verdict == Verdict::kNotJudged) return absl::StrJoin(item.review.not_judged, "; ");
  if (item.review.lines.empty()) return "";
  const FindingLine& first = item.review.lines[0];
  std::string text =
      absl::StrCat("[", first.rule_id, "] ", first.line > 0 ? absl::StrCat("line ", first.line, ": ") : "", first.seen);
  if (!first.fix.empty()) absl::StrAppend(&text, "; fix: ", first.fix);
  if (item.review.lines.size() > 1) absl::StrAppend(&text, " (and ", item.review.lines.size() - 1, " more)");
  return text;
}

std::string TotalsLine(const std::vector<BatchItem>& items) {
  const BatchTotals totals = TotalsOf(items);
  std::vector<std::string> parts;
  const auto add = [&parts](size_t count, absl::string_view what) {
    if (count > 0) parts.push_back(absl::StrCat(WithThousands(static_cast<int64_t>(count)), " ", what));
  };
  add(totals.refused, "refused");
  add(totals.warned, "with warnings");
  add(totals.allowed, "fine");
  add(totals.not_judged, "not judged");
  return absl::StrCat(WithThousands(static_cast<int64_t>(items.size())), items.size() == 1 ? " file: " : " files: ",
                      parts.empty() ? "nothing to judge" : absl::StrJoin(parts, ", "), "\n");
}

void Text(absl::string_view key, absl::string_view value, Json* json) {
  json->Key(key.data(), static_cast<rapidjson::SizeType>(key.size()));
  json->String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
}

void Texts(const char* key, const std::vector<std::string>& values, Json* json) {
  json->Key(key);
  json->StartArray();
  for (const std::string& value : values) json->String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
  json->EndArray();
}

void Number(const char* key, int value, Json* json) {
  json->Key(key);
  json->Int(value);
}

}  // namespace

std::string RenderBatchTable(const std::vector<BatchItem>& items, bool verbose, const Terminal& terminal) {
  Table table({{.min_width = 16, .shrink = true},
               {},
               {.min_width = 12, .shrink = true},
               {.min_width = 30, .max_lines = 3, .shrink = true}});
  bool hidden = false;
  for (const BatchItem& item : items) {
    if (!verbose && item.review.verdict != Verdict::kRefused && item.review.verdict != Verdict::kWarned) {
      hidden = true;
      continue;
    }
    table.Row({Cell(item.path), Cell(WordOf(item.review.verdict), StyleOf(item.review.verdict)),
               Cell(item.review.target), Cell(FirstLine(item))});
  }
  return absl::StrCat(
      table.Render(terminal), table.empty() ? "" : "\n", TotalsLine(items),
      hidden ? "every file: --verbose; every finding: --format jsonl, or validate the file alone\n" : "");
}

std::string RenderBatchJsonLines(const std::vector<BatchItem>& items) {
  std::string out;
  for (const BatchItem& item : items) {
    rapidjson::StringBuffer buffer;
    Json json(buffer);
    json.StartObject();
    Text("path", Utf8Repaired(item.path), &json);
    Text("verdict", doors::VerdictWord(item.review.verdict), &json);
    if (!item.review.target.empty()) Text("target", item.review.target, &json);
    if (!item.review.digest.empty()) Text("digest", item.review.digest, &json);
    json.Key("findings");
    json.StartArray();
    for (const FindingLine& line : item.review.lines) {
      json.StartObject();
      Text("rule_id", line.rule_id, &json);
      Text("severity", line.error ? "error" : "warning", &json);
      if (line.line > 0) Number("line", line.line, &json);
      if (line.line > 0) Number("column", line.column, &json);
      Text("seen", line.seen, &json);
      Text("needs", line.needs, &json);
      if (!line.fix.empty()) Text("fix", line.fix, &json);
      if (!line.other_fixes.empty()) Texts("other_fixes", line.other_fixes, &json);
      json.EndObject();
    }
    json.EndArray();
    Texts("not_judged", item.review.not_judged, &json);
    json.EndObject();
    absl::StrAppend(&out, absl::string_view(buffer.GetString(), buffer.GetSize()), "\n");
  }
  return out;
}

}  // namespace flightplan::cli
