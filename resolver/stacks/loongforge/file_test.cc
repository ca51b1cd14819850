#include "resolver/stacks/loongforge/file.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace flightplan {
namespace {

using Words = std::vector<std::string>;

constexpr absl::string_view kMine = "/opt/LoongForge/configs/models/custom/mine.yaml";

ComposedFile Compose(std::map<std::string, std::string> files, const EnvVars& vars = {}) {
  Environment env;
  env.target = Target::kLoongForge;
  env.model_files = std::move(files);
  for (const auto& [name, value] : vars) env.vars[name] = value;
  return ComposeLoongForgeFile(kMine, env);
}

Words Ids(const ComposedFile& composed) {
  Words ids;
  for (const ParseFinding& entry : composed.findings) ids.emplace_back(entry.finding.rule_id);
  return ids;
}

std::string At(const ComposedFile& composed, const std::string& key) {
  const auto found = composed.model.keys.find(key);
  return found == composed.model.keys.end() ? "none" : found->second.ToJson();
}

TEST(ComposeLoongForgeFile, PutsOwnKeysOverThoseOfItsDefaults) {
  const ComposedFile composed = Compose({
      {"configs/models/custom/mine.yaml",
       "defaults:\n  - ../custom/base@model.foundation: small\n  - tail\nmodel:\n  foundation: {num_layers: 4}\n"
       "  model_type: qwen3_vl\n"},
      {"configs/models/custom/base/small.yaml", "num_layers: 2\nhidden_size: 64\nlayernorm_epsilon: 1e-6\n"},
      {"configs/models/custom/tail.yaml", "model: {loss: [a, 1]}\n"},
  });
  EXPECT_EQ(Ids(composed), Words());
  EXPECT_EQ(composed.wanted, Words());
  EXPECT_TRUE(composed.model.there);
  EXPECT_EQ(At(composed, "model.foundation.num_layers"), "4");
  EXPECT_EQ(At(composed, "model.foundation.hidden_size"), "64");
  EXPECT_EQ(At(composed, "model.foundation.layernorm_epsilon"), "1e-06");
  EXPECT_EQ(At(composed, "model.loss"), "[\"a\",1]");
}

TEST(ComposeLoongForgeFile, KeepsTheOrderOfSelf) {
  const ComposedFile composed = Compose({
      {std::string(kMine), "defaults: [_self_, base]\nnum_layers: 4\nhidden_size: 8\n"},
      {"configs/models/custom/base.yaml", "num_layers: 2\n"},
  });
  EXPECT_EQ(At(composed, "num_layers"), "2");
  EXPECT_EQ(At(composed, "hidden_size"), "8");
}

TEST(ComposeLoongForgeFile, FollowsReferences) {
  const ComposedFile composed =
      Compose({{std::string(kMine),
                "a: {x: 3, y: \"${.x}\", z: \"${b}\"}\nb: \"${a.y}\"\nc: \"${moe_freq:\\\"[0]*1+[1]*2\\\"}\"\n"
                "d: \"${oc.env:NAME,7}\"\ne: \"${oc.env:SET,7}\"\nf: \"${oc.env:LOONGFORGE_PATH}/x\"\n"}},
              {{"SET", "9"}});
  EXPECT_EQ(Ids(composed), Words());
  EXPECT_EQ(At(composed, "a.y"), "3");
  EXPECT_EQ(At(composed, "a.z"), "3");
  EXPECT_EQ(At(composed, "c"), "[0,1,1]");
  EXPECT_EQ(At(composed, "d"), "\"7\"");
  EXPECT_EQ(At(composed, "e"), "\"9\"");
  EXPECT_EQ(At(composed, "f"), "\"${oc.env:LOONGFORGE_PATH}/x\"") << "only the launch knows";
}

TEST(ComposeLoongForgeFile, EndsCircles) {
  EXPECT_EQ(Ids(Compose({{std::string(kMine), "a: \"${b}\"\nb: \"${a}\"\n"}})),
            (Words{"lf.yaml-reference", "lf.yaml-reference"}));
  EXPECT_EQ(Ids(Compose({{std::string(kMine), "a: \"${gone}\"\n"}})), Words{"lf.yaml-reference"});
  EXPECT_EQ(Ids(Compose({{std::string(kMine), "defaults: [mine]\n"}})), Words{"lf.config-file-exists"});
  // Each file names the next one twice: 2^40 without a bound.
  std::map<std::string, std::string> files;
  files[std::string(kMine)] = "defaults: [f0]\n";
  for (int i = 0; i < 40; ++i) {
    const std::string next = absl::StrCat("f", i + 1);
    files[absl::StrCat("configs/models/custom/f", i, ".yaml")] =
        absl::StrCat("defaults: [", next, "@a, ", next, "@b]\n");
  }
  const Words ids = Ids(Compose(std::move(files)));
  EXPECT_NE(std::find(ids.begin(), ids.end(), "input.limit"), ids.end());
}

TEST(ComposeLoongForgeFile, SaysWhatItWants) {
  const ComposedFile composed = Compose(
      {{std::string(kMine), "defaults:\n  - ../qwen3@model.foundation: qwen3_30b_a3b\n  - ../none@x: there\n"}});
  EXPECT_EQ(composed.wanted, (Words{"/opt/LoongForge/configs/models/qwen3/qwen3_30b_a3b.yaml",
                                    "/opt/LoongForge/configs/models/none/there.yaml"}));
  EXPECT_EQ(Ids(composed), Words{"lf.config-file-exists"}) << "the first is built in";
  EXPECT_EQ(At(composed, "model.foundation.num_layers"), "48");
}

TEST(ComposeLoongForgeFile, RefusesWhatIsNoModelFile) {
  EXPECT_EQ(Ids(Compose({{std::string(kMine), "a: [1\n"}})), Words{"lf.config-file-exists"});
  EXPECT_EQ(Ids(Compose({{std::string(kMine), "- a\n"}})), Words{"lf.config-file-exists"});
  EXPECT_EQ(Ids(Compose({{std::string(kMine), "defaults: {a: b}\nn: 1\n"}})), Words{"lf.config-file-exists"});
  EXPECT_EQ(Ids(Compose({{std::string(kMine), "defaults: [{override /a: b}]\n"}})), Words{"lf.hydra-override"});
}

}  // namespace
}  // namespace flightplan
