#include "service/settings/unknown_variables.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"

namespace flightplan::service {
namespace {

std::string Unknown(const std::vector<std::string>& names) {
  return absl::StrJoin(UnknownVariables(names), " ", [](std::string* out, const UnknownVariable& variable) {
    absl::StrAppend(out, variable.name, ">", variable.instead);
  });
}

TEST(UnknownVariables, NamesTheSettingThatWasMeant) {
  EXPECT_EQ(Unknown({"FLIGHTPLAN_LISTENN", "PATH", "FLIGHTPLAN_DECISION_LOGS"}),
            "FLIGHTPLAN_DECISION_LOGS>FLIGHTPLAN_DECISION_LOG FLIGHTPLAN_LISTENN>FLIGHTPLAN_LISTEN");
  EXPECT_EQ(Unknown({"FLIGHTPLAN_SOMETHING_ELSE_ENTIRELY"}), "FLIGHTPLAN_SOMETHING_ELSE_ENTIRELY>");
  EXPECT_EQ(Unknown({"FLIGHTPLAN_CONFIG"}), "FLIGHTPLAN_CONFIG>--config");
}

TEST(UnknownVariables, LeavesThoseOfClientsFrontsAndKubernetesAlone) {
  EXPECT_EQ(Unknown({"FLIGHTPLAN_LISTEN", "FLIGHTPLAN_EVIDENCE_STORE", "FLIGHTPLAN_TOKEN", "FLIGHTPLAN_CERT_FILE",
                     "FLIGHTPLAN_SERVER", "FLIGHTPLAN_FRONT_CERT", "FLIGHTPLAN_REPLICA_CA", "FLIGHTPLAN_IN_FLIGHT",
                     "FLIGHTPLAN_SERVICE_HOST", "FLIGHTPLAN_SERVICE_PORT_GRPC", "FLIGHTPLAN_PORT",
                     "FLIGHTPLAN_PORT_50051_TCP_ADDR", "FLIGHTPLAN_WEBHOOK_PORT", "FLIGHTPLAN_WEBHOOK_PORT_443_TCP",
                     "FLIGHTPLAN_HEADLESS_SERVICE_HOST"}),
            "");
}

}  // namespace
}  // namespace flightplan::service
