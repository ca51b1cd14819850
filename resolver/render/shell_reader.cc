#include "resolver/render/shell_reader.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace flightplan {
namespace {

constexpr int kMaxDepth = 4;                            // bash -c "bash -c ..."
constexpr size_t kMaxTotalExpansion = size_t{1} << 22;  // of all references of a script together

constexpr absl::string_view kSource = "Megatron-LM:megatron/training/arguments.py:117";

// Text whose every byte knows where in the script it was written; -1 for bytes that came from outside.
struct Traced {
  std::string text;
  std::vector<int> offsets;
  bool unknown = false;
  bool assumed = false;  // the default in ${NAME:-default} of a variable that is not known

  void Add(char c, int offset) {
    text += c;
    offsets.push_back(offset);
  }
  void Append(const Traced& other) {
    text += other.text;
    offsets.insert(offsets.end(), other.offsets.begin(), other.offsets.end());
    unknown = unknown || other.unknown;
    assumed = assumed || other.assumed;
  }
  int FirstOffset(int otherwise) const {
    for (int offset : offsets) {
      if (offset >= 0) return offset;
    }
    return otherwise;
  }
};

struct Word {
  Traced value;
  int offset = 0;  // of its first byte in the script
};

using Words = std::vector<Word>;
struct Variable {
  Words items;  // one item unless it is an array
};
using Variables = std::map<std::string, Variable, std::less<>>;

bool IsNameStart(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool IsName(char c) { return IsNameStart(c) || std::isdigit(static_cast<unsigned char>(c)); }
bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
bool EndsCommand(char c) { return c == '\n' || c == ';' || c == '&' || c == '|'; }

class Reader {
 public:
  Reader(const EnvVars& given, ShellLaunch* out) : out_(out) {
    for (const auto& [name, value] : given) variables_[name].items = {{Outside(value), -1}};
  }

  void Read(const Traced& script, int depth) {
    const Traced* outer_script = std::exchange(script_, &script);
    const size_t outer_at = std::exchange(at_, 0);
    while (at_ < script.text.size()) Command(depth);
    script_ = outer_script;
    at_ = outer_at;
  }

  bool found() const { return found_; }

 private:
  static Traced Outside(absl::string_view text) {
    Traced traced;
    for (char c : text) traced.Add(c, -1);
    return traced;
  }

  char Peek(size_t ahead = 0) const { return at_ + ahead < script_->text.size() ? script_->text[at_ + ahead] : '\0'; }
  bool Done() const { return at_ >= script_->text.size(); }
  int Offset() const { return at_ < script_->offsets.size() ? script_->offsets[at_] : -1; }

  void Note(int offset, absl::string_view rule_id, Severity severity, std::string seen, std::string needs) {
    if (out_->findings.size() >= kMaxParseFindings) return;
    if (severity == Severity::kInfo && !noted_.insert(seen).second) return;  // once for each spelling
    // An offset until the end, then a line and a column.
    ParseFinding& entry = out_->findings.emplace_back(
        MakeParseFinding({-1, offset, 0}, rule_id, severity, std::move(seen), std::move(needs), kSource));
    entry.finding.verdict = Verdict::kAccepted;
  }
  void NotJudged(int offset, std::string seen, std::string needs) {
    Note(offset, "input.not-judged", Severity::kInfo, std::move(seen), std::move(needs));
  }

  // ---- words

  bool SkipBlanks() {
    bool any = false;
    while (!Done()) {
      if (IsBlank(Peek())) {
        ++at_;
      } else if (Peek() == '\\' && (Peek(1) == '\n' || (Peek(1) == '\r' && Peek(2) == '\n'))) {
        at_ += Peek(1) == '\n' ? 2 : 3;
      } else if (Peek() == '#') {
        while (!Done() && Peek() != '\n') ++at_;
      } else {
        return any;
      }
      any = true;
    }
    return any;
  }

  // Copies the text of $(...) or `...` without looking into it.
  Traced SkipSubstitution() {
    Traced raw;
    const int offset = Offset();
    if (Peek() == '$') {
      raw.Add('$', offset);
      ++at_;
    }
    const size_t opening = raw.text.size() + 1;
    const bool backtick = Peek() == '`';
    int open = 0;
    do {
      const char c = Peek();
      if (!backtick && c == '(') ++open;
      if (!backtick && c == ')') --open;
      raw.Add(c, Offset());
      ++at_;
      if (backtick && raw.text.size() > opening && c == '`') break;
    } while (!Done() && (backtick || open > 0 || raw.text.size() < opening));
    raw.unknown = true;
    NotJudged(offset, Printable(raw.text), "a command's output is not known without running it");
    return raw;
  }

  struct Reference {
    std::string name;
    Traced fallback;
    bool has_fallback = false;
    bool all_items = false;  // ${A[@]}
    bool plain = true;       // false: an operator that is not understood
  };

  // After '$': NAME, {NAME}, {NAME:-default}, {NAME[@]}.
  Reference ReadReference() {
    Reference reference;
    const bool braces = Peek() == '{';
    if (braces) ++at_;
    while (IsName(Peek())) reference.name += script_->text[at_++];
    if (!braces) return reference;
    if (absl::StartsWith(absl::string_view(script_->text).substr(at_), "[@]") ||
        absl::StartsWith(absl::string_view(script_->text).substr(at_), "[*]")) {
      reference.all_items = true;
      at_ += 3;
    }
    if ((Peek() == ':' && (Peek(1) == '-' || Peek(1) == '=')) || Peek() == '-') {
      at_ += Peek() == ':' ? 2 : 1;
      reference.has_fallback = true;
      while (!Done() && Peek() != '}' && Peek() != '\n') {
        if (Peek() == '$' || Peek() == '`') reference.plain = false;
        if (Peek() != '"' && Peek() != '\'') reference.fallback.Add(Peek(), Offset());
        ++at_;
      }
    }
    while (!Done() && Peek() != '}' && Peek() != '\n') {
      reference.plain = false;
      ++at_;
    }
    if (Peek() == '}') ++at_;
    return reference;
  }

  // The values a reference stands for; an unknown one is its own spelling.
  Words Resolve(size_t start, int offset) {
    const Reference reference = ReadReference();
    const auto it = variables_.find(reference.name);
    if (reference.plain && it != variables_.end() && !reference.name.empty()) {
      if (reference.all_items || it->second.items.empty()) return it->second.items;
      return {it->second.items[0]};
    }
    if (reference.plain && reference.has_fallback) {
      Word word{reference.fallback, offset};
      word.value.assumed = true;
      return {word};
    }
    Word word;
    for (size_t i = start; i < at_; ++i) word.value.Add(script_->text[i], script_->offsets[i]);
    word.value.unknown = true;
    word.offset = offset;
    NotJudged(offset, Printable(word.value.text), "the variable is set neither in the script nor in the environment");
    return {word};
  }

  // Builds the fields of one word: quotes join, unquoted values split at blanks.
  class Fields {
   public:
    explicit Fields(int offset) : offset_(offset) {}
    void Char(char c, int offset) {
      current_.Add(c, offset);
      open_ = true;
    }
    void Quoted() { open_ = true; }
    void Joined(const Traced& value) {
      current_.Append(value);
      open_ = true;
    }
    void Split(const Traced& value) {
      if (value.unknown) return Joined(value);
      current_.assumed = current_.assumed || value.assumed;
      for (size_t i = 0; i < value.text.size(); ++i) {
        if (IsBlank(value.text[i]) || value.text[i] == '\n') {
          Finish();
        } else {
          Char(value.text[i], value.offsets[i]);
        }
      }
    }
    void Finish() {
      if (open_) words_.push_back({std::move(current_), offset_});
      current_ = Traced();
      open_ = false;
    }
    size_t size() const { return current_.text.size(); }
    bool open() const { return open_; }
    Words Take() {
      Finish();
      return std::move(words_);
    }

   private:
    int offset_;
    Words words_;
    Traced current_;
    bool open_ = false;
  };

  void Expand(Fields* fields, bool quoted) {
    const size_t start = at_;
    const int offset = Offset();
    if (Peek() == '`' || Peek(1) == '(') {
      fields->Joined(SkipSubstitution());
      return;
    }
    ++at_;
    if (Peek() != '{' && !IsNameStart(Peek())) {  // $1, $@, $? and a lone $
      const bool special = !Done() && absl::StrContains("@*#?$!0123456789", absl::string_view(&script_->text[at_], 1));
      if (!special) return fields->Char('$', offset);
      Traced raw;
      raw.Add('$', offset);
      raw.Add(Peek(), Offset());
      raw.unknown = true;
      NotJudged(offset, raw.text, "the script's own arguments are not known");
      ++at_;
      return fields->Joined(raw);
    }
    const Words values = Resolve(start, offset);
    for (const Word& value : values) expanded_ += value.value.text.size() + 1;
    if (expanded_ > kMaxTotalExpansion) return StopExpanding(offset);
    for (size_t i = 0; i < values.size(); ++i) {
      if (i > 0) fields->Finish();
      if (quoted) {
        fields->Joined(values[i].value);
      } else {
        fields->Split(values[i].value);
      }
    }
  }

  void DoubleQuoted(Fields* fields) {
    fields->Quoted();
    ++at_;
    while (!Done() && Peek() != '"' && !TooLong(*fields)) {
      if (Peek() == '\\' && Peek(1) == '\n') {
        at_ += 2;
      } else if (Peek() == '\\' &&
                 absl::StrContains("$`\"\\",
                                   absl::string_view(&script_->text[std::min(at_ + 1, script_->text.size() - 1)], 1))) {
        ++at_;
        fields->Char(Peek(), Offset());
        ++at_;
      } else if (Peek() == '$' || Peek() == '`') {
        Expand(fields, true);
      } else {
        fields->Char(Peek(), Offset());
        ++at_;
      }
    }
    if (!Done()) ++at_;
  }

  bool TooLong(const Fields& fields) {
    if (fields.size() <= kMaxExpandedBytes) return false;
    StopExpanding(Offset());
    return true;
  }
  void StopExpanding(int offset) {
    if (!limit_reported_) {
      Note(offset, "input.limit", Severity::kError, "variables that expand without end",
           absl::StrCat("at most ", kMaxExpandedBytes, " bytes in one word, ", kMaxTotalExpansion, " in all"));
    }
    limit_reported_ = true;
    at_ = script_->text.size();
  }

  Words ReadWord() {
    Fields fields(Offset());
    while (!Done() && !TooLong(fields)) {
      const char c = Peek();
      if (IsBlank(c) || EndsCommand(c) || c == '(' || c == ')') break;
      if (c == '\'') {
        fields.Quoted();
        for (++at_; !Done() && Peek() != '\''; ++at_) fields.Char(Peek(), Offset());
        if (!Done()) ++at_;
      } else if (c == '"') {
        DoubleQuoted(&fields);
      } else if (c == '\\') {
        if (Peek(1) == '\n') break;
        ++at_;
        if (!Done()) fields.Char(Peek(), Offset());
        if (!Done()) ++at_;
      } else if (c == '$' || c == '`') {
        Expand(&fields, false);
      } else {
        fields.Char(c, Offset());
        ++at_;
      }
    }
    return fields.Take();
  }

  // ---- commands

  // NAME=value or NAME=( items ) at the current place; false when there is no assignment.
  bool Assignment(bool exported) {
    size_t end = at_;
    while (end < script_->text.size() && IsName(script_->text[end])) ++end;
    if (end == at_ || !IsNameStart(script_->text[at_])) return false;
    const bool append = end + 1 < script_->text.size() && script_->text[end] == '+' && script_->text[end + 1] == '=';
    if (!append && (end >= script_->text.size() || script_->text[end] != '=')) return false;
    const std::string name = script_->text.substr(at_, end - at_);
    at_ = end + (append ? 2 : 1);
    Words items;
    const bool array = Peek() == '(';
    if (array) {
      items = Array();
    } else {
      Word joined;
      joined.offset = Offset();
      for (const Word& word : ReadWordUnsplit()) joined.value.Append(word.value);
      items.push_back(std::move(joined));
    }
    Store(name, std::move(items), append, array, exported);
    return true;
  }

  void Store(const std::string& name, Words items, bool append, bool array, bool exported) {
    Variable& variable = variables_[name];
    if (!append) {
      variable.items = std::move(items);
    } else if (array || variable.items.empty()) {
      variable.items.insert(variable.items.end(), items.begin(), items.end());
    } else {
      variable.items[0].value.Append(items[0].value);
    }
    size_t bytes = 0;
    for (const Word& item : variable.items) bytes += item.value.text.size();
    if (bytes > kMaxExpandedBytes || variable.items.size() > kMaxArguments) {
      variable.items.clear();
      Note(Offset(), "input.limit", Severity::kError, absl::StrCat("variable ", Printable(name)),
           absl::StrCat("at most ", kMaxExpandedBytes, " bytes in one variable"));
    }
    if (exported) exported_.insert(name);
    Publish(name);
  }

  void Publish(const std::string& name) {
    const auto it = variables_.find(name);
    if (exported_.count(name) == 0 || it == variables_.end() || it->second.items.size() != 1) return;
    if (!it->second.items[0].value.unknown) out_->vars[name] = it->second.items[0].value.text;
  }

  // An assignment's value is not split at blanks that came from variables.
  Words ReadWordUnsplit() {
    Fields fields(Offset());
    while (!Done() && !TooLong(fields)) {
      const char c = Peek();
      if (IsBlank(c) || EndsCommand(c) || c == ')') break;
      if (c == '$' || c == '`') {
        Expand(&fields, true);
      } else if (c == '"') {
        DoubleQuoted(&fields);
      } else if (c == '\'') {
        for (++at_; !Done() && Peek() != '\''; ++at_) fields.Char(Peek(), Offset());
        if (!Done()) ++at_;
      } else if (c == '\\' && Peek(1) == '\n') {
        break;
      } else {
        if (c == '\\') ++at_;
        if (!Done()) fields.Char(Peek(), Offset());
        ++at_;
      }
    }
    return fields.Take();
  }

  Words Array() {
    Words items;
    ++at_;  // (
    while (!Done()) {
      SkipBlanks();
      if (Peek() == '\n') {
        ++at_;
        continue;
      }
      if (Done()) break;
      if (Peek() == ')') {
        ++at_;
        break;
      }
      const size_t before = at_;
      for (Word& word : ReadWord()) items.push_back(std::move(word));
      if (at_ == before) ++at_;
    }
    return items;
  }

  void Command(int depth) {
    SkipBlanks();
    if (Done()) return;
    if (EndsCommand(Peek()) || Peek() == '(' || Peek() == ')') {
      ++at_;
      return;
    }
    std::vector<std::string> prefix;
    while (true) {  // VAR=value in front of a command, or alone
      const size_t start = at_;
      if (!Assignment(false)) break;
      prefix.push_back(script_->text.substr(start, script_->text.find_first_of("+=", start) - start));
      SkipBlanks();
    }
    Words words;
    bool exporting = false;
    while (!Done() && !EndsCommand(Peek())) {
      if (exporting && Assignment(true)) {
        SkipBlanks();
        continue;
      }
      const size_t before = at_;
      for (Word& word : ReadWord()) words.push_back(std::move(word));
      if (at_ == before) ++at_;  // a stray parenthesis
      if (words.size() == 1 && words[0].value.text == "export") exporting = true;
      SkipBlanks();
      if (words.size() > 2 * kMaxArguments) return TooManyWords(words.back().offset);
    }
    if (words.empty()) return;
    if (exporting) return Export(words);
    for (const std::string& name : prefix) exported_.insert(name);
    for (const std::string& name : prefix) Publish(name);
    Run(std::move(words), depth);
  }

  void TooManyWords(int offset) {
    Note(offset, "input.limit", Severity::kError, "a command of more words than are read",
         absl::StrCat("at most ", kMaxArguments, " arguments are read"));
    at_ = script_->text.size();
  }

  void Export(const Words& words) {
    for (size_t i = 1; i < words.size(); ++i) {
      exported_.insert(words[i].value.text);
      Publish(words[i].value.text);
    }
  }

  void Run(Words words, int depth) {
    static const auto* const kControl =
        new std::set<std::string>{"if",    "then",  "else", "elif", "fi",     "for", "do",  "done",
                                  "while", "until", "case", "esac", "source", ".",   "eval"};
    const std::string& first = words[0].value.text;
    if (kControl->count(first) > 0) {
      NotJudged(words[0].offset, first, "control flow and sourced files are not followed; all branches are read");
      words.erase(words.begin());
      if (words.empty() || first == "source" || first == "." || first == "for" || first == "case") return;
      if (const size_t equals = words[0].value.text.find('='); equals != std::string::npos && equals > 0) {
        AssignWord(words[0], equals);
        return;
      }
    }
    if (Nested(words, depth)) return;
    Launch(words);
  }

  // `then NAME=value`: the word was read before it was known to be an assignment.
  void AssignWord(const Word& word, size_t equals) {
    Word value;
    value.offset = word.offset;
    for (size_t i = equals + 1; i < word.value.text.size(); ++i)
      value.value.Add(word.value.text[i], word.value.offsets[i]);
    value.value.unknown = word.value.unknown;
    Store(word.value.text.substr(0, equals), {value}, false, false, false);
  }

  // bash -c "..." and sh -lc "...".
  bool Nested(const Words& words, int depth) {
    for (size_t i = 0; i + 2 < words.size(); ++i) {
      const absl::string_view shell = words[i].value.text;
      const absl::string_view flag = words[i + 1].value.text;
      if (!absl::EndsWith(shell, "bash") && !absl::EndsWith(shell, "sh")) continue;
      if (!absl::StartsWith(flag, "-") || !absl::EndsWith(flag, "c") || absl::StartsWith(flag, "--")) continue;
      if (depth >= kMaxDepth) {
        NotJudged(words[i].offset, "bash -c", "shells inside shells are followed four deep");
        return true;
      }
      TakeWorld(Words(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(i)));
      const Traced script = words[i + 2].value;
      Read(script, depth + 1);
      return true;
    }
    return false;
  }

  // The script is the first .py file; what stands before it is the launcher, what stands behind belongs to the script.
  void Launch(const Words& words) {
    size_t script = 0;
    while (script < words.size() && !absl::EndsWith(words[script].value.text, ".py")) ++script;
    if (script >= words.size()) return;
    const bool has_flags = std::any_of(words.begin() + static_cast<std::ptrdiff_t>(script) + 1, words.end(),
                                       [](const Word& w) {  // Bridge's overrides are name=value
                                         return absl::StrContains(w.value.text, "=") ||
                                                absl::StartsWith(w.value.text, "--") || w.value.unknown;
                                       });
    if (!has_flags && found_) return;
    found_ = true;
    TakeWorld(Words(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(script)));
    out_->script = words[script].value.text;
    out_->args.clear();
    for (size_t i = script + 1; i < words.size(); ++i) {
      const Word& word = words[i];
      if (Redirects(word.value.text)) {
        if (word.value.text.back() == '>' || word.value.text.back() == '<') ++i;  // its file is the next word
        continue;
      }
      const int index = static_cast<int>(out_->args.size());
      out_->args.push_back({word.value.text, {index, word.value.FirstOffset(word.offset), 0}, word.value.unknown});
    }
  }

  static bool Redirects(absl::string_view word) {
    while (!word.empty() && std::isdigit(static_cast<unsigned char>(word[0]))) word.remove_prefix(1);
    return absl::StartsWith(word, ">") || absl::StartsWith(word, "<");
  }

  struct Count {
    bool written = false;
    int64_t number = 0;  // 0: it is no plain number
    bool assumed = false;
  };

  // The launcher's own size flags, --flag N or --flag=N.
  Count LauncherNumber(const Words& words, std::initializer_list<absl::string_view> names) const {
    for (size_t i = 0; i < words.size(); ++i) {
      for (absl::string_view name : names) {
        const Traced* value = &words[i].value;
        absl::string_view text = value->text;
        if (text == name && i + 1 < words.size()) {
          value = &words[i + 1].value;
          text = value->text;
        } else if (!absl::ConsumePrefix(&text, absl::StrCat(name, "="))) {
          continue;
        }
        Count count{true, 0, value->assumed};
        int64_t number = 0;
        if (absl::SimpleAtoi(text, &number) && number > 0 && number < (1 << 24)) count.number = number;
        return count;
      }
    }
    return {};
  }

  // A count that is written but not known leaves the world size unknown: half of it would judge another job.
  void TakeWorld(const Words& launcher) {
    const Count processes = LauncherNumber(launcher, {"--nproc-per-node", "--nproc_per_node", "--ntasks-per-node"});
    const Count nodes = LauncherNumber(launcher, {"--nnodes", "-N", "--nodes"});
    const Count tasks = LauncherNumber(launcher, {"--ntasks", "-n"});
    if (!processes.written && tasks.number == 0) return;
    out_->world_size.reset();
    out_->world_size_assumed = processes.written ? processes.assumed || nodes.assumed : tasks.assumed;
    if (!processes.written) {
      out_->world_size = tasks.number;
    } else if (processes.number > 0 && (!nodes.written || nodes.number > 0)) {
      out_->world_size = processes.number * (nodes.written ? nodes.number : 1);
    }
  }

  ShellLaunch* out_;
  const Traced* script_ = nullptr;
  size_t at_ = 0;
  Variables variables_;
  std::set<std::string> exported_;
  std::set<std::string> noted_;
  bool found_ = false;
  bool limit_reported_ = false;
  size_t expanded_ = 0;
};

// Offsets become lines and columns in one pass over the line starts.
class LineIndex {
 public:
  explicit LineIndex(absl::string_view text) {
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\n') starts_.push_back(static_cast<int>(i) + 1);
    }
  }
  void Place(SourcePosition* at) const {
    const int offset = at->line;
    at->line = 0;
    if (offset < 0) return;
    const auto next = std::upper_bound(starts_.begin(), starts_.end(), offset);
    at->line = static_cast<int>(next - starts_.begin());
    at->column = offset - *(next - 1) + 1;
  }

 private:
  std::vector<int> starts_ = {0};
};

}  // namespace

ShellLaunch ReadShellLaunch(absl::string_view script, const EnvVars& given) {
  ShellLaunch out;
  Traced traced;
  const absl::string_view read = script.substr(0, kMaxScriptBytes);
  traced.text = std::string(read);
  traced.offsets.resize(read.size());
  for (size_t i = 0; i < read.size(); ++i) traced.offsets[i] = static_cast<int>(i);
  Reader reader(given, &out);
  if (script.size() <= kMaxScriptBytes) reader.Read(traced, 0);
  if (!reader.found()) {
    const bool too_long = script.size() > kMaxScriptBytes;
    out.findings.push_back(MakeParseFinding(
        {-1, -1, 0}, too_long ? "input.limit" : "mlm.argparse", Severity::kError,
        too_long ? absl::StrCat("a script of ", script.size(), " bytes") : "no command that runs a Python file",
        too_long ? absl::StrCat("at most ", kMaxScriptBytes, " bytes")
                 : "the script must hold the training command, such as torchrun pretrain_gpt.py --...",
        kSource));
  }
  const LineIndex lines(read);
  for (Argument& arg : out.args) lines.Place(&arg.at);
  for (ParseFinding& finding : out.findings) lines.Place(&finding.at);
  return out;
}

}  // namespace flightplan
