#include "resolver/base/yaml.h"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "resolver/base/byte_order_mark.h"
#include "resolver/base/nearest.h"
#include "resolver/base/utf8.h"
#include "resolver/base/work.h"
#include "yaml-cpp/eventhandler.h"
#include "yaml-cpp/exceptions.h"
#include "yaml-cpp/parser.h"

namespace flightplan {
namespace {

// Builds the tree from parser events. yaml-cpp's own Node would follow aliases, and it is several times slower.
// Faults leave by yaml-cpp's exception, the only way to stop its parser; ParseYaml catches it.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(absl::string_view text, YamlNode* root, YamlAliases aliases, const YamlLimits& limits)
      : text_(text),
        root_(root),
        expand_(aliases != YamlAliases::kRefused),
        keys_(limits.keys),
        tree_limit_(limits.tree_bytes) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ > 0) throw YAML::ParserException(mark, "a second document; write one document in one file");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    RefuseAnchor(mark, anchor);
    Remember(anchor, Add(mark, YamlNode::Kind::kNull));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (!expand_) throw YAML::ParserException(mark, "an alias (*name); write the value out");
    const auto known = anchors_.find(anchor);
    if (known == anchors_.end()) throw YAML::ParserException(mark, "an alias (*name) inside what it names");
    Spend(BytesOf(known->second), mark);
    YamlNode& node = Add(mark, known->second.kind);
    const YamlNode place = node;
    node = known->second;
    node.line = place.line;
    node.column = place.column;
    node.key_line = place.key_line;
    node.key_column = place.key_column;
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    RefuseAnchor(mark, anchor);
    RefuseTag(mark, tag);
    RefuseTabBefore(mark);
    const bool quoted = tag == "!";  // yaml-cpp's sign for a quoted scalar
    if (quoted) last_quoted_ = mark;
    const absl::string_view behind = quoted ? "" : BehindPlain(mark, value);
    if (!quoted && absl::StrContains(value, '\t')) throw YAML::ParserException(mark, "a tab in it; quote the value");
    if (!stack_.empty() && stack_.back().node->kind == YamlNode::Kind::kMap && !stack_.back().key_read) {
      if (!quoted && (behind.empty() || !absl::StrContains(":,}", behind.front()))) {
        throw YAML::ParserException(mark, absl::StrCat("neither a colon nor the end of a list or map behind ", value));
      }
      StartKey(mark, value);
      return;
    }
    YamlNode& node = Add(mark, YamlNode::Kind::kScalar);
    if (!quoted && (value == "~" || value == "null" || value == "Null" || value == "NULL")) {
      node.kind = YamlNode::Kind::kNull;
    } else {
      Grow(value.size(), mark);
      node.quoted = quoted;
      node.text = value;
    }
    Remember(anchor, node);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(mark, tag, anchor, YamlNode::Kind::kList);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(mark, tag, anchor, YamlNode::Kind::kMap);
  }
  void OnMapEnd() override { Close(); }

  // yaml-cpp takes the end of the file for a closing quote, so that a truncated file would pass. An open quote swallows
  // everything after it: only the last quoted scalar can be one.
  void RefuseOpenQuote() const {
    if (last_quoted_.pos < 0 || From(last_quoted_).empty()) return;
    const absl::string_view rest = From(last_quoted_);
    const char quote = rest.front();
    if (quote != '"' && quote != '\'') return;
    for (size_t i = 1; i < rest.size(); ++i) {
      if (rest[i] == '\\' && quote == '"') {
        ++i;
      } else if (rest[i] == quote) {
        return;
      }
    }
    throw YAML::ParserException(last_quoted_, "a quote that is never closed");
  }

 private:
  struct Level {
    YamlNode* node;
    YAML::anchor_t anchor = 0;
    bool key_read = false;  // of a map: the key is there, its value is next
    size_t keys_read = 0;   // of a map, those that are written twice included
  };

  absl::string_view From(const YAML::Mark& mark) const {
    return text_.substr(std::min(text_.size(), static_cast<size_t>(std::max(mark.pos, 0))));
  }
  // PyYAML takes no tab between two tokens or in a plain scalar; yaml-cpp does.
  void RefuseTabBefore(const YAML::Mark& mark) const {
    for (size_t at = text_.size() - From(mark).size(); at > 0 && (text_[at - 1] == ' ' || text_[at - 1] == '\t');
         --at) {
      if (text_[at - 1] == '\t') throw YAML::ParserException(mark, "a tab in front of it; write blanks");
    }
  }
  // What follows the first line of a plain scalar, without blanks.
  absl::string_view BehindPlain(const YAML::Mark& mark, absl::string_view value) const {
    absl::string_view rest = From(mark);
    const size_t same =
        static_cast<size_t>(std::mismatch(rest.begin(), rest.end(), value.begin(), value.end()).first - rest.begin());
    rest.remove_prefix(same);
    while (absl::ConsumePrefix(&rest, " ")) {
    }
    if (absl::StartsWith(rest, "\t")) throw YAML::ParserException(mark, "a tab behind it; write blanks");
    return rest;
  }
  void RefuseAnchor(const YAML::Mark& mark, YAML::anchor_t anchor) const {
    if (anchor != 0 && !expand_)
      throw YAML::ParserException(mark, "an anchor (&name); write the value out where it is needed");
  }
  void Remember(YAML::anchor_t anchor, const YamlNode& node) {
    if (anchor == 0) return;
    Spend(BytesOf(node), YAML::Mark::null_mark());
    anchors_[anchor] = node;
  }
  // Both what anchors keep and what aliases stand for: nested anchors alone could copy a file many times over.
  void Spend(size_t bytes, const YAML::Mark& mark) {
    aliased_ += bytes;
    if (aliased_ > kMaxYamlAliasedBytes) {
      throw YAML::ParserException(
          mark, absl::StrCat("anchors and aliases that stand for more than ", kMaxYamlAliasedBytes, " bytes"));
    }
  }
  // Of a node by itself, with its key.
  static size_t BytesOf(absl::string_view key, absl::string_view text) {
    return sizeof(YamlNode) + sizeof(std::string) + key.size() + text.size();
  }
  static size_t BytesOf(const YamlNode& node) {
    size_t bytes = BytesOf("", node.text);
    for (const YamlNode& item : node.items) bytes += BytesOf(item);
    for (const auto& [key, value] : node.keys) bytes += key.size() + BytesOf(value);
    return bytes;
  }
  void Grow(size_t bytes, const YAML::Mark& mark) {
    tree_ += bytes;
    if (tree_ > tree_limit_) {
      throw YAML::ParserException(mark, absl::StrCat("values of more than ", tree_limit_, " bytes in memory"));
    }
  }
  static void RefuseTag(const YAML::Mark& mark, const std::string& tag) {
    if (!tag.empty() && tag != "?" && tag != "!") {
      throw YAML::ParserException(mark, absl::StrCat("the tag ", tag, "; write the plain value"));
    }
  }

  void StartKey(const YAML::Mark& mark, const std::string& key) {
    Level& level = stack_.back();
    std::vector<std::pair<std::string, YamlNode>>& keys = level.node->keys;
    const auto known = std::find_if(keys.begin(), keys.end(), [&](const auto& other) { return other.first == key; });
    if (known != keys.end() && keys_ == YamlKeys::kLastHolds) {
      keys.erase(known);
    } else if (known != keys.end()) {
      const int first = known->second.key_line;
      throw YAML::ParserException(mark, absl::StrCat("field ", key, ": written twice; first on line ", first));
    }
    // The search above is quadratic.
    if (level.keys_read++ >= kMaxYamlKeys) {
      throw YAML::ParserException(mark, absl::StrCat("more than ", kMaxYamlKeys, " keys in one mapping"));
    }
    Grow(key.size(), mark);
    YamlNode& node = level.node->keys.emplace_back(key, YamlNode()).second;
    node.key_line = mark.line + 1;
    node.key_column = mark.column + 1;
    level.key_read = true;
  }

  // Pointers on the stack stay valid: a list or map only grows while its newest child is closed.
  YamlNode& Add(const YAML::Mark& mark, YamlNode::Kind kind) {
    Grow(BytesOf("", ""), mark);
    YamlNode* node = root_;
    if (!stack_.empty()) {
      Level& level = stack_.back();
      if (level.node->kind == YamlNode::Kind::kList) {
        node = &level.node->items.emplace_back();
      } else {
        if (!level.key_read) throw YAML::ParserException(mark, "a key that is no plain text");
        node = &level.node->keys.back().second;
        level.key_read = false;
      }
    }
    node->kind = kind;
    node->line = mark.line + 1;
    node->column = mark.column + 1;
    return *node;
  }

  void Open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YamlNode::Kind kind) {
    RefuseAnchor(mark, anchor);
    RefuseTag(mark, tag);
    RefuseTabBefore(mark);
    if (static_cast<int>(stack_.size()) >= kMaxYamlDepth) {
      throw YAML::ParserException(mark, absl::StrCat("more than ", kMaxYamlDepth, " levels of nesting"));
    }
    stack_.push_back({&Add(mark, kind), anchor});
  }
  void Close() {
    Remember(stack_.back().anchor, *stack_.back().node);
    stack_.pop_back();
  }

  absl::string_view text_;
  YamlNode* root_;
  bool expand_;
  YamlKeys keys_;
  size_t tree_limit_;  // bytes
  std::vector<Level> stack_;
  std::map<YAML::anchor_t, YamlNode> anchors_;
  size_t aliased_ = 0;  // bytes
  size_t tree_ = 0;     // bytes, without what aliases stand for
  int documents_ = 0;
  YAML::Mark last_quoted_ = YAML::Mark::null_mark();
};

}  // namespace

YamlNode::YamlNode() = default;
YamlNode::YamlNode(const YamlNode& other) = default;
YamlNode::YamlNode(YamlNode&& other) noexcept = default;
YamlNode& YamlNode::operator=(const YamlNode& other) = default;
YamlNode& YamlNode::operator=(YamlNode&& other) noexcept = default;
YamlNode::~YamlNode() = default;

const YamlNode* YamlNode::Find(absl::string_view key) const {
  for (const auto& [name, value] : keys) {
    if (name == key) return &value;
  }
  return nullptr;
}

std::string YamlNode::Describe() const {
  switch (kind) {
    case Kind::kNull:
      return "nothing";
    case Kind::kScalar:
      return absl::StrCat("'", text.size() > 60 ? absl::StrCat(Utf8Prefix(text, 60), "...") : text, "'");
    case Kind::kList:
      return absl::StrCat("a list of ", items.size());
    case Kind::kMap:
      return "a mapping";
  }
  return "";
}

absl::Status YamlDocument::Error(const YamlNode& at, absl::string_view field, absl::string_view what) const {
  return absl::InvalidArgumentError(absl::StrCat(file, ":", at.line, ":", at.column, ": ",
                                                 field.empty() ? "" : absl::StrCat("field ", field, ": "), what));
}

absl::Status YamlDocument::CheckKeys(const YamlNode& map, absl::string_view field,
                                     const std::vector<absl::string_view>& known) const {
  for (const auto& [key, value] : map.keys) {
    bool found = false;
    for (absl::string_view name : known) found = found || name == key;
    if (found) continue;
    const absl::string_view nearest = NearestName(key, known);
    YamlNode at;
    at.line = value.key_line;
    at.column = value.key_column;
    return Error(at, field.empty() ? key : absl::StrCat(field, ".", key),
                 nearest.empty() ? "unknown" : absl::StrCat("unknown; nearest known: ", nearest));
  }
  return absl::OkStatus();
}

namespace {

// NOLINTNEXTLINE(misc-no-recursion): as deep as kMaxYamlDepth
void MergeKeys(YamlNode* node) {
  for (YamlNode& item : node->items) MergeKeys(&item);
  for (auto& [key, value] : node->keys) MergeKeys(&value);
  const auto merge =
      std::find_if(node->keys.begin(), node->keys.end(), [](const auto& entry) { return entry.first == kYamlMerge; });
  if (merge == node->keys.end()) return;
  const YamlNode under = std::move(merge->second);
  node->keys.erase(merge);
  std::set<std::string, std::less<>> own;
  for (const auto& [key, value] : node->keys) own.insert(key);
  const auto add = [&](const YamlNode& map) {
    for (const auto& [key, value] : map.keys) {
      if (own.insert(key).second) node->keys.emplace_back(key, value);
    }
  };
  add(under);
  for (const YamlNode& map : under.items) add(map);
}

// yaml-cpp guesses UTF-16 or UTF-32 from these, and then takes any bytes for characters.
bool IsOtherEncoding(absl::string_view text) {
  return absl::StrContains(text, '\0') || absl::StartsWith(text, "\xff\xfe") || absl::StartsWith(text, "\xfe\xff");
}

// yaml-cpp takes a line that begins with % for a directive wherever it stands.
size_t LineOfDirective(absl::string_view text) {
  if (absl::StartsWith(text, "%")) return 1;
  const size_t at = text.find("\n%");
  return at == absl::string_view::npos ? 0 : 2 + static_cast<size_t>(std::count(text.begin(), text.begin() + at, '\n'));
}

// In yaml-cpp, which tells nobody how far it is: the dearest texts take 0.3 us a byte, most a third of that.
constexpr size_t kWorkOfByte = 256;

// The parser names the byte that it does not take, which may be the first of several of a character.
std::string WholeCharacters(const std::string& message) {
  return IsUtf8(message) ? message : absl::CHexEscape(message);
}

}  // namespace

absl::StatusOr<YamlDocument> ParseYaml(absl::string_view file, absl::string_view text, YamlAliases aliases,
                                       const YamlLimits& limits) {
  if (text.size() > limits.bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ":1:1: ", text.size(), " bytes; a file may hold at most ", limits.bytes));
  }
  if (!Work::Affords(kWorkOfByte * text.size())) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ":1:1: ", text.size(), " bytes of YAML take more work than one answer may"));
  }
  Work::Spend(kWorkOfByte * text.size());
  if (IsOtherEncoding(text)) {
    return absl::InvalidArgumentError(absl::StrCat(file, ":1:1: is not UTF-8, or has a NUL; write the file in UTF-8"));
  }
  absl::ConsumePrefix(&text, kByteOrderMark);  // which yaml-cpp does not count
  if (const size_t line = LineOfDirective(text); line > 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ":", line, ":1: a line that begins with %; leave YAML directives out, and quote a value"));
  }
  YamlDocument document;
  document.file = std::string(file);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    TreeBuilder builder(text, &document.root, aliases, limits);
    while (parser.HandleNextDocument(builder)) {
    }
    builder.RefuseOpenQuote();
  } catch (const YAML::Exception& error) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ":", error.mark.line + 1, ":", error.mark.column + 1, ": ", WholeCharacters(error.msg)));
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat(file, ":1:1: not readable as YAML: ", error.what()));
  }
  if (aliases == YamlAliases::kMerged) MergeKeys(&document.root);
  return document;
}

}  // namespace flightplan
