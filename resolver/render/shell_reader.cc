#include "resolver/render/shell_reader.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "resolver/render/launcher_world.h"
#include "resolver/render/shell_words.h"

namespace flightplan {
namespace {

constexpr int kMaxDepth = 4;  // bash -c "bash -c ..."

using WordSpan = absl::Span<const ShellWord>;

bool Redirects(absl::string_view word) {
  while (!word.empty() && std::isdigit(static_cast<unsigned char>(word[0]))) word.remove_prefix(1);
  return absl::StartsWith(word, ">") || absl::StartsWith(word, "<");
}

bool IsControl(absl::string_view word) {
  static const auto* const kControl = new std::set<absl::string_view>{
      "if", "then", "else", "elif", "fi", "for", "do", "done", "while", "until", "case", "esac", "source", ".", "eval"};
  return kControl->count(word) > 0;
}
// What follows is no command. (Behind `case x in a)` stands one.)
bool TakesTheLine(absl::string_view control) { return control == "source" || control == "." || control == "for"; }

// `bash -c` or `sh -lc`.
bool StartsShell(const ShellWord& shell, const ShellWord& flag) {
  if (!absl::EndsWith(shell.value.text, "sh")) return false;
  const absl::string_view text = flag.value.text;
  return absl::StartsWith(text, "-") && absl::EndsWith(text, "c") && !absl::StartsWith(text, "--");
}

bool IsSrun(const ShellWord& word) { return word.value.text == "srun" || absl::EndsWith(word.value.text, "/srun"); }

// A flag, one of Bridge's overrides (name=value), or what could be either.
bool CouldBeSetting(const ShellWord& word) {
  return absl::StrContains(word.value.text, "=") || absl::StartsWith(word.value.text, "--") || word.value.unknown;
}

class Reader {
 public:
  Reader(const EnvVars& given, ShellLaunch* out) : out_(*out), state_(given, &out->vars, &out->findings) {}

  void Read(const TracedText& script, int depth) {
    ShellScanner scanner(&script, &state_);
    while (!scanner.Done()) ReadCommand(&scanner, depth);
  }

  bool found() const { return found_; }

 private:
  void ReadCommand(ShellScanner* scanner, int depth) {
    scanner->SkipBlanks();
    if (scanner->Done()) return;
    if (scanner->AtEndOfCommand() || scanner->AtGroup()) return scanner->Step();
    std::vector<std::string> prefix;  // VAR=value in front of a command, or alone
    for (std::string name = scanner->ReadAssignment(); !name.empty(); name = scanner->ReadAssignment()) {
      prefix.push_back(std::move(name));
      scanner->SkipBlanks();
    }
    ShellWords words;
    bool exporting = false;
    while (!scanner->AtEndOfCommand()) {
      const std::string exported = exporting ? scanner->ReadAssignment() : "";
      if (!exported.empty()) {
        state_.Export(exported);
      } else {
        for (ShellWord& word : scanner->ReadWord()) words.push_back(std::move(word));
        exporting = exporting || (words.size() == 1 && words[0].value.text == "export");
      }
      scanner->SkipBlanks();
      if (words.size() > 2 * kMaxArguments) {
        state_.Note(words.back().offset, "input.limit", Severity::kError, "a command of more words than are read",
                    absl::StrCat("at most ", kMaxArguments, " arguments are read"));
        return scanner->StepToEnd();
      }
    }
    if (words.empty()) return;
    if (exporting) {
      for (const ShellWord& word : WordSpan(words).subspan(1)) state_.Export(word.value.text);
      return;
    }
    for (const std::string& name : prefix) state_.Export(name);
    Follow(words, depth);
  }

  void Follow(WordSpan words, int depth) {
    const absl::string_view first = words[0].value.text;
    if (IsControl(first)) {
      state_.NotJudged(words[0].offset, std::string(first),
                       "control flow and sourced files are not followed; all branches are read");
      words.remove_prefix(1);
      if (words.empty() || TakesTheLine(first)) return;
      // `then NAME=value`: the word was read before it was known to be an assignment.
      const std::string& text = words[0].value.text;
      if (const size_t equals = text.find('='); equals != std::string::npos && equals > 0) {
        const ShellWord value{words[0].value.From(equals + 1), words[0].offset};
        return state_.Set(text.substr(0, equals), {value}, words[0].offset);
      }
    }
    if (!FollowShell(words, depth)) TakeLaunch(words);
  }

  // False: the command starts no shell with a script as its argument.
  bool FollowShell(WordSpan words, int depth) {
    for (size_t i = 0; i + 2 < words.size(); ++i) {
      if (!StartsShell(words[i], words[i + 1])) continue;
      if (depth >= kMaxDepth) {
        state_.NotJudged(words[i].offset, "bash -c", "shells inside shells are followed four deep");
        return true;
      }
      TakeWorld(words.first(i));
      Read(words[i + 2].value, depth + 1);
      return true;
    }
    return false;
  }

  // The script is the first .py file; what stands before it is the launcher, what stands behind belongs to the script.
  void TakeLaunch(WordSpan words) {
    size_t script = 0;
    while (script < words.size() && !absl::EndsWith(words[script].value.text, ".py")) ++script;
    if (script == words.size()) return;
    const WordSpan behind = words.subspan(script + 1);
    if (found_ && std::none_of(behind.begin(), behind.end(), CouldBeSetting)) return;
    found_ = true;
    TakeWorld(words.first(script));
    out_.script = words[script].value.text;
    out_.args.clear();
    for (size_t i = 0; i < behind.size(); ++i) {
      const TracedText& value = behind[i].value;
      if (Redirects(value.text)) {
        if (value.text.back() == '>' || value.text.back() == '<') ++i;  // its file is the next word
        continue;
      }
      const int index = static_cast<int>(out_.args.size());
      out_.args.push_back({value.text, {index, value.FirstOffset(behind[i].offset), 0}, value.unknown});
    }
  }

  void TakeWorld(WordSpan launcher) {
    std::optional<LauncherWorld> world = ReadLauncherWorld(launcher);
    if (!world.has_value() && std::any_of(launcher.begin(), launcher.end(), IsSrun)) world = SlurmTasks();
    if (!world.has_value()) return;
    out_.world_size = world->size;
    out_.world_size_assumed = world->assumed;
  }

  // How many processes srun starts unless told.
  std::optional<LauncherWorld> SlurmTasks() const {
    const ShellWords* tasks = state_.Find("SLURM_NTASKS");
    int64_t count = 0;
    if (tasks == nullptr || tasks->empty() || !absl::SimpleAtoi(tasks->front().value.text, &count)) return std::nullopt;
    return count > 0 ? std::optional<LauncherWorld>({count, false}) : std::nullopt;
  }

  ShellLaunch& out_;
  ShellState state_;
  bool found_ = false;
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
  const auto refuse = [&out](absl::string_view rule_id, std::string seen, std::string needs) {
    out.findings.push_back(
        MakeParseFinding({-1, -1, 0}, rule_id, Severity::kError, std::move(seen), std::move(needs), kScriptSource));
  };
  if (script.size() > kMaxScriptBytes) {
    refuse("input.limit", absl::StrCat("a script of ", script.size(), " bytes"),
           absl::StrCat("at most ", kMaxScriptBytes, " bytes"));
  } else {
    Reader reader(given, &out);
    reader.Read(TracedText::FromScript(script), 0);
    if (!reader.found()) {
      refuse("mlm.argparse", "no command that runs a Python file",
             "the script must hold the training command, such as torchrun pretrain_gpt.py --...");
    }
  }
  const LineIndex lines(script);
  for (Argument& arg : out.args) lines.Place(&arg.at);
  for (ParseFinding& finding : out.findings) lines.Place(&finding.at);
  return out;
}

}  // namespace flightplan
