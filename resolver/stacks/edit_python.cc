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

// `cfg.model.tensor_model_parallel_size = 2`, on its own line.
struct FieldLine {
  absl::string_view line;  // whole
  PythonAssignment assignment;
  absl::string_view variable, section, field;
  size_t Indent() const { return static_cast<size_t>(assignment.name.data() - line.data()); }
};

std::optional<FieldLine> FieldLineAt(absl::string_view text, const Lines& lines, int number) {
  const size_t begin = lines.Offset(number, 1);
  if (begin >= text.size()) return std::nullopt;
  const absl::string_view line = text.substr(begin, lines.End(begin) - begin);
  const std::optional<PythonAssignment> assignment = ReadPythonAssignment(line);
  if (!assignment.has_value()) return std::nullopt;
  const std::vector<absl::string_view> parts = absl::StrSplit(assignment->name, absl::MaxSplits('.', 2));
  if (parts.size() != 3) return std::nullopt;
  return FieldLine{line, *assignment, parts[0], parts[1], parts[2]};
}

std::vector<FieldLine> FieldLines(absl::string_view text, const Lines& lines, absl::Span<const ParsedKnob> knobs) {
  std::vector<int> numbers;
  for (const ParsedKnob& parsed : knobs) {
    if (parsed.at.line > 0) numbers.push_back(parsed.at.line);
  }
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  std::vector<FieldLine> found;
  for (const int number : numbers) {
    if (std::optional<FieldLine> line = FieldLineAt(text, lines, number); line.has_value()) found.push_back(*line);
  }
  return found;
}

bool IsOf(const FieldLine& line, Knob knob) {
  return line.section == BridgeSectionOf(knob) && line.field == FieldNameOf(knob);
}

// Behind the last of the lines that no branch or loop around the others holds.
std::optional<TextEdit> NewLine(absl::string_view text, const std::vector<FieldLine>& known,
                                const Assignment& assignment) {
  const absl::string_view section = BridgeSectionOf(assignment.knob);
  if (section.empty() || known.empty()) return std::nullopt;
  const bool is_object =
      std::find(std::begin(kObjects), std::end(kObjects), section) != std::end(kObjects) ||
      std::any_of(known.begin(), known.end(), [&](const FieldLine& line) { return line.section == section; });
  if (!is_object) return std::nullopt;
  const FieldLine* anchor = &known.front();
  for (const FieldLine& line : known) {
    if (line.Indent() <= anchor->Indent()) anchor = &line;
  }
  const size_t end = static_cast<size_t>(anchor->line.data() - text.data()) + anchor->line.size();
  const absl::string_view break_first = absl::EndsWith(anchor->line, "\n") ? "" : "\n";
  return TextEdit{end, end,
                  absl::StrCat(break_first, anchor->line.substr(0, anchor->Indent()), anchor->variable, ".", section,
                               ".", FieldNameOf(assignment.knob), " = ", WritePythonValue(assignment.value), "\n")};
}

}  // namespace

EditedText EditPython(absl::string_view text, absl::Span<const ParsedKnob> knobs, const Patch& patch) {
  EditedText out;
  const Lines lines(text);
  const std::vector<FieldLine> known = FieldLines(text, lines, knobs);
  DisjointEdits<TextEdit> edits;
  for (const Assignment& assignment : patch) {
    std::optional<TextEdit> edit;
    const auto last =
        std::find_if(known.rbegin(), known.rend(), [&](const FieldLine& line) { return IsOf(line, assignment.knob); });
    const bool written = std::any_of(knobs.begin(), knobs.end(), [&](const ParsedKnob& parsed) {
      return parsed.knob == assignment.knob && parsed.at.line > 0;
    });
    if (!assignment.env_var.empty()) {
      // of its launcher
    } else if (last != known.rend() && IsLiteral(last->assignment.value)) {
      const size_t begin = static_cast<size_t>(last->assignment.value.data() - text.data());
      edit = TextEdit{begin, begin + last->assignment.value.size(), WritePythonValue(assignment.value)};
    } else if (!written) {
      edit = NewLine(text, known, assignment);
    }
    if (!edit.has_value() || !edits.Add({*std::move(edit)})) out.unwritten.push_back(assignment);
  }
  out.text = Applied(edits, text);
  return out;
}

}  // namespace flightplan
