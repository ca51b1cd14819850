#include "resolver/stacks/loongforge/file.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "resolver/base/path.h"
#include "resolver/base/yaml.h"
#include "resolver/read/argparse.h"
#include "resolver/read/yaml_scalar.h"

namespace flightplan {
namespace {

constexpr absl::string_view kFolder = "configs/models/";
constexpr absl::string_view kSource = "LoongForge:loongforge/train/parser.py:131";
constexpr size_t kMaxFiles = 64;
constexpr size_t kMaxKeys = 10'000;
constexpr int kMaxReferences = 16;  // one behind another

using Keys = absl::btree_map<std::string, Value>;

// From configs/models/ on, which is the same wherever the checkout lies.
absl::string_view Below(absl::string_view path) {
  const size_t at = path.rfind(kFolder);
  return at == absl::string_view::npos ? path : path.substr(at);
}

std::string Joined(absl::string_view package, absl::string_view key) {
  return package.empty() ? std::string(key) : key.empty() ? std::string(package) : absl::StrCat(package, ".", key);
}

// OmegaConf's float needs no point: 1e-6, which PyYAML leaves text.
Value ScalarOf(const YamlNode& node) {
  Value value = YamlScalar(node);
  double number = 0;
  const bool written_as_one = !node.quoted && value.is_text() &&
                              node.text.find_first_not_of("0123456789.eE+-_") == std::string::npos &&
                              node.text.find_first_of("eE") != std::string::npos;
  return written_as_one && absl::SimpleAtod(node.text, &number) ? Value(number) : value;
}

Value ValueOf(const YamlNode& node) {
  if (node.kind != YamlNode::Kind::kList) return ScalarOf(node);
  Value::List items;
  for (const YamlNode& item : node.items) items.push_back(ValueOf(item));
  return Value(std::move(items));
}

std::string Referred(absl::string_view name, absl::string_view reference) {
  if (!absl::StartsWith(reference, ".")) return std::string(reference);
  std::vector<absl::string_view> parts = absl::StrSplit(name, '.');
  while (absl::ConsumePrefix(&reference, ".") && !parts.empty()) parts.pop_back();
  return Joined(absl::StrJoin(parts, "."), reference);
}

class Composer {
 public:
  Composer(const Environment& env, ComposedFile* out) : env_(env), out_(out) {}

  void Compose(absl::string_view path) {
    out_->model.path = std::string(Below(path));
    Add(std::string(path), "", {}, 0);
    Resolve();
  }

 private:
  void Report(absl::string_view rule_id, std::string seen, std::string needs) {
    KeepFinding(MakeParseFinding({}, rule_id, Severity::kError, std::move(seen), std::move(needs), kSource),
                &out_->findings);
  }

  const std::string* Sent(absl::string_view path) const {
    if (const auto exact = env_.model_files.find(std::string(path)); exact != env_.model_files.end()) {
      return &exact->second;
    }
    for (const auto& [name, text] : env_.model_files) {
      if (Below(name) == Below(path)) return &text;
    }
    return nullptr;
  }

  // Puts a file's keys and those of the files under it below `package`. `above`: the files that name it.
  void Add(const std::string& path, const std::string& package, std::vector<std::string> above, int line) {
    if (++files_ > kMaxFiles)
      return Report("input.limit", Printable(path), absl::StrCat("at most ", kMaxFiles, " files"));
    if (std::find(above.begin(), above.end(), path) != above.end()) {
      return Report("lf.config-file-exists", absl::StrCat(Printable(above.back()), ":", line, " ", Printable(path)),
                    "files name each other in `defaults` in a circle");
    }
    const std::string* text = Sent(path);
    if (text == nullptr) return AddBuiltin(path, package, above);
    const absl::StatusOr<YamlDocument> document = ParseYaml(Printable(path), *text);
    if (!document.ok())
      return Report("lf.config-file-exists", Printable(path), std::string(document.status().message()));
    if (document->root.kind != YamlNode::Kind::kMap) {
      return Report("lf.config-file-exists", Printable(path), "a model's file is a map of keys");
    }
    if (above.empty()) out_->model.there = true;
    above.push_back(path);
    AddMap(path, document->root, package, above);
  }

  void AddBuiltin(const std::string& path, const std::string& package, const std::vector<std::string>& above) {
    if (std::find(out_->wanted.begin(), out_->wanted.end(), path) == out_->wanted.end()) out_->wanted.push_back(path);
    const LoongForgeModel* builtin = FindLoongForgeFile(Below(path));
    if (builtin == nullptr || !builtin->there) {
      if (!above.empty()) {
        Report("lf.config-file-exists", Printable(path),
               absl::StrCat("named in the `defaults` of ", Printable(above.back()),
                            "; it was not sent and this revision of LoongForge has no such file"));
      }
      return;
    }
    if (above.empty()) out_->model.there = true;
    for (const auto& [key, value] : builtin->keys) Set(Joined(package, key), value);
    for (const std::string& gone : builtin->gone) out_->model.gone.push_back(gone);
  }

  void AddMap(const std::string& path, const YamlNode& root, const std::string& package,
              const std::vector<std::string>& above) {
    const YamlNode* defaults = root.Find("defaults");
    bool own = false;
    if (defaults != nullptr && defaults->kind != YamlNode::Kind::kList) {
      Report("lf.config-file-exists", absl::StrCat(Printable(path), ":", defaults->line), "`defaults` is a list");
    } else if (defaults != nullptr) {
      for (const YamlNode& entry : defaults->items) {
        if (entry.text == "_self_" && !own) {
          own = true;
          AddKeys(root, package, defaults);
        } else {
          AddDefault(path, entry, package, above);
        }
      }
    }
    if (!own) AddKeys(root, package, defaults);
  }

  // "- group@package: name", "- group: [a, b]", "- name".
  void AddDefault(const std::string& path, const YamlNode& entry, const std::string& package,
                  const std::vector<std::string>& above) {
    std::string group;
    std::vector<std::string> names;
    if (entry.kind == YamlNode::Kind::kScalar) {
      names.push_back(entry.text);
    } else if (entry.kind == YamlNode::Kind::kMap && entry.keys.size() == 1) {
      const YamlNode& value = entry.keys[0].second;
      group = entry.keys[0].first;
      if (value.kind == YamlNode::Kind::kScalar) names.push_back(value.text);
      for (const YamlNode& item : value.items) names.push_back(item.text);
    }
    if (absl::StartsWith(group, "override ") || (group.empty() && names.empty())) {
      return Report("lf.hydra-override", absl::StrCat(Printable(path), ":", entry.line, " ", Printable(group)),
                    "an entry of `defaults` is a name, group: name or group@package: name; others are not followed");
    }
    absl::string_view where = absl::StripPrefix(group, "optional ");
    std::string at;
    bool packaged = false;
    if (const size_t sign = where.find('@'); sign != absl::string_view::npos) {
      at = std::string(where.substr(sign + 1));
      where = where.substr(0, sign);
      packaged = true;
    }
    const std::string folder = path.substr(0, path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1);
    for (const std::string& name : names) {
      absl::string_view file = name;
      if (const size_t sign = file.find('@'); group.empty() && sign != absl::string_view::npos) {
        at = std::string(file.substr(sign + 1));
        file = file.substr(0, sign);
        packaged = true;
      }
      if (!packaged && !where.empty() && !absl::StrContains(where, "..")) {
        at = absl::StrJoin(absl::StrSplit(where, '/'), ".");
      }
      const std::string named =
          absl::StrCat(folder, where, where.empty() ? "" : "/", file, absl::EndsWith(file, ".yaml") ? "" : ".yaml");
      Add(PlainPath(named), Joined(package, at == "_global_" ? "" : at), above, entry.line);
    }
  }

  void AddKeys(const YamlNode& map, const std::string& package, const YamlNode* defaults) {
    for (const auto& [key, node] : map.keys) {
      if (&node == defaults) continue;
      if (node.kind == YamlNode::Kind::kMap) {
        AddKeys(node, Joined(package, key), nullptr);
      } else {
        Set(Joined(package, key), ValueOf(node));
      }
    }
  }

  // A map takes the place of a value, and a value that of a map.
  void Set(const std::string& name, Value value) {
    Keys& keys = out_->model.keys;
    if (keys.size() >= kMaxKeys) {
      if (!full_) Report("input.limit", Printable(name), absl::StrCat("at most ", kMaxKeys, " keys"));
      full_ = true;
      return;
    }
    for (size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1)) {
      keys.erase(name.substr(0, dot));
    }
    const std::string below = name + ".";
    for (auto it = keys.lower_bound(below); it != keys.end() && absl::StartsWith(it->first, below);)
      it = keys.erase(it);
    keys[name] = std::move(value);
  }

  // ---- ${...}

  void Resolve() {
    Keys resolved = out_->model.keys;
    for (auto& [name, value] : resolved) {
      if (value.is_text() && absl::StrContains(value.text(), "${")) value = Resolved(name, value, 0);
    }
    out_->model.keys = std::move(resolved);
  }

  // What only the launch knows (${oc.env:...}, ${act:...}) and what is made of several parts stays as it is written.
  Value Resolved(const std::string& name, const Value& written, int behind) {
    absl::string_view text = written.text();
    if (!absl::ConsumePrefix(&text, "${") || !absl::ConsumeSuffix(&text, "}") || absl::StrContains(text, "${")) {
      return written;
    }
    if (absl::ConsumePrefix(&text, "moe_freq:")) {
      absl::StatusOr<Value> list = EvaluateListExpression(absl::StripPrefix(absl::StripSuffix(text, "\""), "\""));
      return list.ok() ? *std::move(list) : written;
    }
    if (absl::ConsumePrefix(&text, "oc.env:")) return Variable(text).value_or(written);
    if (absl::StrContains(text, ":")) return written;
    const std::string key = Referred(name, text);
    const auto found = out_->model.keys.find(key);
    if (found == out_->model.keys.end() || behind >= kMaxReferences) {
      Report("lf.yaml-reference", absl::StrCat(Printable(name), ": ", Printable(written.text())),
             behind >= kMaxReferences ? "references lead in a circle"
                                      : absl::StrCat("the composed file has no key ", Printable(key)));
      return Value();
    }
    const Value& value = found->second;
    const bool further = value.is_text() && absl::StrContains(value.text(), "${");
    return further ? Resolved(key, value, behind + 1) : value;
  }

  // "NAME,default"
  std::optional<Value> Variable(absl::string_view text) const {
    const size_t comma = text.find(',');
    if (comma == absl::string_view::npos) return std::nullopt;
    const auto set = env_.vars.find(std::string(absl::StripAsciiWhitespace(text.substr(0, comma))));
    return Value(set != env_.vars.end() ? absl::string_view(set->second)
                                        : absl::StripAsciiWhitespace(text.substr(comma + 1)));
  }

  const Environment& env_;
  ComposedFile* const out_;
  size_t files_ = 0;
  bool full_ = false;
};

}  // namespace

std::optional<std::string> ReferredKey(absl::string_view name, absl::string_view text) {
  if (!absl::ConsumePrefix(&text, "${") || !absl::ConsumeSuffix(&text, "}")) return std::nullopt;
  if (absl::StrContains(text, "${") || absl::StrContains(text, ":")) return std::nullopt;
  return Referred(name, text);
}

std::optional<std::string> NeededVariable(absl::string_view text) {
  const size_t at = text.find("${oc.env:");
  if (at == absl::string_view::npos) return std::nullopt;
  text.remove_prefix(at + 9);
  const size_t end = text.find_first_of(",}");
  if (end == absl::string_view::npos || text[end] == ',') return std::nullopt;  // it has a default
  return std::string(absl::StripAsciiWhitespace(text.substr(0, end)));
}

ComposedFile ComposeLoongForgeFile(absl::string_view path, const Environment& env) {
  ComposedFile out;
  Composer(env, &out).Compose(path);
  return out;
}

}  // namespace flightplan
