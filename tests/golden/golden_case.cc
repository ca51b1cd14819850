#include "tests/golden/golden_case.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "rapidjson/stringbuffer.h"
#include "rapidjson/writer.h"
#include "resolver/base/status_macros.h"
#include "resolver/derive/batch.h"
#include "resolver/engine/repeats.h"
#include "resolver/judge/loongforge_parts.h"
#include "tests/support/data_file.h"

namespace flightplan::golden {
namespace {

absl::string_view BaseName(absl::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == absl::string_view::npos ? path : path.substr(slash + 1);
}

// True and 1 are different results, 1 and 1.0 are not.
bool Same(const Value& a, const Value& b) { return a == b; }

// Errors of the part of a launch that the case's upstream run went through.
bool IsError(const GoldenCase& golden, const Finding& f) {
  if (f.severity != Severity::kError) return false;
  const bool later = golden.whole_launch && (f.stage == "mesh" || f.stage == "schedule");
  return f.verdict == Verdict::kAccepted || later;
}

std::string Ids(const std::vector<std::string>& ids) { return ids.empty() ? "none" : absl::StrJoin(ids, ", "); }

// Upstream stops at its first error, so on a reject only the warnings before it count.
std::vector<std::string> WarningsSeen(const std::vector<const Finding*>& findings, absl::string_view stop_at) {
  std::set<std::string> ids;
  for (const Finding* f : findings) {
    if (!stop_at.empty() && f->rule_id == stop_at) break;
    if (f->severity == Severity::kWarning && f->verdict == Verdict::kAccepted) ids.emplace(f->rule_id);
  }
  return std::vector<std::string>(ids.begin(), ids.end());
}

void CompareWarnings(const GoldenCase& golden, const std::vector<std::string>& seen, Judgement* out) {
  std::vector<std::string> missing;
  std::vector<std::string> extra;
  std::set_difference(golden.warnings.begin(), golden.warnings.end(), seen.begin(), seen.end(),
                      std::back_inserter(missing));
  std::set_difference(seen.begin(), seen.end(), golden.warnings.begin(), golden.warnings.end(),
                      std::back_inserter(extra));
  if (missing.empty() && extra.empty()) return;
  out->warnings_differ = true;
  out->details.push_back(absl::StrCat("warnings: missing ", Ids(missing), "; extra ", Ids(extra)));
  for (const std::string& id : missing) out->keys.push_back(absl::StrCat("warning missing ", id));
  for (const std::string& id : extra) out->keys.push_back(absl::StrCat("warning extra ", id));
}

void CompareNumber(absl::string_view name, std::optional<int64_t> expected, std::optional<int64_t> ours,
                   Judgement* out) {
  if (!expected.has_value() || expected == ours) return;
  out->result_differs = true;
  out->keys.push_back(absl::StrCat("value of ", name));
  out->details.push_back(
      absl::StrCat(name, ": upstream ", *expected, ", we ", ours.has_value() ? absl::StrCat(*ours) : "nothing"));
}

void CompareFinals(const GoldenCase& golden, const RunResult& result, Judgement* out) {
  for (const Expected& expected : golden.finals) {
    const Value& ours = (expected.argument ? result.arguments : result.config).Get(expected.knob);
    if (Same(ours, expected.value)) continue;
    out->result_differs = true;
    out->keys.push_back(absl::StrCat("value of ", Name(expected.knob)));
    out->details.push_back(
        absl::StrCat(Name(expected.knob), ": upstream ", expected.value.ToJson(), ", we ", ours.ToJson()));
  }
  CompareNumber("num_microbatches", golden.num_microbatches, StepMicrobatches(result.arguments, result.env), out);
  CompareNumber("data_parallel_size", golden.data_parallel_size, result.env.data_parallel_size, out);
  for (const auto& [name, value] : golden.vars) {
    auto it = result.env.vars.find(name);
    if (it != result.env.vars.end() && it->second == value) continue;
    out->result_differs = true;
    out->keys.push_back(absl::StrCat("variable ", name));
    out->details.push_back(absl::StrCat("variable ", name, ": upstream ", value, ", we ",
                                        it == result.env.vars.end() ? "unset" : it->second));
  }
}

}  // namespace

Judgement Compare(const GoldenCase& golden, const RunResult& result) {
  Judgement out;
  std::vector<const Finding*> findings;
  for (const Finding& f : golden.front_end) findings.push_back(&f);
  for (const Finding& f : result.findings) findings.push_back(&f);
  std::vector<std::string> errors;
  for (const Finding* f : findings) {
    if (IsError(golden, *f)) errors.emplace_back(f->rule_id);
  }
  const bool found = std::find(errors.begin(), errors.end(), golden.rule) != errors.end();
  if (golden.accept && !errors.empty()) {
    out.false_reject = true;
    for (const std::string& id : errors) out.keys.push_back(absl::StrCat("rejected by ", id));
    out.details.push_back(absl::StrCat("upstream accepts, we reject: ", Ids(errors)));
    for (const Finding* f : findings) {
      if (IsError(golden, *f)) out.details.push_back(absl::StrCat("  ", std::string(f->rule_id), ": ", f->seen));
    }
  } else if (!golden.accept && !found) {
    (errors.empty() ? out.false_accept : out.rule_missed) = true;
    out.keys.push_back(absl::StrCat("missed ", golden.rule));
    out.details.push_back(absl::StrCat("upstream rejects with ", golden.rule, ", we have: ", Ids(errors)));
  }
  if (golden.accept && errors.empty()) CompareFinals(golden, result, &out);
  // Without upstream's rule among ours there is no telling which of our warnings it had reached.
  if (golden.has_warnings && (golden.accept || found)) {
    CompareWarnings(golden, WarningsSeen(findings, golden.accept ? "" : golden.rule), &out);
  }
  return out;
}

Judgement Judge(const GoldenCase& golden) {
  RunResult run = Run(golden.config, golden.env, {}, KeepArguments::kYes);
  AddParts(golden.parsed, golden.env, &run);
  DropRepeats(&run.findings);  // as an answer does, which must not lose what upstream stops at
  return Compare(golden, run);
}

absl::StatusOr<Value> ToValue(const rapidjson::Value& node) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer, rapidjson::UTF8<>, rapidjson::UTF8<>, rapidjson::CrtAllocator,
                    rapidjson::kWriteNanAndInfFlag>
      writer(buffer);
  node.Accept(writer);
  return ValueFromJson(absl::string_view(buffer.GetString(), buffer.GetSize()));
}

absl::Status ForEachLine(const std::string& path, const std::function<absl::Status(absl::string_view)>& use) {
  FLIGHTPLAN_ASSIGN_OR_RETURN(const std::string text, ReadDataFile(path));
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    if (line.empty()) continue;
    if (absl::Status status = use(line); !status.ok()) {
      return absl::Status(status.code(), absl::StrCat(path, ":", number, ": ", status.message()));
    }
  }
  return absl::OkStatus();
}

std::string ReleaseInName(const std::string& path) {
  const absl::string_view name = BaseName(path);
  const size_t at = name.find('@');
  if (at == absl::string_view::npos) return "";
  const absl::string_view rest = name.substr(at + 1);
  return std::string(rest.substr(0, rest.find(".jsonl")));
}

absl::StatusOr<std::unique_ptr<GoldenReader>> MakeReader(const std::string& path) {
  const absl::string_view name = BaseName(path);
  if (absl::StartsWith(name, "core_bridge")) return MakeCoreBridgeReader(path);
  if (absl::StartsWith(name, "mlm_cli")) return MakeMlmCliReader(path);
  if (absl::StartsWith(name, "loongforge")) return MakeLoongForgeReader(path);
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": the name must start with core_bridge, mlm_cli or loongforge"));
}

}  // namespace flightplan::golden
