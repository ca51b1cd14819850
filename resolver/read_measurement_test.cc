// What a reported run must say, and which of its fields are wrong where it does not.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "flightplan/v1/evidence.pb.h"
#include "google/rpc/error_details.pb.h"
#include "resolver/normalize/violations.h"
#include "resolver/resolver.h"
#include "tests/support/reported_runs.h"
#include "tests/support/requests.h"

namespace flightplan {
namespace {

using testing::Pair;
using testing::Report;
using testing::TestResolver;

std::vector<std::string> WrongFields(const v1::Measurement& m, std::optional<int64_t> now = std::nullopt) {
  const auto read = TestResolver().ReadMeasurement(m, now);
  google::rpc::BadRequest bad;
  std::vector<std::string> fields;
  const auto payload = read.status().GetPayload(kBadRequestPayload);
  if (payload.has_value() && bad.ParseFromString(std::string(*payload))) {
    for (const auto& violation : bad.field_violations()) fields.push_back(violation.field());
  }
  return fields;
}

TEST(ReadMeasurement, TakesAReportWithItsForecast) {
  const auto read = TestResolver().ReadMeasurement(Report("job/4711:step", "step_time_us", 2e7), std::nullopt);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(read->run->has_forecast);
  EXPECT_GT(read->run->forecast_high, read->run->forecast_low);
  EXPECT_EQ(read->run->layout.ep, 16);
}

TEST(ReadMeasurement, StillReadsWhatWasStoredWithAValueThatNobodyReads) {
  v1::Measurement m = Report("r", "step_time_us", 2e7);
  m.mutable_to()->set_double_value(std::nan(""));
  EXPECT_TRUE(TestResolver().ReadMeasurement(m, std::nullopt).ok());
}

TEST(ReadMeasurement, RefusesNonsenseWithTheFieldsNames) {
  using Fields = std::vector<std::string>;
  const auto with = [](auto change) {
    v1::Measurement m = Report("r", "step_time_us", 2e7);
    change(&m);
    return WrongFields(m, int64_t{1'800'000'000} * 1'000'000);
  };
  EXPECT_EQ(with([](v1::Measurement*) {}), Fields());
  EXPECT_EQ(with([](v1::Measurement* m) { m->set_id(""); }), Fields{"measurement.id"});
  EXPECT_EQ(with([](v1::Measurement* m) { m->set_id(std::string(128, 'a')); }), Fields());
  EXPECT_EQ(with([](v1::Measurement* m) { m->set_id(std::string(129, 'a')); }), Fields{"measurement.id"});
  EXPECT_EQ(with([](v1::Measurement* m) { m->set_metric("step_time_ms"); }), Fields{"measurement.metric"});
  EXPECT_EQ(with([](v1::Measurement* m) { m->set_quality("good"); }), Fields{"measurement.quality"});
  EXPECT_EQ(with([](v1::Measurement* m) { m->set_model("qwen3-30b-a3c"); }), Fields{"measurement.model"});
  EXPECT_EQ(with([](v1::Measurement* m) { m->set_gpu("h1000"); }), Fields{"measurement.gpu"});
  EXPECT_EQ(with([](v1::Measurement* m) { m->set_gpu_count(0); }), Fields{"measurement.gpu_count"});
  EXPECT_EQ(with([](v1::Measurement* m) { m->set_gpu_count(17); }), Fields{"measurement.layout"});
  EXPECT_EQ(with([](v1::Measurement* m) { m->mutable_workload()->set_seq_length(0); }),
            Fields{"measurement.workload.seq_length"});
  EXPECT_EQ(with([](v1::Measurement* m) { m->add_knobs()->set_name("no_such_knob"); }),
            Fields{"measurement.knobs[0].name"});
  EXPECT_EQ(with([](v1::Measurement* m) { m->set_varied_knob("bf16"); }), Fields{"measurement.varied_knob"});
  EXPECT_EQ(with([](v1::Measurement* m) { m->mutable_from()->set_double_value(std::nan("")); }),
            Fields{"measurement.from"});
  EXPECT_EQ(with([](v1::Measurement* m) { m->mutable_to()->set_double_value(std::nan("")); }),
            Fields{"measurement.to"});
  EXPECT_EQ(with([](v1::Measurement* m) { m->set_value(std::nan("")); }), Fields{"measurement.value"});
  EXPECT_EQ(with([](v1::Measurement* m) { m->set_value(2e4); }).size(), 2u) << "milliseconds: above peak, and far off";
  EXPECT_EQ(with([](v1::Measurement* m) { m->set_value(2e10); }), Fields{"measurement.value"}) << "nanoseconds";
  EXPECT_EQ(with([](v1::Measurement* m) { m->set_error(-1); }), Fields{"measurement.error"});
  EXPECT_EQ(with([](v1::Measurement* m) { m->mutable_measure_time()->set_seconds(1'800'000'200); }), Fields());
  EXPECT_EQ(with([](v1::Measurement* m) { m->mutable_measure_time()->set_seconds(1'800'000'301); }),
            Fields{"measurement.measure_time"});
  EXPECT_EQ(with([](v1::Measurement* m) { m->mutable_measure_time()->set_seconds(1'000); }),
            Fields{"measurement.measure_time"});
  EXPECT_EQ(with([](v1::Measurement* m) {
              m->set_id("a b");
              m->set_cluster(std::string(129, 'c'));
              m->set_model("nothing");
            }).size(),
            3u)
      << "all at once";
}

TEST(ReadMeasurement, RefusesPeaksAndPairsThatMakeNoSense) {
  EXPECT_EQ(WrongFields(Report("r", "memory_high_water_bytes", 1e11)).size(), 1u) << "more than an H100 has";
  EXPECT_EQ(WrongFields(Report("r", "memory_high_water_bytes", 60)).size(), 1u) << "GiB are not bytes";
  EXPECT_EQ(WrongFields(Pair("r", "delay_wgrad_compute", true, true, 0)), std::vector<std::string>{"measurement.to"});
  EXPECT_EQ(WrongFields(Pair("r", "", true, false, 0)), std::vector<std::string>{"measurement.varied_knob"});
  EXPECT_EQ(WrongFields(Pair("r", "delay_wgrad_compute", true, false, -1)),
            std::vector<std::string>{"measurement.value"});
  v1::Measurement unlike = Pair("r", "delay_wgrad_compute", true, false, 0);
  unlike.mutable_to()->set_string_value("sometimes");
  EXPECT_EQ(WrongFields(unlike), std::vector<std::string>{"measurement.to"});
}

}  // namespace
}  // namespace flightplan
