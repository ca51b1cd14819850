#include "service/web/envelope.h"

#include <gtest/gtest.h>

#include "resolver/base/reason.h"

namespace flightplan::service {
namespace {

TEST(Envelope, ABodyHasAnyNumberOfThem) {
  const std::string body = WriteEnvelope(0, "abc") + WriteEnvelope(kEnvelopeCompressed, "");
  const auto read = ReadEnvelopes(body);
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->size(), 2u);
  EXPECT_EQ((*read)[0].message, "abc");
  EXPECT_EQ((*read)[1].flags, kEnvelopeCompressed);
  EXPECT_TRUE(ReadEnvelopes("")->empty());
}

TEST(Envelope, TheLengthIsBigEndian) {
  const std::string bytes = WriteEnvelope(kEnvelopeEnd, std::string(0x10203, 'x'));
  EXPECT_EQ(bytes.substr(0, 5), std::string("\x02\x00\x01\x02\x03", 5));
}

TEST(Envelope, WhatIsCutShortOrHasOtherFlagsIsNamedByItsByte) {
  const auto code = [](const std::string& body) { return ReadEnvelopes(body).status().code(); };
  EXPECT_EQ(code(WriteEnvelope(0, "abc").substr(0, 7)), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(std::string("\0\0\0", 3)), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(std::string("\0\xff\xff\xff\xff", 5)), absl::StatusCode::kInvalidArgument);
  for (int flags = 2; flags < 256; ++flags) {
    EXPECT_EQ(code(WriteEnvelope(static_cast<uint8_t>(flags), "")), absl::StatusCode::kInvalidArgument) << flags;
  }
  const absl::Status cut = ReadEnvelopes(WriteEnvelope(0, "abc") + "x").status();
  EXPECT_EQ(std::string(cut.message()).find("at byte 8"), 0u);
  EXPECT_EQ(ReasonOf(cut), "ENVELOPE_INVALID");
}

}  // namespace
}  // namespace flightplan::service
