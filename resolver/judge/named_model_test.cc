#include "resolver/judge/named_model.h"

#include <string>

#include "gtest/gtest.h"
#include "resolver/catalog/catalog.h"

namespace flightplan {
namespace {

const Catalog& Models() {
  static const Catalog* const kModels = new Catalog(*Catalog::Builtin());
  return *kModels;
}

std::string Found(absl::string_view name) {
  const NamedModel named = FindNamedModel(Models(), name);
  return named.model == nullptr ? "" : named.model->name;
}

TEST(NamedModel, IsExactByItsOwnName) {
  const NamedModel named = FindNamedModel(Models(), "Qwen/Qwen2.5-1.5B");
  ASSERT_NE(named.model, nullptr);
  EXPECT_EQ(named.model->name, "qwen2.5-1.5b");
  EXPECT_TRUE(named.exact);
}

TEST(NamedModel, IsASiblingByItsShape) {
  EXPECT_EQ(Found("Qwen/Qwen2.5-1.5B-Instruct"), "qwen2.5-1.5b");
  EXPECT_EQ(Found("/models/Qwen3-0.6B-Base/"), "qwen3-0.6b");
  EXPECT_EQ(Found("nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16"), "nemotron-3-super-120b-a12b");
}

TEST(NamedModel, TakesMetasOldAndNewNamesAsOne) {
  EXPECT_EQ(Found("meta-llama/Meta-Llama-3.1-8B"), "llama-3.1-8b");
  EXPECT_EQ(Found("meta-llama/Llama-3.1-8B-Instruct"), "llama-3.1-8b");
  EXPECT_EQ(Found("meta-llama/Llama-3.1-70B"), "llama-3.1-70b");
  EXPECT_EQ(Found("meta-llama/Meta-Llama-3-8B"), "llama-3-8b");
  EXPECT_EQ(Found("Qwen/Qwen2-7B-Instruct"), "qwen2-7b");
}

TEST(NamedModel, IsOneOfTheSameSizesByAnotherName) {
  EXPECT_EQ(Found("meta-llama/Llama-3.3-70B-Instruct"), "llama-3.1-70b");
  EXPECT_EQ(Found("zai-org/GLM-5.1"), "glm-5");
  EXPECT_EQ(Found("Qwen/Qwen2.5-Math-7B"), "qwen2.5-7b");
  EXPECT_FALSE(FindNamedModel(Models(), "Qwen/Qwen2.5-Math-7B").exact);
}

TEST(NamedModel, IsNoneOfAnotherShape) {
  for (const absl::string_view name : {"", "/", "meta-llama-", "Qwen/Qwen2.5-Omni-7B", "Qwen/Qwen2.5-VL-3B-Instruct"}) {
    EXPECT_EQ(Found(name), "") << name;
  }
}

}  // namespace
}  // namespace flightplan
