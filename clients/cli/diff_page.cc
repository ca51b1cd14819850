#include "clients/cli/diff_page.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "clients/cli/findings.h"
#include "clients/cli/forecast_part.h"
#include "clients/cli/forecast_text.h"
#include "clients/cli/output.h"
#include "clients/cli/table.h"
#include "clients/cli/text.h"
#include "clients/cli/validate_page.h"
#include "clients/cli/words.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"

namespace flightplan::cli {
namespace {

constexpr Word<v1::FitVerdict> kFits[] = {{"fits", v1::FIT_VERDICT_FITS},
                                          {"marginal", v1::FIT_VERDICT_MARGINAL},
                                          {"does not fit", v1::FIT_VERDICT_DOES_NOT_FIT}};
constexpr size_t kContributors = 2;   // parts named in a sentence
constexpr double kSmallShare = 0.05;  // of the first's change: not worth naming beside it

std::string Sign(double change) { return change < 0 ? "-" : "+"; }

std::string GibChange(double bytes) { return absl::StrCat(Sign(bytes), GibNumber(std::abs(bytes))); }

// Three figures, in the unit of the longer step.
std::string Figure(double us, const TimeUnit& unit) {
  const double value = us / unit.us;
  return absl::StrFormat("%.*f", value < 10 ? 2 : value < 100 ? 1 : 0, value);
}

std::string SignedPercent(double ratio) { return absl::StrCat(Sign(ratio), PercentText(std::abs(ratio))); }

Verdict VerdictFor(const Side& side) {
  return VerdictOf(side.answer.accepted_by_stack(), side.answer.will_run(), side.completeness, side.fit);
}

std::string VerdictText(const Side& side) {
  const Verdict verdict = VerdictFor(side);
  std::string text(verdict.stack);
  for (const absl::string_view more : {verdict.later, WordFor(kFits, side.fit)}) {
    if (!more.empty()) absl::StrAppend(&text, ", ", more);
  }
  return text;
}

// "activations -10, optimizer state +2.3": what moves the total most.
std::string Contributors(const std::vector<AmountDifference>& parts, const std::function<std::string(double)>& text) {
  std::vector<std::string> said;
  for (const AmountDifference& part : parts) {
    const bool small = std::abs(part.change()) < kSmallShare * std::abs(parts.front().change());
    if (said.size() < kContributors && !small)
      said.push_back(absl::StrCat(PartName(part.name), " ", text(part.change())));
  }
  return absl::StrJoin(said, ", ");
}

std::string TimeSentence(const Comparison& c) {
  if (!c.effect.has_value()) return "";
  const StepEffect& effect = *c.effect;
  const TimeUnit unit = UnitFor(std::max(c.step.a, c.step.b));
  const std::string parts = Contributors(
      c.time, [&](double us) { return absl::StrCat(Sign(us), Figure(std::abs(us), unit), " ", unit.name); });
  if (c.step.a == c.step.b) return "B's step takes as long as A's";
  std::string text =
      absl::StrCat("B's step is ", PercentText(std::abs(effect.change)), effect.change < 0 ? " shorter" : " longer",
                   " (", SignedPercent(effect.low), "..", SignedPercent(effect.high), "): ", parts);
  if (effect.needs_ab()) absl::StrAppend(&text, "; the interval reaches over zero, only a run of both can tell");
  return text;
}

std::string MemorySentence(const Comparison& c) {
  if (c.memory_total.a <= 0) return "";
  if (c.memory.empty()) return "B needs as much memory as A";
  const double change = c.memory_total.change();
  return absl::StrCat("B's fullest stage needs ", GibNumber(std::abs(change)), " GiB ", change < 0 ? "less" : "more",
                      ": ", Contributors(c.memory, GibChange), " GiB");
}

void Sentence(const std::string& text, const Terminal& terminal, std::string* out) {
  if (text.empty()) return;
  for (const std::string& line : Wrap(terminal.Shown(text), terminal.width)) absl::StrAppend(out, line, "\n");
}

std::string Head(const Side& a, const Side& b, const Comparison& comparison, const Terminal& terminal) {
  Table table({{}, {.min_width = 12, .shrink = true}, {}, {}}, 0);
  for (const auto& [letter, side] : {std::pair("A", &a), std::pair("B", &b)}) {
    const Verdict verdict = VerdictFor(*side);
    table.Row({Cell(letter, Style::kBold), Cell(side->name), Cell(side->answer.target(), Style::kDim),
               Cell(VerdictText(*side), verdict.later.empty() ? verdict.stack_style : verdict.later_style)});
  }
  std::string out = absl::StrCat(table.Render(terminal), "\n");
  Sentence(TimeSentence(comparison), terminal, &out);
  Sentence(MemorySentence(comparison), terminal, &out);
  for (const auto& [letter, side] : {std::pair("A", &a), std::pair("B", &b)}) {
    if (!comparison.effect.has_value() && !side->answer.estimate().has_step_time_us()) {
      Sentence(absl::StrCat(
                   letter, " has no time forecast",
                   side->not_said.empty() ? "" : absl::StrCat("; not judged: ", absl::StrJoin(side->not_said, "; "))),
               terminal, &out);
    }
  }
  return out;
}

std::string ValuesTable(const Comparison& comparison, bool all, const Terminal& terminal) {
  const size_t once = comparison.written_once.size();
  const std::string same =
      once == 0 ? ""
                : absl::StrCat("  ",
                               terminal.Paint(absl::StrCat("(and ", once,
                                                           " of the same value, written on one side and the default "
                                                           "on the other)"),
                                              Style::kDim),
                               "\n");
  if (comparison.values.empty()) return absl::StrCat("\nno knob differs\n", same);
  Table table({{.min_width = 16, .shrink = true},
               {.max_width = 28, .min_width = 8, .shrink = true},
               {.max_width = 28, .min_width = 8, .shrink = true},
               {.min_width = 20, .max_lines = all ? 0 : 2, .shrink = true}});
  table.Row({Cell("knob", Style::kDim), Cell("A", Style::kDim), Cell("B", Style::kDim), Cell("because", Style::kDim)});
  size_t hidden = 0;
  for (const ValueDifference& value : comparison.values) {
    if (value.by_stack && !all) {
      ++hidden;
      continue;
    }
    std::vector<std::string> why;
    if (!value.why_a.empty() && value.why_a != value.why_b) why.push_back(absl::StrCat("A: ", value.why_a));
    if (!value.why_b.empty()) why.push_back(absl::StrCat(value.why_a == value.why_b ? "" : "B: ", value.why_b));
    const bool variable = absl::StartsWith(value.name, "env.");
    const auto cell = [variable](const std::string& text) {
      return text.empty() ? Cell(variable ? "not set" : "default", Style::kDim) : Cell(text, Style::kGreen);
    };
    table.Row({Cell(value.name), cell(value.a), cell(value.b), Cell(absl::StrJoin(why, "; "), Style::kDim)});
  }
  std::string out = absl::StrCat("\n", table.Render(terminal));
  if (hidden > 0) {
    absl::StrAppend(
        &out, "  ",
        terminal.Paint(absl::StrCat("(and ", hidden, " that the stack sets by itself: --verbose)"), Style::kDim), "\n");
  }
  return out + same;
}

std::string AmountsTable(absl::string_view title, const std::vector<AmountDifference>& parts,
                         const AmountDifference& total, const std::function<std::string(double)>& text,
                         const Terminal& terminal) {
  Table table({{}, {.right = true}, {.right = true}, {.right = true}});
  table.Row({Cell(title, Style::kDim), Cell("A", Style::kDim), Cell("B", Style::kDim), Cell("B - A", Style::kDim)});
  const auto row = [&](const AmountDifference& amount, Style style) {
    const bool same = std::abs(amount.change()) < 1e-9 * std::max(amount.a, amount.b);
    table.Row({Cell(PartName(amount.name), style), Cell(text(amount.a), style), Cell(text(amount.b), style),
               same ? Cell("0")
                    : Cell(absl::StrCat(Sign(amount.change()), text(std::abs(amount.change()))),
                           amount.change() < 0 ? Style::kGreen : Style::kYellow)});
  };
  for (const AmountDifference& part : parts) row(part, Style::kPlain);
  row(total, Style::kBold);
  return absl::StrCat("\n", table.Render(terminal));
}

std::string FindingsLists(const Comparison& comparison, bool all, const Terminal& terminal) {
  std::string out;
  for (const bool in_a : {true, false}) {
    Findings findings;
    for (const FindingDifference& difference : comparison.findings) {
      if (difference.in_a == in_a) *findings.Add() = difference.finding;
    }
    if (findings.empty()) continue;
    absl::StrAppend(&out, "\n", terminal.Paint(absl::StrCat("findings of ", in_a ? "A" : "B", " alone"), Style::kBold),
                    "   ", CountText(findings, 0), "\n", FindingsText(findings, FlagSpelling({}), all, terminal));
  }
  if (out.empty()) {
    return absl::StrCat("\nthe same ", comparison.common_findings,
                        comparison.common_findings == 1 ? " finding\n" : " findings\n");
  }
  return out;
}

// ---- JSON

using Fields = google::protobuf::Map<std::string, google::protobuf::Value>;

Fields& Object(google::protobuf::Value* value) { return *value->mutable_struct_value()->mutable_fields(); }

void PutText(const std::string& text, google::protobuf::Value* value) {
  if (text.empty()) {
    value->set_null_value(google::protobuf::NULL_VALUE);
  } else {
    value->set_string_value(text);
  }
}

void PutSide(const Side& side, google::protobuf::Value* value) {
  Fields& fields = Object(value);
  fields["name"].set_string_value(side.name);
  fields["target"].set_string_value(side.answer.target());
  fields["digest"].set_string_value(side.answer.digest());
  fields["accepted_by_stack"].set_bool_value(side.answer.accepted_by_stack());
  fields["will_run"].set_bool_value(side.answer.will_run());
  fields["fit"].set_string_value(v1::FitVerdict_Name(side.fit));
  fields["verdict"].set_string_value(VerdictText(side));
  auto* list = fields["not_said"].mutable_list_value();
  for (const std::string& part : side.not_said) list->add_values()->set_string_value(part);
}

void PutAmount(const AmountDifference& amount, bool named, google::protobuf::Value* value) {
  Fields& fields = Object(value);
  if (named) fields["name"].set_string_value(amount.name);
  fields["a"].set_number_value(amount.a);
  fields["b"].set_number_value(amount.b);
  fields["change"].set_number_value(amount.change());
}

void PutAmounts(const char* unit, const AmountDifference& total, const std::vector<AmountDifference>& parts,
                google::protobuf::Value* value) {
  Fields& fields = Object(value);
  fields["unit"].set_string_value(unit);
  PutAmount(total, false, &fields["total"]);
  auto* list = fields["parts"].mutable_list_value();
  for (const AmountDifference& part : parts) PutAmount(part, true, list->add_values());
}

void PutFinding(const FindingDifference& difference, google::protobuf::Value* value) {
  Fields& fields = Object(value);
  fields["in"].set_string_value(difference.in_a ? "a" : "b");
  (void)google::protobuf::util::JsonStringToMessage(ToJson(difference.finding),
                                                    fields["finding"].mutable_struct_value());
}

}  // namespace

std::string RenderDiffPage(const Side& a, const Side& b, const Comparison& comparison, bool all,
                           const Terminal& terminal) {
  std::string out = absl::StrCat(Head(a, b, comparison, terminal), ValuesTable(comparison, all, terminal));
  if (comparison.memory_total.a > 0) {
    out += AmountsTable("GiB, fullest stage", comparison.memory, comparison.memory_total, GibNumber, terminal);
  }
  if (comparison.effect.has_value()) {
    const TimeUnit unit = UnitFor(std::max(comparison.step.a, comparison.step.b));
    out += AmountsTable(
        absl::StrCat("step by wall, ", unit.name), comparison.time, comparison.step,
        [&](double us) { return Figure(us, unit); }, terminal);
  }
  return out + FindingsLists(comparison, all, terminal);
}

std::string DiffJson(const Side& a, const Side& b, const Comparison& comparison) {
  google::protobuf::Struct page;
  Fields& fields = *page.mutable_fields();
  PutSide(a, &fields["a"]);
  PutSide(b, &fields["b"]);
  auto* values = fields["values"].mutable_list_value();
  for (const ValueDifference& difference : comparison.values) {
    Fields& row = Object(values->add_values());
    row["name"].set_string_value(difference.name);
    PutText(difference.a, &row["a"]);
    PutText(difference.b, &row["b"]);
    PutText(difference.why_a, &row["why_a"]);
    PutText(difference.why_b, &row["why_b"]);
    row["by_stack"].set_bool_value(difference.by_stack);
  }
  auto* once = fields["written_once"].mutable_list_value();
  for (const std::string& name : comparison.written_once) once->add_values()->set_string_value(name);
  fields["memory"].set_null_value(google::protobuf::NULL_VALUE);
  if (comparison.memory_total.a > 0) {
    PutAmounts("bytes", comparison.memory_total, comparison.memory, &fields["memory"]);
  }
  fields["time"].set_null_value(google::protobuf::NULL_VALUE);
  if (comparison.effect.has_value()) {
    PutAmounts("us", comparison.step, comparison.time, &fields["time"]);
    Fields& ratio = Object(&Object(&fields["time"])["step_ratio"]);
    ratio["value"].set_number_value(comparison.effect->change);
    ratio["low"].set_number_value(comparison.effect->low);
    ratio["high"].set_number_value(comparison.effect->high);
    Object(&fields["time"])["needs_ab"].set_bool_value(comparison.effect->needs_ab());
  }
  auto* findings = fields["findings"].mutable_list_value();
  for (const FindingDifference& difference : comparison.findings) PutFinding(difference, findings->add_values());
  fields["common_findings"].set_number_value(comparison.common_findings);
  return ToJson(page);
}

}  // namespace flightplan::cli
