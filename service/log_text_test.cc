#include "service/log_text.h"

#include "gtest/gtest.h"
#include "resolver/base/reason.h"
#include "service/status_mapping.h"

namespace flightplan::service {
namespace {

TEST(LogText, ErrorsThatMayQuoteTheRequestKeepTheirMessageToThemselves) {
  const LogText text =
      LogTextOf(WithReason(absl::InvalidArgumentError("model 'sk-123' is not known"), "MODEL_UNKNOWN"));
  EXPECT_EQ(text.message, "");
  EXPECT_EQ(text.reason, "MODEL_UNKNOWN");
  EXPECT_EQ(LogTextOf(absl::NotFoundError("sk-123")).message, "");
}

TEST(LogText, OurOwnFaultsAreShownWithoutWhatTheyQuote) {
  EXPECT_EQ(LogTextOf(absl::InternalError("no row for 'sk-123' in \"t\"")).message, "no row for '***' in '***'");
  EXPECT_EQ(MaskQuoted("open 'sk-123"), "open '***'");
  EXPECT_EQ(MaskQuoted("plain"), "plain");
}

TEST(LogText, FieldsAreShownWithoutMapKeys) { EXPECT_EQ(LogTextOf(MalformedRequest("X")).fields, ""); }

}  // namespace
}  // namespace flightplan::service
