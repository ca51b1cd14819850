// A profile as a probe of an H200 would give it, drawn from known curves. For tests only: the figures are invented.
#pragma once

#include <cmath>
#include <string>

#include "flightplan/v1/profile.pb.h"
#include "probe/fit/contention.h"
#include "probe/fit/saturating.h"

namespace flightplan::sample {

inline constexpr fit::SaturatingCurve kSampleCopy{45e9, 4.1e12, 5, 0, 1, 132};
inline constexpr fit::SaturatingCurve kSampleFc1{2.4e12, 6.6e14, 1.2, 0, 16, 8192};
inline constexpr fit::CorunCurve kSamplePush{132, 1.03, 1.05, 1.25, 0.2, 0};
inline constexpr fit::CorunCurve kSampleNvlink{132, 1.02, 1.0, 1.10, 0.15, 0};
inline constexpr fit::CorunCurve kSampleNetwork{132, 1.01, 1.0, 1.02, 0.05, 0};
inline constexpr double kSampleNvlinkRate = 3.8e11, kSampleNetworkRate = 4.2e10;

inline v1::ProbeRow* AddRow(v1::HardwareProfile* profile, const std::string& id, double value, const std::string& unit,
                            const std::string& kind = "measured") {
  v1::ProbeRow* row = profile->add_rows();
  row->set_id(id);
  row->set_value(value);
  row->set_low(value * 0.99);
  row->set_high(value * 1.01);
  row->set_unit(unit);
  row->set_sample_count(50);
  row->set_kind(kind);
  return row;
}

// `link`: bytes per second that the exchange is held to; 0: as fast as it goes.
inline void AddCorun(v1::HardwareProfile* profile, const std::string& communication, const fit::CorunCurve& curve,
                     const std::string& kind, double link = 0) {
  for (double sms : {8, 16, 24, 32, 48}) {
    const fit::Slowdown slow = curve.At(sms);
    for (const auto& [side, value] :
         {std::pair<const char*, double>{"compute", slow.compute}, {"communication", slow.communication}}) {
      v1::ProbeRow* row = AddRow(profile, "corun.matrix", value, "ratio", kind);
      (*row->mutable_parameters())["sms"] = sms;
      if (link > 0) (*row->mutable_parameters())["link_bytes_per_second"] = link;
      (*row->mutable_labels())["communication"] = communication;
      (*row->mutable_labels())["compute"] = "gemm";
      (*row->mutable_labels())["side"] = side;
    }
  }
}

// `kind`: "measured" or "synthetic".
inline v1::HardwareProfile SampleProfile(const std::string& kind = "measured") {
  v1::HardwareProfile profile;
  profile.set_name("h200-test");
  profile.set_device_name("NVIDIA H200");
  profile.set_device_uuid("GPU-00000000-1111-2222-3333-444444444444");
  profile.set_driver_version("580.65.06");
  profile.set_probe_version("test");
  profile.mutable_measure_time()->set_seconds(1'790'000'000);
  profile.set_sm_count(132);
  profile.set_kind(kind);
  const std::string row_kind = kind == "synthetic" ? "synthetic" : "measured";
  AddRow(&profile, "hbm.copy", kSampleCopy.At(132), "bytes_per_second", row_kind);
  AddRow(&profile, "mm.dense", 7.0e14, "flops_per_second", row_kind);
  AddRow(&profile, "permute.fwd", 3.8e12, "bytes_per_second", row_kind);
  for (double sms : {1, 2, 4, 8, 12, 16, 20, 24, 32, 48, 64, 96, 132}) {
    v1::ProbeRow* row = AddRow(&profile, "hbm.sm_curve", kSampleCopy.At(sms), "bytes_per_second", row_kind);
    (*row->mutable_parameters())["sms"] = sms;
    (*row->mutable_labels())["op"] = "copy";
  }
  for (int rows = 16; rows <= 8192; rows *= 2) {
    v1::ProbeRow* row = AddRow(&profile, "gemm.fc1", kSampleFc1.At(rows), "flops_per_second", row_kind);
    (*row->mutable_parameters())["rows"] = rows;
  }
  const std::string stand_in = kind == "synthetic" ? "synthetic" : "emulated";
  AddCorun(&profile, "push", kSamplePush, stand_in);
  AddCorun(&profile, "paced", kSampleNvlink, stand_in, kSampleNvlinkRate);
  AddCorun(&profile, "paced", kSampleNetwork, stand_in, kSampleNetworkRate);
  return profile;
}

}  // namespace flightplan::sample
