// Goes through a program in Python as far as its text says what it does. Nothing is executed: a branch that may not be
// taken, a call of what is not in the text, an input are unknown, and so is what rests on them. Internal to its folder.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "resolver/read/python_expression.h"
#include "resolver/read/python_program.h"
#include "resolver/stacks/megatron_bridge/python_object.h"

namespace flightplan {

inline constexpr size_t kPythonNamesOfStep = 64;  // whose copies take as long as a statement

class PythonInterpreter : public PythonNames {
 public:
  struct Function {
    absl::string_view name, parameters;
    size_t begin = 0, end = 0;  // of its body, among the statements
    size_t outer = 0;           // the function that it stands in; 0: none
    bool called = false;
  };

  PythonInterpreter(absl::string_view text, int release);

  // The program as Python runs it.
  void RunModule();
  // A function that nothing calls, with arguments that nobody knows. `maybe`: it may not be run at all.
  PythonResult RunUncalled(size_t function, bool maybe);

  std::vector<Function>& functions() { return functions_; }
  PythonObjects& objects() { return objects_; }
  // Those that a name of the module stands for.
  absl::flat_hash_set<int> NamedObjects() const;
  // The program is longer, or loops more often, than is gone through.
  bool Exhausted() const;

  PythonResult Named(absl::string_view name) override;
  PythonResult Called(absl::string_view text, const PythonResult& callee,
                      const std::vector<PythonArgument>& arguments) override;
  PythonResult Dict(const std::vector<PythonArgument>& entries) override;
  PythonResult Item(const PythonResult& of, const PythonResult& key) override;
  PythonResult Read(const PythonResult& reference) override { return objects_.Read(reference); }

 private:
  struct Frame {
    absl::flat_hash_map<std::string, PythonResult> names;
    absl::flat_hash_set<std::string> globals;
    PythonResult returned;
    bool left = false;        // by a return that surely comes
    bool maybe_left = false;  // by one that may
    size_t function = 0;      // its number, from 1; 0: the module
  };

  PythonResult ValueOf(const PythonResult& result) {
    return result.kind == PythonResult::Kind::kReference ? objects_.Read(result) : result;
  }
  bool Maybe() const { return maybe_ > 0; }
  bool Spend(size_t steps);

  // ---- statements
  void Body(size_t begin, size_t end);
  void MaybeBody(size_t begin, size_t end);
  size_t Compound(size_t head, size_t end);
  size_t If(size_t head, size_t end);
  void For(absl::string_view head, size_t begin, size_t end);
  void ItemTargets(absl::string_view target, absl::string_view item, int depth);
  void LoopTargets(absl::string_view target);
  void With(absl::string_view items);
  void Class(absl::string_view head, size_t begin, size_t end);
  void Define(absl::string_view head, size_t begin, size_t end, bool bound);
  void Simple(const PythonStatement& statement);
  void Import(absl::string_view text);
  void Return(absl::string_view value);
  void At(const PythonStatement& statement);

  // ---- what is bound
  void Change(absl::string_view target, absl::string_view amount);
  void Targets(absl::string_view target, const PythonResult& result);
  void BindTarget(absl::string_view target, const PythonResult& result);
  void BindItem(absl::string_view target, const PythonResult& result);
  void Bind(absl::string_view name, PythonResult result);

  // ---- calls
  PythonResult Run(size_t function, const std::vector<PythonArgument>* arguments);
  void Parameters(absl::string_view parameters, const std::vector<PythonArgument>* arguments, Frame* frame);
  PythonResult SetAttribute(const std::vector<PythonArgument>& arguments);
  void Update(const PythonResult& of, const std::vector<PythonArgument>& arguments);
  void Hand(absl::string_view function, const std::vector<PythonArgument>& arguments);
  PythonResult Entries(const PythonResult& dict) const;

  const int release_;
  const std::vector<PythonStatement> statements_;
  std::vector<size_t> ends_;  // of the body below each statement
  PythonObjects objects_;
  std::vector<Frame> frames_;  // the module's first
  std::vector<Function> functions_;
  absl::flat_hash_map<std::string, std::string> of_library_;  // recipes, by the names that the text has for them
  Argument at_;                                               // the statement at hand
  size_t steps_ = 0;
  int nested_ = 0;
  int maybe_ = 0;        // bodies around the statement at hand that may not be run
  int frame_maybe_ = 0;  // those around the function's call
};

}  // namespace flightplan
