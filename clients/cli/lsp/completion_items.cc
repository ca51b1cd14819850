// What is offered while a flag, a key or a value is typed.
#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "clients/cli/lsp/hover.h"
#include "clients/cli/rpc/json_text.h"
#include "resolver/plan/stack.h"

namespace flightplan::cli {
namespace {

// LSP's own numbers.
constexpr int kProperty = 10;
constexpr int kEnumMember = 20;

std::string ItemJson(absl::string_view label, int kind, absl::string_view detail, const std::string& range) {
  const std::string edit = JsonObject().Raw("range", range).Text("newText", label).Json();
  JsonObject item;
  item.Text("label", label).Integer("kind", kind);
  if (!detail.empty()) item.Text("detail", detail);
  return item.Raw("textEdit", edit).Json();
}

std::string DetailOf(const VocabularyWord& word, const Vocabulary& vocabulary) {
  static constexpr absl::string_view kClasses[] = {"convergence", "execution", "benchmark only"};
  const std::string fallback = DefaultsText(word.knob, vocabulary.stack());
  return absl::StrCat(kClasses[static_cast<size_t>(Row(word.knob).knob_class)],
                      fallback.empty() ? "" : absl::StrCat(", default ", fallback));
}

std::string ListJson(const std::vector<std::string>& items, bool whole) {
  return JsonObject().Bool("isIncomplete", !whole).Raw("items", JsonList(items)).Json();
}

// Of a stack's word what is typed after the keys above it; empty: it does not stand there. In YAML that is no tree of
// the stack's own, the knob's name.
std::string LabelOf(const std::string& spelling, const VocabularyWord& word, absl::string_view parent,
                    LaunchForm form) {
  if (form == LaunchForm::kWords) return spelling;
  if (absl::StartsWith(spelling, "--")) return Row(word.knob).name;
  absl::string_view rest = spelling;
  if (!parent.empty() && !absl::ConsumePrefix(&rest, absl::StrCat(parent, "."))) return "";
  return std::string(rest.substr(0, rest.find('.')));
}

}  // namespace

std::string CompletionJson(const Document& document, TextPosition position, const Vocabulary& vocabulary) {
  const TextLines lines(document.text);
  const size_t offset = lines.OffsetOf(position);
  const Spot spot = SpotAt(document.text, offset, document.form);
  const std::string range = RangeJson(lines, spot.begin, spot.end);
  const absl::string_view typed =
      absl::string_view(document.text).substr(spot.begin, offset > spot.begin ? offset - spot.begin : 0);
  std::vector<std::string> items;
  if (spot.kind == Spot::Kind::kValue) {
    const VocabularyWord* word = vocabulary.Find(spot.name);
    if (word == nullptr) return ListJson({}, true);
    for (const std::string& value : word->values) items.push_back(ItemJson(value, kEnumMember, "", range));
    return ListJson(items, true);
  }
  const size_t dot = spot.name.rfind('.');
  const bool nested = document.form == LaunchForm::kYaml && dot != std::string::npos;
  const std::string parent = nested ? spot.name.substr(0, dot) : "";
  // A word that begins like none of them is a variable, a program, a path.
  if (document.form == LaunchForm::kWords && typed.empty()) return ListJson({}, true);
  std::vector<std::string> seen;
  for (const auto& [spelling, word] : vocabulary.words()) {
    const std::string label = LabelOf(spelling, word, parent, document.form);
    if (label.empty() || !absl::StartsWith(label, typed)) continue;
    if (std::find(seen.begin(), seen.end(), label) != seen.end()) continue;
    if (items.size() == kMaxCompletions) return ListJson(items, false);
    seen.push_back(label);
    items.push_back(ItemJson(label, kProperty, DetailOf(word, vocabulary), range));
  }
  return ListJson(items, true);
}

}  // namespace flightplan::cli
