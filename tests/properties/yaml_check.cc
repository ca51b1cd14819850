// yaml_check --reference yaml_reference.py [--count N] [--seed S] [--first K] [--print]
//
// Our reading of YAML against PyYAML's safe loader, which is what the stacks read it with: N random texts of maps,
// lists, flow collections, quoted, plain and block scalars and comments, without what ParseYaml refuses (anchors, tags,
// keys written twice or that are no text). What both read must have the same value; at most one text of a thousand may
// be refused by one alone (yaml-cpp takes some broken texts, as a tab behind a key). With --first from the K-th text
// on; with --print that text and both readings. Exit status: 0 all agree, 1 some do not, 2 misuse, 77 there is no
// PyYAML.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "resolver/base/yaml.h"
#include "resolver/read/yaml_scalar.h"
#include "tests/properties/reference.h"

namespace flightplan::properties {
namespace {

using absl::StrCat;

constexpr int kMostDepth = 4;

class YamlText {
 public:
  explicit YamlText(uint64_t seed) : random_(seed) {}

  std::string Write() {
    if (Chance(12)) out_ += "---\n";
    if (Chance(30)) return out_ + Plain() + "\n";
    Chance(8) ? List(0, 0) : Map(0, 0);
    if (Chance(12)) Break();
    return out_;
  }

 private:
  size_t Below(size_t limit) { return random_() % limit; }
  bool Chance(size_t in) { return Below(in) == 0; }
  template <size_t N>
  std::string Any(const char* const (&texts)[N]) {
    return texts[Below(N)];
  }

  // One wrong byte: most such texts are refused.
  void Break() {
    static constexpr const char* kBytes[] = {":", "-", "\t", "\"", "'", "[", "}", "\n",
                                             " ", ",", "#",  "%",  "@", "|", "?"};
    size_t at = Below(out_.size() + 1);
    while (at < out_.size() && (static_cast<unsigned char>(out_[at]) & 0xC0) == 0x80) ++at;
    out_.insert(at, Any(kBytes));
  }

  std::string Plain() {
    static constexpr const char* kPlain[] = {
        "a",     "some text", "true", "Yes",   "OFF",      "y",     "null",  "~",      "",       "1",       "-1",
        "+12",   "0",         "007",  "08",    "0x1F",     "0b101", "1_000", "1:30",   "1:30:5", "1:99",    "1.5",
        "-2.",   ".5",        "-.5",  "1e5",   "1.0e5",    "1e-5",  "1.e+5", "2.5E-3", "1.0e-5", "1:30.5",  ".inf",
        "-.INF", ".nan",      "a:b",  "a#b",   "http://x", "x-y",   "-x",    "-1x",    "?x",     "a, b",    "it's",
        "a\"b",  "[",         "nan",  "inf",   "_1",       "1_",    "0_7",   "0o17",   "1.2.3",  "${A:-b}", "%x",
        "*x y",  "a \\n b",   "1 2",  "TRUE ", "No",       "NONE",  "None",  "ü",      "1._5",   "0.1",     "--lr"};
    return Any(kPlain);
  }

  std::string Quoted() {
    static constexpr const char* kQuoted[] = {
        "\"a\"",       "'a'",    "\"\"",     "''",      "\"1\"",    "'true'",   "\"a\\nb\"",    "'it''s'",
        "\"\\u00fc\"", "'a: b'", "\"# no\"", "'a\\nb'", "\"a b \"", "\"\\\"\"", "\"\\x41\\t\"", "\"a\\\n  b\""};
    return Any(kQuoted);
  }

  std::string Flow(int depth) {
    const size_t kind = depth >= kMostDepth ? 0 : Below(5);
    if (kind < 3) {
      static constexpr const char* kInside[] = {"a", "1", "true", "1.5", "~", "x y", "1e5", "-3", "a-b"};
      return Chance(4) ? Quoted() : Any(kInside);
    }
    std::string text = kind == 3 ? "[" : "{";
    const size_t items = Below(4);
    for (size_t i = 0; i < items; ++i) {
      if (i > 0) text += Chance(4) ? "," : Chance(6) ? " ,\n      " : ", ";
      if (kind == 4) text += StrCat("k", i, ": ");
      text += Flow(depth + 1);
    }
    return text + (kind == 3 ? "]" : "}");
  }

  std::string Ending() { return Chance(10) ? "  # why\n" : Chance(20) ? " \n" : "\n"; }

  // What stands behind "key:" or "-", with the end of its line.
  void Node(size_t indent, int depth) {
    const size_t kind = depth >= kMostDepth ? 4 + Below(4) : Below(10);
    const std::string inner(indent + 2, ' ');
    switch (kind) {
      case 0:
      case 1:
        out_ += Ending();
        return Map(indent + 2, depth + 1);
      case 2:
        out_ += Ending();
        return List(indent + (Chance(2) ? 2 : 4), depth + 1);
      case 3: {
        static constexpr const char* kHeads[] = {"|", ">", "|-", ">-", "|+"};
        out_ += StrCat(" ", Any(kHeads), "\n", inner, "first # line\n", inner, Chance(3) ? "  more\n" : "more\n");
        if (Chance(3)) out_ += StrCat("\n", inner, "last: x\n");
        return;
      }
      case 4:
        out_ += StrCat(" ", Flow(depth + 1), Ending());
        return;
      case 5:
        out_ += StrCat(" ", Quoted(), Ending());
        return;
      case 6:
        if (Chance(4)) {
          out_ += StrCat(" first part\n", inner, "second part", Ending());
          return;
        }
        [[fallthrough]];
      default: {
        const std::string plain = Plain();
        out_ += StrCat(plain.empty() ? "" : " ", plain, Ending());
      }
    }
  }

  void Map(size_t indent, int depth) {
    const size_t keys = 1 + Below(4);
    for (size_t i = 0; i < keys; ++i) {
      if (Chance(12)) out_ += Chance(2) ? "\n" : StrCat(std::string(Below(4), ' '), "# a note\n");
      static constexpr const char* kStems[] = {"tensor_parallel", "lr",    "model.x",  "a-b",
                                               "\"quoted\"",      "'k y'", "two words"};
      const std::string stem = Any(kStems);
      const bool quoted = stem[0] == '"' || stem[0] == '\'';
      out_ += std::string(indent, ' ');
      out_ += quoted ? StrCat(stem.substr(0, stem.size() - 1), i, stem.substr(stem.size() - 1)) : StrCat(stem, i);
      out_ += Chance(20) ? " :" : ":";
      Node(indent, depth);
    }
  }

  void List(size_t indent, int depth) {
    const size_t items = 1 + Below(4);
    for (size_t i = 0; i < items; ++i) {
      out_ += StrCat(std::string(indent, ' '), "-");
      if (depth < kMostDepth && Chance(5)) {  // - key: value
        out_ += StrCat(" k: ", Below(9), "\n", std::string(indent + 2, ' '), "l:");
        Node(indent + 2, depth + 1);
      } else {
        Node(indent, depth + 1);
      }
    }
  }

  std::mt19937_64 random_;
  std::string out_;
};

// ---- what was read

std::string Written(const Value& value) {
  if (value.is_none()) return "n";
  if (value.is_bool()) return value.integer() != 0 ? "b1" : "b0";
  if (value.is_int()) return StrCat("i", value.integer());
  if (value.is_float()) {
    if (std::isnan(value.real())) return "nan";
    return StrCat("f", absl::Hex(std::bit_cast<uint64_t>(value.real()), absl::kZeroPad16));
  }
  return StrCat("t", absl::BytesToHexString(value.text()));
}

std::string Written(const YamlNode& node) {
  std::vector<std::string> parts;
  switch (node.kind) {
    case YamlNode::Kind::kNull:
    case YamlNode::Kind::kScalar:
      return Written(YamlScalar(node));
    case YamlNode::Kind::kList:
      for (const YamlNode& item : node.items) parts.push_back(Written(item));
      return StrCat("[", absl::StrJoin(parts, ","), "]");
    case YamlNode::Kind::kMap:
      for (const auto& [key, value] : node.keys) {
        parts.push_back(StrCat(absl::BytesToHexString(key), ":", Written(value)));
      }
  }
  return StrCat("{", absl::StrJoin(parts, ","), "}");
}

std::string OurReading(const std::string& text) {
  const absl::StatusOr<YamlDocument> document = ParseYaml("text", text);
  return document.ok() ? Written(document->root) : "refused";
}

std::string TextsFile(const std::vector<std::string>& texts) {
  std::string file;
  for (const std::string& text : texts) absl::StrAppend(&file, text, "\x1d");
  return file;
}

int Main(int argc, char** argv) {
  ReferenceOptions options{.count = 3000};
  if (!ReadOptions(argc, argv, "--reference", &options) || options.file.empty()) {
    std::fprintf(stderr, "usage: yaml_check --reference FILE [--count N] [--seed S] [--first K] [--print]\n");
    return 2;
  }
  if (std::system("/usr/bin/python3 -c 'import yaml' 2>/dev/null") != 0) return 77;
  if (options.print) options.count = 1;
  std::vector<std::string> texts;
  for (int64_t n = options.first; n < options.first + options.count; ++n) {
    texts.push_back(YamlText(options.seed * 1'000'003 + static_cast<uint64_t>(n)).Write());
  }
  const std::vector<std::string> readings = PythonsReadings(options.file, {{"texts", TextsFile(texts)}});
  if (readings.size() != texts.size()) {
    std::fprintf(stderr, "yaml_check: %zu readings of %zu texts\n", readings.size(), texts.size());
    return 2;
  }
  int64_t differ = 0, refused = 0, by_one = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::string ours = OurReading(texts[i]);
    refused += readings[i] == "refused" ? 1 : 0;
    if (options.print) std::printf("%s\n", texts[i].c_str());
    const bool same = ours == readings[i] || absl::StrContains(readings[i], "other");
    if (!same) ++(ours == "refused" || readings[i] == "refused" ? by_one : differ);
    if (!options.print && (same || differ + by_one > 10)) continue;
    std::printf("%s text %lld of seed %llu\n  ours   %s\n  python %s\n", same ? "same" : "DIFFERS",
                static_cast<long long>(options.first) + static_cast<long long>(i),
                static_cast<unsigned long long>(options.seed), ours.c_str(), readings[i].c_str());
  }
  std::printf("%zu texts, %lld refused: %lld differ, %lld refused by one alone\n", texts.size(),
              static_cast<long long>(refused), static_cast<long long>(differ), static_cast<long long>(by_one));
  if (!options.print && 2 * refused > options.count) return std::puts("most texts are refused: little was compared"), 1;
  return differ == 0 && by_one * 1000 <= std::max<int64_t>(options.count, 1000) ? 0 : 1;
}

}  // namespace
}  // namespace flightplan::properties

int main(int argc, char** argv) { return flightplan::properties::Main(argc, argv); }
