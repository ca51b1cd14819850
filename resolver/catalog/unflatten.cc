#include "resolver/catalog/builtin.h"

namespace flightplan {

YamlDocument Unflatten(const BuiltinFile& file) {
  YamlDocument document;
  document.file = file.name;
  // Pointers to the open parents: a parent only grows while its newest child is closed, so they stay valid.
  std::vector<YamlNode*> parents;
  for (const FlatYamlNode& flat : file.nodes) {
    YamlNode* node = &document.root;
    if (flat.depth > 0) {
      YamlNode& parent = *parents[static_cast<size_t>(flat.depth) - 1];
      node = parent.kind == YamlNode::Kind::kMap ? &parent.keys.emplace_back(flat.key, YamlNode()).second
                                                 : &parent.items.emplace_back();
    }
    node->kind = flat.kind;
    node->quoted = flat.quoted;
    node->line = flat.line;
    node->column = flat.column;
    node->key_line = flat.key_line;
    node->key_column = flat.key_column;
    node->text = flat.text;
    parents.resize(static_cast<size_t>(flat.depth));
    parents.push_back(node);
  }
  return document;
}

}  // namespace flightplan
