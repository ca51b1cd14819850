#include "resolver/shell/inner_script.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "resolver/base/path.h"

namespace flightplan {
namespace {

constexpr absl::string_view kWrap = "--wrap";

// By its name: a script's ends in .sh.
bool IsShell(const ShellWord& word) {
  const absl::string_view program = FileName(word.value.text);
  return absl::EndsWith(program, "sh") && !absl::StrContains(program, '.');
}

bool IsProgram(const ShellWord& word, absl::string_view name) { return FileName(word.value.text) == name; }

// Where `sbatch` stands, which a variable or `env` may precede; the number of words: it does not.
size_t PlaceOfSbatch(WordSpan words) {
  const auto* const found =
      std::find_if(words.begin(), words.end(), [](const ShellWord& word) { return IsProgram(word, "sbatch"); });
  return static_cast<size_t>(std::distance(words.begin(), found));
}

// Of `bash -x -o pipefail -c SCRIPT` the place of SCRIPT; 0: no -c stands behind the shell at `shell`.
size_t PlaceOfScript(WordSpan words, size_t shell) {
  bool by_word = false;
  size_t at = shell + 1;
  for (; at < words.size(); ++at) {
    const absl::string_view option = words[at].value.text;
    if (option.size() < 2 || (option[0] != '-' && option[0] != '+')) break;
    if (absl::StartsWith(option, "--")) {
      if (option == "--rcfile" || option == "--init-file") ++at;
      continue;
    }
    by_word = by_word || (option[0] == '-' && absl::StrContains(option, 'c'));
    at += static_cast<size_t>(std::count_if(option.begin(), option.end(), [](char c) { return c == 'o' || c == 'O'; }));
  }
  return by_word && at < words.size() ? at : 0;
}

std::optional<InnerScript> Wrapped(WordSpan words) {
  const size_t sbatch = PlaceOfSbatch(words);
  for (size_t i = sbatch + 1; i < words.size(); ++i) {
    const TracedText& word = words[i].value;
    if (word.text == kWrap && i + 1 < words.size()) return InnerScript{sbatch, words[i + 1].value};
    if (!absl::StartsWith(word.text, "--wrap=")) continue;
    InnerScript inner{sbatch, {}};
    inner.text.AddRange(word, kWrap.size() + 1, word.text.size());
    return inner;
  }
  return std::nullopt;
}

// A command for another machine as one word; as words of their own they are read as they stand.
std::optional<InnerScript> Remote(WordSpan words) {
  const bool remote = IsProgram(words[0], "ssh") || IsProgram(words[0], "pdsh");
  if (!remote || words.size() < 3 || !absl::StrContains(words.back().value.text, ' ')) return std::nullopt;
  return InnerScript{0, words.back().value};
}

}  // namespace

std::optional<InnerScript> ScriptInWords(WordSpan words) {
  for (size_t i = 0; i + 2 < words.size(); ++i) {
    if (!IsShell(words[i])) continue;
    if (const size_t script = PlaceOfScript(words, i); script > 0) return InnerScript{i, words[script].value};
  }
  if (std::optional<InnerScript> wrapped = Wrapped(words); wrapped.has_value()) return wrapped;
  return Remote(words);
}

bool RunsItsInput(WordSpan words) {
  const absl::string_view last = words.back().value.text;
  return IsShell(words.back()) || last == "-s" || last == "-" || IsProgram(words[0], "ssh") ||
         PlaceOfSbatch(words) < words.size();
}

bool RunsScriptAt(WordSpan words, size_t at) {
  if (at == 0 || PlaceOfSbatch(words) < at) return true;
  size_t shell = at;
  while (shell > 1 && absl::StartsWith(words[shell - 1].value.text, "-")) --shell;
  return IsShell(words[shell - 1]);
}

std::optional<SlurmJob> SubmittedJob(WordSpan words, absl::string_view script) {
  const size_t sbatch = PlaceOfSbatch(words);
  if (sbatch == words.size()) return std::nullopt;
  std::vector<absl::string_view> options;
  for (const ShellWord& word : words.subspan(sbatch + 1)) {
    if (!word.value.unknown()) options.push_back(word.value.text);
  }
  return ReadSbatch(options, script);
}

}  // namespace flightplan
