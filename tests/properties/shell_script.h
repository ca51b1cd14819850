// Random launch scripts for bash and for our reader of it: variables, arrays, expansions, conditions, loops, functions,
// and what of them processes get. Nothing in one does more than set variables and start the launcher.
#pragma once

#include <random>
#include <string>
#include <vector>

namespace flightplan::properties {

class ShellScript {
 public:
  // Variables that the scripts export.
  static const std::vector<std::string>& Exported();

  explicit ShellScript(uint64_t seed) : random_(seed) {}
  std::string Write();

 private:
  size_t Below(size_t limit) { return random_() % limit; }
  bool Chance(size_t in) { return Below(in) == 0; }
  template <class Item>
  const Item& Any(const std::vector<Item>& items) {
    return items[Below(items.size())];
  }

  std::string Literal();
  std::string Pattern();
  std::string Reference();  // $x, ${x%...}, $((...)) ...
  std::string Part(bool quoted);
  std::string Word();  // one or more fields
  std::string Text();  // within double quotes
  std::string Arithmetic(int depth);
  std::string Condition();
  std::string Assignment();
  std::string Setting();      // NAME=value for the environment
  std::string Environment();  // a command that changes it, or only seems to
  std::string Launch();
  void Statement(int depth);
  void Block(int depth);
  void Line(const std::string& text) { out_ += std::string(2 * indent_, ' ') + text + "\n"; }

  std::mt19937_64 random_;
  std::string out_;
  size_t indent_ = 0;
  int functions_ = 0, loops_ = 0;
};

}  // namespace flightplan::properties
