// What names and calls of a Python program come to.
#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "resolver/stacks/megatron_bridge/notes.h"
#include "resolver/stacks/megatron_bridge/python_interpreter.h"

namespace flightplan {
namespace {

using Kind = PythonResult::Kind;

constexpr size_t kMostCalls = 8;  // of functions within functions

bool Trains(absl::string_view function) {
  const absl::string_view last = LastPart(function);
  return last == "pretrain" || last == "finetune" || last == "distill" || absl::StartsWith(last, "pretrain_");
}

// Calls that take a configuration and leave it as it is.
bool OnlyLooks(absl::string_view function) {
  constexpr absl::string_view kLooks[] = {"print",   "repr",    "str",     "len",     "isinstance",
                                          "hasattr", "getattr", "type",    "id",      "dir",
                                          "vars",    "asdict",  "replace", "pformat", "pprint",
                                          "super",   "list",    "dict",    "tuple",   "create_omegaconf_dict_config"};
  const absl::string_view root = function.substr(0, function.find('.'));
  if (root == "logger" || root == "logging" || root == "log" || root == "console") return true;
  return std::find(std::begin(kLooks), std::end(kLooks), LastPart(function)) != std::end(kLooks);
}

// int(x), max(x, y): empty: another function.
std::optional<PythonResult> Converted(absl::string_view text, const std::vector<PythonArgument>& arguments) {
  if (text != "int" && text != "float" && text != "bool" && text != "max" && text != "min") return std::nullopt;
  std::vector<Value> values;
  for (const PythonArgument& argument : arguments) {
    if (!argument.result.known() || argument.spread || !argument.name.empty()) return PythonResult();
    values.push_back(argument.result.value);
  }
  if (values.empty()) return PythonResult();
  if (text == "bool") return PythonResult::Of(Value(values[0].truthy()));
  if (text == "int" || text == "float") {
    Value value = values[0];
    int64_t integer = 0;
    double real = 0;
    if (values.size() > 1) return PythonResult();
    if (value.is_text() && text == "int" && absl::SimpleAtoi(value.text(), &integer)) value = Value(integer);
    if (value.is_text() && text == "float" && absl::SimpleAtod(value.text(), &real)) value = Value(real);
    if (!value.is_number() && !value.is_bool()) return PythonResult();
    return PythonResult::Of(text == "int" ? Value(value.integer()) : Value(value.real()));
  }
  if (values.size() == 1) values = Value::List(values[0].list());
  const auto less = [](const Value& a, const Value& b) { return a.real() < b.real(); };
  const bool numbers = std::all_of(values.begin(), values.end(), [](const Value& v) { return v.is_number(); });
  if (!numbers || values.empty()) return PythonResult();
  return PythonResult::Of(text == "max" ? *std::max_element(values.begin(), values.end(), less)
                                        : *std::min_element(values.begin(), values.end(), less));
}

}  // namespace

// In the function at hand, those that it stands in, and the module.
PythonResult PythonInterpreter::Named(absl::string_view name) {
  size_t wanted = frames_.back().function;
  for (auto frame = frames_.rbegin(); frame != frames_.rend(); ++frame) {
    if (frame->function != wanted) continue;
    const auto found = frame->names.find(name);
    if (found != frame->names.end() && !(wanted != 0 && frame->globals.contains(name))) return found->second;
    if (wanted == 0) break;
    wanted = functions_[wanted - 1].outer;
  }
  PythonResult result = objects_.New();  // of nobody's making: a snippet's own cfg, a builtin
  if (result.kind != Kind::kReference) return result;
  PythonObject& object = objects_.Of(result.object);
  object.name = object.spelled = std::string(name);
  frames_.front().names[object.name] = result;
  return result;
}

PythonResult PythonInterpreter::Called(absl::string_view text, const PythonResult& callee,
                                       const std::vector<PythonArgument>& arguments) {
  if (callee.kind == Kind::kFunction) return Run(static_cast<size_t>(callee.object), &arguments);
  if (text == "setattr" && arguments.size() == 3) return SetAttribute(arguments);
  std::vector<PythonArgument> values = arguments;
  for (PythonArgument& argument : values) argument.result = ValueOf(argument.result);
  if (std::optional<PythonResult> number = Converted(text, values)) return *number;
  const absl::string_view last = LastPart(text);
  if ((last == "deepcopy" || last == "copy") && arguments.size() == 1) {
    Spend(8);
    return objects_.Copied(arguments[0].result);
  }
  // vars(cfg.model) is what its attributes are.
  if (text == "vars" && arguments.size() == 1) return arguments[0].result;
  for (const PythonArgument& argument : arguments) {  // spawn(main), app.run(main)
    if (argument.result.kind == Kind::kFunction) Run(static_cast<size_t>(argument.result.object), nullptr);
  }
  if (callee.kind == Kind::kReference) {
    PythonResult of = callee;
    of.path = callee.path.substr(0, callee.path.size() < last.size() ? 0 : callee.path.size() - last.size());
    if (absl::EndsWith(of.path, ".")) of.path.pop_back();
    if (last == "update") return Update(of, arguments), PythonResult();
    if (last == "items" && arguments.empty()) return Entries(of);
    if (last == "get" && !arguments.empty()) return Item(of, values[0].result);
  }
  Hand(text, arguments);
  if (!Trains(text) && !OnlyLooks(text) && !arguments.empty()) {
    // What takes a configuration and gives one back most often gives the same.
    PythonResult first = objects_.Resolved(arguments[0].result);
    const bool config = first.kind == Kind::kReference && first.path.empty() && objects_.IsConfig(first.object);
    if (config && arguments[0].name.empty()) return first;
  }
  const bool own = callee.kind == Kind::kReference && objects_.Of(callee.object).spelled.empty();
  const auto imported = of_library_.find(last);
  const bool library = imported != of_library_.end();
  std::optional<Recipe> recipe;
  if (!own) {
    recipe = FindRecipe(library ? absl::string_view(imported->second) : last, release_,
                        library ? RecipePackage::kLibrary : RecipePackage::kHarness);
  }
  return objects_.Made(text, arguments, recipe, at_);
}

PythonResult PythonInterpreter::Dict(const std::vector<PythonArgument>& entries) {
  return objects_.Made("dict", entries, std::nullopt, at_);
}

PythonResult PythonInterpreter::Item(const PythonResult& of, const PythonResult& key) {
  if (of.kind != Kind::kReference || !key.value.is_text()) return {};
  PythonResult item = of;
  absl::StrAppend(&item.path, item.path.empty() ? "" : ".", key.value.text());
  return ValueOf(item);
}

// The pairs of a dict that is known.
PythonResult PythonInterpreter::Entries(const PythonResult& dict) const {
  const PythonResult reference = objects_.Resolved(dict);
  if (reference.kind != Kind::kReference || !reference.path.empty()) return {};
  const PythonObject& object = objects_.Of(reference.object);
  if (object.made_by != "dict" || object.open) return {};
  Value::List pairs;
  for (const auto& [name, field] : object.fields) {
    if (field.maybe || !field.result.known()) return {};
    pairs.emplace_back(Value::List{Value(name), field.result.value});
  }
  return PythonResult::Of(Value(std::move(pairs)));
}

PythonResult PythonInterpreter::SetAttribute(const std::vector<PythonArgument>& arguments) {
  const PythonResult name = ValueOf(arguments[1].result);
  if (arguments[0].result.kind != Kind::kReference) return {};
  if (name.value.is_text()) {
    objects_.Assign(arguments[0].result, name.value.text(), arguments[2].result, at_, Maybe());
  } else {
    objects_.NoteOpen(arguments[0].result, at_, "which field is set is not known");
  }
  return {};
}

// cfg.model.update(num_layers=4), cfg.model.__dict__.update({"num_layers": 4})
void PythonInterpreter::Update(const PythonResult& of, const std::vector<PythonArgument>& arguments) {
  PythonResult section = of;
  absl::string_view path = section.path;
  if (absl::ConsumeSuffix(&path, ".__dict__")) section.path = std::string(path);
  for (const PythonArgument& argument : arguments) {
    const PythonResult dict = objects_.Resolved(argument.result);
    const bool entries = argument.name.empty() && dict.kind == Kind::kReference && dict.path.empty() &&
                         objects_.Of(dict.object).made_by == "dict";
    if (!argument.name.empty()) {
      objects_.Assign(section, argument.name, argument.result, at_, Maybe());
    } else if (entries) {
      const std::map<std::string, PythonField, std::less<>> fields = objects_.Of(dict.object).fields;
      Spend(fields.size());
      for (const auto& [name, field] : fields) {
        objects_.Assign(section, name, field.result, at_, Maybe() || field.maybe);
      }
      if (objects_.Of(dict.object).open) objects_.NoteOpen(section, at_, "which fields are set is not known");
    } else {
      objects_.NoteOpen(section, at_, "which fields are set is not known");
    }
  }
}

// A configuration that a function is given is trained, or may be another one afterwards.
void PythonInterpreter::Hand(absl::string_view function, const std::vector<PythonArgument>& arguments) {
  for (const PythonArgument& argument : arguments) {
    const PythonResult reference = objects_.Resolved(argument.result);
    if (reference.kind != Kind::kReference) continue;
    PythonObject& object = objects_.Of(reference.object);
    const bool whole = reference.path.empty() || OverrideReader::KnowsSection(reference.path);
    if (Trains(function)) {
      object.trained = object.trained || (reference.path.empty() && !object.module);
    } else if (!OnlyLooks(function) && whole) {
      objects_.NoteOpen(reference, at_, "what the function does to the configuration is not read");
    }
  }
}

PythonResult PythonInterpreter::RunUncalled(size_t function, bool maybe) {
  if (maybe) ++maybe_;
  PythonResult result = Run(function, nullptr);
  if (maybe) --maybe_;
  return result;
}

// `arguments`: null where nobody knows them.
PythonResult PythonInterpreter::Run(size_t index, const std::vector<PythonArgument>* arguments) {
  functions_[index].called = functions_[index].called || arguments != nullptr;
  const bool recursive =
      std::any_of(frames_.begin(), frames_.end(), [index](const Frame& frame) { return frame.function == index + 1; });
  if (recursive || frames_.size() > kMostCalls) return {};
  const Function function = functions_[index];
  if (!Spend(1 + function.parameters.size() / 64)) return {};
  Frame frame;
  frame.function = index + 1;
  Parameters(function.parameters, arguments, &frame);
  const Argument at = at_;
  const int outer_maybe = std::exchange(frame_maybe_, maybe_);
  frames_.push_back(std::move(frame));
  Body(function.begin, function.end);
  PythonResult returned = std::move(frames_.back().returned);
  frames_.pop_back();
  frame_maybe_ = outer_maybe;
  at_ = at;
  return returned;
}

void PythonInterpreter::Parameters(absl::string_view parameters, const std::vector<PythonArgument>* arguments,
                                   Frame* frame) {
  const bool spread = arguments != nullptr && std::any_of(arguments->begin(), arguments->end(),
                                                          [](const PythonArgument& each) { return each.spread; });
  size_t place = 0;
  for (absl::string_view parameter : SplitPython(parameters, ',')) {
    absl::string_view usual;
    if (const size_t equals = FindInPython(parameter, '='); equals != absl::string_view::npos) {
      usual = parameter.substr(equals + 1);
      parameter = parameter.substr(0, equals);
    }
    parameter = absl::StripAsciiWhitespace(parameter.substr(0, FindInPython(parameter, ':')));
    if (!IsPythonName(parameter)) continue;
    PythonResult result;
    bool given = arguments == nullptr || spread;
    if (arguments != nullptr) {
      if (place < arguments->size() && (*arguments)[place].name.empty() && !spread) {
        result = (*arguments)[place].result;
        given = true;
      }
      for (const PythonArgument& argument : *arguments) {
        if (argument.name != parameter) continue;
        result = argument.result;
        given = true;
      }
    }
    ++place;
    if (!given && !usual.empty()) result = EvaluatePython(usual, this);
    if (result.kind == Kind::kUnknown) {
      result = objects_.New();
      if (result.kind == Kind::kReference) objects_.Of(result.object).name = std::string(parameter);
    }
    frame->names[std::string(parameter)] = std::move(result);
  }
}

}  // namespace flightplan
