#include "resolver/catalog/catalog.h"

#include "gtest/gtest.h"
#include "resolver/plan/layer_pattern.h"
#include "resolver/plan/model_fields.h"

namespace flightplan {
namespace {

const Catalog& Builtin() {
  static const auto* const kCatalog = new absl::StatusOr<Catalog>(Catalog::Builtin());
  EXPECT_TRUE(kCatalog->ok()) << kCatalog->status();
  return **kCatalog;
}

std::string FaultOf(absl::string_view text) {
  const CatalogFile file{"site.yaml", std::string(text)};
  return std::string(Catalog::WithOverlay({file}).status().message());
}

constexpr absl::string_view kTinyModel = R"(models:
  - name: tiny
    family: toy
    num_layers: 4
    hidden_size: 64
    ffn_hidden_size: 256
    num_attention_heads: 8
    num_query_groups: 2
    kv_channels: 8
    vocab_size: 1000
)";

TEST(BuiltinCatalog, HoldsAllModelsAndSystems) {
  EXPECT_EQ(Builtin().models().size(), 98U);
  EXPECT_EQ(Builtin().gpus().size(), 14u);
}

TEST(BuiltinCatalog, EveryEntryNamesItsSources) {
  for (const ModelSpec& model : Builtin().models()) {
    EXPECT_FALSE(model.sources.empty()) << model.name;
    EXPECT_TRUE(model.computed.has_value()) << model.name;
    EXPECT_TRUE(CheckModel(model).empty()) << model.name;
  }
  for (const GpuSystem& gpu : Builtin().gpus()) {
    EXPECT_FALSE(gpu.source.empty()) << gpu.name;
    EXPECT_FALSE(gpu.device_name.empty()) << gpu.name;
  }
}

TEST(BuiltinCatalog, FieldsCarryTheirUnits) {
  const GpuSystem& h100 = **Builtin().FindGpu("h100");
  EXPECT_EQ(h100.name, "h100-sxm");
  EXPECT_EQ(h100.device_name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(h100.cc_major, 9);
  EXPECT_EQ(*h100.hbm_bytes, int64_t{81559} << 20);
  EXPECT_FALSE(h100.hbm_estimated);
  EXPECT_DOUBLE_EQ(*h100.nic_bytes_per_second, 50e9);
  EXPECT_DOUBLE_EQ(*h100.bf16_flops_per_second, 989e12);
  EXPECT_TRUE(HasFlexBackend(h100, "deepep"));
  const GpuSystem& gb200 = **Builtin().FindGpu("GB200");
  EXPECT_EQ(gb200.nvlink_domain_gpus, 72);
  EXPECT_FALSE(HasFlexBackend(gb200, "deepep"));
  EXPECT_TRUE((*Builtin().FindGpu("h20"))->hbm_estimated);
  EXPECT_FALSE((*Builtin().FindGpu("vr200"))->hbm_bytes.has_value());
}

TEST(BuiltinCatalog, ModelFieldsAreRead) {
  const ModelSpec& v3 = **Builtin().FindModel("DeepSeek_V3");
  EXPECT_EQ(v3.num_layers, 61);
  EXPECT_EQ(v3.moe_layer_freq.size(), 61u);
  EXPECT_EQ(v3.moe_layer_freq[2], 0);
  EXPECT_EQ(v3.moe_layer_freq[3], 1);
  EXPECT_EQ(v3.mtp_num_layers, 1);
  EXPECT_TRUE(v3.is_mla());
  EXPECT_FALSE((*Builtin().FindModel("qwen3-8b"))->is_moe());
  EXPECT_EQ((*Builtin().FindModel("qwen/Qwen3-30B-A3B"))->name, "qwen3-30b-a3b");
}

TEST(CatalogLookUp, NamesTheNearestKnownEntry) {
  const absl::Status status = Builtin().FindModel("deepsek-v3").status();
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_NE(status.message().find("deepseek-v3"), absl::string_view::npos) << status;
  EXPECT_TRUE(absl::IsNotFound(Builtin().FindGpu("").status()));
  EXPECT_TRUE(absl::IsNotFound(Builtin().FindModel(std::string(1 << 20, 'x')).status()));
}

TEST(CatalogOverlay, AddsAndReplacesEntries) {
  const CatalogFile files[] = {
      {"a.yaml", std::string(kTinyModel)},
      {"b.yaml", "gpus:\n  - {name: h100-sxm, aliases: [h100], nvlink_domain_gpus: 4, source: site}\n"}};
  absl::StatusOr<Catalog> catalog = Catalog::WithOverlay(files);
  ASSERT_TRUE(catalog.ok()) << catalog.status();
  EXPECT_EQ(catalog->models().size(), 99u);
  EXPECT_EQ(catalog->gpus().size(), 14u);
  EXPECT_EQ((*catalog->FindGpu("h100"))->nvlink_domain_gpus, 4);
  EXPECT_NE(catalog->revision(), Builtin().revision());
  EXPECT_EQ(catalog->revision(), Catalog::WithOverlay(files)->revision());
}

TEST(Catalog, NamesTheModelThatANameIsTheBeginningOf) {
  const auto nearest = [](absl::string_view name) { return std::string(Builtin().FindModel(name).status().message()); };
  EXPECT_EQ(nearest("qwen3-30b"), "no model named 'qwen3-30b' in the catalogue; nearest known: qwen3-30b-a3b");
  EXPECT_EQ(nearest("qwen3-32c"), "no model named 'qwen3-32c' in the catalogue; nearest known: qwen3-32b");
}

TEST(CatalogOverlay, RefusesWithFileLineAndField) {
  const struct {
    absl::string_view text;
    absl::string_view message;
  } kRows[] = {
      {"models:\n  - name: x\n    num_layer: 4\n",
       "site.yaml:3:5: field models[x].num_layer: unknown; nearest known: num_layers"},
      {"models:\n  - name: x\n    num_layers: -4\n",
       "site.yaml:3:17: field models[x].num_layers: is -4; needs an integer from 1 to 10000"},
      {"models:\n  - name: x\n    num_moe_experts: 1000000000000000000\n",
       "site.yaml:3:22: field models[x].num_moe_experts: is 1000000000000000000; needs an integer from 1 to 65536"},
      {"models:\n  - name: x\n    num_layers: 99999999999999999999\n",
       "site.yaml:3:17: field models[x].num_layers: is an integer beyond 64 bits"},
      {"models:\n  - name: x\n    rotary_base: .nan\n",
       "site.yaml:3:18: field models[x].rotary_base: is NaN; needs a finite number from 1 to 1099511627776"},
      {"models:\n  - name: x\n    tie_embeddings: 3\n",
       "site.yaml:3:21: field models[x].tie_embeddings: is 3; needs true or false"},
      {"models:\n  - name: x\n    moe_layer_freq: \"[1]*1000000000000\"\n",
       "site.yaml:3:21: field models[x].moe_layer_freq: layer pattern: expands to more than 10000 layers at "
       "offset 13; write it like [0]*3+[1]*58"},
      {"models:\n  - name: x\n    knobs: {layernorm_epsilom: 1}\n",
       "site.yaml:3:32: field models[x].knobs.layernorm_epsilom: is no knob; nearest known: layernorm_epsilon"},
      {"gpus:\n  - name: x\n    compute_capability: nine\n",
       "site.yaml:3:25: field gpus[x].compute_capability: is 'nine'; needs major.minor such as \"9.0\""},
      {"gpus:\n  - name: x\n    flex_backends: [deepp]\n",
       "site.yaml:3:20: field gpus[x].flex_backends: holds 'deepp'; needs deepep or hybridep"},
      {"gpu: []\n", "site.yaml:1:1: field gpu: unknown; nearest known: gpus"},
      {"models: 3\n", "site.yaml:1:9: field models: is '3'; needs a list of entries"},
      {"[1, 2]\n", "site.yaml:1:1: the file is a list of 2; needs a mapping of models, gpus"},
      {"clusters:\n  - {name: a, gpu: h100}\n", "site.yaml:1:1: field clusters: unknown"},
  };
  for (const auto& row : kRows) EXPECT_EQ(FaultOf(row.text), row.message);
}

TEST(CatalogOverlay, RefusesEntriesThatContradictThemselves) {
  const std::string base(kTinyModel);
  EXPECT_EQ(FaultOf(base), "");
  EXPECT_NE(FaultOf(base + "    num_moe_experts: 8\n").find("moe_router_topk: is missing"), std::string::npos);
  EXPECT_NE(FaultOf(base + "    moe_router_topk: 2\n").find("moe_router_topk: needs num_moe_experts"),
            std::string::npos);
  EXPECT_NE(FaultOf(base + "    attention: mla\n").find("kv_lora_rank: is missing"), std::string::npos);
  EXPECT_NE(FaultOf(base + "    linear_attention_freq: [1, 1]\n").find("has 2 entries; needs one per layer, 4"),
            std::string::npos);
  EXPECT_NE(FaultOf(base + "    num_query_groups: 2\n").find("written twice; first on line 8"), std::string::npos);
  EXPECT_NE(
      FaultOf(base + "  - name: tiny\n    num_layers: 1\n    hidden_size: 8\n    ffn_hidden_size: 8\n"
                     "    num_attention_heads: 1\n    num_query_groups: 1\n    kv_channels: 8\n    vocab_size: 8\n")
          .find("used twice"),
      std::string::npos);
}

TEST(CatalogOverlay, SurvivesHostileFiles) {
  EXPECT_NE(FaultOf("a: &x [*x]\n").find("site.yaml:1:4: an anchor"), std::string::npos);
  EXPECT_NE(FaultOf("models: *x\n").find("site.yaml:1:9"), std::string::npos);
  EXPECT_NE(FaultOf("models: " + std::string(400, '[') + std::string(400, ']')).find("more than 32 levels"),
            std::string::npos);
  EXPECT_NE(FaultOf("models: " + std::string(100000, '[')).find("site.yaml:1:"), std::string::npos);
  EXPECT_NE(FaultOf(std::string(2 << 20, '#')).find("2097152 bytes; a file may hold at most 1048576"),
            std::string::npos);
  EXPECT_NE(FaultOf("models: !!binary aGk=\n").find("the tag"), std::string::npos);
  EXPECT_NE(FaultOf("models: []\n---\nmodels: []\n").find("second document"), std::string::npos);
  EXPECT_NE(FaultOf("? [a]\n: 1\n").find("key that is no plain text"), std::string::npos);
  EXPECT_NE(FaultOf("models: [\n").find("site.yaml:"), std::string::npos);
  EXPECT_NE(FaultOf("models: \"\xff\xfe\n").find("site.yaml:"), std::string::npos);
  EXPECT_EQ(FaultOf(""), "");
}

TEST(Pattern, ReadsAndWritesMegatronExpressions) {
  EXPECT_EQ(*ExpandLayerPattern("[0]*3+[1]*2"), (std::vector<int64_t>{0, 0, 0, 1, 1}));
  EXPECT_EQ(*ExpandLayerPattern("([1,1,0])*2"), (std::vector<int64_t>{1, 1, 0, 1, 1, 0}));
  EXPECT_EQ(FormatPattern({0, 0, 0, 1, 1}), "[0]*3+[1]*2");
  EXPECT_EQ(FormatPattern({1, 1, 0, 1, 1, 0, 1, 1, 0}), "([1,1,0])*3");
  for (absl::string_view bad :
       {"", "[", "[1", "[1]*", "[1]*-1", "1", "[a]", "([1]", "[1]]", "[1]*99999999999999999999"}) {
    EXPECT_FALSE(ExpandLayerPattern(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace flightplan
