// The one place where yaml-cpp is met. It reads one YAML document into a plain tree and turns every fault into a Status
// that names file, line and column. What a configuration file never needs is refused: anchors and aliases (which can be
// cyclic or blow up; a file that a program dumped may have them, within bounds), tags, duplicate keys, keys that are
// not plain text, more than 1 MiB, more than 32 levels.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace flightplan {

inline constexpr size_t kMaxYamlBytes = size_t{1} << 20;
inline constexpr int kMaxYamlDepth = 32;
inline constexpr size_t kMaxYamlKeys = 1000;  // of one map
// What the tree takes in memory, nodes, keys and texts: of a file, and of what anchors keep and aliases stand for in
// it.
inline constexpr size_t kMaxYamlTreeBytes = size_t{32} << 20;
inline constexpr size_t kMaxYamlAliasedBytes = size_t{4} << 20;

struct YamlNode {
  enum class Kind { kNull, kScalar, kList, kMap };
  // Defined where the type is complete: a vector of pairs with itself asks for that.
  YamlNode();
  YamlNode(const YamlNode& other);
  YamlNode(YamlNode&& other) noexcept;
  YamlNode& operator=(const YamlNode& other);
  YamlNode& operator=(YamlNode&& other) noexcept;
  ~YamlNode();

  Kind kind = Kind::kNull;
  int line = 1;  // from 1
  int column = 1;
  int key_line = 0;  // of its key, when it is the value of a map
  int key_column = 0;
  bool quoted = false;                                 // of a scalar: "12" is text, 12 a number
  std::string text;                                    // of a scalar
  std::vector<YamlNode> items;                         // of a list
  std::vector<std::pair<std::string, YamlNode>> keys;  // of a map, in file order

  // The value under `key`, or null when this is no map or has no such key. Valid as long as this node.
  const YamlNode* Find(absl::string_view key) const;
  // "a list", "the number 12": for messages.
  std::string Describe() const;
};

struct YamlDocument {
  std::string file;
  YamlNode root;

  // "file:line:col: field X: <what>".
  absl::Status Error(const YamlNode& at, absl::string_view field, absl::string_view what) const;
  // Refuses keys of a map that are not in `known`, naming the nearest known one.
  absl::Status CheckKeys(const YamlNode& map, absl::string_view field,
                         const std::vector<absl::string_view>& known) const;
};

// kExpanded: an alias becomes a copy of what its anchor named; PyYAML writes one wherever an object is met twice.
// kMerged: then what `<<: *base`, or a list of such, names comes to stand under the map's own keys, the first of a list
// over the others, as PyYAML has it. A file that is to be edited is read as it is written.
enum class YamlAliases { kRefused, kExpanded, kMerged };
inline constexpr absl::string_view kYamlMerge = "<<";

// kLastHolds: a key that is written twice is read as yq reads it.
enum class YamlKeys { kOnce, kLastHolds };

struct YamlLimits {
  size_t bytes = kMaxYamlBytes;           // of the text
  size_t tree_bytes = kMaxYamlTreeBytes;  // of the tree in memory
  YamlKeys keys = YamlKeys::kOnce;
};

// `file` is only a name for messages. An empty text is a document whose root is null. Other limits than the usual ones
// are for files of whoever runs the program.
absl::StatusOr<YamlDocument> ParseYaml(absl::string_view file, absl::string_view text,
                                       YamlAliases aliases = YamlAliases::kRefused, const YamlLimits& limits = {});

}  // namespace flightplan
