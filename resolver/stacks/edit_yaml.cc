#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "resolver/base/yaml.h"
#include "resolver/catalog/bridge_fields.h"
#include "resolver/plan/stack.h"
#include "resolver/stacks/edit_launch.h"
#include "resolver/stacks/text_edits.h"

namespace flightplan {
namespace {

std::string YamlText(const Value& value) {
  if (value.is_none()) return "null";
  if (!value.is_text()) return value.ToJson();
  const absl::string_view text = value.text();
  const bool plain =
      !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) &&
      std::all_of(text.begin(), text.end(), [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '/' || c == '-';
      });
  for (absl::string_view word : {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}) {
    if (absl::EqualsIgnoreCase(text, word)) return value.ToJson();
  }
  return plain ? std::string(text) : value.ToJson();
}

// The value that begins here, up to the end of its line; nullopt for one that goes on below.
std::optional<size_t> YamlValueEnd(absl::string_view text, size_t begin) {
  const size_t stop = std::min(text.find('\n', begin), text.size());
  const absl::string_view line = text.substr(begin, stop - begin);
  if (line.empty() || absl::StartsWith(line, "- ") || absl::StrContains("|>&*{", line.substr(0, 1)))
    return std::nullopt;
  if (line[0] == '"' || line[0] == '\'' || line[0] == '[') {
    const char close = line[0] == '[' ? ']' : line[0];
    const size_t end = line.find(close, 1);
    if (end == absl::string_view::npos || (close == ']' && absl::StrContains(line.substr(1, end - 1), "[")))
      return std::nullopt;
    return begin + end + 1;
  }
  size_t end = std::min({line.find(" #"), line.find(", "), line.find('}'), line.size()});
  while (end > 0 && (IsBlank(line[end - 1]) || line[end - 1] == '\r')) --end;
  return end == 0 ? std::nullopt : std::optional<size_t>(begin + end);
}

// In front of the keys of a map that is written below its own key; nullopt: it stands on that key's line.
std::optional<TextEdit> InFront(absl::string_view text, const YamlNode& map, absl::string_view keys,
                                absl::string_view value) {
  if (map.kind != YamlNode::Kind::kMap || map.keys.empty()) return std::nullopt;
  const auto own =
      std::find_if(map.keys.begin(), map.keys.end(), [](const auto& key) { return !absl::StartsWith(key.first, "_"); });
  const YamlNode& first = own == map.keys.end() ? map.keys.front().second : own->second;  // behind _target_
  if (first.key_line <= map.key_line) return std::nullopt;  // {a: 1} on the section's own line
  const size_t begin = Lines(text).Offset(first.key_line, 1);
  std::string indent(static_cast<size_t>(std::max(0, first.key_column - 1)), ' ');
  std::string lines;
  for (const absl::string_view key : absl::StrSplit(keys, '.')) {
    absl::StrAppend(&lines, lines.empty() ? "" : "\n", indent, key, ":");
    indent += "  ";
  }
  return TextEdit{begin, begin, absl::StrCat(lines, " ", value, "\n")};
}

// A new key by the keys that lead to it, below those of them that are there.
std::optional<TextEdit> NewKeyAt(absl::string_view text, const YamlNode& root, absl::string_view path,
                                 absl::string_view value) {
  const YamlNode* map = &root;
  for (size_t dot = path.find('.'); dot != absl::string_view::npos; dot = path.find('.')) {
    const YamlNode* const below = map->Find(path.substr(0, dot));
    if (below == nullptr) break;
    map = below;
    path.remove_prefix(dot + 1);
  }
  if (path.empty() || map->Find(path) != nullptr) return std::nullopt;
  return InFront(text, *map, path, value);
}

// A new key; nullopt where the section is written in a way that has no place for one.
std::optional<TextEdit> NewKey(absl::string_view text, const YamlNode& root, const Assignment& assignment,
                               const Environment& env) {
  const absl::string_view end_line = text.empty() || text.back() == '\n' ? "" : "\n";
  const std::string value = YamlText(assignment.value);
  if (!StackOf(env).container) {
    return TextEdit{text.size(), text.size(), absl::StrCat(end_line, Name(assignment.knob), ": ", value, "\n")};
  }
  const absl::string_view section = BridgeSectionOf(assignment.knob), field = FieldNameOf(assignment.knob);
  if (section.empty() || absl::StrContains(field, ".")) return std::nullopt;
  const YamlNode* map = root.Find(section);
  if (map == nullptr) {
    return TextEdit{text.size(), text.size(), absl::StrCat(end_line, section, ":\n  ", field, ": ", value, "\n")};
  }
  return InFront(text, *map, field, value);
}

}  // namespace

EditedText EditYaml(absl::string_view text, absl::Span<const ParsedKnob> knobs, const Patch& patch,
                    const Environment& env, YamlPlace place) {
  EditedText out;
  const absl::StatusOr<YamlDocument> document = ParseYaml("config", text, YamlAliases::kExpanded);
  const Lines lines(text);
  DisjointEdits<TextEdit> edits;
  for (const Assignment& assignment : patch) {
    std::optional<TextEdit> edit;
    const ParsedKnob* written = nullptr;
    for (const ParsedKnob& parsed : knobs) {
      if (parsed.knob == assignment.knob && parsed.at.line > 0) written = &parsed;
    }
    if (assignment.env_var.empty() && document.ok() && written == nullptr) {
      edit = place == nullptr
                 ? NewKey(text, document->root, assignment, env)
                 : NewKeyAt(text, document->root, place(assignment.knob, document->root), YamlText(assignment.value));
    } else if (assignment.env_var.empty() && document.ok()) {
      const size_t begin = lines.Offset(written->at.line, written->at.column);
      const auto end = begin < text.size() ? YamlValueEnd(text, begin) : std::nullopt;
      // The place of an empty value is not its own.
      const bool says_none =
          end.has_value() &&
          absl::StrContains("|null|Null|NULL|~|None|", absl::StrCat("|", text.substr(begin, *end - begin), "|"));
      if (end.has_value() && (says_none || !written->value.is_none()))
        edit = TextEdit{begin, *end, YamlText(assignment.value)};
    }
    if (!edit.has_value() || !edits.Add({*std::move(edit)})) out.unwritten.push_back(assignment);
  }
  out.text = Applied(edits, text);
  return out;
}

}  // namespace flightplan
