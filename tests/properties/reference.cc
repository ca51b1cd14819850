#include "tests/properties/reference.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/support/temporary_folder.h"

namespace flightplan::properties {

bool ReadOptions(int argc, char** argv, absl::string_view file_flag, ReferenceOptions* options) {
  for (int i = 1; i < argc; ++i) {
    const absl::string_view flag = argv[i];
    if (flag == "--print") {
      options->print = true;
    } else if (++i == argc ||
               !((flag == "--count" && absl::SimpleAtoi(argv[i], &options->count) && options->count > 0) ||
                 (flag == "--seed" && absl::SimpleAtoi(argv[i], &options->seed)) ||
                 (flag == file_flag && !(options->file = argv[i]).empty()) ||
                 (flag == "--first" && absl::SimpleAtoi(argv[i], &options->first) && options->first >= 0))) {
      return false;
    }
  }
  return true;
}

std::vector<std::string> PythonsReadings(const std::string& script,
                                         const std::vector<std::pair<std::string, std::string>>& files) {
  const TemporaryFolder folder;
  std::string command = absl::StrCat("/usr/bin/python3 '", script, "'");
  for (const auto& [name, text] : files) {
    std::ofstream(folder.File(name)) << text;
    absl::StrAppend(&command, " '", folder.File(name), "'");
  }
  absl::StrAppend(&command, " >'", folder.File("readings"), "'");
  if (std::system(command.c_str()) != 0) {
    std::fprintf(stderr, "%s failed\n", script.c_str());
    std::exit(2);
  }
  std::ifstream file(folder.File("readings"));
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::vector<std::string> readings = absl::StrSplit(text, '\n');
  readings.pop_back();  // behind the last line
  return readings;
}

}  // namespace flightplan::properties
