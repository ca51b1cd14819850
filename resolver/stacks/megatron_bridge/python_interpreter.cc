#include "resolver/stacks/megatron_bridge/python_interpreter.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "resolver/base/work.h"

namespace flightplan {
namespace {

using Kind = PythonResult::Kind;

constexpr size_t kMostSteps = 50'000;  // statements, those of bodies that are gone through again among them
constexpr size_t kBytesOfStep = 64;    // of a statement's text
constexpr size_t kWorkOfStep = 4096;
constexpr int kMostNested = 100;     // as in CPython
constexpr size_t kMostTargets = 64;  // of an assignment
constexpr size_t kMostImports = 1024;

std::vector<size_t> EndsOfBodies(const std::vector<PythonStatement>& statements) {
  std::vector<size_t> ends(statements.size(), statements.size());
  std::vector<size_t> open;
  for (size_t i = 0; i < statements.size(); ++i) {
    while (!open.empty() && statements[open.back()].indent >= statements[i].indent) {
      ends[open.back()] = i;
      open.pop_back();
    }
    open.push_back(i);
  }
  return ends;
}

absl::string_view WithoutBrackets(absl::string_view text) {
  const bool inside =
      text.size() >= 2 && ((text.front() == '(' && text.back() == ')') || (text.front() == '[' && text.back() == ']'));
  return inside ? text.substr(1, text.size() - 2) : text;
}

bool Same(const PythonResult& a, const PythonResult& b) {
  return a.kind == b.kind && Value::Identical(a.value, b.value) && a.object == b.object && a.path == b.path;
}

}  // namespace

PythonInterpreter::PythonInterpreter(absl::string_view text, int release)
    : release_(release),
      statements_(PythonStatements(text)),
      ends_(EndsOfBodies(statements_)),
      objects_(release),
      frames_(1) {
  Work::Spend(2 * text.size());
}

void PythonInterpreter::RunModule() {
  frames_[0].names["__name__"] = PythonResult::Of(Value("__main__"));
  Body(0, statements_.size());
}

absl::flat_hash_set<int> PythonInterpreter::NamedObjects() const {
  absl::flat_hash_set<int> objects;
  for (const auto& [name, result] : frames_[0].names) {
    if (result.kind == Kind::kReference) objects.insert(result.object);
  }
  return objects;
}

bool PythonInterpreter::Exhausted() const { return steps_ > kMostSteps; }

bool PythonInterpreter::Spend(size_t steps) {
  Work::Spend(kWorkOfStep * steps);
  steps_ += steps;
  return !Exhausted() && !Work::Spent();
}

void PythonInterpreter::At(const PythonStatement& statement) {
  at_ = {std::string(statement.text.substr(0, kMaxArgumentBytes)), {-1, statement.line, statement.column}};
}

void PythonInterpreter::Body(size_t begin, size_t end) {
  if (nested_ >= kMostNested) {
    steps_ += kMostSteps;
    return;
  }
  ++nested_;
  size_t at = begin;
  while (at < end && !frames_.back().left && Spend(1 + statements_[at].text.size() / kBytesOfStep)) {
    at = statements_[at].compound ? Compound(at, end) : (Simple(statements_[at]), at + 1);
  }
  --nested_;
}

// Goes through a body that may or may not be run. What it binds is not known behind it.
void PythonInterpreter::MaybeBody(size_t begin, size_t end) {
  const absl::flat_hash_map<std::string, PythonResult> before = frames_.back().names;
  Spend(before.size() / kPythonNamesOfStep);
  ++maybe_;
  Body(begin, end);
  --maybe_;
  Frame& frame = frames_.back();
  frame.maybe_left = frame.maybe_left || frame.left;
  frame.left = false;
  for (auto& [name, result] : frame.names) {
    const auto was = before.find(name);
    const bool same = was != before.end() && Same(was->second, result);
    // A name that the body meets first, without giving it a value.
    const bool met =
        was == before.end() && result.kind == Kind::kReference && !objects_.Of(result.object).spelled.empty();
    // An object made here may be the only one: the fields that are set on it later are its own.
    const bool first = was == before.end() && result.kind == Kind::kReference;
    if (!same && !met && !first) result = objects_.New();
  }
}

// Returns the statement behind it.
size_t PythonInterpreter::Compound(size_t head, size_t end) {
  At(statements_[head]);
  absl::string_view text = statements_[head].text;
  if (absl::ConsumePrefix(&text, "async ")) text = absl::StripLeadingAsciiWhitespace(text);
  const size_t behind = std::min(ends_[head], end);
  const absl::string_view word = PythonWord(text);
  const absl::string_view rest = text.substr(word.size());
  if (word == "def") {
    Define(rest, head + 1, behind, /*bound=*/true);
  } else if (word == "class") {
    Class(rest, head + 1, behind);
  } else if (word == "if") {
    return If(head, end);
  } else if (word == "for") {
    For(rest, head + 1, behind);
  } else if (word == "try" || word == "finally" || word == "with") {
    if (word == "with") With(rest);
    Body(head + 1, behind);
  } else {  // while, match, except, or the else of a loop or of what was tried
    MaybeBody(head + 1, behind);
  }
  return behind;
}

void PythonInterpreter::With(absl::string_view items) {
  for (const absl::string_view item : SplitPython(items, ',')) {
    const size_t as = item.rfind(" as ");
    EvaluatePython(item.substr(0, as), this);
    if (as != absl::string_view::npos) BindTarget(absl::StripAsciiWhitespace(item.substr(as + 4)), PythonResult());
  }
}

// With its elif and else.
size_t PythonInterpreter::If(size_t head, size_t end) {
  bool open = true;    // a branch below may be taken
  bool maybe = false;  // and may not
  size_t at = head;
  while (at < end) {
    const PythonStatement& statement = statements_[at];
    const absl::string_view word = PythonWord(statement.text);
    if (at != head && (statement.indent != statements_[head].indent || (word != "elif" && word != "else"))) break;
    At(statement);
    const size_t behind = std::min(ends_[at], end);
    PythonResult when = PythonResult::Of(Value(true));
    if (word != "else" && open) when = ValueOf(EvaluatePython(statement.text.substr(word.size()), this));
    const bool taken = when.known() && when.value.truthy();
    if (open && (maybe ? (taken || !when.known()) : !when.known())) {
      MaybeBody(at + 1, behind);
    } else if (open && taken) {
      Body(at + 1, behind);
    }
    maybe = maybe || !when.known();
    open = open && !taken;
    at = behind;
    if (frames_.back().left) break;
  }
  return at;
}

void PythonInterpreter::Class(absl::string_view head, size_t begin, size_t end) {
  const absl::string_view name = PythonWord(absl::StripAsciiWhitespace(head));
  Bind(name, PythonResult());
  for (size_t at = begin; at < end; at = std::max(at + 1, ends_[at])) {  // its methods, which nothing calls by name
    if (!Spend(1)) return;
    absl::string_view text = statements_[at].text;
    if (absl::ConsumePrefix(&text, "async ")) text = absl::StripLeadingAsciiWhitespace(text);
    if (statements_[at].compound && PythonWord(text) == "def") {
      Define(text.substr(3), at + 1, std::min(ends_[at], end), /*bound=*/false);
    }
  }
}

void PythonInterpreter::Define(absl::string_view head, size_t begin, size_t end, bool bound) {
  const size_t bracket = head.find('(');
  const absl::string_view name = absl::StripAsciiWhitespace(head.substr(0, bracket));
  if (bracket == absl::string_view::npos || !IsPythonName(name)) return;
  absl::string_view parameters = head.substr(bracket + 1);
  PythonCursor cursor(parameters);
  while (!cursor.AtEnd() && !(cursor.depth() == 0 && cursor.byte() == ')')) cursor.Step();
  parameters = parameters.substr(0, cursor.at());
  functions_.push_back({name, parameters, begin, end, frames_.back().function, false});
  if (!bound) return;
  PythonResult function;
  function.kind = Kind::kFunction;
  function.object = static_cast<int>(functions_.size()) - 1;
  Bind(name, function);
}

void PythonInterpreter::Simple(const PythonStatement& statement) {
  At(statement);
  const absl::string_view text = statement.text, word = PythonWord(text);
  if (word == "from" || word == "import") return Import(text);
  if (word == "return") return Return(text.substr(word.size()));
  if (word == "raise") {
    frames_.back().left = true;
    return;
  }
  if (word == "global") {
    for (const absl::string_view name : SplitPython(text.substr(word.size()), ',')) {
      if (frames_.size() > 1) frames_.back().globals.insert(std::string(name));
    }
    return;
  }
  if (absl::StartsWith(text, "@")) return;
  for (const absl::string_view other : {"pass", "assert", "nonlocal", "del", "break", "continue"}) {
    if (word == other) return;
  }
  const std::vector<absl::string_view> parts = SplitPython(text, '=');
  if (parts.size() == 1) {
    EvaluatePython(text, this);
    return;
  }
  if (parts.size() > kMostTargets) return;
  const bool changes = !parts[0].empty() && absl::StrContains("+-*/%|&^@", parts[0].substr(parts[0].size() - 1));
  if (changes) return Change(parts[0], parts[1]);
  PythonResult result = EvaluatePython(parts.back(), this);
  if (statement.continued) result = PythonResult();  // an edit would miss its place on the line below
  for (size_t i = 0; i + 1 < parts.size(); ++i) Targets(parts[i], result);
}

// x += 1
void PythonInterpreter::Change(absl::string_view target, absl::string_view amount) {
  std::string sign(target.substr(target.size() - 1));
  target.remove_suffix(1);
  if (!target.empty() && (target.back() == '/' || target.back() == '*')) {  // //= and **=
    sign += target.back();
    target.remove_suffix(1);
  }
  target = absl::StripAsciiWhitespace(target);
  const PythonResult sum = ValueOf(EvaluatePython(absl::StrCat(target, sign, "(", amount, "\n)"), this));
  BindTarget(target, sum.known() ? sum : PythonResult());
}

// One target, or as many as there are values.
void PythonInterpreter::Targets(absl::string_view target, const PythonResult& result) {
  const absl::string_view inside = WithoutBrackets(absl::StripAsciiWhitespace(target));
  std::vector<absl::string_view> targets = SplitPython(inside, ',');
  if (targets.size() < 2) {  // an annotation stands behind a colon
    return BindTarget(absl::StripAsciiWhitespace(target.substr(0, FindInPython(target, ':'))), result);
  }
  if (targets.back().empty()) targets.pop_back();
  if (targets.size() > kMostTargets) return;
  const PythonResult list = ValueOf(result);
  const bool each = list.known() && list.value.is_list() && list.value.list().size() == targets.size();
  for (size_t i = 0; i < targets.size(); ++i) {
    BindTarget(targets[i], each ? PythonResult::Of(list.value.list()[i]) : PythonResult());
  }
}

void PythonInterpreter::Bind(absl::string_view name, PythonResult result) {
  if (!IsPythonName(name)) return;
  // An object of its own, so that fields that are set on it stay together.
  if (result.kind == Kind::kUnknown) result = objects_.New();
  if (result.kind == Kind::kReference && result.path.empty() && objects_.Of(result.object).name.empty()) {
    objects_.Of(result.object).name = std::string(name);
  }
  Frame& frame = frames_.back().globals.contains(name) ? frames_.front() : frames_.back();
  frame.names[std::string(name)] = std::move(result);
}

void PythonInterpreter::BindTarget(absl::string_view target, const PythonResult& result) {
  while (absl::ConsumePrefix(&target, "*")) {
  }
  if (IsPythonName(target)) return Bind(target, result);
  if (absl::EndsWith(target, "]")) return BindItem(target, result);
  const size_t dot = target.rfind('.');
  if (dot == absl::string_view::npos || !IsPythonName(target.substr(dot + 1))) return;
  const PythonResult object = EvaluatePython(target.substr(0, dot), this);
  if (object.kind != Kind::kReference) return;
  if (object.path.empty() && objects_.IsConfig(object.object)) Spend(8);
  objects_.Assign(object, target.substr(dot + 1), result, at_, Maybe());
}

// `cfg.env_vars["NAME"] = "1"`, or an entry of a dict.
void PythonInterpreter::BindItem(absl::string_view target, const PythonResult& result) {
  const size_t bracket = target.rfind('[');
  const PythonResult object = EvaluatePython(target.substr(0, bracket), this);
  const PythonResult key = ValueOf(EvaluatePython(target.substr(bracket + 1, target.size() - bracket - 2), this));
  if (object.kind != Kind::kReference || !key.value.is_text()) return;
  objects_.Assign(object, key.value.text(), result, at_, Maybe());
}

// `from megatron.bridge.recipes.qwen import qwen3_30b_a3b_pretrain_config as pretrain`
void PythonInterpreter::Import(absl::string_view text) {
  std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(text, absl::MaxSplits(" import ", 1));
  if (absl::ConsumePrefix(&text, "import ")) parts = {"", text};
  const bool of_library = absl::StrContains(parts.first, "bridge.recipes");
  for (absl::string_view line : absl::StrSplit(parts.second, '\n')) {
    line = line.substr(0, line.find('#'));
    for (const absl::string_view item : absl::StrSplit(line, absl::ByAnyChar(",()\\\r"), absl::SkipWhitespace())) {
      const std::vector<absl::string_view> words = absl::StrSplit(item, absl::ByAnyChar(" \t"), absl::SkipWhitespace());
      if (words.empty() || (words.size() != 1 && (words.size() != 3 || words[1] != "as"))) continue;
      const absl::string_view name = words.back().substr(0, words.back().find('.'));
      const std::string key(name);
      if (of_library && of_library_.size() < kMostImports) of_library_[key] = std::string(words[0]);
      const PythonResult module = objects_.New();
      if (module.kind != Kind::kReference) return;
      objects_.Of(module.object).spelled = words[0] == "torch" ? "torch" : key;
      objects_.Of(module.object).module = true;
      Bind(name, module);
    }
  }
}

void PythonInterpreter::Return(absl::string_view value) {
  PythonResult result = PythonResult::Of(Value());
  if (!absl::StripAsciiWhitespace(value).empty()) result = EvaluatePython(value, this);
  Frame& frame = frames_.back();
  const bool maybe = maybe_ > frame_maybe_;
  if (maybe || frame.maybe_left) {  // one of several; the last object that is returned stands for all of them
    const bool same = result.kind == Kind::kReference;
    frame.returned = same ? result : PythonResult();
    (maybe ? frame.maybe_left : frame.left) = true;
    return;
  }
  frame.returned = std::move(result);
  frame.left = true;
}

}  // namespace flightplan
