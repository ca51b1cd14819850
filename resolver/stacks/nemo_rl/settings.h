// The settings of a NeMo-RL training: a YAML over the files of its `defaults`, with Hydra's overrides on top and
// OmegaConf's references resolved (NVIDIA-NeMo/RL@7ea279abf nemo_rl/utils/config.py).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/base/yaml.h"
#include "resolver/plan/reading.h"

namespace flightplan {

class NemoSettings {
 public:
  // What is not there is put into out->wanted_files, and out->elsewhere says so.
  NemoSettings(const Environment& env, ParseResult* out) : env_(env), out_(*out) {}

  void AddText(absl::string_view text);  // a file whose own folder is not known
  void AddFile(const std::string& path);
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
  // `usual` where it is not there. Empty: it cannot be known, or is no such value.
  std::optional<int64_t> Number(absl::string_view path, std::optional<int64_t> usual = std::nullopt) const;
  std::optional<bool> Bool(absl::string_view path, bool usual) const;
  // Empty where it is not there, or cannot be known.
  std::string Text(absl::string_view path) const;
  // The map at this path as its file has it, or null.
  const YamlNode* Map(absl::string_view path) const;
  // Overrides by path.
  const std::map<std::string, Found>& overrides() const { return overrides_; }

 private:
  // A reference may lead to others.
  struct Depth {
    int left = 16;
    int* steps = nullptr;
  };
  YamlNode Load(absl::string_view name, absl::string_view text, absl::string_view folder, bool own, int* files_left);
  std::optional<Value> ValueOf(const YamlNode& node, Depth depth) const;
  std::optional<Value> Substitute(absl::string_view text, Depth depth) const;
  std::optional<Value> Reference(absl::string_view inside, Depth depth) const;
  std::optional<Found> FindAt(absl::string_view path, Depth depth) const;
  void Fault(SourcePosition at, std::string seen, std::string needs);

  const Environment& env_;
  ParseResult& out_;
  YamlNode root_;
  std::map<std::string, Found> overrides_;
  bool whole_ = true;
};

}  // namespace flightplan
