#include "resolver/stacks/ms_swift/words.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "resolver/base/yaml.h"

namespace flightplan {
namespace {

bool IsFlag(absl::string_view word) { return absl::StartsWith(word, "--") && word.size() > 2; }

SwiftWritten Named(absl::string_view name) {
  SwiftWritten written;
  written.name = absl::StrReplaceAll(name, {{"-", "_"}});
  written.argument = FindSwiftArgument(written.name);
  if (written.argument == nullptr) written.former = FindFormerSwiftArgument(written.name);
  if (written.former != nullptr) {
    written.argument = FindSwiftArgument(written.former->today);
    return written;
  }
  absl::string_view positive = written.name;
  if (written.argument != nullptr || !absl::ConsumePrefix(&positive, "no_")) return written;
  written.argument = FindSwiftArgument(positive);  // transformers adds --no_X to a switch that is on by default
  written.negative = written.argument != nullptr;
  return written;
}

bool IsFile(absl::string_view word) {
  return absl::EndsWith(word, ".yaml") || absl::EndsWith(word, ".yml") || absl::EndsWith(word, ".json");
}

}  // namespace

std::optional<bool> SwiftBool(absl::string_view word) {
  const std::string lower = absl::AsciiStrToLower(word);
  for (const absl::string_view yes : {"yes", "true", "t", "y", "1"}) {
    if (lower == yes) return true;
  }
  for (const absl::string_view no : {"no", "false", "f", "n", "0"}) {
    if (lower == no) return false;
  }
  return std::nullopt;
}

SwiftWords::SwiftWords(absl::Span<const Argument> args, const Environment& env, ParseResult* out) {
  if (!args.empty() && !IsFlag(args[0].text) && !IsFile(args[0].text)) {
    rlhf_ = args[0].text == "rlhf";
    args.remove_prefix(1);
  }
  if (!args.empty() && IsFile(args[0].text) && !args[0].unknown) {
    ReadFile(args[0].text, env, out);
    args.remove_prefix(1);
  }
  ReadFlags(args);
  // The Ray pipeline reads a file of its own (swift/ray/megatron).
  if (const auto file = Text("config"); file.has_value()) {
    out->elsewhere = absl::StrCat("in ", Printable(*file));
    clear_ = false;
  }
  rlhf_ = rlhf_ || Has("rlhf_type");
}

void SwiftWords::Add(SwiftWritten written) {
  last_.insert_or_assign(written.argument != nullptr ? std::string(written.argument->name) : written.name, all_.size());
  all_.push_back(std::move(written));
}

void SwiftWords::ReadFlags(absl::Span<const Argument> args) {
  for (size_t i = 0; i < args.size();) {
    size_t end = i + 1;
    while (end < args.size() && !IsFlag(args[end].text)) ++end;
    if (!IsFlag(args[i].text)) {
      clear_ = clear_ && !args[i].unknown;
      i = end;
      continue;
    }
    const absl::string_view word = absl::string_view(args[i].text).substr(2);
    const size_t equals = word.find('=');
    SwiftWritten written = Named(word.substr(0, equals));
    written.at = args[i].at;
    written.unknown = args[i].unknown;
    if (equals != absl::string_view::npos) written.values.emplace_back(word.substr(equals + 1));
    for (size_t value = i + 1; value < end; ++value) {
      written.values.push_back(args[value].text);
      written.unknown = written.unknown || args[value].unknown;
    }
    clear_ = clear_ && !written.unknown;
    Add(std::move(written));
    i = end;
  }
}

// swift/cli/main.py:35: the keys stand in front of the other words; ENV holds variables.
void SwiftWords::ReadFile(absl::string_view path, const Environment& env, ParseResult* out) {
  const auto text = env.model_files.find(std::string(path));
  const absl::StatusOr<YamlDocument> file =
      text == env.model_files.end() ? absl::NotFoundError("") : ParseYaml(path, text->second, YamlAliases::kMerged);
  if (!file.ok() || file->root.kind != YamlNode::Kind::kMap) {
    if (text == env.model_files.end()) out->wanted_files.emplace_back(path);
    out->elsewhere = absl::StrCat("in ", Printable(path));
    clear_ = false;
    return;
  }
  for (const auto& [key, node] : file->root.keys) {
    if (key == "ENV") continue;
    SwiftWritten written = Named(key);
    if (node.kind == YamlNode::Kind::kList) {
      for (const YamlNode& item : node.items) written.values.push_back(item.text);
    } else if (node.kind == YamlNode::Kind::kScalar) {
      written.values.push_back(node.text);
    } else {
      continue;
    }
    Add(std::move(written));
  }
}

const SwiftWritten* SwiftWords::Find(absl::string_view name) const {
  const auto found = last_.find(name);
  return found == last_.end() ? nullptr : &all_[found->second];
}

std::optional<absl::string_view> SwiftWords::Text(absl::string_view name) const {
  const SwiftWritten* written = Find(name);
  if (written == nullptr || written->unknown || written->values.size() != 1) return std::nullopt;
  return absl::string_view(written->values[0]);
}

std::optional<int64_t> SwiftWords::Number(absl::string_view name) const {
  const std::optional<absl::string_view> text = Text(name);
  int64_t number = 0;
  if (!text.has_value() || !absl::SimpleAtoi(*text, &number)) return std::nullopt;
  return number;
}

std::optional<bool> SwiftWords::Bool(absl::string_view name) const {
  const SwiftWritten* written = Find(name);
  if (written == nullptr || written->unknown) return std::nullopt;
  if (written->values.empty()) return !written->negative;
  return SwiftBool(written->values[0]);
}

}  // namespace flightplan
