// Writes resolver/rules/RULES.md from the rule records and the example tables beside them.
//   rule_book            writes it
//   rule_book --check    ends with 1 when the file in the tree is not what would be written
#include "resolver/explain/rule_book.h"

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

namespace {

constexpr char kRules[] = FLIGHTPLAN_SOURCE_DIR "/resolver/rules/";

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string book = flightplan::RuleBook();
  const std::string path = std::string(kRules) + "RULES.md";
  if (argc > 1 && std::string(argv[1]) == "--check") {
    if (ReadFile(path) == book) return 0;
    std::fprintf(stderr, "%s is stale; run: cmake --build --preset release --target update_rule_book\n", path.c_str());
    return 1;
  }
  std::ofstream(path, std::ios::binary) << book;
  return 0;
}
