#include "resolver/shell/launch_environment.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "resolver/base/path.h"
#include "resolver/base/work.h"
#include "resolver/shell/launcher_flag.h"
#include "resolver/shell/raw.h"

namespace flightplan {
namespace {

// A program's flags; "" stands for none.
struct Program {
  absl::string_view name;
  bool apart = false;                            // its process has none of the caller's variables
  bool contains = false;                         // it is followed by run, exec or start: else it is a word like others
  std::array<absl::string_view, 2> setting;      // whose value is NAME=value or NAME
  std::array<absl::string_view, 2> list;         // whose value is several of them, with commas
  std::array<absl::string_view, 4> apart_flags;  // that make it `apart`
  std::array<absl::string_view, 2> pair;         // that NAME and its value follow, as two words
};
constexpr Program kPrograms[] = {
    {"docker", true, true, {"-e", "--env"}, {}, {}, {}},
    {"podman", true, true, {"-e", "--env"}, {}, {}, {}},
    {"nerdctl", true, true, {"-e", "--env"}, {}, {}, {}},
    {"enroot", true, true, {"-e", "--env"}, {}, {}, {}},
    {"singularity", false, true, {}, {"--env", ""}, {"-e", "--cleanenv", "-C", "--containall"}, {}},
    {"apptainer", false, true, {}, {"--env", ""}, {"-e", "--cleanenv", "-C", "--containall"}, {}},
    {"mpirun", false, false, {"-x", ""}, {}, {}, {"-genv", "-env"}},
    {"mpiexec", false, false, {"-x", ""}, {}, {}, {"-genv", "-env"}},
    {"nsys", false, false, {}, {"-e", "--env-var"}, {}, {}},
};
constexpr absl::string_view kEnvironmentFile = "--env-file";

absl::string_view NameOf(const ShellWord& word) {
  const absl::string_view text = word.value.text;
  return FileName(text);
}

// The program that words[i] is; null: another one, or no program.
const Program* ProgramAt(WordSpan words, size_t i) {
  static constexpr absl::string_view kVerbs[] = {"run", "exec", "start"};
  const absl::string_view name = NameOf(words[i]);
  const auto* const found = absl::c_find_if(kPrograms, [name](const Program& each) { return each.name == name; });
  if (found == std::end(kPrograms)) return nullptr;
  const bool verb = i + 1 < words.size() && absl::c_linear_search(kVerbs, words[i + 1].value.text);
  return !found->contains || verb ? found : nullptr;
}

// What stands behind it is its own.
bool EndsLauncher(absl::string_view name) {
  return name == "torchrun" || absl::StartsWith(name, "python") || absl::EndsWith(name, "sh");
}

TracedText Part(const TracedText& text, size_t begin, size_t end) {
  TracedText part;
  part.AddRange(text, begin, end);
  return part;
}

// Whether it begins NAME=, as far as that can be known.
bool IsSetting(const TracedText& word) {
  const size_t sign = word.text.find('=');
  return sign != std::string::npos && IsVariableName(absl::string_view(word.text).substr(0, sign));
}

// The value of one of the flags at words[*i], which is then moved on to its last word; `glued`: -eNAME=value, too.
std::optional<TracedText> FlagValue(WordSpan words, absl::Span<const absl::string_view> flags, bool glued, size_t* i) {
  const TracedText& word = words[*i].value;
  if (const std::optional<LauncherFlag> flag = LauncherFlagAt(words.subspan(*i), flags); flag.has_value()) {
    if (flag->value != &word) ++*i;
    return Part(*flag->value, flag->value->text.size() - flag->text.size(), flag->value->text.size());
  }
  for (const absl::string_view flag : flags) {
    if (!glued || flag.size() != 2 || !absl::StartsWith(word.text, flag)) continue;
    TracedText rest = Part(word, flag.size(), word.text.size());
    if (IsSetting(rest)) return rest;
  }
  return std::nullopt;
}

}  // namespace

LaunchEnvironment::LaunchEnvironment(WordSpan launcher, const ShellState& state) : state_(state) {
  const Program* program = nullptr;
  bool slurm = false;
  for (size_t i = 0; i < launcher.size(); ++i) {
    const absl::string_view name = NameOf(launcher[i]);
    Work::Spend(kShellWordCosts);
    if (const Program* const found = ProgramAt(launcher, i); found != nullptr || name == "srun" || EndsLauncher(name)) {
      program = found;
      slurm = name == "srun";
      if (program != nullptr && program->apart) base_ = Base::kElsewhere;
    } else if (name == "env") {
      i += ReadEnv(launcher.subspan(i + 1));
    } else if (name == "sudo") {
      i += ReadSudo(launcher.subspan(i + 1));
    } else if (slurm) {
      constexpr absl::string_view kExport[] = {"--export"};
      if (const auto list = FlagValue(launcher, kExport, false, &i); list.has_value()) ReadExport(*list);
    } else if (program != nullptr) {
      if (absl::c_linear_search(program->apart_flags, launcher[i].value.text)) base_ = Base::kElsewhere;
      if (absl::StartsWith(launcher[i].value.text, kEnvironmentFile)) {
        unknown_names_ = true;
      } else if (const auto setting = FlagValue(launcher, program->setting, true, &i); setting.has_value()) {
        Take(*setting);
      } else if (const auto list = FlagValue(launcher, program->list, false, &i); list.has_value()) {
        TakeList(*list);
      } else if (absl::c_linear_search(program->pair, launcher[i].value.text) && i + 2 < launcher.size()) {
        if (IsVariableName(launcher[i + 1].value.text)) changes_[launcher[i + 1].value.text] = launcher[i + 2].value;
        i += 2;
      }
    }
  }
}

size_t LaunchEnvironment::ReadEnv(WordSpan words) {
  size_t i = 0;
  for (; i < words.size(); ++i) {
    const TracedText& word = words[i].value;
    constexpr absl::string_view kUnset[] = {"-u", "--unset"}, kFolder[] = {"-C", "--chdir"};
    absl::string_view rest = word.text;
    if (word.text == "-" || word.text == "-i" || word.text == "--ignore-environment") {
      base_ = Base::kNothing;
      changes_.clear();
    } else if (const auto name = FlagValue(words, kUnset, false, &i); name.has_value()) {
      changes_[name->text] = std::nullopt;
    } else if (absl::ConsumePrefix(&rest, "-u") && IsVariableName(rest)) {
      changes_[std::string(rest)] = std::nullopt;
    } else if (FlagValue(words, kFolder, false, &i).has_value()) {
      continue;
    } else if (absl::StartsWith(word.text, "-S") || absl::StartsWith(word.text, "--split-string") ||
               (word.unknown() && !IsSetting(word))) {
      unknown_names_ = true;
    } else if (IsSetting(word)) {
      Take(word);
    } else if (!absl::StartsWith(word.text, "-")) {
      break;
    }
  }
  return i;
}

size_t LaunchEnvironment::ReadSudo(WordSpan words) {
  bool keeps = false;
  size_t i = 0;
  std::vector<const TracedText*> settings;
  for (; i < words.size(); ++i) {
    const TracedText& word = words[i].value;
    keeps = keeps || word.text == "-E" || word.text == "--preserve-env";
    if (IsSetting(word) && !absl::StartsWith(word.text, "-")) {
      settings.push_back(&word);
    } else if (!absl::StartsWith(word.text, "-")) {
      break;
    }
  }
  if (!keeps) base_ = Base::kElsewhere;
  for (const TracedText* const setting : settings) Take(*setting);
  return i;
}

// srun's own word for all that its caller exports is ALL; NONE, and a list without it, is less than that.
void LaunchEnvironment::ReadExport(const TracedText& list) {
  const std::string text = list.text + ",";
  if (!absl::StartsWith(text, "ALL,") && !absl::StrContains(text, ",ALL,")) base_ = Base::kElsewhere;
  TakeList(list);
}

void LaunchEnvironment::TakeList(const TracedText& list) {
  for (size_t begin = 0, end = 0; begin < list.text.size(); begin = end + 1) {
    end = std::min(list.text.find(',', begin), list.text.size());
    const TracedText item = Part(list, begin, end);
    if (item.text != "ALL" && item.text != "NONE" && item.text != "NIL") Take(item);
  }
}

void LaunchEnvironment::Take(const TracedText& setting) {
  const size_t sign = std::min(setting.text.find('='), setting.text.size());
  const std::string name = setting.text.substr(0, sign);
  if (!IsVariableName(name)) {
    unknown_names_ = unknown_names_ || (setting.unknown() && setting.unknown_parts.front().begin <= sign);
  } else if (sign < setting.text.size()) {
    changes_[name] = Part(setting, sign + 1, setting.text.size());
  } else if (std::optional<TracedText> value = state_.Exported(name); value.has_value()) {
    changes_[name] = *std::move(value);
  }
}

void LaunchEnvironment::ApplyTo(ShellState* state) const {
  state->set_doubtful(false);
  if (base_ != Base::kCaller) state->ClearEnvironment(base_ == Base::kElsewhere);
  for (const auto& [name, value] : changes_) {
    if (value.has_value()) {
      state->Set(name, {{*value, value->FirstOffset(-1)}}, value->FirstOffset(-1));
      state->Export(name);
    } else {
      state->Unset(name);
    }
  }
  if (unknown_names_) state->ExportUnknownNames();
}

}  // namespace flightplan
