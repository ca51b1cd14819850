#include "resolver/shell/reader.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "resolver/base/path.h"
#include "resolver/base/work.h"
#include "resolver/plan/stack.h"
#include "resolver/shell/cpu_binding.h"
#include "resolver/shell/interpreter.h"
#include "resolver/shell/launch_environment.h"
#include "resolver/shell/launcher_world.h"
#include "resolver/shell/runtime_env.h"

namespace flightplan {
namespace {

constexpr int kMaxDepth = 4;  // bash -c "bash -c ..."

// `bash -c` or `sh -lc`.
bool StartsShell(const ShellWord& shell, const ShellWord& flag) {
  if (!absl::EndsWith(shell.value.text, "sh")) return false;
  const absl::string_view text = flag.value.text;
  return absl::StartsWith(text, "-") && absl::EndsWith(text, "c") && !absl::StartsWith(text, "--");
}

bool IsSrun(const ShellWord& word) { return FileName(word.value.text) == "srun"; }

// A flag, one of Bridge's overrides (name=value), or what could be either.
bool CouldBeSetting(const ShellWord& word) {
  return absl::StrContains(word.value.text, "=") || absl::StartsWith(word.value.text, "--") || word.value.unknown();
}

// Programs that name files without running them.
bool OnlyNames(absl::string_view program) {
  static const auto* const kPrograms = new std::set<absl::string_view>{
      "cat",   "cd", "chmod", "cp",    "diff", "find", "git", "grep", "head",  "ln", "ls",
      "mkdir", "mv", "rm",    "rsync", "sed",  "tail", "tar", "tee",  "touch", "wc"};
  return kPrograms->count(program) > 0;
}

// Whether a command's flags are those of a training rather than of a tool around it (conversion, download, plots).
bool LooksLikeTraining(WordSpan words) {
  static constexpr std::array<absl::string_view, 8> kFlags = {"--micro-batch-size",
                                                              "--global-batch-size",
                                                              "--train-iters",
                                                              "--train-samples",
                                                              "--tensor-model-parallel-size",
                                                              "--pipeline-model-parallel-size",
                                                              "--recipe",
                                                              "--seq-length"};
  return std::any_of(words.begin(), words.end(), [](const ShellWord& word) {
    return std::any_of(kFlags.begin(), kFlags.end(),
                       [&word](absl::string_view flag) { return absl::StartsWith(word.value.text, flag); });
  });
}

// What is not known stands there as a variable, which no reader of settings takes for a value. Nothing: it stands in a
// list or a map of one line, where that would be no YAML.
std::optional<std::string> AsSettings(const TracedText& written) {
  std::string text;
  size_t at = 0;
  for (const TracedText::Part& part : written.unknown_parts) {
    text.append(written.text, at, part.begin - at);
    at = part.end;
    const size_t line = text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1;
    if (text.find_first_of("[{", line) != std::string::npos) return std::nullopt;
    text += "${not_known}";
  }
  text.append(written.text, at);
  return text;
}

// Commands that leave the files that they name as they are; a program that is launched does, too.
bool OnlyReads(WordSpan words) {
  static constexpr absl::string_view kReaders[] = {"cat",  "echo", "ls",   "chmod", "mkdir",
                                                   "head", "tail", "grep", "tee"};
  const absl::string_view program = words[0].value.text;
  const auto is_python = [](const ShellWord& word) { return absl::EndsWith(word.value.text, ".py"); };
  return std::find(std::begin(kReaders), std::end(kReaders), program) != std::end(kReaders) ||
         std::any_of(words.begin(), words.end(), is_python);
}

class Reader {
 public:
  Reader(const EnvVars& given, const SourcedFiles& files, bool every_branch, ShellLaunch* out)
      : out_(*out),
        files_(files),
        state_(given, &out->findings),
        interpreter_(
            &state_, [this](const ShellCommand& command) { Follow(command); },
            [this](const std::string& name) { return Sourced(name); }, every_branch) {}

  void Read(const TracedText& script) { interpreter_.Run(script); }

  bool found() const { return found_; }
  // A script without a launch: what it exports at its end.
  void TakeLastVariables() {
    if (!found_) TakeVariables({});
  }

 private:
  const std::string* Sourced(const std::string& name) {
    const auto file = files_.find(name);
    if (file != files_.end()) return &file->second;
    std::vector<std::string>& wanted = out_.wanted_files;
    if (std::find(wanted.begin(), wanted.end(), name) == wanted.end()) wanted.push_back(name);
    return nullptr;
  }

  void Follow(const ShellCommand& command) {
    TakeWritten(command);
    if (!command.words.empty() && !FollowShell(command)) TakeLaunch(command.words, command.sure);
  }

  // What another command may have changed is not known any more.
  void TakeWritten(const ShellCommand& command) {
    if (!out_.written_files.empty() && !command.words.empty() && !OnlyReads(command.words)) {
      for (const ShellWord& word : command.words.subspan(1)) out_.written_files.erase(PlainPath(word.value.text));
    }
    if (command.file.text.empty() || command.file.unknown()) return;
    const std::string name = PlainPath(command.file.text);
    const std::optional<std::string> text =
        command.written.has_value() ? AsSettings(*command.written) : std::optional<std::string>();
    if (!text.has_value() || written_bytes_ + text->size() > kMaxScriptBytes) {
      out_.written_files.erase(name);
      return;
    }
    written_bytes_ += text->size();
    std::string& file = out_.written_files[name];
    if (!command.append) file.clear();
    file += *text;
  }

  // False: the command starts no shell with a script that is written here.
  bool FollowShell(const ShellCommand& command) {
    const WordSpan words = command.words;
    for (size_t i = 0; i + 2 < words.size(); ++i) {
      if (!StartsShell(words[i], words[i + 1])) continue;
      const TracedText& script = words[i + 2].value;
      return FollowScript(words.first(i), script, !script.unknown());
    }
    const std::string& last = words.back().value.text;
    if (command.here_document.text.empty()) return false;
    if (!absl::EndsWith(last, "sh") && last != "-s" && last != "-") return false;
    return FollowScript(words, command.here_document, command.as_written);
  }

  // `expanded`: no reference of the script around it is left in it, and so its variables are those that are exported.
  bool FollowScript(WordSpan launcher, const TracedText& script, bool expanded) {
    if (depth_ >= kMaxDepth) {
      state_.NotJudged(script.FirstOffset(-1), "bash -c", "shells inside shells are followed four deep");
      return true;
    }
    TakeLauncher(launcher);
    const ShellState::Inside inside(&state_);
    LaunchEnvironment(launcher, state_).ApplyTo(&state_);
    if (expanded) state_.ForgetUnexported();
    ++depth_;
    interpreter_.Run(script);
    --depth_;
    return true;
  }

  // The word that starts a training: a Python file, or the second of a stack's own command.
  static bool Starts(WordSpan words, size_t i) {
    return absl::EndsWith(words[i].value.text, ".py") ||
           (i > 0 && IsEntryCommand(words[i - 1].value.text, words[i].value.text));
  }

  // What stands before the first of these is the launcher, what stands behind belongs to it.
  void TakeLaunch(WordSpan words, bool sure) {
    size_t script = 0;
    while (script < words.size() && !Starts(words, script)) ++script;
    if (script == words.size() || OnlyNames(words[0].value.text)) return;
    const WordSpan behind = words.subspan(script + 1);
    if (found_ && std::none_of(behind.begin(), behind.end(), CouldBeSetting)) return;
    const bool command =
        !absl::EndsWith(words[script].value.text, ".py");  // "megatron sft": its second word goes along
    const bool training = command || LooksLikeTraining(behind);
    if (training_ && !training) return;
    const SourcePosition before = out_.at;
    const bool other = training_ && sure_ && sure;
    found_ = true;
    training_ = training;
    sure_ = sure;
    out_.at = {-1, words[0].value.FirstOffset(words[0].offset), 0};
    TakeLauncher(words.first(script));
    TakeVariables(words.first(script));
    out_.script = words[script].value.text;
    if (command) {
      const absl::string_view first = words[script - 1].value.text;
      out_.script = absl::StrCat(FileName(first), " ", out_.script);
    }
    const std::vector<Argument> args = std::exchange(out_.args, {});
    for (const ShellWord& word : command ? words.subspan(script) : behind) {
      Work::Spend(64 + word.value.text.size());
      const int index = static_cast<int>(out_.args.size());
      out_.args.push_back({word.value.text, {index, word.value.FirstOffset(word.offset), 0}, word.value.unknown()});
    }
    const auto same = [](const Argument& a, const Argument& b) { return a.text == b.text; };
    if (other && !absl::c_equal(args, out_.args, same)) out_.others.push_back(before);
  }

  // A loop meets one launch many times, mostly in one environment.
  void TakeVariables(WordSpan launcher) {
    const LaunchEnvironment changed(launcher, state_);
    const std::optional<EnvVars> vars = ReadRuntimeEnv(launcher);
    const bool own = !changed.empty() || !vars.has_value() || !vars->empty();
    if (!own && environment_taken_ == state_.environment_version()) return;
    environment_taken_ = own ? std::nullopt : std::optional(state_.environment_version());
    ShellEnvironment environment = changed.empty() ? state_.Environment() : EnvironmentAfter(changed);
    out_.vars_elsewhere = environment.elsewhere || !vars.has_value();
    out_.vars = std::move(environment.vars);
    out_.unset_vars = std::move(environment.unset);
    out_.unknown_vars = std::move(environment.unknown);
    for (const auto& [name, value] : vars.value_or(EnvVars())) {
      Work::Spend(kShellVariableCosts + value.size());
      if (out_.vars.size() >= kMaxShellExports && out_.vars.count(name) == 0) {
        state_.NoteTooManyExports();
        break;
      }
      out_.vars.insert_or_assign(name, value);
      out_.unknown_vars.erase(name);
      out_.unset_vars.erase(name);
    }
  }

  ShellEnvironment EnvironmentAfter(const LaunchEnvironment& changed) {
    const ShellState::Inside inside(&state_);
    changed.ApplyTo(&state_);
    return state_.Environment();
  }

  void TakeLauncher(WordSpan launcher) {
    if (CpuBinding binding = ReadCpuBinding(launcher); !binding.torchrun.empty() || !binding.numactl.empty()) {
      out_.cpu_binding = std::move(binding);
    }
    std::optional<LauncherWorld> world = ReadLauncherWorld(launcher);
    if (!world.has_value() && std::any_of(launcher.begin(), launcher.end(), IsSrun)) world = SlurmTasks();
    if (!world.has_value()) return;
    out_.world_size = world->size;
    out_.world_size_assumed = world->assumed;
    out_.node_processes = world->of_node;
  }

  // How many processes srun starts unless told.
  std::optional<LauncherWorld> SlurmTasks() const {
    const ShellWords* tasks = state_.Find("SLURM_NTASKS");
    int64_t count = 0;
    if (tasks == nullptr || tasks->empty() || !absl::SimpleAtoi(tasks->front().value.text, &count)) return std::nullopt;
    return count > 0 ? std::optional<LauncherWorld>({count, false, 0}) : std::nullopt;
  }

  ShellLaunch& out_;
  const SourcedFiles& files_;
  ShellState state_;
  ShellInterpreter interpreter_;
  int depth_ = 0;
  size_t written_bytes_ = 0;
  bool found_ = false, training_ = false, sure_ = false;
  std::optional<int> environment_taken_;  // whose variables the launch has
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

// Lines that end as on Windows are read here as they were meant; bash and sbatch take them otherwise.
void JudgeLineEnds(absl::string_view script, std::vector<ParseFinding>* findings) {
  const size_t at = script.find("\r\n");
  if (at == absl::string_view::npos) return;
  ParseFinding entry = MakeParseFinding(
      {-1, static_cast<int>(at), 0}, "input.line-ends", Severity::kError, "a line that ends in CR LF, as on Windows",
      "line ends as on Linux: bash takes the CR for part of the last word, so that a continued command ends there, and "
      "sbatch refuses the file; sed -i 's/\\r$//' FILE",
      "bash(1), sbatch(1)");
  entry.finding.verdict = Verdict::kWillRun;
  KeepFinding(std::move(entry), findings);
}

// Of several launches one is judged. What is told stands where the first of the others does.
void JudgeOthers(ShellLaunch* out) {
  if (out->others.empty()) return;
  constexpr size_t kMostLines = 8;
  std::string lines;
  for (size_t i = 0; i < std::min(out->others.size(), kMostLines); ++i) {
    absl::StrAppend(&lines, i == 0 ? "" : ", ", out->others[i].line);
  }
  if (out->others.size() > kMostLines) absl::StrAppend(&lines, ", ...");
  const bool one = out->others.size() == 1;
  ParseFinding entry = MakeParseFinding(
      out->others.front(), "input.other-launches", Severity::kWarning,
      absl::StrCat(out->others.size(), one ? " other launch" : " other launches", " of a training, line ", lines),
      absl::StrCat("one launch a script: the last, line ", out->at.line, ", is judged, and nothing is said of ",
                   one ? "the other" : "the others"),
      kScriptSource);
  KeepFinding(std::move(entry), &out->findings);
}

}  // namespace

ShellLaunch ReadShellLaunch(absl::string_view script, const EnvVars& given, const SourcedFiles& files) {
  ShellLaunch out;
  const auto refuse = [&out](absl::string_view rule_id, std::string seen, std::string needs) {
    KeepFinding(
        MakeParseFinding({-1, -1, 0}, rule_id, Severity::kError, std::move(seen), std::move(needs), kScriptSource),
        &out.findings);
  };
  if (script.size() > kMaxScriptBytes) {
    refuse("input.limit", absl::StrCat("a script of ", script.size(), " bytes"),
           absl::StrCat("at most ", kMaxScriptBytes, " bytes"));
  } else {
    const Work work(kMaxScriptWork);
    const TracedText text = TracedText::FromScript(script);
    bool found = false;
    // What no known branch holds may stand in one that hangs on the caller's environment.
    for (const bool every_branch : {false, true}) {
      if (found || Work::Spent()) break;
      out = ShellLaunch();
      Reader reader(given, files, every_branch, &out);
      reader.Read(text);
      found = reader.found();
      reader.TakeLastVariables();
    }
    if (Work::Spent()) {
      out = ShellLaunch();
      out.too_much_work = true;
      refuse("input.limit", "a script that takes too much work to read",
             "a script that says its launch without so many expansions, loops and patterns");
    }
  }
  if (!out.script.empty()) JudgeLineEnds(script, &out.findings);
  const LineIndex lines(script);
  for (Argument& arg : out.args) lines.Place(&arg.at);
  for (SourcePosition& at : out.others) lines.Place(&at);
  if (!out.script.empty()) lines.Place(&out.at);
  for (ParseFinding& finding : out.findings) lines.Place(&finding.at);
  JudgeOthers(&out);
  return out;
}

}  // namespace flightplan
