// What a probe may be asked for.
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "resolver/catalog/catalog.h"
#include "service/local/probe_worker.h"

namespace flightplan::service {
namespace {

TEST(CheckProbeRequest, RefusesWhatMakesNoSense) {
  const Catalog catalog = *Catalog::Builtin();
  const auto check = [&](const v1::RunProbeRequest& request) {
    std::string shape;
    return CheckProbeRequest(request, catalog, &shape);
  };
  v1::RunProbeRequest request;
  EXPECT_TRUE(check(request).ok());
  request.add_groups("ceiling");
  request.set_device_index(-1);
  request.mutable_budget()->set_seconds(31);
  EXPECT_EQ(check(request).code(), absl::StatusCode::kInvalidArgument);
  v1::RunProbeRequest long_list;
  for (int i = 0; i < 64; ++i) long_list.add_groups("ceilings");
  EXPECT_TRUE(check(long_list).ok());
  long_list.add_groups("ceilings");  // they stand in the worker's command line
  EXPECT_EQ(check(long_list).code(), absl::StatusCode::kInvalidArgument);
  for (const int seconds : {1, 30}) {
    v1::RunProbeRequest at_the_edge;
    at_the_edge.mutable_budget()->set_seconds(seconds);
    EXPECT_TRUE(check(at_the_edge).ok()) << seconds;
  }
  for (const int64_t bytes : {kLeastProbeMemory, kMostProbeMemory}) {
    v1::RunProbeRequest at_the_edge;
    at_the_edge.set_memory_limit_bytes(bytes);
    EXPECT_TRUE(check(at_the_edge).ok()) << bytes;
    at_the_edge.set_memory_limit_bytes(bytes == kLeastProbeMemory ? bytes - 1 : bytes + 1);
    EXPECT_FALSE(check(at_the_edge).ok()) << bytes;
  }
}

TEST(CheckProbeRequest, SeveralDevicesAreDifferentOnesAndSaidOnce) {
  const Catalog catalog = *Catalog::Builtin();
  const auto wrong = [&](const std::vector<int>& indices, bool all = false, int device = -1) {
    v1::RunProbeRequest request;
    for (const int index : indices) request.add_device_indices(index);
    request.set_all_devices(all);
    if (device >= 0) request.set_device_index(device);
    std::string shape;
    return std::string(CheckProbeRequest(request, catalog, &shape).message());
  };
  std::vector<int> sixteen(16);
  std::iota(sixteen.begin(), sixteen.end(), 0);
  for (const std::string& text :
       {wrong({0, 1}), wrong({1023, 0}), wrong(sixteen), wrong({}, true), wrong({}, false, 5)})
    EXPECT_EQ(text, "");
  std::vector<int> seventeen = sixteen;
  seventeen.push_back(16);
  for (const std::string& text :
       {wrong({0}), wrong({0, 0}), wrong({0, -1}), wrong({0, 1024}), wrong(seventeen), wrong({0, 1}, true)})
    EXPECT_TRUE(absl::StrContains(text, "device_indices")) << text;
  EXPECT_TRUE(absl::StrContains(wrong({0, 1}, false, 0), "device_index: is one device alone"));
  EXPECT_TRUE(absl::StrContains(wrong({}, true, 0), "device_index: is one device alone"));
}

}  // namespace
}  // namespace flightplan::service
