#include "service/observe/log_text.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "resolver/base/reason.h"
#include "service/wire/status_mapping.h"

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

TEST(MaskQuoted, TellsQuotesFromApostrophes) {
  const struct {
    absl::string_view text, masked;
  } kCases[] = {
      {"don't use 'SECRET'", "don't use '***'"},
      {"I'm sure the user's key 'SECRET' isn't known", "I'm sure the user's key '***' isn't known"},
      {"the users' keys: 'SECRET', \"SECRET\" and `SECRET`.", "the users' keys: '***', '***' and '***'."},
      {"b'SECRET' and KEY='SECRET' and f(\"SECRET\")", "b'***' and KEY='***' and f('***')"},
      {"'SECRET' is the user's", "'***' is the user's"},
      {"'it's SECRET' can't be", "'***' can't be"},
      {"'don't' and 'SECRET'", "'***' and '***'"},
      {"\"it's SECRET\" isn't", "'***' isn't"},
      {"'a\\'SECRET' is", "'***' is"},
      {"'a\\\\' is 'SECRET'", "'***' is '***'"},
      {"'' and 'SECRET'", "'***' and '***'"},
      // In doubt, all of it.
      {"in 'export KEY='SECRET''", "in '***'"},
      {"rock'n'roll '--k=SECRET' is", "rock'***' is"},
      {"in '--key 'SECRET' --lr 1'", "in '***'"},
      {"'a' SECRET'", "'***'"},
      {"don't open 'SECRET", "don'***'"},
      {"the keys' ", "the keys' "},
      {"'", "'***'"},
      {"'a\\", "'***'"},
      {"", ""},
  };
  for (const auto& row : kCases) EXPECT_EQ(MaskQuoted(row.text), row.masked) << row.text;
}

TEST(MaskQuoted, NoQuotedWordIsLeftWhateverStandsAroundIt) {
  const absl::string_view around[] = {"",      "don't ",  "the users' ", "it's x='y' ", "b",           " can't",
                                      " 'x' ", " isn't ", "\"it's\" ",   "`a` ",        "rock'n'roll "};
  const absl::string_view secrets[] = {"SECRET", "it's SECRET", "SECRET's", "a=SECRET b", "SECRET don't", "--k=SECRET"};
  for (const absl::string_view before : around) {
    for (const absl::string_view after : around) {
      for (const absl::string_view secret : secrets) {
        for (const absl::string_view quote : {"'", "\"", "`"}) {
          const std::string text =
              absl::StrCat(before, quote, secret, quote, after.empty() || after[0] == ' ' ? "" : " ", after);
          EXPECT_FALSE(absl::StrContains(MaskQuoted(text), "SECRET")) << text << " gives " << MaskQuoted(text);
        }
      }
    }
  }
}

TEST(LogText, FieldsAreShownWithoutMapKeys) { EXPECT_EQ(LogTextOf(MalformedRequest("X")).fields, ""); }

}  // namespace
}  // namespace flightplan::service
