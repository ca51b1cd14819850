#include "resolver/base/yaml.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "resolver/base/work.h"

namespace flightplan {
namespace {

std::string Fault(absl::string_view text) { return std::string(ParseYaml("f.yaml", text).status().message()); }

TEST(ParseYaml, ReadsTheTreeWithPositions) {
  absl::StatusOr<YamlDocument> doc = ParseYaml("f.yaml", "a: 1\nb:\n  - {c: \"x\"}\n  - ~\n");
  ASSERT_TRUE(doc.ok()) << doc.status();
  const YamlNode* a = doc->root.Find("a");
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->text, "1");
  EXPECT_FALSE(a->quoted);
  EXPECT_EQ(a->line, 1);
  EXPECT_EQ(a->column, 4);
  EXPECT_EQ(a->key_column, 1);
  const YamlNode* b = doc->root.Find("b");
  ASSERT_EQ(b->items.size(), 2u);
  EXPECT_TRUE(b->items[0].Find("c")->quoted);
  EXPECT_EQ(b->items[0].Find("c")->line, 3);
  EXPECT_EQ(b->items[1].kind, YamlNode::Kind::kNull);
  EXPECT_EQ(doc->root.Find("z"), nullptr);
}

TEST(ParseYaml, AnEmptyTextIsAnEmptyDocument) {
  for (absl::string_view text : {"", "# nothing\n", "\n\n"}) {
    absl::StatusOr<YamlDocument> doc = ParseYaml("f.yaml", text);
    ASSERT_TRUE(doc.ok()) << doc.status();
    EXPECT_EQ(doc->root.kind, YamlNode::Kind::kNull);
  }
}

TEST(ParseYaml, RefusesWhatNoConfigurationNeeds) {
  const struct {
    absl::string_view text;
    absl::string_view fault;
  } kRows[] = {
      {"a: 1\na: 2\n", "f.yaml:2:1: field a: written twice; first on line 1"},
      {"a: &x 1\n", "f.yaml:1:4: an anchor (&name); write the value out where it is needed"},
      {"a: &x [*x]\n", "f.yaml:1:4: an anchor (&name); write the value out where it is needed"},
      {"a: !!int 1\n", "f.yaml:1:4: the tag tag:yaml.org,2002:int; write the plain value"},
      {"a: 1\n---\nb: 2\n", "f.yaml:2:1: a second document; write one document in one file"},
      {"a: 1\n%b: 2\n", "f.yaml:2:1: a line that begins with %; leave YAML directives out, and quote a value"},
  };
  for (const auto& row : kRows) EXPECT_EQ(Fault(row.text), row.fault);
}

TEST(ParseYaml, RefusesOtherEncodingsThanUtf8) {
  constexpr absl::string_view kFault = "f.yaml:1:1: is not UTF-8, or has a NUL; write the file in UTF-8";
  for (const absl::string_view text : {absl::string_view("\0\0\0\0\001e999", 9), absl::string_view("a\0:\0 \0", 6),
                                       absl::string_view("\xff\xfe\x61\x30\x3a\x30"),
                                       absl::string_view("\xfe\xff\x30\x61\x30\x3a"), absl::string_view("a: \0", 4)}) {
    EXPECT_EQ(Fault(text), kFault);
  }
}

TEST(ParseYaml, BoundsDepthKeysAndSize) {
  const auto nested = [](int levels) { return std::string(levels, '[') + std::string(levels, ']'); };
  EXPECT_EQ(Fault(nested(kMaxYamlDepth)), "");
  EXPECT_NE(Fault(nested(kMaxYamlDepth + 1)).find("more than 32 levels of nesting"), std::string::npos);
  const auto keys = [](size_t count) {
    std::string text;
    for (size_t i = 0; i < count; ++i) text += "k" + std::to_string(i) + ": 1\n";
    return text;
  };
  EXPECT_EQ(Fault(keys(kMaxYamlKeys)), "");
  EXPECT_NE(Fault(keys(kMaxYamlKeys + 1)).find("more than 1000 keys"), std::string::npos);
  EXPECT_EQ(Fault(std::string(kMaxYamlBytes, '\n')), "");
  EXPECT_NE(Fault(std::string(kMaxYamlBytes + 1, '\n')).find("1048577 bytes"), std::string::npos);
}

// Short texts that stand for much. Their bounds are those of deploy/hardening.md.
TEST(ParseYaml, BoundsWhatATextStandsFor) {
  const auto aliases = [](size_t count) {
    std::string text = "a: &a \"" + std::string(size_t{64} << 10, 'x') + "\"\nb: [";
    for (size_t i = 0; i < count; ++i) text += "*a, ";
    return std::string(ParseYaml("f", text + "1]\n", YamlAliases::kExpanded).status().message());
  };
  EXPECT_EQ(kMaxYamlAliasedBytes, size_t{4} << 20);
  EXPECT_EQ(aliases(62), "");
  EXPECT_NE(aliases(64).find("anchors and aliases that stand for more than 4194304 bytes"), std::string::npos);
  const auto lists = [](size_t count) {
    std::string text = "a: [";
    for (size_t i = 0; i < count; ++i) text += "[],";
    return Fault(text + "1]\n");
  };
  constexpr size_t kLists = kMaxYamlTreeBytes / (sizeof(YamlNode) + sizeof(std::string));
  EXPECT_EQ(kMaxYamlTreeBytes, size_t{32} << 20);
  EXPECT_EQ(lists(kLists - 10), "");
  EXPECT_NE(lists(kLists + 10).find("values of more than 33554432 bytes in memory"), std::string::npos);
}

TEST(ParseYaml, NamesThePlaceOfASyntaxFault) {
  EXPECT_EQ(Fault("a: [1, 2\n"), "f.yaml:1:8: neither a colon nor the end of a list or map behind 2");
  EXPECT_EQ(Fault("b: 'y'\na: \"x\\\"\n"), "f.yaml:2:4: a quote that is never closed");
  EXPECT_EQ(Fault("a: \"x\" # it's\n"), "");
  EXPECT_EQ(Fault("\ta: 1\n").substr(0, 9), "f.yaml:1:");
}

// Of the byte that is no escape, where the message has the byte itself.
TEST(ParseYaml, NamesNoHalfOfACharacter) {
  EXPECT_EQ(Fault("a: \"\\\xe2\x80\xa8\""), "f.yaml:1:7: unknown escape character: \\xe2");
}

// PyYAML refuses them, yaml-cpp alone would not.
TEST(ParseYaml, RefusesTabsBetweenTokensAndKeysWithoutColon) {
  EXPECT_EQ(Fault("a:\t1\n"), "f.yaml:1:4: a tab in front of it; write blanks");
  EXPECT_EQ(Fault("- \t[1]\n"), "f.yaml:1:4: a tab in front of it; write blanks");
  EXPECT_EQ(Fault("a: 1\t\n"), "f.yaml:1:4: a tab behind it; write blanks");
  EXPECT_EQ(Fault("a: b\tc\n"), "f.yaml:1:4: a tab in it; quote the value");
  EXPECT_EQ(Fault("a: 1\nb\n"), "f.yaml:2:1: neither a colon nor the end of a list or map behind b");
  for (const char* text : {"a: \"1\t2\"\n", "a: 1 #\tx\n", "a: |\n  x\ty\n", "{a, b: 1}\n", "a : 1\n"}) {
    EXPECT_EQ(Fault(text), "") << text;
  }
}

TEST(CheckKeys, NamesTheNearestKnownKey) {
  const YamlDocument doc = *ParseYaml("f.yaml", "num_layer: 4\nzzzzzzzz: 1\n");
  EXPECT_EQ(doc.CheckKeys(doc.root, "", {"num_layers", "hidden_size", "zzzzzzzz"}).message(),
            "f.yaml:1:1: field num_layer: unknown; nearest known: num_layers");
  EXPECT_EQ(doc.CheckKeys(doc.root, "m", {"num_layer"}).message(), "f.yaml:2:1: field m.zzzzzzzz: unknown");
  EXPECT_TRUE(doc.CheckKeys(doc.root, "", {"num_layer", "zzzzzzzz"}).ok());
}

TEST(YamlAliases, AreCopiedWhereAskedFor) {
  const char* text = "a: &x {t: torch.bfloat16, call: false}\nb: *x\nc: [&y 3, *y]\n";
  EXPECT_FALSE(ParseYaml("f", text).ok());
  const absl::StatusOr<YamlDocument> document = ParseYaml("f", text, YamlAliases::kExpanded);
  ASSERT_TRUE(document.ok()) << document.status();
  const YamlNode* b = document->root.Find("b");
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->Find("t")->text, "torch.bfloat16");
  EXPECT_EQ(b->line, 2);
  EXPECT_EQ(b->key_column, 1);
  EXPECT_EQ(document->root.Find("c")->items[1].text, "3");
}

TEST(YamlAliases, NeitherBlowUpNorTurnInCircles) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    absl::StrAppend(&bomb, "a", i, ": &a", i, " [");
    for (int j = 0; j < 8; ++j) absl::StrAppend(&bomb, "*a", i - 1, j < 7 ? ", " : "]\n");
  }
  EXPECT_FALSE(ParseYaml("f", bomb, YamlAliases::kExpanded).ok());
  EXPECT_FALSE(ParseYaml("f", "a: &a [1, *a]\n", YamlAliases::kExpanded).ok());
  // A long text counts by its bytes: 31 KB once stood for a gigabyte.
  std::string long_text = absl::StrCat("a: &a '", std::string(16'000, 'x'), "'\nb:\n");
  for (int i = 0; i < 200; ++i) absl::StrAppend(&long_text, "- *a\n");
  EXPECT_TRUE(ParseYaml("f", long_text, YamlAliases::kExpanded).ok());
  for (int i = 0; i < 200; ++i) absl::StrAppend(&long_text, "- *a\n");
  EXPECT_TRUE(absl::StrContains(ParseYaml("f", long_text, YamlAliases::kExpanded).status().message(),
                                "stand for more than 4194304 bytes"));
  // So does what is written out: a byte or two can be a node.
  std::string nodes = "a: [";
  for (int i = 0; i < 500'000; ++i) nodes += "1,";
  EXPECT_TRUE(absl::StrContains(ParseYaml("f", nodes + "1]").status().message(), "bytes in memory"));
}

// A text of 1 MiB once took half a second, and a repair of it a multiple.
TEST(ParseYaml, RefusesWhatCostsMoreThanTheAnswerMay) {
  const std::string text(1 << 19, 'a');
  const Work work(uint64_t{1} << 27);
  EXPECT_TRUE(ParseYaml("f", text).ok());
  const absl::Status again = ParseYaml("f", text).status();
  EXPECT_EQ(again.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(again.message(), "f:1:1: 524288 bytes of YAML take more work than one answer may");
}

}  // namespace
}  // namespace flightplan
