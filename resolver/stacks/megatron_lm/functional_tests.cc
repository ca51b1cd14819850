#include "resolver/stacks/megatron_lm/functional_tests.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "resolver/stacks/megatron_lm/dialect.h"

namespace flightplan {
namespace {

using Kind = YamlNode::Kind;

// Of the files that have a second command line for a resumed run, the first is the launch.
constexpr absl::string_view kArguments = "MODEL_ARGS", kVariables = "ENV_VARS";
constexpr absl::string_view kType = "TEST_TYPE";  // that each of upstream's own says

bool IsFlag(absl::string_view text) { return absl::StartsWith(text, "--"); }

class Words {
 public:
  Words(const EnvVars& vars, bool of_upstream) : vars_(vars), of_upstream_(of_upstream) {}

  void AddEntry(const std::string& flag, const YamlNode& node);
  std::vector<Argument> Take() { return std::move(words_); }

 private:
  void Add(absl::string_view text, int line, int column);
  void AddValue(const YamlNode& node);

  const EnvVars& vars_;
  const bool of_upstream_;
  std::vector<Argument> words_;
};

void Words::Add(absl::string_view text, int line, int column) {
  Argument word;
  word.at = {static_cast<int>(words_.size()), line, column};
  for (size_t at = 0; at < text.size();) {
    const size_t open = text.find("${", at);
    const size_t close = open == absl::string_view::npos ? open : text.find('}', open);
    if (close == absl::string_view::npos) {
      word.text.append(text.data() + at, text.size() - at);
      break;
    }
    word.text.append(text.data() + at, open - at);
    const absl::string_view name = text.substr(open + 2, close - open - 2);
    const auto it = vars_.find(std::string(name));
    word.unknown = word.unknown || it == vars_.end();
    if (it == vars_.end()) {
      word.text.append(text.data() + open, close + 1 - open);
    } else {
      word.text += it->second;
    }
    at = close + 1;
  }
  words_.push_back(std::move(word));
}

// "[a b c]" are three words; any other text is one.
void Words::AddValue(const YamlNode& node) {
  absl::string_view text = absl::StripAsciiWhitespace(node.text);
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return Add(text, node.line, node.column);
  text = text.substr(1, text.size() - 2);
  for (const absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) Add(word, node.line, node.column);
}

// A flag without a value is left out; `true` is a switch. `false` is one that is off to the scripts of other
// repositories (sbatch_benchmarking.sh of Megatron-MoE-ModelZoo), and a word to upstream's own.
void Words::AddEntry(const std::string& flag, const YamlNode& node) {
  if (node.kind == Kind::kMap || (node.kind == Kind::kScalar && node.text.empty())) return;
  if (!of_upstream_ && node.kind == Kind::kScalar && node.text == "false") return;
  Add(flag, node.key_line, node.key_column);
  if (node.kind == Kind::kNull) return Add("null", node.line, node.column);
  if (node.kind == Kind::kScalar && node.text == "true") return;
  if (node.kind == Kind::kScalar) return AddValue(node);
  for (const YamlNode& item : node.items) {
    if (item.kind == Kind::kScalar) Add(item.text, item.line, item.column);
  }
}

}  // namespace

bool IsFunctionalTest(absl::string_view text) {
  return absl::StartsWith(text, "MODEL_ARGS:") || absl::StrContains(text, "\nMODEL_ARGS:");
}

ParseResult ParseFunctionalTest(const YamlNode& root, const Environment& env) {
  EnvVars own;
  if (const YamlNode* const variables = root.Find(kVariables); variables != nullptr) {
    for (const auto& [name, node] : variables->keys) {
      if (node.kind == Kind::kScalar) own.insert_or_assign(name, node.text);
    }
  }
  EnvVars known = own;
  for (const auto& [name, value] : env.vars) known.insert_or_assign(name, value);
  Words words(known, root.Find(kType) != nullptr);
  bool flags = false;
  // What serves a model is no launch of training.
  const YamlNode* const mode = root.Find("MODE");
  const bool serves = mode != nullptr && mode->text == "inference";
  if (const YamlNode* const arguments = root.Find(kArguments); arguments != nullptr && !serves) {
    for (const auto& [key, node] : arguments->keys) {
      flags = flags || IsFlag(key);
      words.AddEntry(key, node);
    }
  }
  ParseResult result;
  if (flags) {
    const std::vector<Argument> arguments = words.Take();
    result = ParseMegatronLm(arguments, env, Severity::kWarning);
  } else {  // inference, the keys of another program's settings, or none
    result.elsewhere = "in the test's own script";
  }
  result.recipe_vars.insert(own.begin(), own.end());
  return result;
}

}  // namespace flightplan
