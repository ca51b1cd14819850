// Settings in several YAML files, one over the other, with overrides on top and references resolved, as stacks have
// them that are started by a file. How a file names those below it, and what a reference is, is each stack's own.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/base/yaml.h"
#include "resolver/plan/reading.h"

namespace flightplan {

struct SettingsGrammar {
  // Of the finding where a file cannot be read, and the code that reads it.
  absl::string_view rule_id, source;
  // How a file names the files below it.
  enum class Below {
    kDefaults,  // defaults: the paths of files
    kExtends,   // extends: the same
    kGroups,    // defaults: Hydra's groups; "train: 7b" is the file train/7b.yaml, below the key train
  } below = Below::kDefaults;
  // What "${a}" is: a key of the settings or a function of OmegaConf's, or an environment variable, "${NAME:usual}".
  enum class References { kKeys, kVariables } references = References::kKeys;
};

class LayeredSettings {
 public:
  // What is not there is put into out->wanted_files, and out->elsewhere says so.
  LayeredSettings(const SettingsGrammar& grammar, const Environment& env, ParseResult* out)
      : grammar_(grammar), env_(env), out_(*out) {}

  // Each over what is there already.
  void AddText(absl::string_view text);  // a file whose own folder is not known
  void AddFile(const std::string& path);
  // One that nobody can name here; `where`: as ParseResult::elsewhere.
  void AddUnknownFile(std::string where);
  void AddMap(YamlNode map);
  void Override(const Argument& argument);  // "++policy.x=1"

  // Every file was there and could be read, and every override.
  bool whole() const { return whole_; }

  struct Found {
    std::optional<Value> value;  // empty: it cannot be known here
    SourcePosition at;           // of the text that was given; of a default of another file nowhere
  };
  // Of a scalar, a list of scalars or null; empty: there is no such key.
  std::optional<Found> Find(absl::string_view path) const;
  bool Has(absl::string_view path) const;
  bool InFiles(absl::string_view path) const;  // whatever overrides say
  // `usual` where it is not there. Empty: it cannot be known, or is no such value.
  std::optional<int64_t> Number(absl::string_view path, std::optional<int64_t> usual = std::nullopt) const;
  std::optional<bool> Bool(absl::string_view path, bool usual) const;
  // Empty where it is not there, or cannot be known.
  std::string Text(absl::string_view path) const;
  // The map at this path as its file has it, or null.
  const YamlNode* Map(absl::string_view path) const;
  const YamlNode& root() const { return root_; }
  // Of a node of this or of another file: a scalar, a list of scalars or null. Empty: it cannot be known.
  std::optional<Value> ValueOf(const YamlNode& node) const;
  // Overrides by path.
  const std::map<std::string, Found>& overrides() const { return overrides_; }

 private:
  static YamlNode EmptyMap();
  // A reference may lead to others.
  struct Depth {
    int left = 16;
    int* steps = nullptr;
  };
  struct Parent {
    std::string path, key;  // below which it stands; empty: at the root
    bool over = false;      // the file that names it
  };
  YamlNode Load(absl::string_view name, absl::string_view text, absl::string_view folder, bool own, int* files_left);
  std::vector<Parent> ParentsOf(YamlNode* root, absl::string_view folder) const;
  std::optional<Value> ValueOf(const YamlNode& node, Depth depth) const;
  std::optional<Value> Substitute(absl::string_view text, Depth depth) const;
  std::optional<Value> Reference(absl::string_view inside, Depth depth) const;
  std::optional<Found> FindAt(absl::string_view path, Depth depth) const;
  const YamlNode* NodeAt(absl::string_view path) const;  // null: there is none
  void Fault(SourcePosition at, std::string seen, std::string needs);

  const SettingsGrammar grammar_;
  const Environment& env_;
  ParseResult& out_;
  YamlNode root_ = EmptyMap();
  std::map<std::string, Found> overrides_;
  bool whole_ = true;
};

}  // namespace flightplan
