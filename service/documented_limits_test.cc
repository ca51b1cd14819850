// What the pages for administrators say of times and sizes, from the values that are in force without a flag: a page
// that is not changed with them is a wrong promise.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "service/call/answer_source.h"
#include "service/call/call.h"
#include "service/handlers/batch_resolve.h"
#include "service/http/http_server.h"
#include "service/http/review_stop.h"
#include "service/http/webhook_endpoint.h"
#include "service/server.h"
#include "service/settings/settings.h"
#include "service/web/web_endpoint.h"

namespace flightplan::service {
namespace {

// A page with every line break and indentation as one space.
std::string Prose(absl::string_view page) {
  std::ifstream file(absl::StrCat(FLIGHTPLAN_SOURCE_DIR, "/", page));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return absl::StrJoin(absl::StrSplit(text, absl::ByAnyChar(" \n"), absl::SkipEmpty()), " ");
}

std::string S(absl::Duration time) { return absl::StrCat(absl::ToInt64Seconds(time), " s"); }
std::string MiB(uint64_t bytes) { return absl::StrCat(bytes >> 20, " MiB"); }

TEST(DocumentedLimits, ArePagesOfTheDefaultsInForce) {
  const Settings settings;
  const HttpServer::Options http;
  const struct {
    absl::string_view page;
    std::string says;
  } kPages[] = {
      {"README.md", absl::StrCat("After ", absl::ToInt64Hours(settings.profile_max_age) / 24, " days, ")},
      {"README.md",
       absl::StrCat("Requests up to ", MiB(settings.max_request_bytes), ", answers up to ", MiB(kMaxAnswerBytes))},
      {"deploy/hardening.md",
       absl::StrCat("Request ", MiB(settings.max_request_bytes), ", answer ", MiB(kMaxAnswerBytes), ", ",
                    kMaxStreamsPerConnection, " streams a connection, 1,000 items in flight a batch, ",
                    S(kDefaultUnaryDeadline), " without a deadline (", S(kDefaultStreamDeadline), " for streams)")},
      {"deploy/hardening.md", absl::StrCat("open ends at its deadline, ", S(settings.max_deadline), " at most.")},
      {"deploy/hardening.md",
       absl::StrCat(S(http.request_time), " from the first byte to the last and ", S(http.answer_time),
                    " to take the answer, one request a connection (the webhook: more, ", S(kWebhookKeepAlive),
                    " apart)")},
      {"deploy/hardening.md", absl::StrCat(S(kWebRequestTime), " for a request, ", S(kWebAnswerTime),
                                           " to take an answer or a part of it, ", S(kWebKeepAlive), " between two")},
      {"deploy/hardening.md", absl::StrCat("within `drain_delay` and `drain_timeout`, and ", S(kAirToEnd),
                                           " more where gRPC does not let go")},
      {"deploy/SECURITY.md", absl::StrCat("A review in Kubernetes ends after ", kMaxReviewTime.count(), " s,")},
      {"deploy/capacity.md", absl::StrCat("`cache_bytes` (", MiB(settings.cache_bytes), ")")},
      {"deploy/systemd/flightplan.service",
       absl::StrCat("# drain_delay ", S(settings.drain_delay), " and drain_timeout ", S(settings.drain_timeout), ",")},
      {"clients/kubernetes/README.md", absl::StrCat(S(http.request_time), " from the first byte to the last")},
  };
  EXPECT_EQ(kMaxBatchInFlight, 1000);
  EXPECT_EQ(http.keep_alive, absl::ZeroDuration());
  for (const auto& page : kPages) {
    EXPECT_TRUE(absl::StrContains(Prose(page.page), page.says)) << page.page << " does not say: " << page.says;
  }
}

// One that is killed before it has drained loses the calls in its hands.
TEST(DocumentedLimits, SystemdWaitsUntilTheServerHasDrained) {
  const Settings settings;
  for (const absl::string_view unit :
       {"deploy/systemd/flightplan.service", "deploy/systemd/flightplan-front.service"}) {
    const std::string text = Prose(unit);
    constexpr absl::string_view kKey = "TimeoutStopSec=";
    const size_t at = text.find(std::string(kKey));
    ASSERT_NE(at, std::string::npos) << unit;
    EXPECT_GE(absl::Seconds(std::strtol(text.c_str() + at + kKey.size(), nullptr, 10)),
              settings.drain_delay + settings.drain_timeout + kAirToEnd)
        << unit;
  }
}

}  // namespace
}  // namespace flightplan::service
