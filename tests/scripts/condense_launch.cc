// condense_launch FILE...
//
// What each shell script would run, in one command: its exports, its launcher with the size that it asks for, and the
// program with the words that it gets; a word that only a run would know stays as it is spelt. Prints file and command
// alternately, each ended by a NUL; an empty command: the script runs no Python file. Exit status: 2 misuse.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "resolver/render/launch.h"
#include "resolver/shell/reader.h"

namespace flightplan {
namespace {

// A variable that is set nowhere keeps its size out of the words, as in the script.
std::string LauncherOf(const ShellLaunch& launch) {
  if (!launch.world_size.has_value()) return "torchrun";
  if (launch.world_size_assumed)
    return absl::StrCat("torchrun --nnodes 1 --nproc-per-node ${SIZE:-", *launch.world_size, "}");
  return absl::StrCat("torchrun --nnodes 1 --nproc-per-node ", *launch.world_size);
}

std::string WordOf(const Argument& word) {
  if (!word.unknown) return ShellQuote(word.text);
  return absl::StrCat("\"", absl::StrReplaceAll(word.text, {{"\"", "\\\""}}), "\"");
}

std::string Condensed(const std::string& script) {
  const ShellLaunch launch = ReadShellLaunch(script, {});
  if (launch.script.empty()) return "";
  std::string text;
  for (const auto& [name, value] : launch.vars) absl::StrAppend(&text, "export ", name, "=", ShellQuote(value), "\n");
  absl::StrAppend(&text, LauncherOf(launch), " ", ShellQuote(launch.script));
  for (const Argument& word : launch.args) absl::StrAppend(&text, " ", WordOf(word));
  absl::StrAppend(&text, "\n");
  return text;
}

int Main(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    std::ifstream in(file, std::ios::binary);
    if (!in) {
      std::fprintf(stderr, "usage: condense_launch FILE...; %s cannot be read\n", file.c_str());
      return 2;
    }
    const std::string script((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    const std::string text = Condensed(script);
    std::fwrite(file.data(), 1, file.size() + 1, stdout);
    std::fwrite(text.data(), 1, text.size() + 1, stdout);
  }
  return 0;
}

}  // namespace
}  // namespace flightplan

int main(int argc, char** argv) { return flightplan::Main(std::vector<std::string>(argv + 1, argv + argc)); }
