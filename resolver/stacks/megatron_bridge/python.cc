// A recipe in Python, as the documents of Megatron-Bridge show them and as its scripts are. Nothing is executed: what
// the text says outright is read, and what only a run would know is unknown.
#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "resolver/base/first_names.h"
#include "resolver/catalog/bridge_fields.h"
#include "resolver/stacks/megatron_bridge/dialect.h"
#include "resolver/stacks/megatron_bridge/notes.h"
#include "resolver/stacks/megatron_bridge/python_interpreter.h"

namespace flightplan {
namespace {

constexpr size_t kSeenBytes = 600;  // in a note

class Program {
 public:
  Program(absl::string_view text, int release) : interpreter_(text, release), objects_(interpreter_.objects()) {}

  ParseResult Read() {
    interpreter_.RunModule();
    std::vector<int> configs = Configs(0);
    const std::vector<Root> roots = UncalledFunctions(/*maybe=*/!configs.empty());
    if (configs.empty()) {
      configs = OfFunctions(roots);
    } else {
      configs = Trained(std::move(configs));
      if (!roots.empty()) Note({}, NamesOf(roots), "a function that nothing here calls: what it sets is not judged");
    }
    ParseResult result;
    if (!configs.empty()) result = objects_.Finished(configs.back());
    KeepFaults(configs, &result);
    NoteLooseFields();
    KeepFindings(std::move(notes_), &result.findings);
    if (interpreter_.Exhausted()) {
      KeepFinding(MakeParseFinding({}, "input.limit", Severity::kError, "the program",
                                   "fewer or shorter statements: those that are gone through are counted, in a loop "
                                   "each time",
                                   kSource),
                  &result.findings);
    }
    return result;
  }

 private:
  static constexpr absl::string_view kSource =
      "Megatron-Bridge:src/megatron/bridge/training/utils/omegaconf_utils.py:135";

  void Note(const SourcePosition& at, const std::string& seen, std::string needs) {
    KeepFinding(NotJudgedNote(at, seen, std::move(needs), kSeenBytes), &notes_);
  }

  std::vector<int> Configs(int first) {
    std::vector<int> found;
    for (int i = first; i < objects_.count(); ++i) {
      objects_.Settle(i);
      if (objects_.IsConfig(i)) found.push_back(i);
    }
    return found;
  }

  // Of several the one that is trained, else the last that a name still stands for.
  std::vector<int> Trained(std::vector<int> configs) {
    const auto last_if = [&configs](auto keep) {
      std::vector<int> kept;
      std::copy_if(configs.begin(), configs.end(), std::back_inserter(kept), keep);
      if (!kept.empty()) configs = std::move(kept);
    };
    last_if([&](int i) { return objects_.Of(i).trained; });
    if (configs.size() > 1) {
      const absl::flat_hash_set<int> named = interpreter_.NamedObjects();
      last_if([&](int i) { return named.contains(i); });
    }
    if (configs.size() > 1) {
      Note({}, absl::StrCat(configs.size(), " configurations in one file"),
           "which of them is trained is not seen: the last is judged");
    }
    return configs;
  }

  // The functions that make or change a configuration and that no other one calls.
  struct Root {
    absl::string_view name;
    std::vector<int> configs;
  };
  std::vector<Root> UncalledFunctions(bool maybe) {
    std::vector<std::pair<size_t, Root>> found;
    for (size_t i = 0; i < interpreter_.functions().size(); ++i) {
      if (interpreter_.functions()[i].called) continue;
      const int first = objects_.count();
      const PythonResult returned = objects_.Resolved(interpreter_.RunUncalled(i, maybe));
      std::vector<int> configs = Configs(first);
      const bool one = returned.kind == PythonResult::Kind::kReference && objects_.IsConfig(returned.object);
      if (one && returned.object >= first) configs.push_back(returned.object);
      if (!configs.empty()) found.push_back({i, {interpreter_.functions()[i].name, std::move(configs)}});
    }
    std::vector<Root> roots;
    for (auto& [function, root] : found) {
      if (!interpreter_.functions()[function].called) roots.push_back(std::move(root));
    }
    return roots;
  }

  static std::string NamesOf(const std::vector<Root>& roots) {
    std::vector<std::string> names;
    names.reserve(roots.size());
    for (const Root& root : roots) names.emplace_back(root.name);
    return FirstNames(names, ", ", kNamedInNote);
  }

  // Of a file that only defines them.
  std::vector<int> OfFunctions(const std::vector<Root>& roots) {
    std::vector<int> configs;
    for (const Root& root : roots) configs.insert(configs.end(), root.configs.begin(), root.configs.end());
    if (roots.size() > 1) {
      Note({}, absl::StrCat(roots.size(), " functions that set fields of a configuration: ", NamesOf(roots)),
           absl::StrCat("which of them is run is not seen: the last, ", roots.back().name, ", is judged"));
    }
    return configs;
  }

  // Names that are wrong are wrong in each configuration.
  void KeepFaults(const std::vector<int>& configs, ParseResult* result) {
    for (const int i : configs) {
      if (i == configs.back()) continue;
      for (const ParseFinding& finding : objects_.Of(i).config->result.findings) {
        if (finding.finding.severity == Severity::kError) KeepFinding(finding, &result->findings);
      }
    }
  }

  // Fields under names that a configuration has, of objects that may be a part of one.
  void NoteLooseFields() {
    std::vector<std::string> names;
    SourcePosition at;
    for (int i = 0; i < objects_.count(); ++i) {
      const PythonObject& object = objects_.Of(i);
      if (object.config != nullptr || object.part || object.module) continue;
      for (const auto& [name, field] : object.fields) {
        const std::optional<Knob> knob = FindKnob(name);
        if (field.constructed || !knob.has_value() || BridgeSectionOf(*knob).empty()) continue;
        if (names.empty()) at = field.argument.at;
        names.push_back(absl::StrCat(object.name, object.name.empty() ? "" : ".", name));
      }
    }
    if (!names.empty())
      Note(at, FirstNames(names, ", ", kNamedInNote), "of what object they are fields only a run would know");
  }

  PythonInterpreter interpreter_;
  PythonObjects& objects_;
  std::vector<ParseFinding> notes_;
};

}  // namespace

ParseResult ParseBridgePython(absl::string_view text, const Environment& env) {
  return Program(text, NearestRelease(kBridgeReleases, env.bridge_release)).Read();
}

}  // namespace flightplan
