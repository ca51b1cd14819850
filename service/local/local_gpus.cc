#include "service/local/local_gpus.h"

#include <dirent.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace flightplan::service {
namespace {

std::string ReadSmall(const std::string& path) {
  std::ifstream file(path);
  std::string text(4096, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(std::max<std::streamsize>(0, file.gcount())));
  return text;
}

// The first word made of numbers and dots: "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul ...".
std::string VersionIn(const std::string& text) {
  for (absl::string_view word : absl::StrSplit(text, absl::ByAnyChar(" \t\n"), absl::SkipEmpty())) {
    const bool numbers = std::all_of(word.begin(), word.end(), [](char c) {
      return absl::ascii_isdigit(static_cast<unsigned char>(c)) || c == '.';
    });
    if (numbers && absl::StrContains(word, '.')) return std::string(word);
  }
  return "";
}

}  // namespace

LocalGpus ReadLocalGpus(const std::string& root) {
  LocalGpus gpus;
  gpus.driver_version = VersionIn(ReadSmall(absl::StrCat(root, "/version")));
  const std::string folder = absl::StrCat(root, "/gpus");
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(opendir(folder.c_str()), [](DIR* d) { return d ? closedir(d) : 0; });
  if (dir == nullptr) return gpus;
  while (const dirent* entry = readdir(dir.get())) {
    if (entry->d_name[0] == '.') continue;
    const std::string text = ReadSmall(absl::StrCat(folder, "/", entry->d_name, "/information"));
    for (absl::string_view line : absl::StrSplit(text, '\n')) {
      if (!absl::ConsumePrefix(&line, "GPU UUID:")) continue;
      gpus.uuids.emplace_back(absl::StripAsciiWhitespace(line));
    }
  }
  std::sort(gpus.uuids.begin(), gpus.uuids.end());
  return gpus;
}

}  // namespace flightplan::service
