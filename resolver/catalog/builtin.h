// The catalogue files as they were when the binary was built. Parsing YAML text takes some 20 ms, too long for a
// command line, so resolver/catalog/embed/embed_catalog.cc parses and checks it at build time and writes the nodes out
// as a table.
#pragma once

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/base/yaml.h"

namespace flightplan {

// One node of a YamlDocument in depth-first order. The root has depth 0.
struct FlatYamlNode {
  int depth;
  YamlNode::Kind kind;
  bool quoted;
  int line;
  int column;
  int key_line;
  int key_column;
  const char* key;  // "" unless it is the value of a map
  const char* text;
};

struct BuiltinFile {
  const char* name;
  absl::Span<const FlatYamlNode> nodes;
};

extern const absl::Span<const BuiltinFile> kBuiltinFiles;
extern const absl::string_view kBuiltinDigest;  // SHA-256 over the files' texts

YamlDocument Unflatten(const BuiltinFile& file);

}  // namespace flightplan
