#include "resolver/shell/reader.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "resolver/base/path.h"
#include "resolver/base/work.h"
#include "resolver/plan/stack.h"
#include "resolver/shell/command_kinds.h"
#include "resolver/shell/cpu_binding.h"
#include "resolver/shell/inner_script.h"
#include "resolver/shell/interpreter.h"
#include "resolver/shell/launch_environment.h"
#include "resolver/shell/launcher_world.h"
#include "resolver/shell/line_ends.h"
#include "resolver/shell/line_index.h"
#include "resolver/shell/runtime_env.h"
#include "resolver/shell/written_settings.h"

namespace flightplan {
namespace {

constexpr int kMaxDepth = 4;  // bash -c "bash -c ..."

class Reader {
 public:
  Reader(const EnvVars& given, const SourcedFiles& files, std::optional<int> wanted, bool every_branch,
         ShellLaunch* out)
      : out_(*out),
        files_(files),
        others_(wanted),
        every_branch_(every_branch),
        state_(given, &out->findings),
        interpreter_(
            &state_, [this](const ShellCommand& command) { Follow(command); },
            [this](const std::string& name) { return Sourced(name); }, every_branch) {
    state_.set_every_branch(every_branch);
    state_.set_files([this](const std::string& name) { return Sourced(name); });
  }

  void Read(const TracedText& script) { interpreter_.Run(script); }

  bool found() const { return found_; }
  // What is known at the script's end. Of one without a launch: what it exports.
  void Finish() {
    if (!found_) {
      TakeVariables({{}, state_});
      out_.written_files = std::move(written_files_);
      return;
    }
    out_.last_world_size = out_.world_size;
    out_.others_left_out = others_.left_out();
    out_.others = others_.Take(&out_);
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
    if (command.words.empty() || TakeRest(command.words)) return;
    launched_ = false;
    if (FollowShell(command)) {
      launched_ = false;
    } else {
      TakeLaunch(command.words);
    }
  }

  // Flags right behind a launch, as a command of their own: its line was to go on, and is read as it was meant.
  bool TakeRest(WordSpan words) {
    if (!launched_ || !IsRestOfLaunch(words)) return false;
    std::vector<Argument>& args = out_.args;
    while (!args.empty() && absl::StripAsciiWhitespace(args.back().text).empty()) args.pop_back();  // of "\ "
    for (Argument& arg : ArgumentsOf(words)) {
      arg.at.index = static_cast<int>(args.size());
      args.push_back(std::move(arg));
    }
    training_ = training_ || LooksLikeTraining(words);
    if (!out_.cut_at.has_value()) out_.cut_at = words[0].value.FirstOffset(words[0].offset);
    return true;
  }

  // What another command may have changed is not known any more.
  void TakeWritten(const ShellCommand& command) {
    const bool written = !written_files_.empty() || !written_scripts_.empty();
    if (written && !command.words.empty() && !OnlyReads(command.words) && !PlaceOfWritten(command.words).has_value()) {
      for (const ShellWord& word : command.words.subspan(1)) {
        written_files_.erase(PlainPath(word.value.text));
        written_scripts_.erase(PlainPath(word.value.text));
      }
    }
    if (command.file.text.empty() || command.file.unknown()) return;
    const std::string name = PlainPath(command.file.text);
    if (IsScriptFile(name)) return KeepScript(name, command);
    const std::optional<std::string> text =
        command.written.has_value() ? AsSettings(*command.written) : std::optional<std::string>();
    if (!text.has_value() || written_bytes_ + text->size() > kMaxScriptBytes) {
      written_files_.erase(name);
      return;
    }
    written_bytes_ += text->size();
    std::string& file = written_files_[name];
    if (!command.append) file.clear();
    file += *text;
  }

  void KeepScript(const std::string& name, const ShellCommand& command) {
    const size_t size = command.written.has_value() ? command.written->text.size() : 0;
    if (size == 0 || written_bytes_ + size > kMaxScriptBytes) {
      written_scripts_.erase(name);
      return;
    }
    written_bytes_ += size;
    TracedText& script = written_scripts_[name];
    if (!command.append) script = TracedText();
    script.Append(*command.written);
  }

  // Where the words run a script that this one has written: `sbatch job.sh`.
  std::optional<size_t> PlaceOfWritten(WordSpan words) const {
    if (written_scripts_.empty()) return std::nullopt;
    for (size_t i = 0; i < words.size(); ++i) {
      if (written_scripts_.count(PlainPath(words[i].value.text)) > 0 && RunsScriptAt(words, i)) return i;
    }
    return std::nullopt;
  }

  // False: the command starts no shell with a script that is written here.
  bool FollowShell(const ShellCommand& command) {
    const WordSpan words = command.words;
    if (const std::optional<InnerScript> inner = ScriptInWords(words); inner.has_value()) {
      return FollowScript(words, inner->launcher, inner->text, !inner->text.unknown());
    }
    if (const std::optional<size_t> place = PlaceOfWritten(words); place.has_value()) {
      const TracedText script = written_scripts_.at(PlainPath(words[*place].value.text));
      return FollowScript(words, *place, script, true);
    }
    if (command.here_document.text.empty() || !RunsItsInput(words)) return false;
    return FollowScript(words, words.size(), command.here_document, true);
  }

  // `launcher`: how many of the words stand before the shell. `expanded`: no reference of the script around it is left
  // in it, and so its variables are those that are exported.
  bool FollowScript(WordSpan words, size_t launcher, const TracedText& script, bool expanded) {
    if (depth_ >= kMaxDepth) {
      state_.NotJudged(script.FirstOffset(-1), "bash -c", "shells inside shells are followed four deep");
      return true;
    }
    LauncherFacts outside = launcher_;
    TakeLauncher(words.first(launcher), &launcher_);
    const ShellState::Inside inside(&state_);
    LaunchEnvironment(words.first(launcher), state_).ApplyTo(&state_);
    if (expanded) state_.ForgetUnexported();
    if (const std::optional<SlurmJob> job = SubmittedJob(words, script.text); job.has_value()) TakeJob(*job);
    ++depth_;
    interpreter_.Run(script);
    --depth_;
    launcher_ = std::move(outside);
    return true;
  }

  // The script of a job starts with what Slurm sets there, and with as many ranks as the job has GPUs, unless it says
  // otherwise.
  void TakeJob(const SlurmJob& job) {
    EnvVars vars = job.exports;
    AddSlurmVariables(job, &vars);
    for (const auto& [name, value] : vars) {
      state_.Set(name, {{TracedText::FromOutside(value), -1}}, -1);
      state_.Export(name);
    }
    if (job.GpuCount().has_value()) launcher_.world_size = launcher_.job_gpus = job.GpuCount();
    if (job.GpusPerNode().has_value()) launcher_.node_processes = *job.GpusPerNode();
  }

  // The word that starts a training: a Python file, or the second of a stack's own command.
  static bool Starts(WordSpan words, size_t i) {
    return absl::EndsWith(words[i].value.text, ".py") ||
           (i > 0 && (IsEntryCommand(words[i - 1].value.text, words[i].value.text) || RunsAStackByItsKeys(words, i)));
  }

  // What stands before the first of these is the launcher, what stands behind belongs to it.
  void TakeLaunch(WordSpan words) {
    size_t script = 0;
    while (script < words.size() && !Starts(words, script)) ++script;
    if (const std::string module = script == words.size() ? TrainingModuleOf(words) : ""; !module.empty()) {
      out_.unread_module = module;
    }
    if (script == words.size() || OnlyNames(words[0].value.text)) return;
    const WordSpan behind = words.subspan(script + 1);
    if (found_ && std::none_of(behind.begin(), behind.end(), CouldBeSetting)) return;
    const bool command =
        !absl::EndsWith(words[script].value.text, ".py");  // "megatron sft": its second word goes along
    const bool training = command || IsEntryScript(words[script].value.text) || LooksLikeTraining(behind);
    if (training_ && !training) return;
    LaunchCommand next;
    static_cast<LauncherFacts&>(next) = launcher_;
    TakeLauncher(words.first(script), &next);
    next.script = words[script].value.text;
    if (command) next.script = absl::StrCat(FileName(words[script - 1].value.text), " ", next.script);
    next.args = ArgumentsOf(command ? words.subspan(script) : behind);
    next.at = {-1, words[0].value.FirstOffset(words[0].offset), 0};
    if (!training_) others_.Forget();
    Become(std::move(next), Variables(words.first(script), state_));
    found_ = launched_ = true;
    training_ = training;
  }

  static std::vector<Argument> ArgumentsOf(WordSpan words) {
    std::vector<Argument> args;
    for (const ShellWord& word : words) {
      Work::Spend(64 + word.value.text.size());
      const int index = static_cast<int>(args.size());
      args.push_back({word.value.text, {index, word.value.FirstOffset(word.offset), 0}, word.value.unknown()});
    }
    return args;
  }

  // The variables of a launch: the script's as they are now, and the launcher's words about them.
  struct Variables {
    Variables(WordSpan launcher, const ShellState& state)
        : changed(launcher, state),
          stated(ReadRuntimeEnv(launcher)),
          own(!changed.empty() || !stated.has_value() || !stated->empty()) {}
    LaunchEnvironment changed;
    std::optional<EnvVars> stated;  // nothing: only a run would know
    bool own;                       // the launcher says something of them
  };

  // A loop meets one launch many times, mostly in one environment.
  bool HasTaken(const Variables& variables) const {
    return !variables.own && environment_taken_ == state_.environment_version();
  }

  // `next` is the launch now, without its variables so far. The one before it is kept if it is another one.
  void Become(LaunchCommand next, const Variables& variables) {
    const auto same = [](const Argument& a, const Argument& b) { return a.text == b.text; };
    const bool again = HasTaken(variables) && out_.script == next.script && out_.world_size == next.world_size &&
                       written_files_.empty() && absl::c_equal(out_.args, next.args, same);
    std::optional<LaunchCommand> before;
    if (training_ && !every_branch_ && !again) {
      Work::Spend(kShellVariableCosts * out_.vars.size() + 64 * out_.args.size() + written_bytes_);
      before = out_;
    }
    static_cast<LauncherFacts&>(out_) = std::move(static_cast<LauncherFacts&>(next));
    out_.script = std::move(next.script);
    out_.args = std::move(next.args);
    out_.at = next.at;
    out_.ordinal = again && others_.wants(out_.ordinal) ? out_.ordinal : met_;
    ++met_;
    TakeVariables(variables);
    if (!out_.written_files.empty() || !written_files_.empty()) {
      Work::Spend(written_bytes_);
      out_.written_files = written_files_;
    }
    if (before.has_value()) others_.Keep(*std::move(before), &out_);
  }

  void TakeVariables(const Variables& variables) {
    if (HasTaken(variables)) return;
    const LaunchEnvironment& changed = variables.changed;
    environment_taken_ = variables.own ? std::nullopt : std::optional(state_.environment_version());
    ShellEnvironment environment = changed.empty() ? state_.Environment() : EnvironmentAfter(changed);
    out_.vars_elsewhere = environment.elsewhere || !variables.stated.has_value();
    out_.vars = std::move(environment.vars);
    out_.unset_vars = std::move(environment.unset);
    out_.unknown_vars = std::move(environment.unknown);
    for (const auto& [name, value] : variables.stated.value_or(EnvVars())) {
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

  void TakeLauncher(WordSpan launcher, LauncherFacts* facts) const {
    if (CpuBinding binding = ReadCpuBinding(launcher); !binding.torchrun.empty() || !binding.numactl.empty()) {
      facts->cpu_binding = std::move(binding);
    }
    const bool srun = std::any_of(launcher.begin(), launcher.end(), IsSrun);
    std::optional<LauncherWorld> world =
        ReadLauncherWorld(launcher, {srun, srun ? CountIn("SLURM_NNODES") : 0}, {CountIn("PET_NNODES")});
    const int64_t tasks = srun ? CountIn("SLURM_NTASKS") : 0;  // that srun starts unless told
    if (!world.has_value() && tasks > 0) world = LauncherWorld{tasks, false, 0};
    if (!world.has_value()) return;
    facts->world_size = world->size;
    facts->world_size_assumed = world->assumed;
    facts->node_processes = world->of_node;
  }

  int64_t CountIn(absl::string_view name) const {  // 0: not known
    const ShellWords* value = state_.Find(name);
    int64_t count = 0;
    if (value == nullptr || value->empty() || !absl::SimpleAtoi(value->front().value.text, &count)) return 0;
    return count > 0 && count < int64_t{1} << 24 ? count : 0;
  }

  ShellLaunch& out_;
  const SourcedFiles& files_;
  OtherLaunches others_;
  const bool every_branch_;
  ShellState state_;
  ShellInterpreter interpreter_;
  int depth_ = 0;
  int met_ = 0;                                        // launches
  LauncherFacts launcher_;                             // of the shells around what is read
  std::map<std::string, std::string> written_files_;   // LaunchCommand's, as of now
  std::map<std::string, TracedText> written_scripts_;  // by their plain names
  size_t written_bytes_ = 0;
  bool found_ = false, training_ = false;
  bool launched_ = false;                 // by the command before this one
  std::optional<int> environment_taken_;  // whose variables the launch has
};

// Puts another launch into the place of the one that was read.
void Choose(int wanted, ShellLaunch* out) {
  const auto found = std::find_if(out->others.begin(), out->others.end(),
                                  [wanted](const LaunchCommand& other) { return other.ordinal == wanted; });
  if (found == out->others.end()) return;
  std::swap(static_cast<LaunchCommand&>(*out), *found);
  std::rotate(found, std::next(found), out->others.end());  // the one that was read is the last
}

}  // namespace

ShellLaunch ReadShellLaunch(absl::string_view script, const EnvVars& given, const SourcedFiles& files,
                            std::optional<int> wanted) {
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
    const TracedText text = TracedText::FromScript(WithoutMark(script));
    bool found = false;
    // What no known branch holds may stand in one that hangs on the caller's environment.
    for (const bool every_branch : {false, true}) {
      if (found || Work::Spent()) break;
      out = ShellLaunch();
      Reader reader(given, files, wanted, every_branch, &out);
      reader.Read(text);
      found = reader.found();
      reader.Finish();
    }
    if (Work::Spent()) {
      out = ShellLaunch();
      out.too_much_work = true;
      refuse("input.limit", "a script that takes too much work to read",
             "a script that says its launch without so many expansions, loops and patterns");
    }
  }
  if (!out.script.empty()) JudgeLineEnds(script, &out.findings);
  if (!out.script.empty() && out.cut_at.has_value()) JudgeContinuation(script, *out.cut_at, &out.findings);
  const LineIndex lines(script);
  const auto place = [&lines](LaunchCommand& launch) {
    for (Argument& arg : launch.args) lines.Place(&arg.at);
    if (!launch.script.empty()) lines.Place(&launch.at);
  };
  place(out);
  for (LaunchCommand& other : out.others) place(other);
  for (ParseFinding& finding : out.findings) lines.Place(&finding.at);
  if (wanted.has_value()) Choose(*wanted, &out);
  return out;
}

}  // namespace flightplan
