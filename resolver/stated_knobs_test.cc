#include <gtest/gtest.h>

#include <set>
#include <string>

#include "flightplan/v1/resolver_service.pb.h"
#include "tests/support/answers.h"
#include "tests/support/requests.h"

namespace flightplan {
namespace {

using testing::FindEntry;
using testing::SmallWithoutVocabulary;
using testing::State;
using testing::TestResolver;
using testing::Validated;
using testing::ViolatedFields;

TEST(StatedKnobs, AreJudgedOverWhatIsWritten) {
  v1::ValidateConfigRequest request = SmallWithoutVocabulary();
  State("vocab_size", 32000, &request);
  v1::ValidateConfigResponse response = Validated(request);
  EXPECT_EQ(response.memory().fit(), v1::FIT_VERDICT_FITS);
  EXPECT_TRUE(response.has_estimate());
  const v1::ConfigEntry* const entry = FindEntry(response.config(), "vocab_size");
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->reason(), "you state it beside the text");
  // It holds over what is written.
  request.mutable_arguments()->add_values("--vocab-size=77");
  const v1::ValidateConfigResponse over = Validated(request);
  const v1::ConfigEntry* const held = FindEntry(over.config(), "vocab_size");
  ASSERT_NE(held, nullptr);
  EXPECT_EQ(held->value().int_value(), 32000);
}

TEST(StatedKnobs, AreCheckedAsPinsAre) {
  v1::ValidateConfigRequest request = SmallWithoutVocabulary();
  request.add_stated_knobs()->set_name("vocab_sise");
  State("num_layers", "many", &request);
  v1::ValidateConfigResponse response;
  EXPECT_EQ(ViolatedFields(TestResolver().ValidateConfig(request, &response)),
            (std::set<std::string>{"stated_knobs[0].name", "stated_knobs[1].value"}));
  request.clear_stated_knobs();
  request.add_stated_knobs()->set_name("vocab_size");
  request.mutable_knobs();
  EXPECT_EQ(ViolatedFields(TestResolver().ValidateConfig(request, &response)), (std::set<std::string>{"stated_knobs"}));
}

}  // namespace
}  // namespace flightplan
