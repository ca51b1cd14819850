#include "clients/cli/lsp/source_link.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "clients/cli/backend.h"
#include "clients/cli/lsp/upstream.h"
#include "clients/cli/paging.h"
#include "flightplan/v1/catalog_service.pb.h"

namespace flightplan::cli {
namespace {

TEST(SourceLink, PointsAtTheLineThatWasRead) {
  const Upstream& newest = Upstreams().front();
  EXPECT_EQ(newest.repository, "NVIDIA/Megatron-LM");
  EXPECT_EQ(SourceLink("Megatron-LM:megatron/core/parallel_state.py:882"),
            "https://github.com/NVIDIA/Megatron-LM/blob/" + std::string(newest.revision) +
                "/megatron/core/parallel_state.py#L882");
  EXPECT_EQ(SourceLink("Megatron-LM 0.17.1:megatron/core/a.py:3-5"),
            "https://github.com/NVIDIA/Megatron-LM/blob/core_v0.17.1/megatron/core/a.py#L3");
}

TEST(SourceLink, IsEmptyForWhatIsNoLine) {
  for (const char* citation :
       {"", ":", "::", "reported runs", "Flightplan: what the caller: or", "Nobody:a/b.py:3",
        "Megatron-LM 9.9.9:a/b.py:3", "Megatron-LM:a b.py:3", "Megatron-LM:a/b.py:x", ":a/b.py:3"}) {
    EXPECT_EQ(SourceLink(citation), "") << citation;
  }
}

TEST(SourceLink, KnowsMostOfTheRules) {
  const absl::StatusOr<std::unique_ptr<Backend>> backend = MakeLocalBackend("");
  ASSERT_TRUE(backend.ok());
  v1::ListRulesResponse rules;
  ASSERT_TRUE(ListAll(**backend, &Backend::ListRules, v1::ListRulesRequest(), &rules).ok());
  int linked = 0;
  for (const v1::RuleInfo& rule : rules.rules()) linked += SourceLink(rule.source().text()).empty() ? 0 : 1;
  EXPECT_GT(linked * 10, rules.rules_size() * 8) << linked << " of " << rules.rules_size();
}

}  // namespace
}  // namespace flightplan::cli
