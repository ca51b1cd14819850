// shell_check [--count N] [--seed S] [--first K] [--print] | --script FILE
//
// Our reading of launch scripts against bash's: each of N random scripts (shell_script.h) is run by bash with a
// torchrun that only notes its words and its environment, and read by ReadShellLaunch. Both must be the same wherever
// our reader says that it knows them. With --first from the K-th script on; with --print that script and both readings,
// with --script a file and both. Exit status: 0 all agree, 1 some do not, or too many are not known, 2 misuse, 77 there
// is no bash.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "resolver/shell/reader.h"
#include "tests/properties/reference.h"
#include "tests/properties/shell_script.h"
#include "tests/support/temporary_folder.h"

namespace flightplan::properties {
namespace {

using Words = std::vector<std::string>;

// The words of a launch behind the training script's name, and of its environment what the scripts may export.
struct Started {
  Words words;
  EnvVars vars;
};

// Of the scripts at most this share may hold something that our reader does not claim to know.
constexpr double kMostUnknown = 0.05;

// A folder with the programs that a script may start: the launcher writes its words and its environment, each behind a
// NUL.
class Bash {
 public:
  Bash() {
    const std::filesystem::path programs = folder_ / "bin";
    std::filesystem::create_directory(programs);
    std::filesystem::create_symlink("/usr/bin/env", programs / "env");
    std::filesystem::create_symlink("/bin/bash", programs / "bash");
    std::ofstream(programs / "torchrun") << "#!/bin/bash\nprintf '%s\\0' \"$@\" >" << (folder_ / "words")
                                         << "\n/usr/bin/env -0 >" << (folder_ / "vars") << "\n";
    std::filesystem::permissions(programs / "torchrun", std::filesystem::perms::owner_all);
  }

  // The last launch; nothing: bash did not start one.
  std::optional<Started> Launch(const std::string& script) const {
    std::filesystem::remove(folder_ / "words");
    std::filesystem::remove(folder_ / "vars");
    std::ofstream(folder_ / "script.sh") << script;
    const pid_t child = fork();
    if (child == 0) {
      if (freopen("/dev/null", "w", stderr) == nullptr || freopen("/dev/null", "r", stdin) == nullptr) _exit(126);
      if (chdir(folder_.c_str()) != 0) _exit(126);
      // Loops over lists in braces may grow without end.
      const rlimit seconds{1, 1}, bytes{rlim_t{1} << 29, rlim_t{1} << 29};
      if (setrlimit(RLIMIT_CPU, &seconds) != 0 || setrlimit(RLIMIT_AS, &bytes) != 0) _exit(126);
      // Alone: no variable of ours is one of the script's.
      const std::string path = absl::StrCat("PATH=", (folder_ / "bin").string());
      const char* const environment[] = {path.c_str(), nullptr};
      const char* const words[] = {"bash", "script.sh", nullptr};
      execve("/bin/bash", const_cast<char* const*>(words), const_cast<char* const*>(environment));
      _exit(127);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return std::nullopt;
    if (WEXITSTATUS(status) == 127 && !std::filesystem::exists("/bin/bash")) std::exit(77);
    const std::optional<Words> words = Noted("words"), vars = Noted("vars");
    if (!words.has_value() || !vars.has_value()) return std::nullopt;
    const auto script_at = std::find(words->begin(), words->end(), "pretrain_gpt.py");
    if (script_at == words->end()) return std::nullopt;
    Started started{Words(script_at + 1, words->end()), {}};
    for (const std::string& variable : *vars) {
      const std::pair<std::string, std::string> halves = absl::StrSplit(variable, absl::MaxSplits('=', 1));
      if (MayBeExported(halves.first)) started.vars.insert(halves);
    }
    return started;
  }

  static bool MayBeExported(const std::string& name) {
    const std::vector<std::string>& names = ShellScript::Exported();
    return std::find(names.begin(), names.end(), name) != names.end();
  }

 private:
  std::optional<Words> Noted(const char* name) const {
    std::ifstream file(folder_ / name, std::ios::binary);
    if (!file) return std::nullopt;
    const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    Words words = absl::StrSplit(text, '\0');
    words.pop_back();  // each ends with a NUL
    return words;
  }

  const TemporaryFolder scratch_;
  const std::filesystem::path folder_ = scratch_.path();
};

struct Reading {
  Started started;
  bool known = true;
  std::string notes;
};

Reading Read(const std::string& script) {
  const ShellLaunch launch = ReadShellLaunch(script, {{"PATH", "/usr/bin"}});
  Reading reading;
  for (const Argument& arg : launch.args) {
    reading.started.words.push_back(arg.text);
    reading.known = reading.known && !arg.unknown;
  }
  for (const ParseFinding& entry : launch.findings) {
    const bool judged = entry.finding.rule_id != "input.not-judged";
    reading.known = reading.known && judged && entry.finding.severity != Severity::kError;
    if (!judged) absl::StrAppend(&reading.notes, "not judged: ", entry.finding.seen, ": ", entry.finding.needs, "\n");
  }
  for (const auto& [name, value] : launch.vars) {
    if (Bash::MayBeExported(name)) reading.started.vars.emplace(name, value);
  }
  reading.known = reading.known && !launch.script.empty() && launch.unknown_vars.empty() && !launch.vars_elsewhere;
  return reading;
}

std::string Shown(const Started& started) {
  std::string text;
  for (const auto& [name, value] : started.vars) absl::StrAppend(&text, " ", name, "=", absl::CEscape(value));
  for (const std::string& word : started.words) absl::StrAppend(&text, " [", absl::CEscape(word), "]");
  return text;
}

void Print(const Bash& bash, const std::string& script) {
  const Reading ours = Read(script);
  const std::optional<Started> theirs = bash.Launch(script);
  std::printf("%s\n%sours%s %s\nbash%s\n", script.c_str(), ours.notes.c_str(), ours.known ? "" : " (not known)",
              Shown(ours.started).c_str(), theirs.has_value() ? Shown(*theirs).c_str() : " starts nothing");
}

int Main(int argc, char** argv) {
  ReferenceOptions options{.count = 400};
  if (!ReadOptions(argc, argv, "--script", &options)) {
    std::fprintf(stderr, "usage: shell_check [--count N] [--seed S] [--first K] [--print] | --script FILE\n");
    return 2;
  }
  const Bash bash;
  if (!options.file.empty()) {
    std::ifstream script(options.file);
    Print(bash, {std::istreambuf_iterator<char>(script), std::istreambuf_iterator<char>()});
    return 0;
  }
  int64_t differ = 0, unknown = 0, compared = 0;
  for (int64_t n = options.first; n < options.first + (options.print ? 1 : options.count); ++n) {
    const std::string script = ShellScript(options.seed * 1'000'003 + static_cast<uint64_t>(n)).Write();
    const Reading ours = Read(script);
    const std::optional<Started> theirs = bash.Launch(script);
    if (options.print) Print(bash, script);
    if (!theirs.has_value()) continue;  // a fault of the script, such as a division by zero
    ++compared;
    if (!ours.known) {
      ++unknown;
    } else if (ours.started.words != theirs->words || ours.started.vars != theirs->vars) {
      if (++differ <= 10) {
        std::printf("DIFFERS script %lld of seed %llu\n  ours%s\n  bash%s\n", static_cast<long long>(n),
                    static_cast<unsigned long long>(options.seed), Shown(ours.started).c_str(), Shown(*theirs).c_str());
      }
    }
  }
  std::printf("%lld scripts: %lld differ, %lld not known\n", static_cast<long long>(compared),
              static_cast<long long>(differ), static_cast<long long>(unknown));
  // Bash starts something in most of the scripts, and most of those we know: else little was compared.
  const bool enough =
      2 * compared >= options.count && static_cast<double>(unknown) <= kMostUnknown * static_cast<double>(compared);
  return differ == 0 && (enough || options.print) ? 0 : 1;
}

}  // namespace
}  // namespace flightplan::properties

int main(int argc, char** argv) { return flightplan::properties::Main(argc, argv); }
