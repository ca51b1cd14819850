#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "resolver/catalog/bridge_fields.h"
#include "resolver/read/python_line.h"
#include "resolver/read/python_program.h"
#include "resolver/stacks/edit_launch.h"
#include "resolver/stacks/text_edits.h"

namespace flightplan {
namespace {

// Sections that every configuration has as objects (Megatron-Bridge training/config.py, ConfigContainer); another may
// be None, or a name, and then has no field to set.
constexpr absl::string_view kObjects[] = {"model",     "train",  "optimizer",  "scheduler", "ddp", "dataset",
                                          "tokenizer", "logger", "checkpoint", "rng",       "dist"};

// What stands there means itself: an expression would be lost.
bool IsLiteral(absl::string_view value) {
  if (value == "True" || value == "False" || value == "None") return true;
  const bool number = absl::ascii_isdigit(static_cast<unsigned char>(value[0])) || value[0] == '-' || value[0] == '.';
  if (number) return !absl::StrContains(value, ' ');
  const char close = value[0] == '[' ? ']' : value[0] == '(' ? ')' : value[0];
  return absl::StrContains("\"'[(", value.substr(0, 1)) && value.size() > 1 && value.back() == close &&
         std::count(value.begin(), value.end(), close) == (close == value[0] ? 2 : 1);
}

// `cfg.model.tensor_model_parallel_size = 2`, or a part of it by another name: `model.tensor_model_parallel_size = 2`.
struct FieldLine {
  absl::string_view line;  // whole
  PythonAssignment assignment;
  std::vector<absl::string_view> names;  // of the assignment's target

  size_t Indent() const { return static_cast<size_t>(assignment.name.data() - line.data()); }
  // Nothing else stands on the line, so that one like it may follow.
  bool Alone() const {
    return names.size() == 3 && absl::StripAsciiWhitespace(line.substr(0, Indent())).empty() &&
           FindBridgeField(names[1], names[2]).has_value();
  }
};

// The text has no end in it: a bracket, a quote or a backslash at the line's end goes on below.
bool GoesOnBelow(absl::string_view value) {
  return absl::EndsWith(value, "\\") || FindInPython(absl::StrCat(value, "\n;"), ';') == absl::string_view::npos;
}

std::optional<FieldLine> FieldLineAt(absl::string_view text, const Lines& lines, const SourcePosition& at) {
  const size_t begin = lines.Offset(at.line, 1);
  if (at.line <= 0 || begin >= text.size()) return std::nullopt;
  const absl::string_view line = text.substr(begin, lines.End(begin) - begin);
  const size_t column = static_cast<size_t>(std::max(at.column, 1)) - 1;
  const std::optional<PythonAssignment> assignment = ReadPythonAssignment(line.substr(std::min(column, line.size())));
  if (!assignment.has_value() || GoesOnBelow(assignment->value)) return std::nullopt;
  if (FindInPython(assignment->value, ';') != absl::string_view::npos) return std::nullopt;
  return FieldLine{line, *assignment, absl::StrSplit(assignment->name, absl::MaxSplits('.', 2))};
}

// The lines that set one field of a configuration and nothing else.
std::vector<FieldLine> FieldLines(absl::string_view text, const Lines& lines, absl::Span<const ParsedKnob> knobs) {
  std::vector<SourcePosition> places;
  for (const ParsedKnob& parsed : knobs) places.push_back(parsed.at);
  std::sort(places.begin(), places.end(), [](const auto& a, const auto& b) { return a.line < b.line; });
  const auto same = [](const SourcePosition& a, const SourcePosition& b) { return a.line == b.line; };
  places.erase(std::unique(places.begin(), places.end(), same), places.end());
  std::vector<FieldLine> found;
  for (const SourcePosition& at : places) {
    const std::optional<FieldLine> line = FieldLineAt(text, lines, at);
    if (line.has_value() && line->Alone()) found.push_back(*line);
  }
  return found;
}

bool Mentions(absl::string_view text, absl::string_view name) {
  for (size_t at = text.find(name); at != absl::string_view::npos; at = text.find(name, at + 1)) {
    const bool begins = at == 0 || PythonWord(text.substr(at - 1, 1)).empty();
    if (begins && PythonWord(text.substr(at)) == name) return true;
  }
  return false;
}

// Behind the last of the lines that no branch or loop around the others holds. Nothing: what stands further down may
// set the field, too.
std::optional<TextEdit> NewLine(absl::string_view text, const std::vector<FieldLine>& known,
                                const Assignment& assignment) {
  const absl::string_view section = BridgeSectionOf(assignment.knob), field = FieldNameOf(assignment.knob);
  if (section.empty() || known.empty()) return std::nullopt;
  const bool is_object =
      std::find(std::begin(kObjects), std::end(kObjects), section) != std::end(kObjects) ||
      std::any_of(known.begin(), known.end(), [&](const FieldLine& line) { return line.names[1] == section; });
  if (!is_object) return std::nullopt;
  const FieldLine* anchor = &known.front();
  for (const FieldLine& line : known) {
    if (line.Indent() <= anchor->Indent()) anchor = &line;
  }
  const size_t end = static_cast<size_t>(anchor->line.data() - text.data()) + anchor->line.size();
  if (Mentions(text.substr(end), field)) return std::nullopt;
  const absl::string_view break_first = absl::EndsWith(anchor->line, "\n") ? "" : "\n";
  return TextEdit{end, end,
                  absl::StrCat(break_first, anchor->line.substr(0, anchor->Indent()), anchor->names[0], ".", section,
                               ".", field, " = ", WritePythonValue(assignment.value), "\n")};
}

std::optional<TextEdit> InPlaceOf(absl::string_view text, absl::string_view literal, const Assignment& assignment) {
  if (!IsLiteral(literal)) return std::nullopt;
  const size_t begin = static_cast<size_t>(literal.data() - text.data());
  return TextEdit{begin, begin + literal.size(), WritePythonValue(assignment.value)};
}

// What the one line that sets a variable of the program gives it; empty: none does, or several do.
absl::string_view ValueOfVariable(absl::string_view text, absl::string_view name) {
  absl::string_view value;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (!absl::StartsWith(line, name)) continue;
    const std::optional<PythonAssignment> assignment = ReadPythonAssignment(line);
    if (!assignment.has_value() || assignment->name != name) continue;
    if (!value.empty()) return {};
    value = assignment->value;
  }
  return value;
}

// Its value, where a literal stands in the statement that set it last, or in that of the variable which stands there.
std::optional<TextEdit> NewLiteral(absl::string_view text, const Lines& lines, const ParsedKnob& last,
                                   const Assignment& assignment) {
  const std::optional<FieldLine> line = FieldLineAt(text, lines, last.at);
  if (!line.has_value() || line->names.back() != FieldNameOf(assignment.knob)) return std::nullopt;
  absl::string_view value = line->assignment.value;
  if (PythonWord(value) == value && !IsLiteral(value)) value = ValueOfVariable(text, value);
  return value.empty() ? std::nullopt : InPlaceOf(text, value, assignment);
}

// Knobs that one place sets, as a loop over sections does, or a variable.
bool IsAmong(const std::vector<TextEdit>& done, const TextEdit& edit) {
  return std::any_of(done.begin(), done.end(), [&](const TextEdit& other) {
    return other.begin == edit.begin && other.end == edit.end && other.begin < other.end && other.text == edit.text;
  });
}

}  // namespace

EditedText EditPython(absl::string_view text, absl::Span<const ParsedKnob> knobs, const Patch& patch) {
  EditedText out;
  const Lines lines(text);
  const std::vector<FieldLine> known = FieldLines(text, lines, knobs);
  DisjointEdits<TextEdit> edits;
  std::vector<TextEdit> done;
  for (const Assignment& assignment : patch) {
    std::optional<TextEdit> edit;
    const auto last = std::find_if(knobs.rbegin(), knobs.rend(), [&](const ParsedKnob& parsed) {
      return parsed.knob == assignment.knob && parsed.at.line > 0;
    });
    if (!assignment.env_var.empty()) {
      // of its launcher
    } else if (last != knobs.rend()) {
      edit = NewLiteral(text, lines, *last, assignment);
    } else {
      edit = NewLine(text, known, assignment);
    }
    if (edit.has_value() && IsAmong(done, *edit)) continue;
    if (edit.has_value() && edits.Add({*edit})) {
      done.push_back(*std::move(edit));
    } else {
      out.unwritten.push_back(assignment);
    }
  }
  out.text = Applied(edits, text);
  return out;
}

}  // namespace flightplan
