#include "resolver/derive/context_exchange.h"

#include "gtest/gtest.h"
#include "resolver/catalog/catalog.h"

namespace flightplan {
namespace {

ModelShape Shape(const char* model) { return *MakeShape(**Catalog::Builtin()->FindModel(model)); }

TEST(ContextExchange, LatentKeysOverTheNetworkTakeTheAllToAllInside) {
  const ModelShape shape = Shape("deepseek-v3");                            // 128 heads, each with its own keys
  EXPECT_EQ(ContextExchangeOf(shape, 1, 8, 32'768, 8).type, CpComm::kP2p);  // inside the domain
  const ContextExchange over = ContextExchangeOf(shape, 1, 32, 131'072, 8);
  EXPECT_EQ(over.type, CpComm::kAllToAllP2p);
  EXPECT_EQ(over.inside, 8);
  EXPECT_EQ(over.outside, 4);
  EXPECT_EQ(ContextExchangeOf(shape, 2, 32, 131'072, 8).inside, 4);
  EXPECT_EQ(ContextExchangeOf(shape, 1, 32, 131'072, 72).type, CpComm::kP2p);
  // Beside enough attention even so many keys hide.
  EXPECT_EQ(ContextExchangeOf(shape, 1, 16, int64_t{16} * 12'000, 8).type, CpComm::kP2p);
  EXPECT_EQ(ContextExchangeOf(shape, 1, 16, int64_t{16} * 11'999, 8).type, CpComm::kAllToAllP2p);
}

TEST(ContextExchange, FewGroupsKeepTheRingWhileItHides) {
  const ModelShape shape = Shape("llama-3.1-70b");  // 64 heads, 8 groups
  EXPECT_EQ(ContextExchangeOf(shape, 1, 16, int64_t{16} * 1'500, 8).type, CpComm::kP2p);
  const ContextExchange thin = ContextExchangeOf(shape, 2, 16, int64_t{16} * 1'024, 8);
  EXPECT_EQ(thin.type, CpComm::kAllToAllP2p);
  EXPECT_EQ(thin.inside, 4);  // groups on a rank
  EXPECT_EQ(ContextExchangeOf(shape, 8, 16, int64_t{16} * 1'024, 8).type,
            CpComm::kP2p);  // one group: nothing to spread
}

TEST(ContextExchange, WindowsNeedTheWholeSequence) {
  ModelShape shape = Shape("gpt-oss-20b");  // 64 heads, 8 groups
  shape.sinks = false;
  EXPECT_EQ(ContextExchangeOf(shape, 1, 2, 8'192, 8).type, CpComm::kAllToAll);
  EXPECT_EQ(ContextExchangeOf(shape, 2, 4, 8'192, 8).type, CpComm::kAllToAll);
  EXPECT_EQ(ContextExchangeOf(shape, 2, 8, 8'192, 8).type, CpComm::kAllGather);
  EXPECT_EQ(ContextExchangeOf(shape, 1, 1, 8'192, 8).type, CpComm::kP2p);  // nothing to exchange
}

TEST(ContextExchange, SinksLeaveTheAllToAll) {
  const ModelShape shape = Shape("gpt-oss-20b");
  EXPECT_TRUE(shape.sinks);
  EXPECT_EQ(ContextExchangeOf(shape, 1, 8, 8'192, 8).type, CpComm::kAllToAll);
  EXPECT_EQ(ContextExchangeOf(shape, 2, 8, 8'192, 8).type, CpComm::kAllToAll);  // not legal: rules and search say so
}

}  // namespace
}  // namespace flightplan
