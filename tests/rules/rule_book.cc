// Writes resolver/rules/RULES.md from the rule records and the example tables beside them.
//   rule_book            writes it
//   rule_book --check    ends with 1 when the file in the tree is not what would be written
#include "resolver/explain/rule_book.h"

#include <dirent.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"

namespace {

constexpr char kRules[] = FLIGHTPLAN_SOURCE_DIR "/resolver/rules/";

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<std::string> Names(const std::string& folder) {
  std::vector<std::string> names;
  DIR* dir = opendir(folder.c_str());
  while (const dirent* entry = dir == nullptr ? nullptr : readdir(dir)) {
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  if (dir != nullptr) closedir(dir);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<flightplan::RuleExample> examples;
  for (const std::string& room : Names(kRules)) {
    for (const std::string& name : Names(kRules + room)) {
      if (!absl::EndsWith(name, ".cases.yaml")) continue;
      const std::string path = kRules + room + "/" + name;
      auto rows = flightplan::ReadRuleExamples(path, ReadFile(path));
      if (!rows.ok()) {
        std::fprintf(stderr, "rule_book: %s\n", std::string(rows.status().message()).c_str());
        return 1;
      }
      examples.insert(examples.end(), rows->begin(), rows->end());
    }
  }
  const std::string book = flightplan::RuleBook(examples);
  const std::string path = std::string(kRules) + "RULES.md";
  if (argc > 1 && std::string(argv[1]) == "--check") {
    if (ReadFile(path) == book) return 0;
    std::fprintf(stderr, "%s is stale; run: cmake --build --preset release --target update_rule_book\n", path.c_str());
    return 1;
  }
  std::ofstream(path, std::ios::binary) << book;
  return 0;
}
