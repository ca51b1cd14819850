// Which rule answers each id of the tables that the rules were written from (tables.tsv). Prints a line a table and, of
// the ids without a rule, each with its reason; fails where an id has neither, or where a rule that is named is none.
//
// usage: rule_coverage TABLES_TSV [--quiet]
#include <fstream>
#include <iomanip>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "resolver/rules/registry.h"

namespace {

struct Table {
  int rows = 0, own = 0, others = 0, reasons = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: rule_coverage TABLES_TSV [--quiet]\n";
    return 2;
  }
  const bool quiet = argc > 2 && std::string(argv[2]) == "--quiet";
  std::set<std::string> rules;
  for (const flightplan::Rule* rule : flightplan::AllRules()) {
    rules.emplace(rule->id);
    if (!rule->cli_id.empty()) rules.emplace(rule->cli_id);
  }
  std::ifstream file(argv[1]);
  std::map<std::string, Table> tables;
  std::vector<std::string> reasons;
  int faults = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::vector<std::string> fields = absl::StrSplit(line, '\t');
    fields.resize(4);
    Table& table = tables[fields[0]];
    ++table.rows;
    if (fields[2] == "-") {
      ++table.reasons;
      reasons.push_back(fields[1] + ": " + fields[3]);
      if (fields[3].size() < 10) ++faults, std::cout << fields[1] << ": neither a rule nor a reason\n";
      continue;
    }
    ++(fields[2] == fields[1] ? table.own : table.others);
    for (absl::string_view id : absl::StrSplit(fields[2], ',')) {
      if (rules.count(std::string(id)) == 0) ++faults, std::cout << fields[1] << ": no rule " << id << "\n";
    }
  }
  std::cout << std::left << std::setw(26) << "table" << std::right << std::setw(6) << "ids" << std::setw(10)
            << "own rule" << std::setw(13) << "other rules" << std::setw(9) << "reasons"
            << "\n";
  for (const auto& [name, table] : tables) {
    std::cout << std::left << std::setw(26) << name << std::right << std::setw(6) << table.rows << std::setw(10)
              << table.own << std::setw(13) << table.others << std::setw(9) << table.reasons << "\n";
  }
  if (!quiet) {
    std::cout << "\nwithout a rule\n";
    for (const std::string& reason : reasons) std::cout << "  " << reason << "\n";
  }
  if (tables.empty()) ++faults, std::cout << argv[1] << ": holds no table\n";
  return faults == 0 ? 0 : 1;
}
