// Redirections of a command: where its output goes, and the here-documents that stand behind its line.
#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "resolver/shell/fields.h"
#include "resolver/shell/raw.h"
#include "resolver/shell/words.h"

namespace flightplan {

bool IsSettingsFile(absl::string_view name) { return absl::EndsWith(name, ".yaml") || absl::EndsWith(name, ".yml"); }

bool IsScriptFile(absl::string_view name) {
  static constexpr absl::string_view kEndings[] = {".sh", ".slurm", ".sbatch"};
  return std::any_of(std::begin(kEndings), std::end(kEndings),
                     [name](absl::string_view ending) { return absl::EndsWith(name, ending); });
}

void ShellScanner::SkipLine() {
  ++at_;
  for (const HereDocument& document : std::exchange(announced_, {})) {
    const size_t begin = at_;
    size_t end = at_;
    for (bool closed = false; !Done() && !closed;) {
      end = at_;
      const size_t newline = std::min(script_.text.find('\n', at_), script_.text.size());
      absl::string_view line = absl::string_view(script_.text).substr(at_, newline - at_);
      if (document.strip_tabs) line.remove_prefix(std::min(line.find_first_not_of('\t'), line.size()));
      if (absl::EndsWith(line, "\r")) line.remove_suffix(1);
      closed = line == document.delimiter;
      at_ = std::min(newline + 1, script_.text.size());
      if (!closed) end = at_;
    }
    here_document_ = {Raw(begin, end), document.quoted};
  }
}

bool ShellScanner::SkipRedirection() {
  const size_t at = EndOfDigits(script_.text, at_);
  const absl::string_view text = absl::string_view(script_.text).substr(at);
  const bool both = at == at_ && absl::StartsWith(text, "&>");
  if (!both && !absl::StartsWith(text, "<") && !absl::StartsWith(text, ">")) return false;
  const bool here = absl::StartsWith(text, "<<") && !absl::StartsWith(text, "<<<");
  const absl::string_view descriptor = absl::string_view(script_.text).substr(at_, at - at_);
  const bool output = absl::StartsWith(text, ">") && (descriptor.empty() || descriptor == "1");
  const bool append = absl::StartsWith(text, ">>");
  at_ = at;
  for (size_t i = 0; i < 3 && (Peek() == '<' || Peek() == '>' || (Peek() == '&' && (i > 0 || both))); ++i) ++at_;
  HereDocument document;
  document.strip_tabs = here && Take("-");
  if (Peek() == '|') ++at_;
  if (Peek() == '(') {  // <( command )
    at_ = EndOfBrackets(script_.text, at_, ')');
    return true;
  }
  at_ = EndOfBlanks(script_.text, at_);
  const size_t begin = at_;
  at_ = EndOfWord(script_.text, at_);
  if (output && !absl::StartsWith(text, ">&")) output_ = {begin, at_, append};
  if (absl::StartsWith(text, "<<<") && descriptor.empty()) here_string_ = {begin, at_};
  for (const char c : script_.text.substr(begin, at_ - begin)) {
    const bool quote = c == '\'' || c == '"' || c == '\\';
    if (!quote) document.delimiter += c;
    document.quoted = document.quoted || quote;
  }
  if (here && !document.delimiter.empty() && announced_.size() < 8) announced_.push_back(std::move(document));
  return true;
}

ShellScanner::HereText ShellScanner::TakeHereDocument() { return std::exchange(here_document_, {}); }

ShellScanner::HereText ShellScanner::HereDocumentAhead() const {
  if (announced_.empty()) return {};
  ShellScanner ahead = *this;
  ahead.at_ = std::min(script_.text.find('\n', at_), script_.text.size());
  ahead.SkipLine();
  return ahead.TakeHereDocument();
}

// What `cat <<EOF` prints, of which the command between these places consists; nothing: it is another command.
std::optional<TracedText> ShellScanner::CopiedDocument(size_t begin, size_t end) {
  const TracedText command = Raw(begin, end);
  ShellScanner inner(&command, &state_);
  inner.depth_ = depth_ + 1;
  inner.SkipBlankLines();
  if (!inner.Take("cat ") && !inner.Take("cat<")) return std::nullopt;
  --inner.at_;  // the '<', or the blank in front of it
  inner.SkipBlanks();
  if (!inner.AtText("<<") || inner.AtText("<<<")) return std::nullopt;
  inner.SkipRedirection();
  inner.SkipBlanks();
  if (inner.Peek() != '\n') return std::nullopt;
  inner.SkipLine();
  const HereText document = inner.TakeHereDocument();
  inner.SkipBlankLines();
  if (!inner.Done()) return std::nullopt;
  Work::Spend(4 * document.text.text.size());
  const TracedText text = Expanded(document);
  const size_t last = text.text.find_last_not_of('\n');
  TracedText output;
  if (last != std::string::npos) output.AddRange(text, 0, last + 1);
  return output;
}

std::optional<TracedText> ShellScanner::TakeHereString() {
  const std::optional<std::pair<size_t, size_t>> place = std::exchange(here_string_, std::nullopt);
  if (!place.has_value()) return std::nullopt;
  const size_t before = std::exchange(at_, place->first);
  TracedText text = ReadJoined();
  at_ = before;
  return text;
}

ShellWords ShellScanner::SplitFields(const TracedText& text) const {
  Fields fields(text.FirstOffset(-1));
  fields.Split(text, ByteSet(state_.FieldSeparators()));
  return fields.Take();
}

std::optional<ShellScanner::Output> ShellScanner::TakeOutput() { return std::exchange(output_, std::nullopt); }

TracedText ShellScanner::ReadFileOf(const Output& output) {
  const absl::string_view word = absl::string_view(script_.text).substr(output.begin, output.end - output.begin);
  if (!absl::StrContains(word, ".y") && !absl::StrContains(word, ".s")) return {};  // most are logs
  const size_t before = std::exchange(at_, output.begin);
  TracedText file = ReadJoined();
  at_ = before;
  return IsSettingsFile(file.text) || IsScriptFile(file.text) ? file : TracedText();
}

// As between double quotes, which are text there.
TracedText ShellScanner::Expanded(const HereText& document) {
  if (document.as_written) return document.text;
  ShellScanner inner(&document.text, &state_);
  inner.depth_ = depth_ + 1;
  Fields fields(document.text.FirstOffset(-1));
  fields.Quoted();
  while (!inner.Done() && !TooLong(fields)) {
    const char c = inner.Peek(), next = inner.Peek(1);
    if (c == '$' || c == '`') {
      inner.Expand(&fields, Splitting::kNever);
    } else if (c == '\\' && next == '\n') {
      inner.Step(2);
    } else {
      if (c == '\\' && (next == '$' || next == '`' || next == '\\')) inner.Step();
      fields.Char(inner.Peek(), inner.Offset());
      inner.Step();
    }
  }
  return JoinWords(fields.Take());
}

}  // namespace flightplan
