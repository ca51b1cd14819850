#include "service/call/access.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "resolver/base/reason.h"

namespace flightplan::service {
namespace {

// printf %s "open sesame" | sha256sum
constexpr char kSesame[] = "41ef4bb0b23661e66301aac36066912dac037827b4ae63a7b1165a5aa93ed4eb";

const absl::Time kNow = absl::FromCivil(absl::CivilDay(2026, 6, 1), absl::UTCTimeZone());

class AccessTest : public ::testing::Test {
 protected:
  absl::StatusOr<AccessTable> Parse(const std::string& text) {
    return AccessTable::Parse("tokens.yaml", absl::StrReplaceAll(text, {{"SESAME", kSesame}}), &tenants_);
  }
  AccessTable Good() {
    auto table = Parse(
        "tokens:\n"
        "  - {sha256: SESAME, tenant: research, roles: [read, resolve], expires: 2026-06-02T00:00:00Z}\n"
        "certificates:\n"
        "  - {name: 'spiffe://c/launcher', tenant: launch, roles: [evidence.write]}\n"
        "unix_socket: {tenant: node, roles: [resolve]}\n");
    EXPECT_TRUE(table.ok()) << table.status();
    return *std::move(table);
  }
  static Credentials Bearer(absl::string_view header) {
    Credentials credentials;
    credentials.authorization = header;
    return credentials;
  }

  Metrics metrics_{"test", "test"};
  Tenants tenants_{&metrics_, /*usual_concurrent=*/0};
};

TEST_F(AccessTest, ATokenGivesItsTenantAndRolesUntilItExpires) {
  const AccessTable table = Good();
  const auto caller = table.Identify(Bearer("Bearer open sesame"), kNow);
  ASSERT_TRUE(caller.ok()) << caller.status();
  EXPECT_EQ(caller->tenant->name(), "research");
  EXPECT_TRUE(caller->roles.Has(Role::kResolve));
  EXPECT_FALSE(caller->roles.Has(Role::kEvidenceWrite));
  EXPECT_TRUE(table.Identify(Bearer("bearer open sesame"), kNow + absl::Hours(24) - absl::Seconds(1)).ok());
  const auto expired = table.Identify(Bearer("Bearer open sesame"), kNow + absl::Hours(24));
  EXPECT_EQ(expired.status().code(), absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(ReasonOf(expired.status()), "TOKEN_INVALID");
}

TEST_F(AccessTest, RefusesWhatIsNoKnownTokenAndNeverRepeatsIt) {
  const AccessTable table = Good();
  for (const std::string& header : {std::string("Bearer open sesamf"), std::string("Bearer "),
                                    std::string("Basic open sesame"), std::string("open sesame"), std::string(kSesame),
                                    absl::StrCat("Bearer ", std::string(kMaxTokenBytes + 1, 'x'))}) {
    const auto caller = table.Identify(Bearer(header), kNow);
    EXPECT_EQ(caller.status().code(), absl::StatusCode::kUnauthenticated) << header;
    EXPECT_EQ(caller.status().message().find("sesam"), absl::string_view::npos) << caller.status();
  }
  EXPECT_EQ(table.Identify(Credentials(), kNow).status().code(), absl::StatusCode::kUnauthenticated);
}

TEST_F(AccessTest, CertificatesAndSocketsCountOnlyWithoutAToken) {
  const AccessTable table = Good();
  Credentials credentials;
  credentials.certificate.uris = {"spiffe://c/other", "spiffe://c/launcher"};
  EXPECT_EQ(table.Identify(credentials, kNow)->tenant->name(), "launch");
  credentials.authorization = "Bearer wrong";
  EXPECT_FALSE(table.Identify(credentials, kNow).ok());
  Credentials socket;
  socket.unix_socket = true;
  EXPECT_EQ(table.Identify(socket, kNow)->tenant->name(), "node");
  EXPECT_FALSE(Parse("tokens: []\n")->Identify(socket, kNow).ok()) << "a socket is open only when the file says so";
}

TEST_F(AccessTest, ACommonNameIsNoUriAndAUriIsNoCommonName) {
  const auto table = Parse(
      "certificates:\n"
      "  - {name: 'spiffe://c/launcher', tenant: launch, roles: [evidence.write]}\n"
      "  - {name: 'urn:x:1', tenant: urn, roles: [read]}\n"
      "  - {name: launcher.example, tenant: host, roles: [read]}\n");
  ASSERT_TRUE(table.ok()) << table.status();
  Credentials credentials;
  credentials.certificate.common = {"spiffe://c/launcher", "urn:x:1"};
  EXPECT_EQ(table->Identify(credentials, kNow).status().code(), absl::StatusCode::kUnauthenticated);
  credentials.certificate.uris = {"launcher.example"};
  EXPECT_FALSE(table->Identify(credentials, kNow).ok());
  credentials.certificate.common = {"launcher.example"};
  EXPECT_EQ(table->Identify(credentials, kNow)->tenant->name(), "host");
  credentials.certificate.uris = {"urn:x:1"};
  EXPECT_EQ(table->Identify(credentials, kNow)->tenant->name(), "urn");
}

TEST_F(AccessTest, TakesAsManyTokensAsItSays) {
  std::string text = "tokens:\n";
  for (size_t i = 0; i < kMaxTokens; ++i) {
    absl::StrAppend(&text, "  - {sha256: ", absl::Hex(i, absl::kZeroPad16), std::string(48, 'a'), ", tenant: research-",
                    i % 100, ", roles: [read, resolve], expires: 2027-01-01T00:00:00Z}\n");
  }
  const auto table = Parse(text);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->token_count(), kMaxTokens);
  const auto more = Parse(absl::StrCat(text, "  - {sha256: ", std::string(64, 'b'),
                                       ", tenant: t, roles: [read], expires: 2027-01-01T00:00:00Z}\n"));
  EXPECT_NE(more.status().message().find("at most 100000"), std::string::npos) << more.status();
}

TEST_F(AccessTest, ABadFileIsRefusedWithItsPlaceAndWithoutTheToken) {
  const std::pair<const char*, const char*> kBad[] = {
      {"", "tokens.yaml:1:1"},
      {"tokens: {}\n", "must be a list"},
      {"tokens:\n  - {sha256: hunter2, tenant: t, roles: [read], expires: 2027-01-01T00:00:00Z}\n", "64 hex digits"},
      {"tokens:\n  - {sha256: SESAME, tenant: t, roles: [read]}\n", "tokens.expires"},
      {"tokens:\n  - {sha256: SESAME, tenant: t, roles: [read], expires: tomorrow}\n", "2027-01-01T00:00:00Z"},
      {"tokens:\n  - {sha256: SESAME, tenant: t, roles: [root], expires: 2027-01-01T00:00:00Z}\n", "evidence.write"},
      {"tokens:\n  - {sha256: SESAME, tenant: t, roles: [], expires: 2027-01-01T00:00:00Z}\n", "tokens.roles"},
      {"tokens:\n  - {sha256: SESAME, roles: [read], expires: 2027-01-01T00:00:00Z}\n", "tokens.tenant"},
      {"tokens:\n  - {sha265: SESAME, tenant: t, roles: [read], expires: 2027-01-01T00:00:00Z}\n", "sha256"},
      {"certificates:\n  - {tenant: t, roles: [read]}\n", "certificates.name"},
      {"users: []\n", "tokens.yaml:1:1"},
  };
  for (const auto& [text, part] : kBad) {
    const auto table = Parse(text);
    ASSERT_FALSE(table.ok()) << text;
    EXPECT_NE(table.status().message().find(part), absl::string_view::npos) << table.status();
    EXPECT_EQ(table.status().message().find("hunter2"), absl::string_view::npos) << table.status();
  }
}

}  // namespace
}  // namespace flightplan::service
